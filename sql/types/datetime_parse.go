package types

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// parseFault is why a literal was refused.
type parseFault uint8

const (
	faultNone parseFault = iota
	faultFormat
	faultField
	faultMonthDay // a field out of range that another date order might explain
	faultInterval
	faultOffset
	faultZoneName
)

// faultError makes PostgreSQL's error for a fault in the literal s of type t.
func faultError(f parseFault, t Type, s, zone string) error {
	s = strings.Clone(s)
	switch f {
	case faultField:
		return sqlerr.New(sqlerr.DatetimeFieldOverflow, `date/time field value out of range: "%s"`, s)
	case faultMonthDay:
		return sqlerr.New(sqlerr.DatetimeFieldOverflow, `date/time field value out of range: "%s"`, s).
			WithHint(`Perhaps you need a different "datestyle" setting.`)
	case faultInterval:
		return sqlerr.New(sqlerr.IntervalFieldOverflow, `interval field value out of range: "%s"`, s)
	case faultOffset:
		return sqlerr.New(sqlerr.InvalidTimeZoneDisplacement, `time zone displacement out of range: "%s"`, s)
	case faultZoneName:
		return sqlerr.New(sqlerr.InvalidParameterValue, `time zone "%s" not recognized`, strings.Clone(zone))
	}
	return badSyntax(t, s)
}

// fieldMask says which parts of a date and time a literal has given.
type fieldMask uint32

const (
	hasYear fieldMask = 1 << iota
	hasMonth
	hasDay
	hasDoy
	hasHour
	hasMinute
	hasSecond
	hasZone
	hasDST
	hasDow
	hasAMPM
	hasADBC
	hasReserved

	hasDate  = hasYear | hasMonth | hasDay
	hasClock = hasHour | hasMinute | hasSecond
)

// literal gathers what a date or time literal says.
type literal struct {
	env    *Env
	fields []literalField

	have           fieldMask
	year, mon, day int
	doy            int
	hour, min, sec int
	frac           int // microseconds
	off            int // seconds east
	zone           *time.Location
	res            int // a reserved word that is the whole value, else -1
	meridian       int
	label          Unit // what the next number is
	bc             bool
	shortYear      bool // a year of one or two digits
	textMonth      bool
	julian         bool
	badZone        string
	abbrev         string // the abbreviation that zone comes from
}

func newLiteral(s string, env *Env, buf []literalField) (*literal, parseFault) {
	l := &literal{env: env.or(), res: -1}
	var ok bool
	if l.fields, ok = scanFields(s, buf); !ok {
		return nil, faultFormat
	}
	return l, faultNone
}

// number reads the digits that lead s; f tells whether they are too many.
func number(s string) (val int, rest string, f parseFault) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		if val > 1<<31/10 {
			return 0, s, faultField
		}
		val = val*10 + int(s[i]-'0')
		i++
	}
	if i == 0 {
		return 0, s, faultFormat
	}
	if val > 1<<31-1 {
		return 0, s, faultField
	}
	return val, s[i:], faultNone
}

// signed reads a number as C's strtol does: with a sign, and nothing as 0.
func signed(s string) (val int, rest string, f parseFault) {
	neg := false
	digits := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, digits = s[0] == '-', s[1:]
	}
	val, rest, f = number(digits)
	if f == faultFormat {
		return 0, s, faultNone
	}
	if neg {
		val = -val
	}
	return val, rest, f
}

// fraction reads a point and digits as microseconds.
func fraction(s string) (us int, f parseFault) {
	if s == "." {
		return 0, faultNone
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || s[len(s)-1] < '0' || s[len(s)-1] > '9' {
		return 0, faultFormat
	}
	return int(roundEven(x * MicrosPerSecond)), faultNone
}

// dateTime reads all fields of a literal that has a date.
func (l *literal) dateTime() parseFault {
	for i := range l.fields {
		if f := l.field(i, true); f != faultNone {
			return f
		}
	}
	if f := l.validDate(); f != faultNone {
		return f
	}
	if f := l.applyMeridian(); f != faultNone || l.res >= 0 {
		return f
	}
	if l.have&hasDate != hasDate {
		return faultFormat
	}
	return l.settleZone()
}

// add merges the parts that a field gave; giving one twice is an error.
func (l *literal) add(m fieldMask) parseFault {
	if l.have&m != 0 {
		return faultFormat
	}
	l.have |= m
	return faultNone
}

// field reads field i. full is false for a time of day, which may lack a date.
func (l *literal) field(i int, full bool) parseFault {
	fd := l.fields[i]
	var m fieldMask
	var f parseFault
	switch fd.kind {
	case dateField:
		m, f = l.dateField(i, full)
	case timeField:
		if full {
			if l.label != NoUnit && l.label != unitTime {
				return faultFormat
			}
			l.label = NoUnit
		}
		if m, f = l.clock(fd.text); f == faultNone && full && l.clockOverflows() {
			return faultField
		}
	case zoneField:
		l.off, f = parseOffset(fd.text)
		m = hasZone
	case numberField:
		m, f = l.numberField(i, full)
	default:
		var skip bool
		if m, skip, f = l.word(i, full); skip {
			return faultNone
		}
	}
	if f != faultNone {
		return f
	}
	return l.add(m)
}

// dateField reads digits and letters joined by separators: a date, a zone name,
// or a run-together time with an offset.
func (l *literal) dateField(i int, full bool) (fieldMask, parseFault) {
	s := l.fields[i].text
	if !full {
		if l.dateLeads(i, true) {
			return l.date(s)
		}
		l.label = NoUnit
	}
	if l.label == Julian {
		val, rest, f := number(s)
		if f != faultNone {
			return 0, f
		}
		l.setJulian(val)
		l.label = NoUnit
		l.off, f = parseOffset(rest)
		return hasDate | hasClock | hasZone, f
	}
	if full && l.label == NoUnit && l.have&(hasMonth|hasDay) != hasMonth|hasDay {
		return l.date(s)
	}
	if !isDigit(s[0]) && l.label == NoUnit {
		return l.namedZone(s)
	}
	if l.label != NoUnit && l.label != unitTime {
		return 0, faultFormat
	}
	l.label = NoUnit
	at := strings.IndexByte(s, '-')
	if at < 0 || l.have&hasClock == hasClock {
		return 0, faultFormat
	}
	off, f := parseOffset(s[at:])
	if f != faultNone {
		return 0, f
	}
	l.off = off
	have := l.have
	if !full {
		have |= hasDate
	}
	m, f := l.runTogether(s[:at], have)
	return m | hasZone, f
}

// dateLeads tells whether, in a time of day, the first field is a date: when the
// last one is a zone's name, or, for one with separators, a clock follows.
func (l *literal) dateLeads(i int, separators bool) bool {
	n := len(l.fields)
	return i == 0 && n >= 2 &&
		(l.fields[n-1].kind == dateField || separators && l.fields[1].kind == timeField)
}

// namedZone takes a time zone by its name.
func (l *literal) namedZone(s string) (fieldMask, parseFault) {
	loc, ok := LoadZone(s)
	if !ok {
		l.badZone = s
		return 0, faultZoneName
	}
	l.zone = loc
	return hasZone, faultNone
}

// clock reads h:m, h:m:s, with a fraction; m:s.f without hours.
func (l *literal) clock(s string) (fieldMask, parseFault) {
	at := strings.IndexByte(s, ':')
	if at <= 0 {
		return 0, faultFormat
	}
	hours, err := strconv.ParseInt(s[:at], 10, 64)
	if err != nil {
		return 0, faultField
	}
	h := int(min(hours, math.MaxInt32))
	m, rest, f := signed(s[at+1:])
	if f != faultNone {
		return 0, f
	}
	sec, frac := 0, 0
	switch {
	case rest == "":
	case rest[0] == '.':
		if frac, f = fraction(rest); f != faultNone {
			return 0, f
		}
		h, m, sec = 0, h, m
	case rest[0] == ':':
		if sec, rest, f = signed(rest[1:]); f != faultNone {
			return 0, f
		}
		if rest != "" {
			if rest[0] != '.' {
				return 0, faultFormat
			}
			if frac, f = fraction(rest); f != faultNone {
				return 0, f
			}
		}
	default:
		return 0, faultFormat
	}
	if m < 0 || m > 59 || sec < 0 || sec > 60 || h == math.MaxInt32 {
		return 0, faultField
	}
	l.hour, l.min, l.sec, l.frac = h, m, sec, frac
	return hasClock, faultNone
}

// clockOverflows tells whether the time of day lies past 24:00:00.
func (l *literal) clockOverflows() bool {
	return l.hour > 24 || l.min > 59 || l.sec > 60 || l.clockMicros() > MicrosPerDay
}

func (l *literal) clockMicros() int64 {
	return int64(l.hour*3600+l.min*60+l.sec)*MicrosPerSecond + int64(l.frac)
}

// parseOffset reads +h, +hhmm, +h:m or +h:m:s as seconds east.
func parseOffset(s string) (off int, f parseFault) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, faultFormat
	}
	h, rest, f := number(s[1:])
	if f == faultField || negative(f, rest) {
		return 0, faultOffset
	}
	m, sec := 0, 0
	switch {
	case rest != "" && rest[0] == ':':
		if m, rest, f = number(rest[1:]); f == faultField || negative(f, rest) {
			return 0, faultOffset
		}
		if rest != "" && rest[0] == ':' {
			if sec, rest, f = number(rest[1:]); f == faultField || negative(f, rest) {
				return 0, faultOffset
			}
		}
	case rest == "" && len(s) > 3:
		h, m = h/100, h%100
	}
	if h > 15 || m > 59 || sec > 59 {
		return 0, faultOffset
	}
	if rest != "" {
		return 0, faultFormat
	}
	off = h*3600 + m*60 + sec
	if s[0] == '-' {
		off = -off
	}
	return off, faultNone
}

// negative tells whether a number was not read because of its sign.
func negative(f parseFault, rest string) bool {
	if f != faultFormat || rest == "" || rest[0] != '-' {
		return false
	}
	n, _, f := number(rest[1:])
	return f == faultNone && n > 0
}

// numberField reads a field of digits, perhaps with a point.
func (l *literal) numberField(i int, full bool) (fieldMask, parseFault) {
	s := l.fields[i].text
	if l.label != NoUnit {
		return l.labelled(s, full)
	}
	point := strings.IndexByte(s, '.')
	switch {
	case point >= 0 && (full && l.have&hasDate == 0 || !full && l.dateLeads(i, false)):
		return l.date(s)
	case point > 2:
		return l.runTogether(s, l.timeHave(full))
	case !full && point >= 0:
		return 0, faultFormat
	case !full && len(s) > 4:
		return l.runTogether(s, l.timeHave(full))
	case len(s) >= 6 && (l.have&hasDate == 0 || l.have&hasClock == 0):
		return l.runTogether(s, l.have)
	}
	return l.single(s, l.timeHave(full))
}

// timeHave is what counts as given: in a time of day there is no date to come.
func (l *literal) timeHave(full bool) fieldMask {
	if full {
		return l.have
	}
	return l.have | hasDate
}

// labelled reads a number that a word before it has given a meaning.
func (l *literal) labelled(s string, full bool) (fieldMask, parseFault) {
	u := l.label
	l.label = NoUnit
	if u == unitTime {
		if _, _, f := number(s); f == faultField {
			return 0, f
		}
		m, f := l.runTogether(s, l.have|hasDate)
		if f == faultNone && m != hasClock {
			return 0, faultFormat
		}
		return m, f
	}
	val, rest, f := number(s)
	if f != faultNone {
		return 0, f
	}
	if rest != "" && u != Julian && u != Second {
		return 0, faultFormat
	}
	switch u {
	case Year:
		l.year = val
		return hasYear, faultNone
	case Month:
		if l.have&hasMonth != 0 && l.have&hasHour != 0 {
			l.min = val
			return hasMinute, faultNone
		}
		l.mon = val
		return hasMonth, faultNone
	case Day:
		l.day = val
		return hasDay, faultNone
	case Hour:
		l.hour = val
		return hasHour, faultNone
	case Minute:
		l.min = val
		return hasMinute, faultNone
	case Second:
		l.sec = val
		if rest != "" {
			l.frac, f = fraction(rest)
		}
		return hasSecond, f
	case Julian:
		return l.julianNumber(val, rest)
	}
	return 0, faultFormat
}

func (l *literal) julianNumber(val int, rest string) (fieldMask, parseFault) {
	l.setJulian(val)
	if rest == "" {
		return hasDate, faultNone
	}
	x, err := strconv.ParseFloat("0"+rest, 64)
	if err != nil {
		return 0, faultFormat
	}
	us := int64(x * float64(MicrosPerDay))
	l.hour, us = int(us/MicrosPerHour), us%MicrosPerHour
	l.min, us = int(us/MicrosPerMinute), us%MicrosPerMinute
	l.sec, l.frac = int(us/MicrosPerSecond), int(us%MicrosPerSecond)
	return hasDate | hasClock, faultNone
}

// julianEpoch is the Julian day number of 1970-01-01.
const julianEpoch = 2440588

func (l *literal) setJulian(jd int) {
	l.year, l.mon, l.day = Civil(int64(jd) - julianEpoch)
	l.julian = true
}

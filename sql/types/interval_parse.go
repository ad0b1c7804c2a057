package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
)

// span gathers the parts of an interval literal.
type span struct {
	years, months, days int64 // each within 32 bits
	us                  int64
}

func addTo32(p *int64, n int64) bool {
	s := *p + n
	if n != int64(int32(n)) || s != int64(int32(s)) {
		return false
	}
	*p = s
	return true
}

// mulAdd adds n*unit to p, false when it overflows.
func mulAdd(p *int64, n, unit int64) bool {
	m := n * unit
	if n != 0 && (m/n != unit || n == -1 && unit == math.MinInt64) {
		return false
	}
	s := *p + m
	if (s < *p) != (m < 0) {
		return false
	}
	*p = s
	return true
}

// fracMicros adds a fraction of a unit of so many microseconds.
func (p *span) fracMicros(frac float64, unit int64) bool {
	if frac == 0 {
		return true
	}
	frac *= float64(unit)
	us := int64(frac)
	if frac -= float64(us); frac > 0.5 {
		us++
	} else if frac < -0.5 {
		us--
	}
	return mulAdd(&p.us, us, 1)
}

// fracDays adds a fraction of a unit of so many days; what is less than a day
// becomes time.
func (p *span) fracDays(frac float64, unit int) bool {
	if frac == 0 {
		return true
	}
	frac *= float64(unit)
	whole := int64(frac)
	return addTo32(&p.days, whole) && p.fracMicros(frac-float64(whole), MicrosPerDay)
}

// fracYears adds a fraction of a unit of so many years, rounded to months.
func (p *span) fracYears(frac float64, unit int) bool {
	return addTo32(&p.months, int64(math.RoundToEven(frac*float64(unit)*12)))
}

func (p *span) micros(val int64, frac float64, unit int64) bool {
	return mulAdd(&p.us, val, unit) && p.fracMicros(frac, unit)
}

func (p *span) addYears(val int64, unit int64) bool {
	return val == int64(int32(val)) && addTo32(&p.years, val*unit)
}

func (p *span) addDays(val int64, unit int64) bool {
	return val == int64(int32(val)) && addTo32(&p.days, val*unit)
}

// add adds val and its fraction of a unit; bits says which units it takes up.
// known is false for a unit that an interval has not.
func (p *span) add(u Unit, val int64, frac float64) (bit uint32, fits, known bool) {
	bit = 1 << u
	switch u {
	case Microsecond:
		fits = p.micros(val, frac, 1)
	case Millisecond:
		fits = p.micros(val, frac, 1000)
	case Second:
		fits = p.micros(val, frac, MicrosPerSecond)
		if frac != 0 {
			bit |= 1<<Millisecond | 1<<Microsecond
		}
	case Minute:
		fits = p.micros(val, frac, MicrosPerMinute)
	case Hour:
		fits = p.micros(val, frac, MicrosPerHour)
	case Day:
		fits = p.addDays(val, 1) && p.fracMicros(frac, MicrosPerDay)
	case Week:
		fits = p.addDays(val, 7) && p.fracDays(frac, 7)
	case Month:
		fits = addTo32(&p.months, val) && p.fracDays(frac, 30)
	case Year:
		fits = p.addYears(val, 1) && p.fracYears(frac, 1)
	case Decade:
		fits = p.addYears(val, 10) && p.fracYears(frac, 10)
	case Century:
		fits = p.addYears(val, 100) && p.fracYears(frac, 100)
	case Millennium:
		fits = p.addYears(val, 1000) && p.fracYears(frac, 1000)
	default:
		return 0, false, false
	}
	return bit, fits, true
}

// ParseInterval reads an interval in PostgreSQL's verbose and SQL forms or in
// ISO 8601's.
func ParseInterval(s string) (arrowbatch.IntervalValue, error) {
	var buf [maxFields]literalField
	var p span
	f := faultFormat
	if fields, ok := scanFields(s, buf[:0]); ok {
		f = p.fields(fields)
	}
	if f == faultFormat {
		p = span{}
		f = p.iso(s)
	}
	if f != faultNone {
		if f == faultField {
			f = faultInterval
		}
		return arrowbatch.IntervalValue{}, faultError(f, TInterval, s, "")
	}
	m := p.years*12 + p.months
	if m != int64(int32(m)) {
		return arrowbatch.IntervalValue{}, intervalRange()
	}
	return arrowbatch.IntervalValue{Months: int32(m), Days: int32(p.days), Micros: p.us}, nil
}

const clockBits = 1<<Hour | 1<<Minute | 1<<Second | 1<<Millisecond | 1<<Microsecond

// fields reads the fields from the last to the first: a unit comes before its
// number then.
func (p *span) fields(fields []literalField) parseFault {
	var have uint32
	unit, known, ago := NoUnit, false, false
	for i := len(fields) - 1; i >= 0; i-- {
		fd := fields[i]
		var bit uint32
		var f parseFault
		switch fd.kind {
		case stringField, specialField:
			switch w := cutToken(fd.text); {
			case w == "@":
			case w == "ago":
				ago, unit, known = true, NoUnit, true
			default:
				u, ok := unitWords[w]
				if !ok {
					return faultFormat
				}
				unit, known = u, true
			}
			continue
		case timeField:
			f = p.clock(fd.text, false)
			bit, unit, known = clockBits, Day, true
		case zoneField:
			if strings.IndexByte(fd.text, ':') > 0 {
				was := *p
				if f = p.clock(fd.text[1:], fd.text[0] == '-'); f == faultNone {
					bit, unit, known = clockBits, Day, true
					break
				}
				*p = was
			}
			fallthrough
		default:
			if !known {
				unit, known = Second, true
			}
			bit, unit, f = p.number(fd.text, unit)
		}
		if f != faultNone {
			return f
		}
		if have&bit != 0 {
			return faultFormat
		}
		have |= bit
	}
	if have == 0 {
		return faultFormat
	}
	if ago {
		return p.negate()
	}
	return faultNone
}

// number reads a number of units, or years-months, and returns the unit of a
// number before it.
func (p *span) number(s string, u Unit) (bit uint32, next Unit, f parseFault) {
	i := 0
	if s[0] == '-' || s[0] == '+' {
		i = 1
	}
	start := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	var val int64
	if i > start {
		var err error
		if val, err = strconv.ParseInt(s[:i], 10, 64); err != nil {
			return 0, u, faultField
		}
	}
	frac := 0.0
	switch rest := s[i:]; {
	case rest == "":
	case rest[0] == '-':
		m, tail, f := number(rest[1:])
		if f == faultField || m >= 12 || negative(f, tail) {
			return 0, u, faultField
		}
		if tail != "" {
			return 0, u, faultFormat
		}
		u = Month
		months := int64(m)
		if s[0] == '-' {
			months = -months
		}
		if !mulAdd(&months, val, 12) {
			return 0, u, faultField
		}
		val = months
	case rest[0] == '.':
		if rest != "." {
			var err error
			if frac, err = strconv.ParseFloat(rest, 64); err != nil {
				return 0, u, faultFormat
			}
		}
		if s[0] == '-' {
			frac = -frac
		}
	default:
		return 0, u, faultFormat
	}
	bit, fits, known := p.add(u, val, frac)
	switch {
	case !known:
		return 0, u, faultFormat
	case !fits:
		return 0, u, faultField
	}
	if u == Hour {
		u = Day
	}
	return bit, u, faultNone
}

// clock adds h:m[:s[.f]] or m:s.f.
func (p *span) clock(s string, neg bool) parseFault {
	at := strings.IndexByte(s, ':')
	if at < 0 {
		return faultFormat
	}
	h, err := strconv.ParseInt(s[:at], 10, 64)
	if err != nil {
		return faultField
	}
	// The hours may be more than a clock has: read the rest as of hour 0.
	l := literal{}
	short := "0" + s[at:]
	if strings.Count(s, ":") == 1 && strings.IndexByte(s, '.') >= 0 {
		if h != int64(int32(h)) {
			return faultField
		}
		short, h = s, 0
	}
	if _, f := l.clock(short); f != faultNone {
		return f
	}
	us := l.clockMicros()
	if !mulAdd(&us, h, MicrosPerHour) {
		return faultField
	}
	if neg {
		us = -us
	}
	p.us = us
	return faultNone
}

func (p *span) negate() parseFault {
	if p.us == math.MinInt64 || min(p.days, p.months, p.years) == math.MinInt32 {
		return faultField
	}
	p.us, p.days, p.months, p.years = -p.us, -p.days, -p.months, -p.years
	return faultNone
}

package scalar

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// reading is what to_timestamp has read so far.
type reading struct {
	src, s string
	skip   int // characters passed beyond what the format has
	vals   [keyY + 1]int
	set    [keyY + 1]bool
	pm, bc bool
	half   bool // a 12-hour clock
	year   int
	digits int // of the year's field
	tz     int // sign of the zone
	us     int
}

// Parsed is a time that to_timestamp has read: wall clock, and the zone if the
// text told one.
type Parsed struct {
	Days   int64 // since 1970-01-01
	Micros int64 // since midnight
	Zoned  bool
	Off    int // seconds east of UTC
}

// Parse reads a time by a format, as to_timestamp and to_date do.
func (f *DateFormat) Parse(s string) (Parsed, error) {
	r := reading{src: s, s: s}
	for k, n := range f.nodes {
		if r.s == "" {
			break
		}
		if !f.fixed && (n.key != keyLiteral || k == 0) {
			r.blanks()
		}
		if n.key == keyLiteral {
			r.literal(n, f.fixed)
			continue
		}
		if err := r.field(n, f.openEnded(k)); err != nil {
			return Parsed{}, err
		}
		if n.th != "" && n.isDigits() {
			r.s = r.s[min(2, len(r.s)):]
		}
		if !f.fixed {
			// Blanks behind a field make up for separators in the format.
			r.skip = 0
			for r.s != "" && isBlank(r.s[0]) {
				r.s = r.s[1:]
				r.skip++
			}
		}
	}
	return r.result()
}

func (r *reading) blanks() {
	for r.s != "" && isBlank(r.s[0]) {
		r.s = r.s[1:]
		r.skip++
	}
}

func isSeparator(c byte) bool {
	return c > 0x20 && c < 0x7f && !isLetter(c) && (c < '0' || c > '9')
}

// literal matches a character of the format. A separator may be missing in the
// text; any other character takes one of the text's.
func (r *reading) literal(n dateNode, fixed bool) {
	sep := !n.quoted && len(n.text) == 1 && (isBlank(n.text[0]) || isSeparator(n.text[0]))
	switch {
	case sep && !fixed:
		r.skip--
		if r.s != "" && (isBlank(r.s[0]) || isSeparator(r.s[0])) {
			r.s = r.s[1:]
			r.skip++
		}
	case !fixed && r.skip > 0:
		r.skip--
	case r.s != "":
		_, w := utf8.DecodeRuneInString(r.s)
		r.s = r.s[w:]
	}
}

// openEnded tells whether the digits of field k may go on past its width: what
// follows is no digit.
func (f *DateFormat) openEnded(k int) bool {
	if f.nodes[k].fill || k+1 == len(f.nodes) {
		return true
	}
	next := f.nodes[k+1]
	if next.key == keyLiteral {
		return next.text[0] < '0' || next.text[0] > '9'
	}
	return !next.isDigits()
}

// number reads the digits of a field of at most width.
func (r *reading) number(n dateNode, width int, open bool) (x, used int, err error) {
	s := strings.TrimLeft(r.s, " \t\n\r")
	start := s
	if !open && len(s) > width {
		start = s[:width]
	}
	if !open && len(s) < width {
		return 0, 0, sqlerr.New(sqlerr.InvalidDatetimeFormat, "source string too short for \"%s\" formatting field", n.text).
			WithDetail("Field requires %d characters, but only %d remain.", width, len(s)).
			WithHint("If your source string is not fixed-width, try using the \"FM\" modifier.")
	}
	i, neg := 0, false
	if i < len(start) && (start[i] == '-' || start[i] == '+') {
		neg = start[i] == '-'
		i++
	}
	first := i
	v := int64(0)
	for i < len(start) && start[i] >= '0' && start[i] <= '9' {
		if v = v*10 + int64(start[i]-'0'); v > math.MaxInt32 {
			return 0, 0, sqlerr.New(sqlerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", n.text)
		}
		i++
	}
	if i == first || !open && i < width {
		return 0, 0, sqlerr.New(sqlerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"",
			start[:min(len(start), width)], n.text).WithDetail("Value must be an integer.")
	}
	r.s = s[i:]
	if neg {
		v = -v
	}
	return int(v), i, nil
}

// word reads one of several names, in any letter case; all longer ones come
// before those that begin them.
func (r *reading) word(n dateNode, names []string) (int, error) {
	for i, w := range names {
		if len(r.s) >= len(w) && strings.EqualFold(r.s[:len(w)], w) {
			r.s = r.s[len(w):]
			return i, nil
		}
	}
	end := strings.IndexAny(r.s, " \t\n\r")
	if end < 0 {
		end = len(r.s)
	}
	return 0, sqlerr.New(sqlerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"", r.s[:end], n.text).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

func short(names []string) []string {
	out := make([]string, len(names))
	for i, s := range names {
		out[i] = s[:3]
	}
	return out
}

func (r *reading) field(n dateNode, open bool) error {
	switch n.key {
	case keyAM, keyAMDots:
		i, err := r.word(n, []string{"a.m.", "p.m.", "am", "pm"})
		r.pm, r.half = i&1 == 1, true
		return err
	case keyAD, keyADDots:
		i, err := r.word(n, []string{"a.d.", "b.c.", "ad", "bc"})
		r.bc = i&1 == 1
		return err
	case keyMonth:
		i, err := r.word(n, monthNames[:])
		return r.put(keyMM, i+1, err)
	case keyMon:
		i, err := r.word(n, short(monthNames[:]))
		return r.put(keyMM, i+1, err)
	case keyDay:
		i, err := r.word(n, dayNames[:])
		return r.put(keyD, i+1, err)
	case keyDy:
		i, err := r.word(n, short(dayNames[:]))
		return r.put(keyD, i+1, err)
	case keyRM:
		order := []string{"VIII", "XII", "VII", "III", "XI", "VI", "IX", "IV", "II", "X", "V", "I"}
		month := []int{8, 12, 7, 3, 11, 6, 9, 4, 2, 10, 5, 1}
		i, err := r.word(n, order)
		return r.put(keyMM, month[i], err)
	case keyTZ, keyOF:
		return sqlerr.Unsupported("formatting field \"%s\" is only supported in to_char", n.text)
	case keyTZH:
		r.tz = 1
		if r.s != "" && (r.s[0] == '+' || r.s[0] == '-' || r.s[0] == ' ') {
			if r.s[0] == '-' {
				r.tz = -1
			}
			r.s = r.s[1:]
		} else if r.skip > 0 && len(r.src) > len(r.s) && r.src[len(r.src)-len(r.s)-1] == '-' {
			r.tz = -1 // the format took the sign for a separator
		}
		x, _, err := r.number(n, 2, open)
		return r.put(keyTZH, x, err)
	}
	return r.digitField(n, open)
}

func (r *reading) put(key dateKey, x int, err error) error {
	if err != nil {
		return err
	}
	if r.set[key] && r.vals[key] != x {
		return sqlerr.New(sqlerr.InvalidDatetimeFormat, "conflicting values for \"%s\" field in formatting string", r.src).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	r.vals[key], r.set[key] = x, true
	return nil
}

// fieldWidth is how many digits a field has where digits follow it.
var fieldWidth = map[dateKey]int{keyCC: 2, keyDDD: 3, keyDD: 2, keyD: 1, keyHH24: 2, keyHH12: 2, keyIDDD: 3, keyID: 1,
	keyIW: 2, keyIYYY: 4, keyIYY: 3, keyIY: 2, keyI: 1, keyJ: 10, keyMI: 2, keyMM: 2, keyMS: 3, keyQ: 1, keySSSS: 5,
	keySS: 2, keyTZM: 2, keyUS: 6, keyWW: 2, keyW: 1, keyYYYY: 4, keyYYY: 3, keyYY: 2, keyY: 1}

func (r *reading) digitField(n dateNode, open bool) error {
	if n.key == keyYCommaYYY {
		return r.commaYear(n)
	}
	width := fieldWidth[n.key]
	if n.key == keyFF {
		width = n.n
	}
	if n.key == keySSSS {
		width = len(n.text)
	}
	x, used, err := r.number(n, width, open)
	if err != nil {
		return err
	}
	switch n.key {
	case keyMS:
		for ; used < 3; used++ {
			x *= 10
		}
	case keyUS, keyFF:
		for ; used < 6; used++ {
			x *= 10
		}
		r.us += x
		return nil
	case keyQ:
		return nil // a quarter alone says nothing
	case keyHH12:
		r.half = true
		return r.put(keyHH24, x, nil)
	case keyYYYY, keyYYY, keyYY, keyY, keyIYYY, keyIYY, keyIY, keyI:
		r.digits = len(strings.Trim(strings.ToUpper(n.text), "I"))
		if n.key == keyIYYY || n.key == keyIYY || n.key == keyIY || n.key == keyI {
			r.digits = len(n.text)
			r.set[keyIYYY] = true
		}
		if r.digits < 4 && used < 4 {
			x = nearYear(x)
		}
		if r.set[keyYYYY] && r.year != x {
			return r.put(keyYYYY, x, nil)
		}
		r.year, r.set[keyYYYY], r.vals[keyYYYY] = x, true, x
		return nil
	}
	return r.put(n.key, x, nil)
}

// nearYear completes a year of less than four digits to one near 2020.
func nearYear(y int) int {
	switch {
	case y < 70:
		return y + 2000
	case y < 100:
		return y + 1900
	case y < 520:
		return y + 2000
	case y < 1000:
		return y + 1000
	}
	return y
}

func (r *reading) commaYear(n dateNode) error {
	thousands, rest, ok := strings.Cut(r.s, ",")
	if !ok || len(rest) < 3 {
		return sqlerr.New(sqlerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
	}
	hi, lo := 0, 0
	for _, c := range []byte(thousands + rest[:3]) {
		if c < '0' || c > '9' {
			return sqlerr.New(sqlerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
		}
	}
	for _, c := range []byte(thousands) {
		hi = min(hi*10+int(c-'0'), 1000000)
	}
	for _, c := range []byte(rest[:3]) {
		lo = lo*10 + int(c-'0')
	}
	r.s, r.year, r.digits, r.set[keyYYYY] = rest[3:], hi*1000+lo, 4, true
	return nil
}

func (r *reading) outOfRange() error {
	return sqlerr.New(sqlerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", strings.Clone(r.src))
}

func (r *reading) result() (Parsed, error) {
	h, m, s := r.vals[keyHH24], r.vals[keyMI], r.vals[keySS]
	if r.set[keySSSS] {
		x := r.vals[keySSSS]
		h, m, s = x/3600, x/60%60, x%60
	}
	if r.half {
		if h < 1 || h > 12 {
			if r.set[keyHH24] || h != 0 {
				return Parsed{}, sqlerr.New(sqlerr.InvalidDatetimeFormat, "hour \"%d\" is invalid for the 12-hour clock", h).
					WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
			}
		}
		if r.pm && h < 12 {
			h += 12
		} else if !r.pm && h == 12 {
			h = 0
		}
	}
	days, err := r.date()
	if err != nil {
		return Parsed{}, err
	}
	us := int64(r.us) + int64(r.vals[keyMS])*1000
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 || us < 0 || us >= types.MicrosPerSecond {
		return Parsed{}, r.outOfRange()
	}
	p := Parsed{Days: days, Micros: int64(h)*types.MicrosPerHour + int64(m)*types.MicrosPerMinute +
		int64(s)*types.MicrosPerSecond + us}
	if r.tz != 0 {
		if r.vals[keyTZH] > 15 || r.vals[keyTZM] > 59 {
			return Parsed{}, r.outOfRange()
		}
		p.Zoned, p.Off = true, r.tz*(r.vals[keyTZH]*3600+r.vals[keyTZM]*60)
	}
	return p, nil
}

// fullYear joins year, century and BC; astronomical.
func (r *reading) fullYear() int {
	y := r.year
	cc := r.vals[keyCC]
	switch {
	case r.set[keyYYYY] && r.set[keyCC] && r.digits <= 2:
		if r.bc {
			cc = -cc
		}
		y %= 100
		if cc >= 0 {
			if y > 0 {
				y += (cc - 1) * 100
			} else {
				y = (cc-1)*100 + 100
			}
		} else if y = (cc+1)*100 - y + 1; y == 0 {
			y = 1
		}
	case r.set[keyYYYY]:
		if r.bc && y > 0 {
			return 1 - y
		}
		if y < 0 { // a negative year is BC
			return y + 1
		}
	case r.set[keyCC]:
		if r.bc {
			cc = -cc
		}
		if cc >= 0 {
			return (cc-1)*100 + 1
		}
		return cc*100 + 1
	}
	return y
}

// has tells whether a field was given; 0 counts as not given.
func (r *reading) has(key dateKey) bool { return r.set[key] && r.vals[key] != 0 }

func (r *reading) date() (int64, error) {
	y := r.fullYear()
	if r.has(keyJ) {
		return int64(r.vals[keyJ]) - 2440588, nil
	}
	month, day := 1, 1
	if r.has(keyMM) {
		month = r.vals[keyMM]
	}
	switch {
	case r.has(keyIW):
		monday := types.Days(y, 1, 4)
		monday -= ((monday+3)%7 + 7) % 7
		d := int64(1)
		if r.has(keyID) {
			d = int64(r.vals[keyID])
		} else if r.has(keyD) {
			d = int64((r.vals[keyD]+5)%7) + 1
		}
		return monday + int64(r.vals[keyIW]-1)*7 + d - 1, nil
	case r.has(keyIDDD):
		monday := types.Days(y, 1, 4)
		monday -= ((monday+3)%7 + 7) % 7
		return monday + int64(r.vals[keyIDDD]) - 1, nil
	case r.has(keyWW) && !r.has(keyDDD):
		return types.Days(y, 1, 1) + int64(r.vals[keyWW]-1)*7, nil
	case r.has(keyDD):
		day = r.vals[keyDD]
	case r.has(keyW):
		day = (r.vals[keyW]-1)*7 + 1
	}
	if r.has(keyDDD) && !(r.has(keyMM) && r.has(keyDD)) {
		d := r.vals[keyDDD]
		limit := 365
		if types.IsLeap(y) {
			limit = 366
		}
		if !r.set[keyYYYY] {
			return 0, sqlerr.New(sqlerr.InvalidDatetimeFormat, "cannot calculate day of year without year information")
		}
		if d < 1 || d > limit {
			return 0, r.outOfRange()
		}
		return types.Days(y, 1, 1) + int64(d) - 1, nil
	}
	if month < 1 || month > 12 || day < 1 || day > types.DaysIn(y, month) || y > 5874897 || y < -4713 {
		return 0, r.outOfRange()
	}
	return types.Days(y, month, day), nil
}

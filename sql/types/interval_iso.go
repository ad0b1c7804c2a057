package types

import (
	"math"
	"strconv"
)

// isoSpan reads an interval in a form of ISO 8601.
type isoSpan struct {
	*span
	s string
}

// iso reads P1Y2M3DT4H5M6S, P0001-02-03T04:05:06 and P00010203T040506.
func (p *span) iso(s string) parseFault {
	if len(s) < 2 || s[0] != 'P' {
		return faultFormat
	}
	r := isoSpan{p, s[1:]}
	inDate, seen := true, false
	for r.s != "" {
		if r.s[0] == 'T' {
			inDate, seen = false, false
			r.s = r.s[1:]
			continue
		}
		width := intWidth(r.s)
		val, frac, f := r.number()
		if f != faultNone {
			return f
		}
		unit := byte(0)
		if r.s != "" {
			unit = r.s[0]
			r.s = r.s[1:]
		}
		var done bool
		if inDate {
			done, f = r.datePart(unit, val, frac, width, seen)
		} else {
			done, f = r.timePart(unit, val, frac, width, seen)
		}
		if f != faultNone || done {
			return f
		}
		if unit == 'T' || unit == '-' {
			inDate, seen = false, false
			continue
		}
		seen = true
	}
	return faultNone
}

func intWidth(s string) int {
	n := 0
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// number reads a number and splits it at the point.
func (r *isoSpan) number() (val int64, frac float64, f parseFault) {
	i := 0
	if c := r.s; c == "" || !isDigit(c[0]) && c[0] != '-' && c[0] != '.' {
		return 0, 0, faultFormat
	}
	if r.s[0] == '-' {
		i++
	}
	for i < len(r.s) && (isDigit(r.s[i]) || r.s[i] == '.') {
		i++
	}
	if i+1 < len(r.s) && r.s[i]|0x20 == 'e' { // what strtod takes too
		j := i + 1
		if r.s[j] == '-' || r.s[j] == '+' {
			j++
		}
		for j < len(r.s) && isDigit(r.s[j]) {
			j++
			i = j
		}
	}
	x, err := strconv.ParseFloat(r.s[:i], 64)
	if err != nil {
		return 0, 0, faultFormat
	}
	if x < -1e15 || x > 1e15 {
		return 0, 0, faultField
	}
	whole := math.Trunc(x)
	r.s = r.s[i:]
	return int64(whole), x - whole, faultNone
}

func fit(ok bool) parseFault {
	if ok {
		return faultNone
	}
	return faultField
}

// datePart takes a number before the T; done ends the whole.
func (r *isoSpan) datePart(unit byte, val int64, frac float64, width int, seen bool) (done bool, f parseFault) {
	switch unit {
	case 'Y':
		return false, fit(r.addYears(val, 1) && r.fracYears(frac, 1))
	case 'M':
		return false, fit(addTo32(&r.months, val) && r.fracDays(frac, 30))
	case 'W':
		return false, fit(r.addDays(val, 7) && r.fracDays(frac, 7))
	case 'D':
		return false, fit(r.addDays(val, 1) && r.fracMicros(frac, MicrosPerDay))
	case 'T', 0:
		if width == 8 && !seen {
			ok := r.addYears(val/10000, 1) && addTo32(&r.months, val/100%100) && r.addDays(val%100, 1) &&
				r.fracMicros(frac, MicrosPerDay)
			return unit == 0, fit(ok)
		}
	case '-':
	default:
		return false, faultFormat
	}
	if seen {
		return false, faultFormat
	}
	if !r.addYears(val, 1) || !r.fracYears(frac, 1) {
		return false, faultField
	}
	if unit != '-' {
		return unit == 0, faultNone
	}
	val, frac, f = r.number()
	if f != faultNone {
		return false, f
	}
	if !addTo32(&r.months, val) || !r.fracDays(frac, 30) {
		return false, faultField
	}
	if done, ok := r.endOrT(); done || ok {
		return done, faultNone
	}
	if r.s[0] != '-' {
		return false, faultFormat
	}
	r.s = r.s[1:]
	val, frac, f = r.number()
	if f != faultNone {
		return false, f
	}
	if !r.addDays(val, 1) || !r.fracMicros(frac, MicrosPerDay) {
		return false, faultField
	}
	if done, ok := r.endOrT(); done || ok {
		return done, faultNone
	}
	return false, faultFormat
}

// endOrT tells whether the text ends here, or takes a T.
func (r *isoSpan) endOrT() (end, t bool) {
	if r.s == "" {
		return true, false
	}
	if r.s[0] == 'T' {
		r.s = r.s[1:]
		return false, true
	}
	return false, false
}

// timePart takes a number behind the T.
func (r *isoSpan) timePart(unit byte, val int64, frac float64, width int, seen bool) (done bool, f parseFault) {
	switch unit {
	case 'H':
		return false, fit(r.micros(val, frac, MicrosPerHour))
	case 'M':
		return false, fit(r.micros(val, frac, MicrosPerMinute))
	case 'S':
		return false, fit(r.micros(val, frac, MicrosPerSecond))
	case 0:
		if width == 6 && !seen {
			ok := r.micros(val/10000, 0, MicrosPerHour) && r.micros(val/100%100, 0, MicrosPerMinute) &&
				r.micros(val%100, frac, MicrosPerSecond)
			return true, fit(ok)
		}
	case ':':
	default:
		return false, faultFormat
	}
	if seen {
		return false, faultFormat
	}
	if !r.micros(val, frac, MicrosPerHour) {
		return false, faultField
	}
	if unit == 0 {
		return true, faultNone
	}
	for i, u := range [...]int64{MicrosPerMinute, MicrosPerSecond} {
		val, frac, f = r.number()
		if f != faultNone {
			return false, f
		}
		if !r.micros(val, frac, u) {
			return false, faultField
		}
		if r.s == "" {
			return true, faultNone
		}
		if i == 1 || r.s[0] != ':' {
			break
		}
		r.s = r.s[1:]
	}
	return false, faultFormat
}

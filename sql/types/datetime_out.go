package types

import (
	"strconv"
)

// append2 appends a number of two digits.
func append2(dst []byte, x int) []byte {
	return append(dst, byte('0'+x/10%10), byte('0'+x%10))
}

// appendYear appends a year of at least four digits and tells whether it is BC.
func appendYear(dst []byte, year int) (_ []byte, bc bool) {
	if year <= 0 {
		year, bc = 1-year, true
	}
	if year < 10000 {
		dst = append2(dst, year/100)
		return append2(dst, year%100), bc
	}
	return strconv.AppendInt(dst, int64(year), 10), bc
}

func appendCivil(dst []byte, days int64) (_ []byte, bc bool) {
	y, m, d := Civil(days)
	dst, bc = appendYear(dst, y)
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d), bc
}

// AppendDate appends a date in ISO form, with BC behind it for years before 1.
func AppendDate(dst []byte, days int32) []byte {
	switch days {
	case PosInfDate:
		return append(dst, "infinity"...)
	case NegInfDate:
		return append(dst, "-infinity"...)
	}
	dst, bc := appendCivil(dst, int64(days))
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTime appends a time of day, up to 24:00:00.
func AppendTime(dst []byte, us int64) []byte {
	s := int(us / MicrosPerSecond)
	dst = append2(dst, s/3600)
	dst = append2(append(dst, ':'), s/60%60)
	dst = append2(append(dst, ':'), s%60)
	return appendFraction(dst, int(us%MicrosPerSecond))
}

// appendFraction appends the microseconds of a second without trailing zeros.
func appendFraction(dst []byte, us int) []byte {
	if us == 0 {
		return dst
	}
	n := len(dst) + 7
	dst = append(dst, '.', 0, 0, 0, 0, 0, 0)
	for i := n - 1; i > n-7; i-- {
		dst[i] = byte('0' + us%10)
		us /= 10
	}
	for dst[n-1] == '0' {
		n--
	}
	return dst[:n]
}

func appendInfTime(dst []byte, us int64) []byte {
	if us == PosInfTime {
		return append(dst, "infinity"...)
	}
	return append(dst, "-infinity"...)
}

// AppendTimestamp appends a timestamp in ISO form.
func AppendTimestamp(dst []byte, us int64) []byte {
	if !IsFiniteTime(us) {
		return appendInfTime(dst, us)
	}
	days, t := SplitTime(us)
	dst, bc := appendCivil(dst, days)
	dst = AppendTime(append(dst, ' '), t)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTimestamptz appends a moment in ISO form as the clock of env's time zone
// shows it, with the offset behind it.
func AppendTimestamptz(dst []byte, us int64, env *Env) []byte {
	if !IsFiniteTime(us) {
		return appendInfTime(dst, us)
	}
	off := 0
	if loc := env.zone(); loc != nil {
		off = OffsetAt(us, loc)
	}
	// Days and time apart: the sum may pass the end of 64 bits.
	days, t := SplitTime(us)
	t += int64(off) * MicrosPerSecond
	if t < 0 {
		days, t = days-1, t+MicrosPerDay
	} else if t >= MicrosPerDay {
		days, t = days+1, t-MicrosPerDay
	}
	dst, bc := appendCivil(dst, days)
	dst = AppendTime(append(dst, ' '), t)
	dst = appendOffset(dst, off)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendOffset appends +hh, +hh:mm or +hh:mm:ss.
func appendOffset(dst []byte, off int) []byte {
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = append2(append(dst, sign), off/3600)
	if off%3600 != 0 {
		dst = append2(append(dst, ':'), off/60%60)
	}
	if off%60 != 0 {
		dst = append2(append(dst, ':'), off%60)
	}
	return dst
}

package format

import (
	"math"

	"github.com/streamsql/streamsql/internal/decimal"
)

// dateCache remembers the last date read: times in a stream are close together.
type dateCache struct {
	text [10]byte
	day  int64 // since 1970-01-01
}

// parse reads YYYY-MM-DD or YYYY/MM/DD, years 0001 to 9999, at the front of b,
// which has at least ten bytes.
func (c *dateCache) parse(b []byte) (day int64, ok bool) {
	if string(b[:10]) == string(c.text[:]) {
		return c.day, true
	}
	y1, ok1 := two(b, 0)
	y2, ok2 := two(b, 2)
	m, ok3 := two(b, 5)
	d, ok4 := two(b, 8)
	y := y1*100 + y2
	if !(ok1 && ok2 && ok3 && ok4) || b[4] != b[7] || b[4] != '-' && b[4] != '/' ||
		y == 0 || m < 1 || m > 12 || d < 1 || d > monthDays(y, m) {
		return 0, false
	}
	copy(c.text[:], b)
	c.day = civilDay(y, m, d)
	return c.day, true
}

func two(b []byte, i int) (n int, ok bool) {
	hi, lo := b[i]-'0', b[i+1]-'0'
	return int(hi)*10 + int(lo), hi <= 9 && lo <= 9
}

func monthDays(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDay returns the days from 1970-01-01 in the Gregorian calendar.
func civilDay(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return int64(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 719469)
}

const dayMicros = 86_400_000_000

// parseTime reads YYYY-MM-DD HH:MM[:SS[.ffffff]] with a blank or a T in the
// middle. rest is the index of what follows, the zone; 0: it is not of this form.
func (c *dateCache) parseTime(b []byte) (us int64, rest int) {
	if len(b) < 16 || b[10] != ' ' && b[10] != 'T' || b[13] != ':' {
		return 0, 0
	}
	day, ok := c.parse(b)
	h, ok1 := two(b, 11)
	m, ok2 := two(b, 14)
	if !(ok && ok1 && ok2) || h > 23 || m > 59 {
		return 0, 0
	}
	us = day*dayMicros + int64(h*60+m)*60_000_000
	if len(b) == 16 || b[16] != ':' {
		return us, 16
	}
	if len(b) < 19 {
		return 0, 0
	}
	s, ok := two(b, 17)
	if !ok || s > 59 {
		return 0, 0
	}
	us += int64(s) * 1_000_000
	if len(b) == 19 || b[19] != '.' {
		return us, 19
	}
	i, unit := 20, int64(100_000)
	for i < len(b) && b[i]-'0' <= 9 {
		us += int64(b[i]-'0') * unit
		unit /= 10
		i++
	}
	if i == 20 || i > 26 {
		return 0, 0 // more than microseconds are rounded by the exact path
	}
	return us, i
}

// utc tells whether a zone's text is that of UTC.
func utc(zone []byte) bool {
	switch string(zone) {
	case "Z", "+00", "+00:00", "+0000":
		return true
	}
	return false
}

// epochMicros reads a decimal number of units of 10^-digits seconds as
// microseconds, rounded half away from zero.
func epochMicros(b []byte, digits int) (int64, bool) {
	x, err := decimal.ParseBytes(b)
	if err != nil {
		return 0, false
	}
	x, err = x.Mul(decimal.New(int64(math.Pow10(6-digits)), 0))
	if err != nil {
		return 0, false
	}
	if x, err = x.Round(0); err != nil {
		return 0, false
	}
	us, ok := x.ToInt64()
	return us, ok && us >= minTimestamp && us < math.MaxInt64
}

// minTimestamp is 4713-11-24 BC, PostgreSQL's first timestamp, in microseconds.
const minTimestamp = -210_866_803_200_000_000

package scalar

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// clock is a time taken apart for to_char.
type clock struct {
	interval bool
	year     int // astronomical; of an interval: years
	month    int
	day      int
	days     int64 // since 1970-01-01
	hour     int64
	min, sec int64
	micros   int64
	// zone is the name of the time zone and off its seconds east; ok tells whether
	// there is one.
	zoned bool
	zone  string
	off   int
}

// AppendDateTime is to_char of a wall-clock time. zone and off describe its time
// zone where zoned is set.
func (f *DateFormat) AppendDateTime(dst []byte, local int64, zoned bool, zone string, off int) ([]byte, error) {
	days, t := types.SplitTime(local)
	y, m, d := types.Civil(days)
	c := clock{year: y, month: m, day: d, days: days, hour: t / types.MicrosPerHour,
		min: t / types.MicrosPerMinute % 60, sec: t / types.MicrosPerSecond % 60, micros: t % types.MicrosPerSecond,
		zoned: zoned, zone: zone, off: off}
	return f.append(dst, &c)
}

// AppendInterval is to_char of an interval.
func (f *DateFormat) AppendInterval(dst []byte, iv arrowbatch.IntervalValue) ([]byte, error) {
	t := iv.Micros
	c := clock{interval: true, year: int(iv.Months / 12), month: int(iv.Months % 12), day: int(iv.Days),
		hour: t / types.MicrosPerHour, min: t / types.MicrosPerMinute % 60, sec: t / types.MicrosPerSecond % 60,
		micros: t % types.MicrosPerSecond}
	return f.append(dst, &c)
}

func (f *DateFormat) append(dst []byte, c *clock) ([]byte, error) {
	for _, n := range f.nodes {
		if n.key == keyLiteral {
			dst = append(dst, n.text...)
			continue
		}
		s, number, err := c.field(n)
		if err != nil {
			return dst, err
		}
		dst = append(dst, s...)
		if n.th != "" && number {
			dst = append(dst, ordinal(s, n.th)...)
		}
	}
	return dst, nil
}

// pad writes x with zeros to width, one more for the sign; FM needs none.
func pad(n dateNode, x int64, width int) string {
	s := strconv.FormatInt(x, 10)
	if n.fill {
		return s
	}
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	if neg {
		return "-" + s
	}
	return s
}

func padName(n dateNode, s string, width int) string {
	s = inCase(s, n.cas)
	if !n.fill && len(s) < width {
		s += strings.Repeat(" ", width-len(s))
	}
	return s
}

var errIntervalFormat = sqlerr.New(sqlerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
	WithHint("Intervals are not tied to specific calendar dates.")

// field writes one field; number tells whether it is made of digits.
func (c *clock) field(n dateNode) (s string, number bool, err error) {
	if s, ok := c.timeField(n); ok {
		return s, n.isDigits(), nil
	}
	if c.interval {
		switch n.key {
		case keyAD, keyADDots, keyMonth, keyMon, keyDay, keyDy, keyDDD, keyIDDD, keyD, keyID, keyIW, keyIYYY, keyIYY,
			keyIY, keyI, keyTZ, keyTZH, keyTZM, keyOF:
			if n.key != keyDDD {
				return "", false, errIntervalFormat
			}
		}
	}
	if s, ok := c.nameField(n); ok {
		return s, false, nil
	}
	return c.dateField(n), true, nil
}

// timeField writes the fields of the time of day.
func (c *clock) timeField(n dateNode) (string, bool) {
	switch n.key {
	case keyAM, keyAMDots:
		s := "AM"
		if h := c.hour % 24; h >= 12 {
			s = "PM"
		}
		if n.key == keyAMDots {
			s = s[:1] + ".M."
		}
		return inCase(s, n.cas), true
	case keyHH12:
		h := c.hour % 12
		if h == 0 {
			h = 12
		}
		return pad(n, h, 2), true
	case keyHH24:
		return pad(n, c.hour, 2), true
	case keyMI:
		return pad(n, c.min, 2), true
	case keySS:
		return pad(n, c.sec, 2), true
	case keyMS:
		return zeros(c.micros/1000, 3), true
	case keyUS:
		return zeros(c.micros, 6), true
	case keyFF:
		x := c.micros
		for range 6 - n.n {
			x /= 10
		}
		return zeros(x, n.n), true
	case keySSSS:
		return strconv.FormatInt(c.hour*3600+c.min*60+c.sec, 10), true
	}
	return "", false
}

func zeros(x int64, width int) string { return pad(dateNode{}, x, width) }

// nameField writes the fields that are words or describe the zone.
func (c *clock) nameField(n dateNode) (string, bool) {
	switch n.key {
	case keyAD, keyADDots:
		s := "AD"
		if c.year <= 0 {
			s = "BC"
		}
		if n.key == keyADDots {
			s = s[:1] + "." + s[1:] + "."
		}
		return inCase(s, n.cas), true
	case keyMonth:
		return padName(n, monthNames[c.month-1], 9), true
	case keyMon:
		return inCase(monthNames[c.month-1][:3], n.cas), true
	case keyDay:
		return padName(n, dayNames[c.dow()], 9), true
	case keyDy:
		return inCase(dayNames[c.dow()][:3], n.cas), true
	case keyRM:
		if c.month == 0 && c.year == 0 {
			return "", true
		}
		m := (c.month + 11) % 12
		return padName(n, romanMonths[m], 4), true
	case keyTZ:
		if !c.zoned {
			return "", true
		}
		return inCase(c.zone, n.cas), true
	case keyTZH:
		return sign(c.off) + zeros(int64(abs(c.off)/3600), 2), true
	case keyTZM:
		return zeros(int64(abs(c.off)/60%60), 2), true
	case keyOF:
		s := sign(c.off) + pad(n, int64(abs(c.off)/3600), 2)
		if m := abs(c.off) / 60 % 60; m != 0 {
			s += ":" + zeros(int64(m), 2)
		}
		return s, true
	}
	return "", false
}

func abs(x int) int { return max(x, -x) }

func sign(off int) string {
	if off < 0 {
		return "-"
	}
	return "+"
}

func (c *clock) dow() int64 { return ((c.days+4)%7 + 7) % 7 }

func (c *clock) yday() int64 {
	if c.interval {
		return int64(c.year*12+c.month)*30 + int64(c.day)
	}
	return c.days - types.Days(c.year, 1, 1) + 1
}

// isoWeek returns the year and week of ISO 8601 and the day in that year.
func (c *clock) isoWeek() (year int, week, day int64) {
	dow := (c.dow() + 6) % 7 // Monday 0
	thursday := c.days - dow + 3
	year, _, _ = types.Civil(thursday)
	week = (thursday-types.Days(year, 1, 1))/7 + 1
	return year, week, (week-1)*7 + dow + 1
}

// shownYear has no year 0: 1 BC is 1.
func (c *clock) shownYear(y int) int64 {
	if c.interval || y > 0 {
		return int64(y)
	}
	return int64(1 - y)
}

func (c *clock) dateField(n dateNode) string {
	y := c.shownYear(c.year)
	switch n.key {
	case keyCC:
		cc := int64(c.year) / 100
		if !c.interval {
			if c.year > 0 {
				cc = int64(c.year-1)/100 + 1
			} else {
				cc = int64(c.year)/100 - 1
			}
		}
		return pad(n, cc, 2)
	case keyDDD:
		return pad(n, c.yday(), 3)
	case keyIDDD:
		_, _, d := c.isoWeek()
		return pad(n, d, 3)
	case keyDD:
		return pad(n, int64(c.day), 2)
	case keyD:
		return strconv.FormatInt(c.dow()+1, 10)
	case keyID:
		return strconv.FormatInt((c.dow()+6)%7+1, 10)
	case keyWW:
		return pad(n, (c.yday()-1)/7+1, 2)
	case keyIW:
		_, w, _ := c.isoWeek()
		return pad(n, w, 2)
	case keyW:
		return strconv.FormatInt(int64(c.day-1)/7+1, 10)
	case keyQ:
		if c.month == 0 {
			return ""
		}
		return strconv.FormatInt(int64(c.month-1)/3+1, 10)
	case keyJ:
		return strconv.FormatInt(c.days+2440588, 10)
	case keyMM:
		return pad(n, int64(c.month), 2)
	case keyYCommaYYY:
		return strconv.FormatInt(y/1000, 10) + "," + zeros(y%1000, 3)
	case keyYYYY:
		return pad(n, y, 4)
	case keyYYY:
		return pad(n, y%1000, 3)
	case keyYY:
		return pad(n, y%100, 2)
	case keyY:
		return pad(n, y%10, 1)
	}
	iso, _, _ := c.isoWeek()
	y = c.shownYear(iso)
	switch n.key {
	case keyIYYY:
		return pad(n, y, 4)
	case keyIYY:
		return pad(n, y%1000, 3)
	case keyIY:
		return pad(n, y%100, 2)
	}
	return pad(n, y%10, 1)
}

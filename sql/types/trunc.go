package types

import (
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// badUnit is PostgreSQL's error for a unit that a function does not take.
func badUnit(name string, known bool, t Type) error {
	code, what := sqlerr.InvalidParameterValue, "recognized"
	if known {
		code, what = sqlerr.FeatureNotSupported, "supported"
	}
	return sqlerr.New(code, `unit "%s" not %s for type %s`, name, what, t)
}

// TruncUnit returns the unit of a date_trunc on t; 22023 for an unknown name,
// 0A000 for a unit that date_trunc does not take.
func TruncUnit(name string, t Type) (Unit, error) {
	u, ok := unitWords[cutToken(lowerName(name))]
	if !ok {
		return NoUnit, badUnit(lowerName(name), false, t)
	}
	if u > Millennium || u == Week && t.ID == Interval {
		e := badUnit(lowerName(name), true, t)
		if u == Week {
			e.(*sqlerr.Error).Detail = "Months usually have fractional weeks."
		}
		return NoUnit, e
	}
	return u, nil
}

func lowerName(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

// subDay holds the length in microseconds of the units below a day.
var subDay = [...]int64{Microsecond: 1, Millisecond: 1000, Second: MicrosPerSecond,
	Minute: MicrosPerMinute, Hour: MicrosPerHour}

// DateTrunc cuts a time to a unit from Microsecond to Millennium. With loc not
// nil, us is a moment and the cut is made on the clock of that zone: units of a
// day and more get the offset in force at their own start, smaller ones keep the
// offset of the moment, so that the two hours of one name in autumn stay two.
func DateTrunc(u Unit, us int64, loc *time.Location) (int64, error) {
	if !IsFiniteTime(us) {
		return us, nil
	}
	if u <= Hour {
		off := int64(OffsetAt(us, loc)) * MicrosPerSecond
		local := us + off
		return local - floorMod(local, subDay[u]) - off, nil
	}
	local := ToLocal(us, loc)
	days := floorDiv(local, MicrosPerDay)
	if u != Day {
		days = truncDays(u, days)
	}
	if days < int64(MinDate) {
		return 0, timestampRange()
	}
	us = FromLocal(days*MicrosPerDay, loc)
	if !inTimeRange(us) {
		return 0, timestampRange()
	}
	return us, nil
}

// truncDays cuts a day to a unit above it.
func truncDays(u Unit, days int64) int64 {
	if u == Week {
		return days - floorMod(days+3, 7) // 1970-01-01 was a Thursday
	}
	y, m, _ := Civil(days)
	switch u {
	case Month:
	case Quarter:
		m -= (m - 1) % 3
	case Year:
		m = 1
	case Decade:
		y, m = int(floorDiv(int64(y), 10))*10, 1
	case Century:
		y, m = truncEra(y, 100), 1
	case Millennium:
		y, m = truncEra(y, 1000), 1
	}
	return Days(y, m, 1)
}

// truncEra returns the first year of a century or millennium: 2001, 1901.
func truncEra(y, n int) int {
	if y > 0 {
		return (y+n-1)/n*n - n + 1
	}
	return -((n-1-(y-1))/n)*n + 1
}

func floorMod(a, b int64) int64 {
	if m := a % b; m >= 0 {
		return m
	} else {
		return m + b
	}
}

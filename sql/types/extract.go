package types

import (
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
)

// ExtractUnit returns the unit of an extract from t; 22023 for an unknown name,
// 0A000 for a unit that t has not.
func ExtractUnit(name string, t Type) (Unit, error) {
	u, ok := ParseUnit(name)
	if !ok {
		return NoUnit, badUnit(lowerName(name), false, t)
	}
	switch t.ID {
	case Date:
		ok = u >= Day && u <= Epoch
	case Time:
		ok = u <= Hour || u == Epoch
	case Interval:
		ok = u != Week && u <= Millennium || u == Epoch
	case Timestamp:
		ok = u <= Epoch
	}
	if !ok {
		return NoUnit, badUnit(lowerName(name), true, t)
	}
	return u, nil
}

// grows tells whether a unit's value grows with time for ever, so that it is
// infinite at infinity; the others are NULL there.
func grows(u Unit) bool {
	switch u {
	case Year, Decade, Century, Millennium, Julian, ISOYear, Epoch:
		return true
	}
	return false
}

func infinite(u Unit, positive bool) (d decimal.Decimal, null bool) {
	switch {
	case !grows(u):
		return d, true
	case positive:
		return decimal.Inf, false
	}
	return decimal.NegInf, false
}

// ExtractTime returns a part of a timestamp, as a number with the scale that
// PostgreSQL gives it; null is true for the parts that an infinity has not. With
// loc not nil, us is a moment and its parts are those of that zone's clock.
func ExtractTime(u Unit, us int64, loc *time.Location) (d decimal.Decimal, null bool) {
	if !IsFiniteTime(us) {
		return infinite(u, us > 0)
	}
	if u == Epoch {
		return decimal.New(us, 6), false
	}
	off := OffsetAt(us, loc)
	switch u {
	case Timezone:
		return decimal.FromInt64(int64(off)), false
	case TimezoneHour:
		return decimal.FromInt64(int64(off / 3600)), false
	case TimezoneMinute:
		return decimal.FromInt64(int64(off / 60 % 60)), false
	}
	days, t := SplitTime(us)
	t += int64(off) * MicrosPerSecond
	days += floorDiv(t, MicrosPerDay)
	t = floorMod(t, MicrosPerDay)
	if u <= Hour {
		return ExtractClock(u, t), false
	}
	d = decimal.FromInt64(datePart(u, days))
	if u == Julian {
		d = addDayFraction(d, t)
	}
	return d, false
}

// addDayFraction adds the time of day to a Julian day.
func addDayFraction(d decimal.Decimal, us int64) decimal.Decimal {
	frac, err := decimal.FromInt64(us).Div(decimal.FromInt64(MicrosPerDay))
	if err != nil {
		return d
	}
	if sum, err := d.Add(frac); err == nil {
		return sum
	}
	// The fraction of a few microseconds has many digits: what fits is enough.
	frac, _ = frac.Round(decimal.MaxDigits - 10)
	sum, _ := d.Add(frac)
	return sum
}

// ExtractDate returns a part of a date.
func ExtractDate(u Unit, days int32) (d decimal.Decimal, null bool) {
	if !IsFiniteDate(days) {
		return infinite(u, days > 0)
	}
	if u == Epoch {
		return decimal.FromInt64(int64(days) * 86400), false
	}
	return decimal.FromInt64(datePart(u, int64(days))), false
}

// ExtractClock returns a part of a time of day: Microsecond to Hour, or Epoch.
func ExtractClock(u Unit, us int64) decimal.Decimal {
	switch u {
	case Microsecond:
		return decimal.FromInt64(us % MicrosPerMinute)
	case Millisecond:
		return decimal.New(us%MicrosPerMinute, 3)
	case Second:
		return decimal.New(us%MicrosPerMinute, 6)
	case Minute:
		return decimal.FromInt64(us / MicrosPerMinute % 60)
	case Hour:
		return decimal.FromInt64(us / MicrosPerHour)
	}
	return decimal.New(us, 6)
}

// datePart returns a part of a day that is a whole number.
func datePart(u Unit, days int64) int64 {
	switch u {
	case Dow:
		return floorMod(days+4, 7)
	case ISODow:
		return floorMod(days+3, 7) + 1
	case Julian:
		return days + julianEpoch
	case Week, ISOYear:
		// The week belongs to the year of its Thursday.
		thursday := days - floorMod(days+3, 7) + 3
		y, _, _ := Civil(thursday)
		if u == Week {
			return (thursday-Days(y, 1, 1))/7 + 1
		}
		return eraYear(y)
	}
	y, m, d := Civil(days)
	switch u {
	case Day:
		return int64(d)
	case Month:
		return int64(m)
	case Quarter:
		return int64(m-1)/3 + 1
	case Doy:
		return days - Days(y, 1, 1) + 1
	case Decade:
		return floorDiv(int64(y), 10)
	case Century:
		return era(y, 100)
	case Millennium:
		return era(y, 1000)
	}
	return eraYear(y)
}

// eraYear turns an astronomical year into one of the calendar, which has no year 0.
func eraYear(y int) int64 {
	if y > 0 {
		return int64(y)
	}
	return int64(y) - 1
}

func era(y, n int) int64 {
	if y > 0 {
		return int64((y + n - 1) / n)
	}
	return -int64((n - y) / n)
}

// ExtractInterval returns a part of an interval.
func ExtractInterval(u Unit, iv arrowbatch.IntervalValue) decimal.Decimal {
	years, months := int64(iv.Months/12), int64(iv.Months%12)
	n := int64(0)
	switch u {
	case Microsecond, Millisecond, Second, Minute, Hour:
		return ExtractClock(u, iv.Micros)
	case Day:
		n = int64(iv.Days)
	case Month:
		n = months
	case Quarter:
		n = months/3 + 1
	case Year:
		n = years
	case Decade:
		n = years / 10
	case Century:
		n = years / 100
	case Millennium:
		n = years / 1000
	case Epoch:
		// A year counts 365.25 days here, a month 30.
		days4 := years*1461 + months*120 + int64(iv.Days)*4
		d, err := decimal.New(days4*(86400/4), 0).Round(6)
		if err == nil {
			d, _ = d.Add(decimal.New(iv.Micros, 6))
		}
		return d
	}
	return decimal.FromInt64(n)
}

package types

import (
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// addMonths moves a wall-clock time by months; a day past the end of the month
// becomes its last. Years wrap nothing: the caller checks the range.
func addMonths(us int64, months int32) int64 {
	days, t := SplitTime(us)
	y, m, d := Civil(days)
	n := int64(y)*12 + int64(m) - 1 + int64(months)
	y = int(floorDiv(n, 12))
	m = int(n-int64(y)*12) + 1
	d = min(d, DaysIn(y, m))
	days = Days(y, m, d)
	if days > int64(MaxTime/MicrosPerDay) {
		return PosInfTime
	}
	if days < int64(MinDate) {
		return NegInfTime
	}
	return days*MicrosPerDay + t
}

func addDays(us int64, days int32) int64 {
	n := floorDiv(us, MicrosPerDay) + int64(days)
	if n > MaxTime/MicrosPerDay {
		return PosInfTime
	}
	if n < int64(MinDate) {
		return NegInfTime
	}
	return us + int64(days)*MicrosPerDay
}

func inTimeRange(us int64) bool { return us >= MinTime && us <= MaxTime }

// AddInterval returns the timestamp us moved by iv: months first (a day past
// the month's end becomes its last), then days, then time. With loc not nil, us
// is a moment and months and days move the clock of that zone. Infinities stay;
// 22008 when the result is out of range.
func AddInterval(us int64, iv arrowbatch.IntervalValue, loc *time.Location) (int64, error) {
	if !IsFiniteTime(us) {
		return us, nil
	}
	if iv.Months != 0 {
		us = FromLocal(addMonths(ToLocal(us, loc), iv.Months), loc)
		if !inTimeRange(us) {
			return 0, timestampRange()
		}
	}
	if iv.Days != 0 {
		us = FromLocal(addDays(ToLocal(us, loc), iv.Days), loc)
		if !inTimeRange(us) {
			return 0, timestampRange()
		}
	}
	sum := us + iv.Micros
	if (sum < us) != (iv.Micros < 0) || !inTimeRange(sum) {
		return 0, timestampRange()
	}
	return sum, nil
}

// SubInterval returns the timestamp us moved back by iv; see AddInterval.
func SubInterval(us int64, iv arrowbatch.IntervalValue, loc *time.Location) (int64, error) {
	if !IsFiniteTime(us) {
		return us, nil
	}
	neg, err := NegInterval(iv)
	if err != nil {
		return 0, timestampRange() // such a part alone leads past every time
	}
	return AddInterval(us, neg, loc)
}

// SubTimes returns a-b as days and time, as PostgreSQL's timestamp minus
// timestamp; 22008 for an infinity.
func SubTimes(a, b int64) (arrowbatch.IntervalValue, error) {
	if !IsFiniteTime(a) || !IsFiniteTime(b) {
		return arrowbatch.IntervalValue{}, sqlerr.New(sqlerr.DatetimeFieldOverflow,
			"cannot subtract infinite timestamps")
	}
	d := a - b
	if (d > a) != (b < 0) && b != 0 {
		return arrowbatch.IntervalValue{}, intervalRange()
	}
	return JustifyHours(arrowbatch.IntervalValue{Micros: d})
}

// RoundTime applies the modifier of a time type to a value in microseconds: it
// rounds to the digits after the second that the type has, halves away from zero,
// which for timestamps is the start of the year 2000.
func RoundTime(t Type, us int64) int64 {
	if t.Mod == 0 || !t.IsTimestamp() {
		return RoundMicros(us, int(t.Mod))
	}
	if !IsFiniteTime(us) {
		return us
	}
	return RoundMicros(us-pgEpochMicros, int(t.Mod)) + pgEpochMicros
}

// RoundMicros rounds a time of day or the time of an interval to the digits that
// a modifier asks for (0: all six; -1: none), halves away from zero.
func RoundMicros(us int64, mod int) int64 {
	if mod == 0 || mod >= 6 || !IsFiniteTime(us) {
		return us
	}
	unit := int64(1)
	for range 6 - max(mod, 0) {
		unit *= 10
	}
	half := unit / 2
	if us >= 0 {
		return satAdd(us, half) / unit * unit
	}
	return -(satAdd(-us, half) / unit * unit)
}

func satAdd(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return a
}

package types

import (
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Age returns a-b in years, months, days and time, as PostgreSQL's age(): what
// to add to the earlier of the two. With loc not nil both are moments, compared
// on that zone's clock. 22008 for an infinity.
func Age(a, b int64, loc *time.Location) (arrowbatch.IntervalValue, error) {
	if !IsFiniteTime(a) || !IsFiniteTime(b) {
		return arrowbatch.IntervalValue{}, timestampRange()
	}
	neg := a < b
	a, b = ToLocal(a, loc), ToLocal(b, loc)
	if neg {
		a, b = b, a
	}
	da, ta := SplitTime(a)
	db, tb := SplitTime(b)
	ya, ma, dayA := Civil(da)
	yb, mb, dayB := Civil(db)
	us, days, months := ta-tb, dayA-dayB, (ya-yb)*12+ma-mb
	if us < 0 {
		us += MicrosPerDay
		days--
	}
	if days < 0 {
		// The month that is given back is the earlier one's.
		days += DaysIn(yb, mb)
		months--
	}
	if neg {
		us, days, months = -us, -days, -months
	}
	return arrowbatch.IntervalValue{Months: int32(months), Days: int32(days), Micros: us}, nil
}

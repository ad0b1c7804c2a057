package expr

import (
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// zone returns the session's time zone.
func (c *Ctx) zone() *time.Location {
	if c.Env == nil || c.Env.TimeZone == nil {
		return time.UTC
	}
	return c.Env.TimeZone
}

var (
	errDateForTimestamp = sqlerr.New(sqlerr.DatetimeFieldOverflow, "date out of range for timestamp")
	errTimestampRange   = sqlerr.New(sqlerr.DatetimeFieldOverflow, "timestamp out of range")
	errDateRange        = sqlerr.New(sqlerr.DatetimeFieldOverflow, "date out of range")
	errIntervalRange    = sqlerr.New(sqlerr.DatetimeFieldOverflow, "interval out of range")
)

// dateToMicros returns the midnight that begins a date.
func dateToMicros(d int32) (int64, error) {
	switch d {
	case types.PosInfDate:
		return types.PosInfTime, nil
	case types.NegInfDate:
		return types.NegInfTime, nil
	}
	us := int64(d) * types.MicrosPerDay
	if us/types.MicrosPerDay != int64(d) || !inTimeRange(us) {
		return 0, errDateForTimestamp
	}
	return us, nil
}

func inTimeRange(us int64) bool { return us >= types.MinTime && us <= types.MaxTime }

// microsToDate returns the date of a timestamp.
func microsToDate(us int64) int32 {
	switch us {
	case types.PosInfTime:
		return types.PosInfDate
	case types.NegInfTime:
		return types.NegInfDate
	}
	d, _ := types.SplitTime(us)
	return int32(d)
}

// fromLocal is the moment of a wall clock's time, checked.
func fromLocal(us int64, z *time.Location) (int64, error) {
	if !types.IsFiniteTime(us) {
		return us, nil
	}
	r := types.FromLocal(us, z)
	if !inTimeRange(r) {
		return 0, errTimestampRange
	}
	return r, nil
}

func timeConverter(from, to types.ID) (converter, bool) {
	c, ok := timeConverters[castRule{from, to}]
	return c, ok
}

// setErr writes x unless there is an error.
func (f *frame) setErr(i int, x int64, err error) error {
	f.out.I64[i] = x
	return err
}

var timeConverters = map[castRule]converter{
	{types.Date, types.Timestamp}: {row: func(f *frame, i int) error {
		us, err := dateToMicros(f.i32(0, i))
		return f.setErr(i, us, err)
	}},
	{types.Date, types.Timestamptz}: {vol: Stable, row: func(f *frame, i int) error {
		us, err := dateToMicros(f.i32(0, i))
		if err == nil {
			us, err = fromLocal(us, f.ctx.zone())
		}
		return f.setErr(i, us, err)
	}},
	{types.Timestamp, types.Date}: {row: func(f *frame, i int) error { return f.setI32(i, microsToDate(f.i64(0, i))) }},
	{types.Timestamptz, types.Date}: {vol: Stable, row: func(f *frame, i int) error {
		return f.setI32(i, microsToDate(types.ToLocal(f.i64(0, i), f.ctx.zone())))
	}},
	{types.Timestamp, types.Timestamptz}: {vol: Stable, row: func(f *frame, i int) error {
		us, err := fromLocal(f.i64(0, i), f.ctx.zone())
		return f.setErr(i, us, err)
	}},
	{types.Timestamptz, types.Timestamp}: {vol: Stable, row: func(f *frame, i int) error {
		return f.setI64(i, types.ToLocal(f.i64(0, i), f.ctx.zone()))
	}},
	{types.Timestamp, types.Time}: {row: func(f *frame, i int) error { return timeOfDay(f, i, f.i64(0, i)) }},
	{types.Timestamptz, types.Time}: {vol: Stable, row: func(f *frame, i int) error {
		return timeOfDay(f, i, types.ToLocal(f.i64(0, i), f.ctx.zone()))
	}},
	{types.Time, types.Interval}: {row: func(f *frame, i int) error {
		f.out.Ivl[i] = arrowbatch.IntervalValue{Micros: f.i64(0, i)}
		return nil
	}},
	{types.Interval, types.Time}: {row: func(f *frame, i int) error {
		_, us := types.SplitTime(f.ivl(0, i).Micros)
		return f.setI64(i, us)
	}},
}

// timeOfDay writes the time since midnight; an infinite timestamp has none.
func timeOfDay(f *frame, i int, us int64) error {
	if !types.IsFiniteTime(us) {
		f.null(i)
		return nil
	}
	_, t := types.SplitTime(us)
	return f.setI64(i, t)
}

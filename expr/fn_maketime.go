package expr

import (
	"math"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// makeDate returns the day of a date of the calendar; a negative year is BC.
func makeDate(y, m, d int32) (int64, bool) {
	year := int(y)
	if y < 0 {
		year++
	}
	if y == 0 || m < 1 || m > 12 || d < 1 || int(d) > types.DaysIn(year, int(m)) {
		return 0, false
	}
	days := types.Days(year, int(m), int(d))
	return days, days >= int64(types.MinDate) && days <= int64(types.MaxDate)
}

func makeClock(h, m int32, s float64) (int64, bool) {
	if h < 0 || m < 0 || m > 59 || math.IsNaN(s) || s < 0 || s > 60 || h > 24 || h == 24 && (m > 0 || s > 0) {
		return 0, false
	}
	us := int64(h)*types.MicrosPerHour + int64(m)*types.MicrosPerMinute
	return us + int64(math.RoundToEven(s*types.MicrosPerSecond)), true
}

func makeFunctions(t *table) {
	t.fn("make_date", "int4,int4,int4:date", "date of year, month, day", func(f *frame, i int) error {
		days, ok := makeDate(f.i32(0, i), f.i32(1, i), f.i32(2, i))
		if !ok {
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d",
				f.i32(0, i), f.i32(1, i), f.i32(2, i))
		}
		return f.setI32(i, int32(days))
	})
	t.fn("make_time", "int4,int4,float8:time", "time of hour, minute, second", func(f *frame, i int) error {
		us, ok := makeClock(f.i32(0, i), f.i32(1, i), f.f64(2, i))
		if !ok {
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%02g",
				f.i32(0, i), f.i32(1, i), f.f64(2, i))
		}
		return f.setI64(i, us)
	})
	stamp := func(f *frame, i int) (int64, error) {
		days, ok := makeDate(f.i32(0, i), f.i32(1, i), f.i32(2, i))
		if !ok {
			return 0, sqlerr.New(sqlerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d",
				f.i32(0, i), f.i32(1, i), f.i32(2, i))
		}
		us, ok := makeClock(f.i32(3, i), f.i32(4, i), f.f64(5, i))
		if !ok {
			return 0, sqlerr.New(sqlerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%02g",
				f.i32(3, i), f.i32(4, i), f.f64(5, i))
		}
		midnight, err := dateToMicros(int32(days))
		if err != nil || !inTimeRange(midnight+us) {
			return 0, errTimestampRange
		}
		return midnight + us, nil
	}
	const args = "int4,int4,int4,int4,int4,float8"
	t.fn("make_timestamp", args+":timestamp", "timestamp of its parts", func(f *frame, i int) error {
		us, err := stamp(f, i)
		return f.setErr(i, us, err)
	})
	zoned := func(zone func(f *frame, i int) (*time.Location, error)) rowFunc {
		return func(f *frame, i int) error {
			us, err := stamp(f, i)
			if err != nil {
				return err
			}
			z, err := zone(f, i)
			if err != nil {
				return err
			}
			us, err = fromLocal(us, z)
			return f.setErr(i, us, err)
		}
	}
	t.fn("make_timestamptz", args+":timestamptz", "timestamp of its parts in the session's zone",
		zoned(func(f *frame, _ int) (*time.Location, error) { return f.ctx.zone(), nil }), stable)
	t.fn("make_timestamptz", args+",text:timestamptz", "timestamp of its parts in a zone",
		zoned(func(f *frame, i int) (*time.Location, error) { return f.zoneArg(6, i) }), stable)
	makeInterval(t)
	t.fn("to_timestamp", "float8:timestamptz", "time of seconds since the Unix epoch", func(f *frame, i int) error {
		s := f.f64(0, i)
		switch {
		case math.IsNaN(s):
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
		case math.IsInf(s, 1):
			return f.setI64(i, types.PosInfTime)
		case math.IsInf(s, -1):
			return f.setI64(i, types.NegInfTime)
		}
		us := math.RoundToEven(s * types.MicrosPerSecond)
		if us < float64(types.MinTime) || us >= math.MaxInt64 {
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "timestamp out of range: \"%g\"", s)
		}
		return f.setI64(i, int64(us))
	})
}

// makeInterval adds make_interval(years, months, weeks, days, hours, mins, secs);
// what is left out is 0.
func makeInterval(t *table) {
	sig := ""
	for n := 0; n <= 7; n++ {
		if n > 0 {
			if n > 1 {
				sig += ","
			}
			if n == 7 {
				sig += "float8"
			} else {
				sig += "int4"
			}
		}
		t.fn("make_interval", sig+":interval", "interval of its parts", func(f *frame, i int) error {
			var p [6]int64
			for k := range min(n, 6) {
				p[k] = int64(f.i32(k, i))
			}
			months, days := p[0]*12+p[1], p[2]*7+p[3]
			us := p[4]*types.MicrosPerHour + p[5]*types.MicrosPerMinute
			if n == 7 {
				s := f.f64(6, i)
				if math.IsNaN(s) || math.IsInf(s, 0) || math.Abs(s) > 9e12 {
					return errIntervalRange
				}
				us += int64(math.RoundToEven(s * types.MicrosPerSecond))
			}
			if months != int64(int32(months)) || days != int64(int32(days)) {
				return errIntervalRange
			}
			return f.setIvl(i, arrowbatch.IntervalValue{Months: int32(months), Days: int32(days), Micros: us}, nil)
		})
	}
}

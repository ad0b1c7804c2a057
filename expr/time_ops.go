package expr

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// addTimeOperators adds + - * / of dates, times and intervals.
func addTimeOperators(t *table) {
	dateOps(t)
	both := func(op, a, b, res string, row rowFunc, opts ...fnOption) {
		t.op(op, a+","+b+":"+res, row, opts...)
		t.op(op, b+","+a+":"+res, swapped(row), append(opts[:len(opts):len(opts)], swapKernel)...)
	}
	both("+", "timestamp", "interval", "timestamp", nil, kernel(addIntervalKernel(false, 1)))
	both("+", "timestamptz", "interval", "timestamptz", nil, kernel(addIntervalKernel(true, 1)), stable)
	t.op("-", "timestamp,interval:timestamp", nil, kernel(addIntervalKernel(false, -1)))
	t.op("-", "timestamptz,interval:timestamptz", nil, kernel(addIntervalKernel(true, -1)), stable)
	subTimes := func(f *frame, i int) error {
		iv, err := types.SubTimes(f.i64(0, i), f.i64(1, i))
		return f.setIvl(i, iv, err)
	}
	t.op("-", "timestamp,timestamp:interval", subTimes)
	t.op("-", "timestamptz,timestamptz:interval", subTimes)
	addTime := func(f *frame, i int) error {
		_, us := types.SplitTime(f.i64(0, i) + f.ivl(1, i).Micros%types.MicrosPerDay)
		return f.setI64(i, us)
	}
	both("+", "time", "interval", "time", addTime)
	t.op("-", "time,interval:time", func(f *frame, i int) error {
		_, us := types.SplitTime(f.i64(0, i) - f.ivl(1, i).Micros%types.MicrosPerDay)
		return f.setI64(i, us)
	})
	t.op("-", "time,time:interval", func(f *frame, i int) error {
		return f.setIvl(i, arrowbatch.IntervalValue{Micros: f.i64(0, i) - f.i64(1, i)}, nil)
	})
	intervalOps(t, both)
}

func (f *frame) setIvl(i int, x arrowbatch.IntervalValue, err error) error {
	f.out.Ivl[i] = x
	return err
}

// swapped is row with its two arguments exchanged.
func swapped(row rowFunc) rowFunc {
	if row == nil {
		return nil
	}
	return func(f *frame, i int) error {
		f.args[0], f.args[1] = f.args[1], f.args[0]
		err := row(f, i)
		f.args[0], f.args[1] = f.args[1], f.args[0]
		return err
	}
}

// swapKernel does for a kernel what swapped does for a row function.
func swapKernel(fn *Function) {
	if k := fn.kernel; k != nil {
		fn.kernel = func(f *frame) {
			f.args[0], f.args[1] = f.args[1], f.args[0]
			k(f)
			f.args[0], f.args[1] = f.args[1], f.args[0]
		}
	}
}

func dateOps(t *table) {
	addDays := func(f *frame, i int, d int32, n int64) error {
		if !types.IsFiniteDate(d) {
			return f.setI32(i, d)
		}
		r := int64(d) + n
		if r < int64(types.MinDate) || r > int64(types.MaxDate) {
			return errDateRange
		}
		return f.setI32(i, int32(r))
	}
	t.op("+", "date,int4:date", func(f *frame, i int) error { return addDays(f, i, f.i32(0, i), int64(f.i32(1, i))) })
	t.op("+", "int4,date:date", func(f *frame, i int) error { return addDays(f, i, f.i32(1, i), int64(f.i32(0, i))) })
	t.op("-", "date,int4:date", func(f *frame, i int) error { return addDays(f, i, f.i32(0, i), -int64(f.i32(1, i))) })
	t.op("-", "date,date:int4", func(f *frame, i int) error {
		a, b := f.i32(0, i), f.i32(1, i)
		if !types.IsFiniteDate(a) || !types.IsFiniteDate(b) {
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
		}
		return f.setI32(i, a-b)
	})
	dateTime := func(d, tm int) rowFunc {
		return func(f *frame, i int) error {
			us, err := dateToMicros(f.i32(d, i))
			if err == nil && types.IsFiniteTime(us) {
				us += f.i64(tm, i)
				if !inTimeRange(us) {
					err = errTimestampRange
				}
			}
			return f.setErr(i, us, err)
		}
	}
	t.op("+", "date,time:timestamp", dateTime(0, 1))
	t.op("+", "time,date:timestamp", dateTime(1, 0))
	t.fn("datetime_pl", "date,time:timestamp", "timestamp of a date and a time", dateTime(0, 1))
	dateIvl := func(d, iv int, neg bool) rowFunc {
		return func(f *frame, i int) error {
			us, err := dateToMicros(f.i32(d, i))
			if err != nil {
				return err
			}
			if neg {
				us, err = types.SubInterval(us, f.ivl(iv, i), nil)
			} else {
				us, err = types.AddInterval(us, f.ivl(iv, i), nil)
			}
			return f.setErr(i, us, err)
		}
	}
	t.op("+", "date,interval:timestamp", dateIvl(0, 1, false))
	t.op("+", "interval,date:timestamp", dateIvl(1, 0, false))
	t.op("-", "date,interval:timestamp", dateIvl(0, 1, true))
}

// addIntervalKernel moves times by intervals. A constant interval of seconds and
// smaller units alone is one addition a row.
func addIntervalKernel(zoned bool, sign int64) func(f *frame) {
	return func(f *frame) {
		zone := f.ctx.zone()
		if !zoned {
			zone = nil
		}
		move := func(f *frame, i int) error {
			var us int64
			var err error
			if sign > 0 {
				us, err = types.AddInterval(f.i64(0, i), f.ivl(1, i), zone)
			} else {
				us, err = types.SubInterval(f.i64(0, i), f.ivl(1, i), zone)
			}
			return f.setErr(i, us, err)
		}
		iv := f.args[1]
		const limit = int64(1) << 56
		if !iv.one || f.args[0].one {
			f.each(move)
			return
		}
		c := iv.v.Ivl[0]
		if c.Months != 0 || c.Days != 0 || c.Micros > limit || c.Micros < -limit {
			f.each(move)
			return
		}
		d := sign * c.Micros
		var sus uint64
		for i, x := range f.args[0].v.I64[:f.n] {
			r := x + d
			f.out.I64[i] = r
			// Within these bounds neither infinity nor overflow is near.
			sus |= bit(uint64(x+limit) > 1<<62)
		}
		if sus != 0 {
			f.each(move)
		}
	}
}

func intervalOps(t *table, both func(op, a, b, res string, row rowFunc, opts ...fnOption)) {
	bin := func(fn func(a, b arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error)) rowFunc {
		return func(f *frame, i int) error {
			iv, err := fn(f.ivl(0, i), f.ivl(1, i))
			return f.setIvl(i, iv, err)
		}
	}
	t.op("+", "interval,interval:interval", bin(types.AddIntervals))
	t.op("-", "interval,interval:interval", bin(types.SubIntervals))
	t.op("-", "interval:interval", func(f *frame, i int) error {
		iv, err := types.NegInterval(f.ivl(0, i))
		return f.setIvl(i, iv, err)
	})
	t.op("+", "interval:interval", func(f *frame, i int) error { return f.setIvl(i, f.ivl(0, i), nil) })
	both("*", "interval", "float8", "interval", func(f *frame, i int) error {
		iv, err := types.MulInterval(f.ivl(0, i), f.f64(1, i))
		return f.setIvl(i, iv, err)
	})
	t.op("/", "interval,float8:interval", func(f *frame, i int) error {
		if f.f64(1, i) == 0 {
			return errDivZero
		}
		iv, err := types.DivInterval(f.ivl(0, i), f.f64(1, i))
		return f.setIvl(i, iv, err)
	})
	un := func(name, desc string, fn func(arrowbatch.IntervalValue) (arrowbatch.IntervalValue, error)) {
		t.fn(name, "interval:interval", desc, func(f *frame, i int) error {
			iv, err := fn(f.ivl(0, i))
			return f.setIvl(i, iv, err)
		})
	}
	un("justify_hours", "24 hours become a day", types.JustifyHours)
	un("justify_days", "30 days become a month", types.JustifyDays)
	un("justify_interval", "hours become days, days become months", types.JustifyInterval)
}

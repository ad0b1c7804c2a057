package expr

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// addTime adds the functions on dates, times and intervals.
func addTime(t *table) {
	clockFunctions(t)
	truncFunctions(t)
	extractFunctions(t)
	makeFunctions(t)
	zoneFunctions(t)
	ageFunctions(t)
}

func clockFunctions(t *table) {
	now := func(f *frame, i int) error { return f.setI64(i, f.ctx.Now) }
	for _, name := range []string{"now", "transaction_timestamp", "statement_timestamp"} {
		t.fn(name, ":timestamptz", "when the statement began, or the epoch's time", now, stable)
	}
	t.fn("proctime", ":timestamptz", "processing time: the epoch's, as `now()`", now, stable)
	// The clock is read once a batch: rows of a batch are computed together.
	t.fn("clock_timestamp", ":timestamptz", "the present moment", nil, kernel(func(f *frame) {
		us := f.ctx.Now
		if f.ctx.Clock != nil {
			us = clock.Micros(f.ctx.Clock)
		}
		for i := range f.out.I64 {
			f.out.I64[i] = us
		}
	}), volatileF)
}

// unitOf resolves the unit named by argument k, for values of type typ; the last
// one is kept in the frame.
func (f *frame) unitOf(k, i int, typ types.Type,
	find func(string, types.Type) (types.Unit, error)) (types.Unit, error) {
	name := f.str(k, i)
	if f.unit != types.NoUnit && f.unitName == name {
		return f.unit, nil
	}
	u, err := find(name, typ)
	if err != nil {
		return u, err
	}
	f.unit, f.unitName = u, string([]byte(name))
	return u, nil
}

func truncFunctions(t *table) {
	const desc = "time cut to a unit"
	trunc := func(typ types.Type, zone func(f *frame, i int) (*time.Location, error)) fnOption {
		row := func(f *frame, i int) error {
			if us := f.i64(1, i); !types.IsFiniteTime(us) {
				return f.setI64(i, us)
			}
			u, err := f.unitOf(0, i, typ, types.TruncUnit)
			if err != nil {
				return err
			}
			z, err := zone(f, i)
			if err != nil {
				return err
			}
			us, err := types.DateTrunc(u, f.i64(1, i), z)
			return f.setErr(i, us, err)
		}
		return kernel(func(f *frame) {
			if !truncUTC(f, typ, zone) {
				f.each(row)
			}
		})
	}
	t.fn("date_trunc", "text,timestamp:timestamp", desc, nil,
		trunc(types.TTimestamp, func(*frame, int) (*time.Location, error) { return nil, nil }))
	t.fn("date_trunc", "text,timestamptz:timestamptz", desc, nil,
		trunc(types.TTimestamptz, func(f *frame, _ int) (*time.Location, error) { return f.ctx.zone(), nil }), stable)
	t.fn("date_trunc", "text,timestamptz,text:timestamptz", desc, nil,
		trunc(types.TTimestamptz, func(f *frame, i int) (*time.Location, error) { return f.zoneArg(2, i) }))
	t.fn("date_trunc", "text,interval:interval", "interval cut to a unit", func(f *frame, i int) error {
		u, err := f.unitOf(0, i, types.TInterval, types.TruncUnit)
		return f.setIvl(i, truncInterval(u, f.ivl(1, i)), err)
	})
	bin := func(f *frame, i int) error {
		us, err := dateBin(f.ivl(0, i), f.i64(1, i), f.i64(2, i))
		return f.setErr(i, us, err)
	}
	t.fn("date_bin", "interval,timestamp,timestamp:timestamp", "time cut to a stride from an origin", bin)
	t.fn("date_bin", "interval,timestamptz,timestamptz:timestamptz", "time cut to a stride from an origin", bin)
}

// truncUTC is date_trunc for a constant unit of fixed length where the clock is
// UTC's: a dense loop. It tells whether that is the case.
func truncUTC(f *frame, typ types.Type, zone func(f *frame, i int) (*time.Location, error)) bool {
	if !f.args[0].one || f.args[1].one || len(f.args) > 2 && !f.args[2].one || f.n == 0 {
		return false
	}
	u, err := f.unitOf(0, 0, typ, types.TruncUnit)
	if err != nil || u == types.NoUnit || u > types.Day {
		return false
	}
	z, err := zone(f, 0)
	if err != nil || z != nil && z != time.UTC {
		return false
	}
	step := [...]int64{types.Microsecond: 1, types.Millisecond: 1000, types.Second: types.MicrosPerSecond,
		types.Minute: types.MicrosPerMinute, types.Hour: types.MicrosPerHour, types.Day: types.MicrosPerDay}[u]
	for i, us := range f.args[1].v.I64[:f.n] {
		r := us % step
		r += step & (r >> 63)
		f.out.I64[i] = us - r
	}
	// The infinities stay, and what lies a step before the first day fails.
	for i, us := range f.args[1].v.I64[:f.n] {
		if us == types.PosInfTime || us < types.MinTime+step {
			f.truncEdge(i, us, u)
		}
	}
	return true
}

func (f *frame) truncEdge(i int, us int64, u types.Unit) {
	if f.out.IsNull(i) || !inTimeRange(us) && types.IsFiniteTime(us) {
		return // no value to cut: the slot of a NULL or of a row left out
	}
	x, err := types.DateTrunc(u, us, nil)
	f.out.I64[i] = x
	if err != nil && f.selected(i) {
		f.fail(i, err)
	}
}

// selected tells whether row i is to be computed.
func (f *frame) selected(i int) bool {
	if f.sel == nil {
		return true
	}
	_, ok := slices.BinarySearch(f.sel, int32(i))
	return ok
}

// truncInterval cuts an interval to a unit.
func truncInterval(u types.Unit, iv arrowbatch.IntervalValue) arrowbatch.IntervalValue {
	cut := func(n int32) int32 { return iv.Months / n * n }
	switch u {
	case types.Millennium:
		return arrowbatch.IntervalValue{Months: cut(12000)}
	case types.Century:
		return arrowbatch.IntervalValue{Months: cut(1200)}
	case types.Decade:
		return arrowbatch.IntervalValue{Months: cut(120)}
	case types.Year:
		return arrowbatch.IntervalValue{Months: cut(12)}
	case types.Quarter:
		return arrowbatch.IntervalValue{Months: cut(3)}
	case types.Month:
		return arrowbatch.IntervalValue{Months: iv.Months}
	case types.Day:
		return arrowbatch.IntervalValue{Months: iv.Months, Days: iv.Days}
	case types.Hour:
		iv.Micros -= iv.Micros % types.MicrosPerHour
	case types.Minute:
		iv.Micros -= iv.Micros % types.MicrosPerMinute
	case types.Second:
		iv.Micros -= iv.Micros % types.MicrosPerSecond
	case types.Millisecond:
		iv.Micros -= iv.Micros % 1000
	}
	return iv
}

func dateBin(stride arrowbatch.IntervalValue, us, origin int64) (int64, error) {
	if !types.IsFiniteTime(us) {
		return us, nil
	}
	if !types.IsFiniteTime(origin) {
		return 0, sqlerr.New(sqlerr.DatetimeFieldOverflow, "origin out of range")
	}
	if stride.Months != 0 {
		return 0, sqlerr.Unsupported("timestamps cannot be binned into intervals containing months or years")
	}
	hi, lo := int64(stride.Days), stride.Micros
	step := hi*types.MicrosPerDay + lo
	if step <= 0 {
		return 0, sqlerr.New(sqlerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	d := us - origin
	r := d % step
	if r < 0 {
		r += step
	}
	out := us - r
	if !inTimeRange(out) {
		return 0, errTimestampRange
	}
	return out, nil
}

// extractFunctions adds extract, which gives numeric, and date_part, which gives
// double precision.
func extractFunctions(t *table) {
	part := func(typ types.Type, get func(f *frame, u types.Unit, i int) (decimal.Decimal, bool), opts ...fnOption) {
		value := func(f *frame, i int) (d decimal.Decimal, null bool, err error) {
			u, err := f.unitOf(0, i, typ, types.ExtractUnit)
			if err != nil {
				return d, false, err
			}
			d, null = get(f, u, i)
			return d, null, nil
		}
		t.fn("extract", "text,"+typ.PGName()+":numeric", "part of a time", func(f *frame, i int) error {
			d, null, err := value(f, i)
			if null {
				f.null(i)
			}
			return f.setDecErr(i, d, err)
		}, opts...)
		t.fn("date_part", "text,"+typ.PGName()+":float8", "part of a time", func(f *frame, i int) error {
			d, null, err := value(f, i)
			if null {
				f.null(i)
			}
			f.out.F64[i] = d.ToFloat64()
			return err
		}, opts...)
	}
	part(types.TTimestamp, func(f *frame, u types.Unit, i int) (decimal.Decimal, bool) {
		return types.ExtractTime(u, f.i64(1, i), nil)
	})
	part(types.TTimestamptz, func(f *frame, u types.Unit, i int) (decimal.Decimal, bool) {
		return types.ExtractTime(u, f.i64(1, i), f.ctx.zone())
	}, stable)
	part(types.TDate, func(f *frame, u types.Unit, i int) (decimal.Decimal, bool) {
		return types.ExtractDate(u, f.i32(1, i))
	})
	part(types.TTime, func(f *frame, u types.Unit, i int) (decimal.Decimal, bool) {
		return types.ExtractClock(u, f.i64(1, i)), false
	})
	part(types.TInterval, func(f *frame, u types.Unit, i int) (decimal.Decimal, bool) {
		return types.ExtractInterval(u, f.ivl(1, i)), false
	})
}

// zoneArg is the time zone that argument k names; the last one is kept.
func (f *frame) zoneArg(k, i int) (*time.Location, error) {
	name := f.str(k, i)
	if f.loc != nil && f.locName == name {
		return f.loc, nil
	}
	loc, err := zoneByName(name)
	if err != nil {
		return nil, err
	}
	f.loc, f.locName = loc, string([]byte(name))
	return loc, nil
}

func zoneByName(name string) (*time.Location, error) {
	if loc, ok := types.LoadZone(name); ok {
		return loc, nil
	}
	if w := strings.ToLower(name); w == "am" || w == "pm" || w == "ad" || w == "bc" {
		name = "?"
	}
	bad := sqlerr.New(sqlerr.InvalidParameterValue, "time zone \"%s\" not recognized", string([]byte(name)))
	if !zonePattern.MatchString(name) {
		return nil, bad
	}
	// An abbreviation such as EST, or an offset such as +02: read them as in a
	// timestamp, whose distance from UTC then is the answer.
	us, err := types.ParseTimestamptz("2000-01-01 00:00:00 "+name, nil)
	if err != nil {
		return nil, bad
	}
	const midnight = 10957 * types.MicrosPerDay
	off := (midnight - us) / types.MicrosPerSecond
	isUTC := strings.EqualFold(name, "z") || strings.EqualFold(name, "zulu")
	if c := name[0]; c == '+' || c == '-' || c >= '0' && c <= '9' {
		off = -off // POSIX counts west of Greenwich
	} else if off == 0 && !isUTC || off > 16*3600 || off < -16*3600 {
		return nil, bad // a word of dates that is no zone
	}
	return time.FixedZone(string([]byte(name)), int(off)), nil
}

// zonePattern is what a zone that is no name of the tz database looks like: an
// offset, or an abbreviation of letters that is no word of the clock.
var zonePattern = regexp.MustCompile(`^(?i:[+-]?\d{1,2}(:\d\d){0,2}|[a-z]{1,5})$`)

func zoneFunctions(t *table) {
	toZone := func(zone func(f *frame, i int) (*time.Location, error)) rowFunc {
		return func(f *frame, i int) error {
			if us := f.i64(1, i); !types.IsFiniteTime(us) {
				return f.setI64(i, us)
			}
			z, err := zone(f, i)
			if err != nil {
				return err
			}
			us := types.ToLocal(f.i64(1, i), z)
			if types.IsFiniteTime(us) && !inTimeRange(us) {
				err = errTimestampRange
			}
			return f.setErr(i, us, err)
		}
	}
	ofZone := func(zone func(f *frame, i int) (*time.Location, error)) rowFunc {
		return func(f *frame, i int) error {
			if us := f.i64(1, i); !types.IsFiniteTime(us) {
				return f.setI64(i, us)
			}
			z, err := zone(f, i)
			if err != nil {
				return err
			}
			us, err := fromLocal(f.i64(1, i), z)
			return f.setErr(i, us, err)
		}
	}
	named := func(f *frame, i int) (*time.Location, error) { return f.zoneArg(0, i) }
	offset := func(f *frame, i int) (*time.Location, error) {
		iv := f.ivl(0, i)
		if iv.Months != 0 || iv.Days != 0 {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days",
				types.AppendInterval(nil, iv))
		}
		return time.FixedZone("", int(iv.Micros/types.MicrosPerSecond)), nil
	}
	const desc = "time at a time zone"
	t.fn("timezone", "text,timestamptz:timestamp", desc, toZone(named))
	t.fn("timezone", "text,timestamp:timestamptz", desc, ofZone(named))
	t.fn("timezone", "interval,timestamptz:timestamp", desc, toZone(offset))
	t.fn("timezone", "interval,timestamp:timestamptz", desc, ofZone(offset))
}

func ageFunctions(t *table) {
	t.fn("age", "timestamp,timestamp:interval", "difference in years, months, days", func(f *frame, i int) error {
		iv, err := types.Age(f.i64(0, i), f.i64(1, i), nil)
		return f.setIvl(i, iv, err)
	})
	t.fn("age", "timestamptz,timestamptz:interval", "difference in years, months, days", func(f *frame, i int) error {
		iv, err := types.Age(f.i64(0, i), f.i64(1, i), f.ctx.zone())
		return f.setIvl(i, iv, err)
	}, stable)
	midnight := func(f *frame) int64 {
		d, _ := types.SplitTime(types.ToLocal(f.ctx.Now, f.ctx.zone()))
		return d * types.MicrosPerDay
	}
	t.fn("age", "timestamp:interval", "age at this midnight", func(f *frame, i int) error {
		iv, err := types.Age(midnight(f), f.i64(0, i), nil)
		return f.setIvl(i, iv, err)
	}, stable)
	t.fn("age", "timestamptz:interval", "age at this midnight", func(f *frame, i int) error {
		iv, err := types.Age(types.FromLocal(midnight(f), f.ctx.zone()), f.i64(0, i), f.ctx.zone())
		return f.setIvl(i, iv, err)
	}, stable)
	t.fn("isfinite", "date:bool", "not infinite", func(f *frame, i int) error {
		return f.setBool(i, types.IsFiniteDate(f.i32(0, i)))
	})
	for _, typ := range []string{"timestamp", "timestamptz"} {
		t.fn("isfinite", typ+":bool", "not infinite", func(f *frame, i int) error {
			return f.setBool(i, types.IsFiniteTime(f.i64(0, i)))
		})
	}
	t.fn("isfinite", "interval:bool", "not infinite", func(f *frame, i int) error { return f.setBool(i, true) })
	overlapFunctions(t)
}

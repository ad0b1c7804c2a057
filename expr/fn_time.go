package expr

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
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
	t.fn("clock_timestamp", ":timestamptz", "the present moment", func(f *frame, i int) error {
		if f.ctx.Clock == nil {
			return f.setI64(i, f.ctx.Now)
		}
		return f.setI64(i, f.ctx.Clock.Now().UnixMicro())
	}, volatileF)
}

// unitOf resolves the unit named by argument k, for values of type typ; the last
// one is kept in the frame.
func (f *frame) unitOf(k, i int, typ types.Type, find func(string, types.Type) (types.Unit, error)) (types.Unit, error) {
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
	if c := name[0]; c == '+' || c == '-' || c >= '0' && c <= '9' {
		off = -off // POSIX counts west of Greenwich
	} else if off == 0 && !strings.EqualFold(name, "z") && !strings.EqualFold(name, "zulu") || off > 16*3600 || off < -16*3600 {
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

// overlapFunctions adds (start, end) OVERLAPS (start, end) for times; an interval
// in the place of an end is added to the start.
func overlapFunctions(t *table) {
	get := func(f *frame, k, i int) int64 { return f.i64(k, i) }
	for _, typ := range []string{"timestamp", "timestamptz", "time"} {
		t.fn("overlaps", typ+","+typ+","+typ+","+typ+":bool", "periods overlap", func(f *frame, i int) error {
			overlap(f, i, get)
			return nil
		}, calledOnNull)
	}
	for _, typ := range []string{"timestamp", "timestamptz"} {
		for _, form := range [][4]bool{{false, true, false, true}, {false, true, false, false}, {false, false, false, true}} {
			var sig string
			for k, isSpan := range form {
				if k > 0 {
					sig += ","
				}
				if isSpan {
					sig += "interval"
				} else {
					sig += typ
				}
			}
			opts := []fnOption{calledOnNull}
			if typ == "timestamptz" {
				opts = append(opts, stable)
			}
			t.fn("overlaps", sig+":bool", "periods overlap", func(f *frame, i int) error {
				overlap(f, i, func(f *frame, k, i int) int64 {
					if !form[k] {
						return f.i64(k, i)
					}
					zone := f.ctx.zone()
					if typ == "timestamp" {
						zone = nil
					}
					if f.isNull(k-1, i) {
						return 0
					}
					us, _ := types.AddInterval(f.i64(k-1, i), f.ivl(k, i), zone)
					return us
				})
				return nil
			}, opts...)
		}
	}
}

// overlap decides OVERLAPS as the standard does where an end is unknown.
func overlap(f *frame, i int, get func(f *frame, k, i int) int64) {
	type end struct {
		x    int64
		null bool
	}
	side := func(a, b int) (s, e end, ok bool) {
		s, e = end{0, f.isNull(a, i)}, end{0, f.isNull(b, i)}
		if !s.null {
			s.x = get(f, a, i)
		}
		if !e.null {
			e.x = get(f, b, i)
			e.null = f.call.fn.params[b].id == types.Interval && s.null
		}
		switch {
		case s.null && e.null:
			return s, e, false
		case s.null:
			return e, s, true
		case !e.null && s.x > e.x:
			return e, s, true
		}
		return s, e, true
	}
	s1, e1, ok1 := side(0, 1)
	s2, e2, ok2 := side(2, 3)
	if !ok1 || !ok2 {
		f.null(i)
		return
	}
	if s1.x > s2.x {
		s1, e1, s2, e2 = s2, e2, s1, e1
	}
	var hit, unknown bool
	switch {
	case s1.x == s2.x:
		hit = !e1.null && !e2.null
		unknown = !hit
	case e1.null:
		unknown = true
	case s2.x < e1.x:
		hit = true
	default:
		unknown = e2.null
	}
	if unknown {
		f.null(i)
	}
	f.out.Bits.Put(i, hit)
}

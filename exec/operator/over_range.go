package operator

import (
	"cmp"
	"math"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// ranger finds RANGE frames with offsets from the one ORDER BY column.
type ranger struct {
	o          *OverWindow
	key        SortKey
	typ        types.Type
	start, end *arrowbatch.Vec
	// within tells whether row j's value is at most (less) or at least (not less)
	// row i's plus the offset, minus it with sub.
	within func(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error)
}

func newRanger(o *OverWindow, start, end *arrowbatch.Vec) *ranger {
	r := &ranger{o: o, key: o.OrderBy[0], typ: o.OrderTypes[0], start: start, end: end}
	switch r.typ.ID {
	case types.Float4, types.Float8:
		r.within = withinFloat
	case types.Numeric:
		r.within = withinNumeric
	case types.Date, types.Timestamp, types.Timestamptz:
		r.within = r.withinTime
	case types.Time:
		r.within = withinClock
	case types.Interval:
		r.within = withinInterval
	default:
		r.within = withinInt
	}
	return r
}

// bounds sets the bounds that have an offset. Both ends only ever move on.
func (r *ranger) bounds(fr *framer, p *partition) error {
	v := p.b.Cols[r.key.Col]
	lo, hi := p.lo, p.lo
	for i := p.lo; i < p.hi; i++ {
		if (i-p.lo)%chunkRows == 0 {
			if err := r.o.rt.Ctx.Err(); err != nil {
				return err
			}
		}
		var err error
		if r.start != nil {
			if lo, err = r.head(fr.f, p, v, i, lo); err != nil {
				return err
			}
			fr.lo[i-p.lo] = lo
		}
		if r.end != nil {
			if hi, err = r.tail(fr.f, p, v, i, hi); err != nil {
				return err
			}
			fr.hi[i-p.lo] = hi
		}
	}
	return nil
}

// head moves at on to the first row of i's frame.
func (r *ranger) head(f *Frame, p *partition, v *arrowbatch.Vec, i, at int) (int, error) {
	sub := (f.Start == sql.OffsetPreceding) != r.key.Desc
	for ; at < p.hi; at++ {
		hn, cn := v.IsNull(at), v.IsNull(i)
		switch {
		case hn || cn:
			if r.key.NullsFirst && (!hn || cn) || !r.key.NullsFirst && (hn || !cn) {
				return at, nil
			}
		default:
			in, err := r.within(v, at, i, r.start, sub, r.key.Desc)
			if err != nil || in {
				return at, err
			}
		}
	}
	return at, nil
}

// tail moves at on to the row behind the last of i's frame.
func (r *ranger) tail(f *Frame, p *partition, v *arrowbatch.Vec, i, at int) (int, error) {
	sub := (f.End == sql.OffsetPreceding) != r.key.Desc
	for ; at < p.hi; at++ {
		tn, cn := v.IsNull(at), v.IsNull(i)
		switch {
		case tn || cn:
			if r.key.NullsFirst && !tn || !r.key.NullsFirst && !cn {
				return at, nil
			}
		default:
			in, err := r.within(v, at, i, r.end, sub, !r.key.Desc)
			if err != nil || !in {
				return at, err
			}
		}
	}
	return at, nil
}

func errFrameSize() error {
	return sqlerr.New(sqlerr.InvalidFrameOffset, "invalid preceding or following size in window function")
}

// past is the answer where base and offset lead past every value of the type.
func past(sub, less bool) bool { return sub != less }

func judgeOrder(c int, less bool) bool {
	if less {
		return c <= 0
	}
	return c >= 0
}

func withinInt(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	val, base, off := intOf(v, j), intOf(v, i), intOf(offset, 0)
	if off < 0 {
		return false, errFrameSize()
	}
	sum := base + off
	if sub {
		sum = base - off
	}
	if (sum < base) != sub && off != 0 {
		return past(sub, less), nil
	}
	return judgeOrder(cmp.Compare(val, sum), less), nil
}

func intOf(v *arrowbatch.Vec, i int) int64 {
	switch v.Layout {
	case arrowbatch.Int16:
		return int64(v.I16[i])
	case arrowbatch.Int32:
		return int64(v.I32[i])
	}
	return v.I64[i]
}

func floatOf(v *arrowbatch.Vec, i int) float64 {
	if v.Layout == arrowbatch.Float32 {
		return float64(v.F32[i])
	}
	return v.F64[i]
}

func withinFloat(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	val, base, off := floatOf(v, j), floatOf(v, i), floatOf(offset, 0)
	switch {
	case math.IsNaN(off) || off < 0:
		return false, errFrameSize()
	case math.IsNaN(val):
		return math.IsNaN(base) || !less, nil
	case math.IsNaN(base):
		return less, nil
	case math.IsInf(off, 0) && (sub && math.IsInf(base, 1) || !sub && math.IsInf(base, -1)):
		return true, nil
	}
	if sub {
		off = -off
	}
	return judgeOrder(cmp.Compare(val, base+off), less), nil
}

func withinNumeric(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	val, base, off := v.Dec[j], v.Dec[i], offset.Dec[0]
	infinite := off.Special() == decimal.SpecialInf
	switch {
	case off.IsNaN() || off.Sign() < 0:
		return false, errFrameSize()
	case val.IsNaN():
		return base.IsNaN() || !less, nil
	case base.IsNaN():
		return less, nil
	case infinite && (sub && base.Special() == decimal.SpecialInf || !sub && base.Special() == decimal.SpecialNegInf):
		return true, nil
	}
	if sub {
		off = off.Neg()
	}
	sum, err := base.Add(off)
	if err != nil {
		return past(sub, less), nil
	}
	return judgeOrder(val.Cmp(sum), less), nil
}

// withinTime is for dates, which count as their midnights, and timestamps.
func (r *ranger) withinTime(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	off := offset.Ivl[0]
	if types.CompareInterval(off, arrowbatch.IntervalValue{}) < 0 {
		return false, errFrameSize()
	}
	var loc *time.Location
	if env := r.o.rt.Eval.Env; r.typ.ID == types.Timestamptz && env != nil {
		loc = env.TimeZone
	}
	move := types.AddInterval
	if sub {
		move = types.SubInterval
	}
	sum, err := move(microsOf(v, i), off, loc)
	if err != nil {
		return false, err
	}
	return judgeOrder(cmp.Compare(microsOf(v, j), sum), less), nil
}

func microsOf(v *arrowbatch.Vec, i int) int64 {
	if v.Layout == arrowbatch.Int64 {
		return v.I64[i]
	}
	switch d := v.I32[i]; d {
	case types.PosInfDate:
		return types.PosInfTime
	case types.NegInfDate:
		return types.NegInfTime
	default:
		return int64(d) * types.MicrosPerDay
	}
}

// withinClock is for time without a date: of the offset its time alone counts, and
// nothing wraps around midnight.
func withinClock(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	off := offset.Ivl[0].Micros
	if off < 0 {
		return false, errFrameSize()
	}
	sum := v.I64[i] + off
	switch {
	case sub:
		sum = v.I64[i] - off
	case sum < v.I64[i]:
		return past(sub, less), nil
	}
	return judgeOrder(cmp.Compare(v.I64[j], sum), less), nil
}

func withinInterval(v *arrowbatch.Vec, j, i int, offset *arrowbatch.Vec, sub, less bool) (bool, error) {
	off := offset.Ivl[0]
	if types.CompareInterval(off, arrowbatch.IntervalValue{}) < 0 {
		return false, errFrameSize()
	}
	move := types.AddIntervals
	if sub {
		move = types.SubIntervals
	}
	sum, err := move(v.Ivl[i], off)
	if err != nil {
		return false, err
	}
	return judgeOrder(types.CompareInterval(v.Ivl[j], sum), less), nil
}

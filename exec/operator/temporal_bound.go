package operator

import (
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
)

// TemporalBound compares a value that follows now() with one of the row.
type TemporalBound struct {
	Op TemporalOp
	// Row is the row's value: a timestamp or a date.
	Row expr.Expr
	// Least returns the least now() at which the other value has come to x.
	Least func(x int64) int64
	// Unless, if not nil, exempts rows.
	Unless expr.Expr
}

// TemporalOp is how the value that follows now() compares with the row's.
type TemporalOp uint8

// The comparisons, numbered as in the physical plan.
const (
	ClockLess TemporalOp = iota
	ClockAtMost
	ClockAtLeast
	ClockGreater
	ClockEqual
)

// spans sets from and to to when each row is valid, from ≤ now < to. A row that
// never is, or whose values fail, has to ≤ from.
func (o *TemporalFilter) spans(b *arrowbatch.Batch) error {
	o.from, o.to = o.from[:0], o.to[:0]
	for range b.Len {
		o.from, o.to = append(o.from, math.MinInt64), append(o.to, math.MaxInt64)
	}
	for i := range o.Bounds {
		if err := o.bound(&o.Bounds[i], b); err != nil {
			return err
		}
	}
	return nil
}

// bound narrows the rows' spans. Rows that have failed, or are never valid, are not
// looked at again.
func (o *TemporalFilter) bound(t *TemporalBound, b *arrowbatch.Batch) error {
	o.sel = o.sel[:0]
	for i := range b.Len {
		if o.from[i] < o.to[i] {
			o.sel = append(o.sel, int32(i))
		}
	}
	if t.Unless != nil {
		exempt := expr.Filter(o.rt.Eval, t.Unless, b, o.sel, nil)
		if err := o.failed(b); err != nil {
			return err
		}
		o.sel = without(o.sel, exempt)
	}
	if len(o.sel) == 0 {
		return nil
	}
	sel := o.sel
	if len(sel) == b.Len {
		sel = nil
	}
	v := t.Row.Eval(o.rt.Eval, b, sel)
	defer v.Release()
	for _, i := range o.sel {
		if v.IsNull(int(i)) {
			o.to[i] = math.MinInt64
			continue
		}
		t.narrow(momentAt(v, int(i)), &o.from[i], &o.to[i])
	}
	return o.failed(b)
}

// failed takes rows out whose expressions failed.
func (o *TemporalFilter) failed(b *arrowbatch.Batch) error {
	if !o.rt.Eval.Failed() {
		return nil
	}
	errs := o.rt.Eval.TakeErrors()
	for _, e := range errs {
		o.to[e.Row] = math.MinInt64
	}
	return o.rt.Fail(o.rt, b, errs)
}

func (t *TemporalBound) narrow(x int64, from, to *int64) {
	switch t.Op {
	case ClockLess:
		*to = min(*to, t.Least(x))
	case ClockAtMost:
		*to = min(*to, t.Least(plus1(x)))
	case ClockAtLeast:
		*from = max(*from, t.Least(x))
	case ClockGreater:
		*from = max(*from, t.Least(plus1(x)))
	case ClockEqual:
		*from, *to = max(*from, t.Least(x)), min(*to, t.Least(plus1(x)))
	}
}

// momentAt is a timestamp in microseconds, or a date in days, with the infinities at
// the ends of the numbers.
func momentAt(v *arrowbatch.Vec, i int) int64 {
	if v.Layout == arrowbatch.Int64 {
		return v.I64[i]
	}
	switch d := v.I32[i]; d {
	case math.MaxInt32:
		return math.MaxInt64
	case math.MinInt32:
		return math.MinInt64
	default:
		return int64(d)
	}
}

// without returns the rows of a that are not in b; both are ascending.
func without(a, b []int32) []int32 {
	out := a[:0]
	for _, i := range a {
		for len(b) > 0 && b[0] < i {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != i {
			out = append(out, i)
		}
	}
	return out
}

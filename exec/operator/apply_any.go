package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// verdict is the three-valued outcome of ANY or ALL so far.
type verdict int8

const (
	open verdict = iota // nothing decides yet
	null                // a comparison was NULL
	decided
)

// compare adds the outcome of ANY or ALL over the subquery's rows: ANY is true
// at the first true comparison, ALL false at the first false one; else NULL if a
// comparison was NULL.
func (a *Apply) compare(b *arrowbatch.Batch) error {
	v := make([]verdict, b.Len)
	var err error
	if a.Correlated {
		err = a.compareEach(b, v)
	} else {
		err = a.compareFixed(b, v)
	}
	if err != nil {
		return err
	}
	out := arrowbatch.NewFlat(arrowbatch.Bool, b.Len)
	for i, x := range v {
		out.Bits.Put(i, (x == decided) == (a.Kind == ApplyAny))
		if x == null {
			out.SetNull(i)
		}
	}
	return a.emitWith(b, arrowbatch.NewBatch(b.Len, out))
}

// compareEach runs the subquery for each row, up to the row that decides.
func (a *Apply) compareEach(b *arrowbatch.Batch, v []verdict) error {
	for i := range b.Len {
		judge := &judging{a: a, b: b, i: i, v: v}
		if err := a.run(b, i, judge); err != nil {
			return err
		}
		if judge.err != nil {
			return judge.err
		}
	}
	return nil
}

type judging struct {
	a   *Apply
	b   *arrowbatch.Batch
	i   int
	v   []verdict
	err error
}

func (j *judging) Emit(sub *arrowbatch.Batch) error {
	defer sub.Release()
	if j.err = j.a.judge(j.b, j.i, j.i+1, sub, 0, sub.Len, j.v); j.err == nil && j.v[j.i] == decided {
		return exec.ErrStop
	}
	return j.err
}

// compareFixed compares with the rows of a subquery that runs once.
func (a *Apply) compareFixed(b *arrowbatch.Batch, v []verdict) error {
	sub, err := a.fixed(b)
	if err != nil || sub.Len == 0 {
		return err
	}
	if a.set == nil {
		a.set = newValueSet(a, len(b.Cols))
	}
	if a.set.left != nil {
		return a.set.compare(a, b, v)
	}
	block := max(pairChunk/sub.Len, 1)
	for lo := 0; lo < b.Len; lo += block {
		hi := min(lo+block, b.Len)
		for s := 0; s < sub.Len && (s == 0 || v[lo] != decided); s += pairChunk {
			if err := a.rt.Ctx.Err(); err != nil {
				return err
			}
			if err := a.judge(b, lo, hi, sub, s, min(s+pairChunk, sub.Len), v); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge compares rows lo to hi-1 of b with the rows from to to-1 of the subquery.
// An error counts only where nothing before it decides.
func (a *Apply) judge(b *arrowbatch.Batch, lo, hi int, sub *arrowbatch.Batch, from, to int, v []verdict) error {
	width := to - from
	left, right := make([]int32, 0, (hi-lo)*width), make([]int32, 0, (hi-lo)*width)
	for i := lo; i < hi; i++ {
		for k := from; k < to; k++ {
			left, right = append(left, int32(i)), append(right, int32(k))
		}
	}
	pairs := pairUp(b, left, sub, right)
	defer pairs.Release()
	got := a.Test.Eval(a.rt.Eval, pairs, nil)
	defer got.Release()
	errs := a.rt.Eval.TakeErrors()
	for p, i := range left {
		failed := len(errs) > 0 && int(errs[0].Row) == p
		switch {
		case failed && v[i] != decided:
			return errs[0].Err
		case failed:
			errs = errs[1:]
		case v[i] == decided:
		case got.IsNull(p):
			v[i] = null
		case got.Bits.Get(p) == (a.Kind == ApplyAny):
			v[i] = decided
		}
	}
	return nil
}

// pairUp puts rows next to each other; -1 gives NULLs.
func pairUp(l *arrowbatch.Batch, li []int32, r *arrowbatch.Batch, ri []int32) *arrowbatch.Batch {
	out := &arrowbatch.Batch{Len: len(li)}
	for _, c := range l.Cols {
		out.Cols = append(out.Cols, c.Take(li))
	}
	for _, c := range r.Cols {
		out.Cols = append(out.Cols, c.Take(ri))
	}
	return out
}

// valueSet answers x = ANY and x <> ALL from a hash table of the subquery's one
// column. left is nil where the test is not of this form.
type valueSet struct {
	left    expr.Expr
	groups  *state.Groups
	hasNull bool
	ids     []int32
}

func newValueSet(a *Apply, width int) *valueSet {
	s := &valueSet{}
	name, args, ok := expr.AsCall(a.Test)
	want := "="
	if a.Kind == ApplyAll {
		want = "<>"
	}
	if !ok || name != want || len(args) != 2 {
		return s
	}
	col, _, ok := expr.AsColumn(args[1])
	if !ok || col != width || !args[0].Type().Equal(args[1].Type()) || !Hashable(args[0].Type()) {
		return s
	}
	for _, c := range expr.Columns(args[0]) {
		if c >= width {
			return s
		}
	}
	s.left = args[0]
	v := a.once.Cols[0]
	s.groups = state.NewGroups([]arrowbatch.Shape{v.Shape()})
	s.groups.Lookup([]*arrowbatch.Vec{v}, nil, make([]int32, v.N))
	s.hasNull = v.Nulls() > 0
	return s
}

// Hashable tells whether values of a type are equal just when their keys are.
func Hashable(t types.Type) bool {
	switch t.ID {
	case types.Bpchar, types.JSON, types.JSONB, types.Array, types.Struct:
		return false
	}
	return true
}

func (s *valueSet) compare(a *Apply, b *arrowbatch.Batch, v []verdict) error {
	x := s.left.Eval(a.rt.Eval, b, nil)
	defer x.Release()
	if errs := a.rt.Eval.TakeErrors(); errs != nil {
		return errs[0].Err
	}
	s.ids = resizeIDs(s.ids, b.Len)
	s.groups.Find([]*arrowbatch.Vec{x}, nil, s.ids)
	for i := range v {
		switch {
		case x.IsNull(i):
			v[i] = null
		case s.ids[i] >= 0:
			v[i] = decided
		case s.hasNull:
			v[i] = null
		}
	}
	return nil
}

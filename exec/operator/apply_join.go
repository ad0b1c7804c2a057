package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
)

// join emits each row with the subquery's rows that pass the test.
func (a *Apply) join(b *arrowbatch.Batch) error {
	for i := range b.Len {
		if err := a.rt.Ctx.Err(); err != nil {
			return err
		}
		j := &joining{a: a, b: b, i: int32(i)}
		if err := a.joinRow(j, b, i); err != nil {
			return err
		}
		if a.Kind == ApplyLeft && !j.hit {
			empty := arrowbatch.NewLike(a.Sub)
			err := a.push(pairUp(b, []int32{int32(i)}, empty, []int32{-1}))
			empty.Release()
			if err != nil {
				return err
			}
		}
	}
	return a.flush()
}

func (a *Apply) joinRow(j *joining, b *arrowbatch.Batch, i int) error {
	if a.Correlated {
		if err := a.run(b, i, j); err != nil {
			return err
		}
		return j.err
	}
	sub, err := a.fixed(b)
	if err != nil {
		return err
	}
	for lo := 0; lo < sub.Len; lo += chunkRows {
		if err := j.pair(sub, lo, min(lo+chunkRows, sub.Len)); err != nil {
			return err
		}
	}
	return nil
}

// joining takes the subquery's rows for one row.
type joining struct {
	a   *Apply
	b   *arrowbatch.Batch
	i   int32
	hit bool
	err error // what ended it, also where the subquery took it for its own end
}

func (j *joining) Emit(sub *arrowbatch.Batch) error {
	defer sub.Release()
	if j.err == nil {
		j.err = j.pair(sub, 0, sub.Len)
	}
	return j.err
}

func (j *joining) pair(sub *arrowbatch.Batch, lo, hi int) error {
	left, right := make([]int32, hi-lo), make([]int32, hi-lo)
	for k := range left {
		left[k], right[k] = j.i, int32(lo+k)
	}
	pairs := pairUp(j.b, left, sub, right)
	if t := j.a.Test; t != nil {
		rt := j.a.rt
		sel := expr.Filter(rt.Eval, t, pairs, nil, nil)
		if rt.Eval.Failed() {
			if err := rt.Fail(rt, pairs, rt.Eval.TakeErrors()); err != nil {
				pairs.Release()
				return err
			}
		}
		if len(sel) < pairs.Len {
			all := pairs
			pairs = all.Take(sel)
			all.Release()
		}
	}
	if pairs.Len == 0 {
		pairs.Release()
		return nil
	}
	j.hit = true
	return j.a.push(pairs)
}

// push holds result rows until there are enough for a batch.
func (a *Apply) push(b *arrowbatch.Batch) error {
	a.pend = append(a.pend, b)
	if a.rows += b.Len; a.rows >= chunkRows {
		return a.flush()
	}
	return nil
}

func (a *Apply) flush() error {
	if len(a.pend) == 0 {
		return nil
	}
	b := arrowbatch.Concat(a.pend)
	a.pend, a.rows = nil, 0
	return a.out.Emit(b)
}

var _ exec.Output = (*joining)(nil)

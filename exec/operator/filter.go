package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
)

// Filter passes the rows for which the predicate is true.
type Filter struct {
	base
	Pred expr.Expr
	sel  []int32
}

// ProcessBatch filters.
func (f *Filter) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	f.sel = expr.Filter(f.rt.Eval, f.Pred, b, nil, f.sel[:0])
	if f.rt.Eval.Failed() {
		if err := f.rt.Fail(f.rt, b, f.rt.Eval.TakeErrors()); err != nil {
			b.Release()
			return err
		}
	}
	if len(f.sel) == b.Len {
		return f.out.Emit(b)
	}
	defer b.Release()
	if len(f.sel) == 0 {
		return nil
	}
	return f.out.Emit(b.Take(f.sel))
}

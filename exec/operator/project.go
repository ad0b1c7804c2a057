package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
)

// Project computes columns. A row of which one fails is left out.
type Project struct {
	base
	Exprs []expr.Expr
}

// ProcessBatch computes the columns of a batch.
func (p *Project) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	out := &arrowbatch.Batch{Len: b.Len, Ops: b.Ops, Entered: b.Entered, Appended: b.Appended, Split: b.Split,
		Origin: b.Origin, Cols: make([]*arrowbatch.Vec, len(p.Exprs))}
	for i, e := range p.Exprs {
		out.Cols[i] = e.Eval(p.rt.Eval, b, nil)
	}
	if !p.rt.Eval.Failed() {
		return p.out.Emit(out)
	}
	errs := p.rt.Eval.TakeErrors()
	defer out.Release()
	if err := p.rt.Fail(p.rt, b, errs); err != nil {
		return err
	}
	failed := make([]int32, len(errs))
	for i, e := range errs {
		failed[i] = e.Row
	}
	return p.out.Emit(out.Take(good(b.Len, failed)))
}

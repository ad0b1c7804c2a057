package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// TableFunc gives the rows of functions side by side, the shorter ones filled
// with NULL; with Ordinality the last column numbers the rows.
type TableFunc struct {
	Calls      []SetFunc
	Ordinality bool
}

// Run emits the rows.
func (t *TableFunc) Run(rt *exec.Runtime, out exec.Output) error {
	calls, err := newSetCalls(rt.Eval, t.Calls)
	if err != nil {
		return err
	}
	one := arrowbatch.NewBatch(1)
	args := make([][]*arrowbatch.Vec, len(calls))
	defer func() {
		for _, vs := range args {
			for _, v := range vs {
				v.Release()
			}
		}
	}()
	for k, c := range calls {
		args[k] = c.eval(one)
		if errs := rt.Eval.TakeErrors(); errs != nil {
			return c.renamed(errs[0].Err)
		}
	}
	run := newSetRun(calls)
	defer func() { run.release() }()
	if err := run.begin(args, 0); err != nil {
		return err
	}
	for row := int64(1); ; {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		n, err := run.step(chunkRows)
		if err != nil || n == 0 {
			return err
		}
		b := arrowbatch.NewBatch(n, run.outs...)
		run.reset()
		if t.Ordinality {
			ord := arrowbatch.NewFlat(arrowbatch.Int64, n)
			for i := range ord.I64 {
				ord.I64[i] = row + int64(i)
			}
			b.Cols = append(b.Cols, ord)
		}
		row += int64(n)
		if err := out.Emit(b); err != nil || n < chunkRows {
			return err
		}
	}
}

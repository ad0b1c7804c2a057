package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
)

// chunkRows is how many rows the output batches of a finite read have at most.
const chunkRows = 4096

// Values is a list of rows whose expressions read no columns.
type Values struct {
	Rows   [][]expr.Expr
	Shapes []arrowbatch.Shape
}

// Run emits the rows.
func (v *Values) Run(rt *exec.Runtime, out exec.Output) error {
	for rows := v.Rows; len(rows) > 0; {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		n := min(len(rows), chunkRows)
		b := arrowbatch.NewLike(v.Shapes)
		for _, row := range rows[:n] {
			if err := appendExprs(rt.Eval, b, row); err != nil {
				b.Release()
				return err
			}
		}
		rows = rows[n:]
		if err := out.Emit(b); err != nil {
			return err
		}
	}
	return nil
}

func appendExprs(ctx *expr.Ctx, b *arrowbatch.Batch, row []expr.Expr) error {
	for k, e := range row {
		if c, ok := expr.AsConst(e); ok {
			b.Cols[k].AppendFrom(c, 0)
			continue
		}
		x, err := expr.EvalConst(ctx, e)
		if err != nil {
			return err
		}
		b.Cols[k].AppendFrom(x, 0)
		x.Release()
	}
	b.AppendOp(arrowbatch.Insert)
	return nil
}

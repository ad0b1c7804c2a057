package operator

import (
	"context"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// counting is a recursive query from 1: n+1, modulo 5 where mod is set, up to 6.
func counting(t *testing.T, ctx context.Context, all, mod bool) *exec.Tree {
	rows := &WorkRows{}
	next := bin(t, "+", col(0, types.TInt4), expr.ConstInt(1))
	if mod {
		next = bin(t, "%", next, expr.ConstInt(5))
	}
	step := func() (*exec.Tree, error) {
		work := &exec.Tree{Leaf: &WorkTable{rows}, RT: testRuntime(ctx)}
		filter := &exec.Tree{Op: &Filter{Pred: bin(t, "<", col(0, types.TInt4), expr.ConstInt(6))}, RT: testRuntime(ctx), Children: []*exec.Tree{work}}
		return &exec.Tree{Op: &Project{Exprs: []expr.Expr{next}}, RT: testRuntime(ctx), Children: []*exec.Tree{filter}}, nil
	}
	return &exec.Tree{RT: testRuntime(ctx), Leaf: &Recursive{All: all, Rows: rows, Step: step, Shapes: subShapes,
		First: in(parse(t, subShapes, "+ 1\n+ 1\n+ 3"), 2)}}
}

func TestRecursive(t *testing.T) {
	out := &kept{t: t}
	err := counting(t, t.Context(), true, false).Run(out)
	same(t, out.text.String(), err, "+ 1\n+ 1\n+ 3\n+ 2\n+ 2\n+ 4\n+ 3\n+ 3\n+ 5\n+ 4\n+ 4\n+ 6\n+ 5\n+ 5\n+ 6\n+ 6")
	out = &kept{t: t}
	err = counting(t, t.Context(), false, true).Run(out)
	same(t, out.text.String(), err, "+ 1\n+ 3\n+ 2\n+ 4\n+ 0")
}

// TestRecursiveWithoutEnd goes round until the one who reads has enough, or the
// statement is cancelled.
func TestRecursiveWithoutEnd(t *testing.T) {
	out := &kept{t: t, stop: 100}
	if err := counting(t, t.Context(), true, true).Run(out); err != exec.ErrStop || out.n > 110 {
		t.Errorf("%d rows, %v", out.n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := counting(t, ctx, true, true).Run(emitFunc(func(b *arrowbatch.Batch) error {
		b.Release()
		if n++; n == 50 {
			cancel()
		}
		return nil
	}))
	if err != context.Canceled {
		t.Errorf("ended with %v", err)
	}
}

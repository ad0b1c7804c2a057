package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// The tests of this file's kind drive one operator as a finite read does, with
// its input cut into batches of several sizes: the result must not depend on it.

var (
	int4s = arrowbatch.Shape{Layout: arrowbatch.Int32}
	int8s = arrowbatch.Shape{Layout: arrowbatch.Int64}
	texty = arrowbatch.Shape{Layout: arrowbatch.Bytes}
)

func parse(t *testing.T, shapes []arrowbatch.Shape, text string) *arrowbatch.Batch {
	t.Helper()
	b, err := arrowbatch.ParsePretty(shapes, text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testRuntime(ctx context.Context) *exec.Runtime {
	return &exec.Runtime{Ctx: ctx, Parts: 1, Eval: &expr.Ctx{}, Stats: &exec.OpStats{},
		Fail: func(_ *exec.Runtime, _ *arrowbatch.Batch, errs []expr.RowError) error { return errs[0].Err }}
}

// given is a leaf of rows, in batches of size rows.
type given struct {
	rows *arrowbatch.Batch
	size int
	runs int
}

func (g *given) Run(_ *exec.Runtime, out exec.Output) error {
	g.runs++
	for lo := 0; lo < g.rows.Len; lo += g.size {
		hi := min(lo+g.size, g.rows.Len)
		idx := make([]int32, 0, hi-lo)
		for i := lo; i < hi; i++ {
			idx = append(idx, int32(i))
		}
		if err := out.Emit(g.rows.Take(idx)); err != nil {
			return err
		}
	}
	return nil
}

// kept collects what comes out and refuses batches that are too big or empty.
type kept struct {
	t    *testing.T
	text strings.Builder
	n    int
	stop int // ask for no more after so many rows; 0: never
}

func (k *kept) Emit(b *arrowbatch.Batch) error {
	defer b.Release()
	if b.Len > pairChunk {
		k.t.Errorf("a batch of %d rows", b.Len)
	}
	for i, c := range b.Cols {
		if c.N != b.Len {
			k.t.Errorf("column %d has %d rows in a batch of %d", i, c.N, b.Len)
		}
	}
	k.text.WriteString(arrowbatch.Pretty(b))
	if k.n += b.Len; k.stop > 0 && k.n >= k.stop {
		return exec.ErrStop
	}
	return nil
}

// in makes the tree of a leaf.
func in(b *arrowbatch.Batch, size int) *exec.Tree {
	return &exec.Tree{Leaf: &given{rows: b, size: size}, RT: testRuntime(context.Background())}
}

// drive runs the operator that mk makes over the inputs and returns its rows, as
// far as they are the same for all sizes of batches.
func drive(t *testing.T, mk func() exec.Operator, inputs ...*arrowbatch.Batch) (string, error) {
	t.Helper()
	first, firstErr := "", error(nil)
	for i, size := range []int{1, 3, 1000} {
		tree := &exec.Tree{Op: mk(), RT: testRuntime(t.Context())}
		for _, b := range inputs {
			tree.Children = append(tree.Children, in(b, size))
		}
		out := &kept{t: t}
		err := tree.Run(out)
		if i == 0 {
			first, firstErr = out.text.String(), err
			continue
		}
		if got := out.text.String(); err == nil && got != first || fmt.Sprint(err) != fmt.Sprint(firstErr) {
			t.Errorf("batches of %d rows give\n%s%v\nof 1 row\n%s%v", size, got, err, first, firstErr)
		}
	}
	return first, firstErr
}

func same(t *testing.T, got string, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(want), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	if want := strings.Join(lines, "\n"); strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func col(i int, t types.Type) expr.Expr { return expr.NewColumn(i, "", t) }

func bin(t *testing.T, op string, l, r expr.Expr) expr.Expr {
	t.Helper()
	e, err := expr.Binary(op, l, r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// cancelled runs op over endless copies of b and expects the context's error.
func cancelled(t *testing.T, op exec.Operator, b *arrowbatch.Batch) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	rt := testRuntime(ctx)
	tree := &exec.Tree{Op: op, RT: rt, Children: []*exec.Tree{{Leaf: &given{rows: b, size: b.Len}, RT: testRuntime(ctx)}}}
	cancel()
	if err := tree.Run(&kept{t: t}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

package operator

import (
	"context"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// TestEmitInOrder: complete mode sends all rows each epoch, in the order asked for.
func TestEmitInOrder(t *testing.T) {
	out := &folded{t: t, rows: map[string]int{}}
	e := &Emit{Mode: CompleteMode, Shapes: []arrowbatch.Shape{int4s, texty},
		Order: []SortKey{{Col: 0, Desc: true}, {Col: 1, NullsFirst: true}}}
	if err := e.Open(testRuntime(context.Background()), out); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"+ 1 a\n+ 3 b\n+ NULL c\n+ 3 NULL\n+ 2 d", []string{"+ 3 NULL", "+ 3 b", "+ 2 d", "+ 1 a", "+ NULL c"}},
		{"- 3 b\n+ 9 z\n+ 1 a", []string{"+ 9 z", "+ 3 NULL", "+ 2 d", "+ 1 a", "+ 1 a", "+ NULL c"}},
	} {
		out.last = nil
		if err := e.ProcessBatch(0, parse(t, e.Shapes, c.in)); err != nil {
			t.Fatal(err)
		}
		if err := e.ProcessBarrier(exec.Barrier{}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.last, c.want) {
			t.Errorf("%v instead of %v", out.last, c.want)
		}
	}
}

package operator

import (
	"errors"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// TestLookup asks for rows by a value, with and without the index, and expects
// one reading of the leaf with it.
func TestLookup(t *testing.T) {
	rows := parse(t, letters, "+ 1 a\n+ 2 b\n+ NULL c\n+ 1 d\n+ 1 bb")
	rest := bin(t, "<>", col(1, types.TText), expr.ConstText("d"))
	for _, tooMany := range []bool{false, true} {
		leaf := &given{rows: rows, size: 2}
		keep := &KeptRows{tooMany: tooMany}
		ask := func(key, rest expr.Expr) (string, error) {
			out := &kept{t: t}
			rt := testRuntime(t.Context())
			rt.Eval.Outer = []*arrowbatch.Batch{parse(t, letters, "+ 1 x")}
			err := (&Lookup{Leaf: leaf, LeafRT: testRuntime(t.Context()), Kept: keep, Key: key, Rest: rest,
				Shapes: letters}).Run(rt, out)
			return out.text.String(), err
		}
		outer := expr.NewOuter(1, 0, "x", types.TInt4)
		got, err := ask(outer, nil)
		same(t, got, err, "+ 1 a\n+ 1 d\n+ 1 bb")
		got, err = ask(outer, rest)
		same(t, got, err, "+ 1 a\n+ 1 bb")
		got, err = ask(expr.ConstInt(7), nil)
		same(t, got, err, "")
		got, err = ask(expr.ConstNull(types.TInt4), nil)
		same(t, got, err, "")
		if !tooMany && leaf.runs != 1 {
			t.Errorf("the leaf was read %d times", leaf.runs)
		}
	}
}

// TestLookupEndsEarly: one who wants one row gets it, and the index is whole for
// the next.
func TestLookupEndsEarly(t *testing.T) {
	keep := &KeptRows{}
	leaf := &given{rows: series(100, 1, 2), size: 10}
	l := &Lookup{Leaf: leaf, LeafRT: testRuntime(t.Context()), Kept: keep, Key: expr.ConstInt(1),
		Shapes: []arrowbatch.Shape{int4s}}
	if err := l.Run(testRuntime(t.Context()), &kept{t: t, stop: 1}); !errors.Is(err, exec.ErrStop) {
		t.Errorf("ended with %v", err)
	}
	out := &kept{t: t}
	if err := l.Run(testRuntime(t.Context()), out); err != nil || out.n != 50 || leaf.runs != 1 {
		t.Errorf("%d rows of %d runs, %v", out.n, leaf.runs, err)
	}
}

// TestLookupOfNothing has a leaf without rows.
func TestLookupOfNothing(t *testing.T) {
	out := &kept{t: t}
	l := &Lookup{Leaf: &given{rows: arrowbatch.NewLike(letters), size: 1}, LeafRT: testRuntime(t.Context()),
		Kept: &KeptRows{},
		Key:  expr.ConstInt(1), Shapes: letters}
	if err := l.Run(testRuntime(t.Context()), out); err != nil || out.n != 0 {
		t.Errorf("%d rows, %v", out.n, err)
	}
}

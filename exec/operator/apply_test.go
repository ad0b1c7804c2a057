package operator

import (
	"context"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// subquery makes a tree that filters rows by pred; runs counts how often.
type subquery struct {
	rows *arrowbatch.Batch
	pred expr.Expr
	made int
}

func (s *subquery) tree() (*exec.Tree, error) {
	s.made++
	leaf := in(s.rows, 2)
	if s.pred == nil {
		return leaf, nil
	}
	return &exec.Tree{Op: &Filter{Pred: s.pred}, RT: testRuntime(context.Background()), Children: []*exec.Tree{leaf}}, nil
}

var subShapes = []arrowbatch.Shape{int4s}

func TestApplyOfOneRun(t *testing.T) {
	left := parse(t, letters, "+ 1 a\n+ 4 b\n+ NULL c")
	test := bin(t, "=", col(0, types.TInt4), col(2, types.TInt4))
	unlike := bin(t, "<>", col(0, types.TInt4), col(2, types.TInt4))
	plain := bin(t, "=", bin(t, "+", col(2, types.TInt4), expr.ConstInt(0)), col(0, types.TInt4))
	for _, c := range []struct {
		name string
		kind ApplyKind
		test expr.Expr
		rows string
		want string
	}{
		{"scalar", ApplyScalar, nil, "+ 7", "+ 1 a 7\n+ 4 b 7\n+ NULL c 7"},
		{"no row", ApplyScalar, nil, "", "+ 1 a NULL\n+ 4 b NULL\n+ NULL c NULL"},
		{"exists", ApplyExists, nil, "+ 7\n+ 8", "+ 1 a true\n+ 4 b true\n+ NULL c true"},
		{"exists not", ApplyExists, nil, "", "+ 1 a false\n+ 4 b false\n+ NULL c false"},
		{"array", ApplyArray, nil, "+ 7\n+ NULL\n+ 9", "+ 1 a [7 NULL 9]\n+ 4 b [7 NULL 9]\n+ NULL c [7 NULL 9]"},
		{"array of none", ApplyArray, nil, "", "+ 1 a []\n+ 4 b []\n+ NULL c []"},
		{"any", ApplyAny, test, "+ 1\n+ 2", "+ 1 a true\n+ 4 b false\n+ NULL c NULL"},
		{"any with null", ApplyAny, test, "+ 1\n+ NULL", "+ 1 a true\n+ 4 b NULL\n+ NULL c NULL"},
		{"any of none", ApplyAny, test, "", "+ 1 a false\n+ 4 b false\n+ NULL c false"},
		{"any by pairs", ApplyAny, plain, "+ 1\n+ NULL", "+ 1 a true\n+ 4 b NULL\n+ NULL c NULL"},
		{"all", ApplyAll, unlike, "+ 1\n+ 2", "+ 1 a false\n+ 4 b true\n+ NULL c NULL"},
		{"all with null", ApplyAll, unlike, "+ 1\n+ NULL", "+ 1 a false\n+ 4 b NULL\n+ NULL c NULL"},
		{"all equal", ApplyAll, test, "+ 1\n+ 1", "+ 1 a true\n+ 4 b false\n+ NULL c NULL"},
		{"all of none", ApplyAll, unlike, "", "+ 1 a true\n+ 4 b true\n+ NULL c true"},
		{"cross", ApplyCross, nil, "+ 7\n+ 8", "+ 1 a 7\n+ 1 a 8\n+ 4 b 7\n+ 4 b 8\n+ NULL c 7\n+ NULL c 8"},
		{"cross on", ApplyCross, test, "+ 4\n+ 1", "+ 1 a 1\n+ 4 b 4"},
		{"left on", ApplyLeft, test, "+ 4\n+ 5", "+ 1 a NULL\n+ 4 b 4\n+ NULL c NULL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sub *subquery
			got, err := drive(t, func() exec.Operator {
				sub = &subquery{rows: parse(t, subShapes, c.rows)}
				return &Apply{Kind: c.kind, Test: c.test, Make: sub.tree, Sub: subShapes}
			}, left)
			same(t, got, err, c.want)
			if sub.made != 1 {
				t.Errorf("the subquery ran %d times", sub.made)
			}
		})
	}
}

// TestApplyToNothing checks that a subquery does not run for no rows: it could
// fail.
func TestApplyToNothing(t *testing.T) {
	sub := &subquery{rows: parse(t, subShapes, "+ 1\n+ 2")}
	got, err := drive(t, func() exec.Operator { return &Apply{Make: sub.tree, Sub: subShapes} },
		arrowbatch.NewLike(letters))
	same(t, got, err, "")
	if sub.made != 0 {
		t.Errorf("the subquery ran %d times", sub.made)
	}
}

func TestApplyOfManyRows(t *testing.T) {
	for _, kind := range []ApplyKind{ApplyScalar, ApplyRow} {
		sub := &subquery{rows: parse(t, subShapes, "+ 1\n+ 2")}
		_, err := drive(t, func() exec.Operator { return &Apply{Kind: kind, Make: sub.tree, Sub: subShapes} },
			parse(t, letters, "+ 1 a"))
		if sqlerr.CodeOf(err) != sqlerr.CardinalityViolation {
			t.Errorf("two rows give %v", err)
		}
	}
}

func TestApplyCorrelated(t *testing.T) {
	left := parse(t, letters, "+ 1 a\n+ 2 b\n+ NULL c\n+ 4 d")
	rows := "+ 1\n+ 2\n+ 3\n+ NULL"
	below := bin(t, "<=", col(0, types.TInt4), expr.NewOuter(1, 0, "x", types.TInt4))
	test := bin(t, "=", col(2, types.TInt4), expr.ConstInt(2))
	for _, c := range []struct {
		kind ApplyKind
		test expr.Expr
		want string
	}{
		{ApplyExists, nil, "+ 1 a true\n+ 2 b true\n+ NULL c false\n+ 4 d true"},
		{ApplyArray, nil, "+ 1 a [1]\n+ 2 b [1 2]\n+ NULL c []\n+ 4 d [1 2 3]"},
		{ApplyAny, test, "+ 1 a false\n+ 2 b true\n+ NULL c false\n+ 4 d true"},
		{ApplyAll, test, "+ 1 a false\n+ 2 b false\n+ NULL c true\n+ 4 d false"},
		{ApplyCross, nil, "+ 1 a 1\n+ 2 b 1\n+ 2 b 2\n+ 4 d 1\n+ 4 d 2\n+ 4 d 3"},
		{ApplyLeft, test, "+ 1 a NULL\n+ 2 b 2\n+ NULL c NULL\n+ 4 d 2"},
	} {
		got, err := drive(t, func() exec.Operator {
			sub := &subquery{rows: parse(t, subShapes, rows), pred: below}
			return &Apply{Kind: c.kind, Test: c.test, Correlated: true, Make: sub.tree, Sub: subShapes}
		}, left)
		same(t, got, err, c.want)
	}
}

// TestApplyNested has a subquery in a subquery that looks at both rows around it,
// and one between them that looks at neither.
func TestApplyNested(t *testing.T) {
	left := parse(t, subShapes, "+ 10\n+ 20")
	sum := bin(t, "+", expr.NewOuter(1, 0, "m", types.TInt4), expr.NewOuter(3, 0, "o", types.TInt4))
	deepest := func() (*exec.Tree, error) {
		return &exec.Tree{Leaf: &Values{Rows: [][]expr.Expr{{sum}}, Shapes: subShapes},
			RT: testRuntime(context.Background())}, nil
	}
	// middle: rows 1 and 2, each with the innermost subquery's value.
	middle := func() (*exec.Tree, error) {
		return &exec.Tree{Op: &Apply{Kind: ApplyScalar, Correlated: true, Make: deepest, Sub: subShapes},
			RT: testRuntime(context.Background()), Children: []*exec.Tree{in(parse(t, subShapes, "+ 1\n+ 2"), 1)}}, nil
	}
	between := func() (*exec.Tree, error) {
		return &exec.Tree{Op: &Apply{Kind: ApplyCross, Make: middle, Sub: []arrowbatch.Shape{int4s, int4s}},
			RT: testRuntime(context.Background()), Children: []*exec.Tree{in(parse(t, subShapes, "+ 5"), 1)}}, nil
	}
	got, err := drive(t, func() exec.Operator {
		return &Apply{Kind: ApplyCross, Correlated: true, Make: between, Sub: []arrowbatch.Shape{int4s, int4s, int4s}}
	}, left)
	same(t, got, err, "+ 10 5 1 11\n+ 10 5 2 12\n+ 20 5 1 21\n+ 20 5 2 22")
}

// TestApplyAnyError: an error counts only if nothing before it decides.
func TestApplyAnyError(t *testing.T) {
	div := bin(t, "=", col(0, types.TInt4), bin(t, "/", expr.ConstInt(2), col(1, types.TInt4)))
	run := func(x string) (string, error) {
		return drive(t, func() exec.Operator {
			sub := &subquery{rows: parse(t, subShapes, "+ 1\n+ 2\n+ 0")}
			return &Apply{Kind: ApplyAny, Test: div, Make: sub.tree, Sub: subShapes}
		}, parse(t, subShapes, x))
	}
	got, err := run("+ 1")
	same(t, got, err, "+ 1 true")
	if _, err := run("+ 5"); sqlerr.CodeOf(err) != sqlerr.DivisionByZero {
		t.Errorf("got %v", err)
	}
}

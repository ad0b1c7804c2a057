package operator

import (
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

func seriesTo(stop expr.Expr) SetFunc {
	return SetFunc{Name: "generate_series", Args: []expr.Expr{expr.ConstInt(1), stop}, Types: []types.Type{types.TInt4}}
}

func lettersOf(x expr.Expr) SetFunc {
	return SetFunc{Name: "regexp_split_to_table", Args: []expr.Expr{x, expr.ConstText("")}, Types: []types.Type{types.TText}}
}

func TestProjectSet(t *testing.T) {
	b := parse(t, letters, "+ 2 a\n+ 0 b\n+ NULL xyz\n+ 1 pq")
	got, err := drive(t, func() exec.Operator { return &ProjectSet{Calls: []SetFunc{seriesTo(col(0, types.TInt4))}} }, b)
	same(t, got, err, "+ 2 a 1\n+ 2 a 2\n+ 1 pq 1")
	got, err = drive(t, func() exec.Operator {
		return &ProjectSet{Calls: []SetFunc{seriesTo(col(0, types.TInt4)), lettersOf(col(1, types.TText))}}
	}, b)
	same(t, got, err, "+ 2 a 1 a\n+ 2 a 2 NULL\n+ 0 b NULL b\n+ NULL xyz NULL x\n+ NULL xyz NULL y\n+ NULL xyz NULL z\n+ 1 pq 1 p\n+ 1 pq NULL q")
}

// TestProjectSetIsBounded makes many rows of one.
func TestProjectSetIsBounded(t *testing.T) {
	out := &kept{t: t}
	tree := &exec.Tree{Op: &ProjectSet{Calls: []SetFunc{seriesTo(expr.ConstInt(50_000))}}, RT: testRuntime(t.Context()),
		Children: []*exec.Tree{in(parse(t, letters, "+ 1 a\n+ 2 b"), 2)}}
	if err := tree.Run(out); err != nil || out.n != 100_000 {
		t.Errorf("%d rows, %v", out.n, err)
	}
}

// TestProjectSetErrors runs as in a continuous query: a row that fails leaves the
// result whole, also where one of its calls gave rows first, and ops stay.
func TestProjectSetErrors(t *testing.T) {
	store, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := parse(t, letters, "+ 2 \"[1,2]\"\n- 1 {}\n+ 0 \"[3]\"\n- 4 \"[4]\"")
	elements := SetFunc{Name: "json_array_elements_text", Args: []expr.Expr{must(t)(expr.Cast(col(1, types.TText), types.TJSON, expr.Explicit))},
		Types: []types.Type{types.TText}}
	inverse := seriesTo(bin(t, "/", expr.ConstInt(2), col(0, types.TInt4)))
	rt := testRuntime(t.Context())
	rt.Store = store
	var failed []int32
	rt.Fail = func(_ *exec.Runtime, _ *arrowbatch.Batch, errs []expr.RowError) error {
		for _, e := range errs {
			failed = append(failed, e.Row)
		}
		return nil
	}
	out := &kept{t: t}
	tree := &exec.Tree{Op: &ProjectSet{Calls: []SetFunc{inverse, elements}}, RT: rt, Children: []*exec.Tree{in(b, 4)}}
	err = tree.Run(out)
	same(t, out.text.String(), err, `
		+ 2 "[1,2]" 1 1
		+ 2 "[1,2]" NULL 2
		- 4 "[4]" NULL 4`)
	if len(failed) != 2 || failed[0] != 1 || failed[1] != 2 {
		t.Errorf("rows %v failed", failed)
	}
}

func must(t *testing.T) func(expr.Expr, error) expr.Expr {
	return func(e expr.Expr, err error) expr.Expr {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestTableFunc(t *testing.T) {
	run := func(f *TableFunc) (string, error) {
		out := &kept{t: t}
		err := (&exec.Tree{Leaf: f, RT: testRuntime(t.Context())}).Run(out)
		return out.text.String(), err
	}
	got, err := run(&TableFunc{Calls: []SetFunc{seriesTo(expr.ConstInt(3)), lettersOf(expr.ConstText("ab"))}, Ordinality: true})
	same(t, got, err, "+ 1 a 1\n+ 2 b 2\n+ 3 NULL 3")
	got, err = run(&TableFunc{Calls: []SetFunc{seriesTo(expr.ConstNull(types.TInt4))}})
	same(t, got, err, "")
	each := SetFunc{Name: "jsonb_each", Args: []expr.Expr{must(t)(expr.Cast(expr.ConstUnknown(`{"a": 1, "b": null}`), types.TJSONB, expr.Explicit))}}
	each.Types = []types.Type{types.TText, types.TJSONB}
	got, err = run(&TableFunc{Calls: []SetFunc{each}})
	same(t, got, err, "+ a 1\n+ b null")
	each.Types = []types.Type{types.StructOf(types.Field{Name: "key", Type: types.TText}, types.Field{Name: "value", Type: types.TJSONB})}
	got, err = run(&TableFunc{Calls: []SetFunc{each}})
	same(t, got, err, "+ (a 1)\n+ (b null)")
	_, err = run(&TableFunc{Calls: []SetFunc{{Name: "regexp_split_to_table", Types: []types.Type{types.TText},
		Args: []expr.Expr{expr.ConstText("a"), expr.ConstText("a"), expr.ConstText("g")}}}})
	if e := sqlerr.From(err); e == nil || e.Message != `regexp_split_to_table() does not support the "global" option` {
		t.Errorf("got %v", err)
	}
	if _, err := run(&TableFunc{Calls: []SetFunc{{Name: "no_such"}}}); sqlerr.CodeOf(err) != sqlerr.FeatureNotSupported {
		t.Errorf("got %v", err)
	}
}

// TestTableFuncLong has more rows than a batch, numbered through.
func TestTableFuncLong(t *testing.T) {
	n, last := 0, int64(0)
	f := &TableFunc{Calls: []SetFunc{seriesTo(expr.ConstInt(2*chunkRows + 5))}, Ordinality: true}
	err := f.Run(testRuntime(t.Context()), emitFunc(func(b *arrowbatch.Batch) error {
		defer b.Release()
		for i := range b.Len {
			if n++; b.Cols[1].I64[i] != int64(n) || b.Cols[0].I32[i] != int32(n) {
				t.Fatalf("row %d has number %d", n, b.Cols[1].I64[i])
			}
		}
		last = b.Cols[1].I64[b.Len-1]
		return nil
	}))
	if err != nil || last != 2*chunkRows+5 {
		t.Errorf("the last row is %d, %v", last, err)
	}
}

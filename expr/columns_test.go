package expr

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// goldenExprs returns the expressions of testdata that bind and are not volatile.
func goldenExprs(t *testing.T) (srcs []string, exprs []Expr) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(strings.NewReader(string(src)))
		for sc.Scan() {
			line, _, _ := strings.Cut(sc.Text(), " =>")
			if line == "" || strings.HasPrefix(line, "--") {
				continue
			}
			if e, err := parseExpr(line, nil); err == nil && VolatilityOf(e) != Volatile {
				srcs, exprs = append(srcs, line), append(exprs, e)
			}
		}
	}
	return srcs, exprs
}

// leafTypes returns the types of the constants of e in the order of Transform.
func leafTypes(e Expr) (ts []types.Type) {
	Transform(e, func(x Expr) Expr {
		if c, ok := x.(*constant); ok {
			ts = append(ts, c.typ)
		}
		return x
	})
	return ts
}

// withLeaves returns e with its constants replaced in the order of Transform.
func withLeaves(e Expr, leaf func(k int, t types.Type) Expr) Expr {
	k := 0
	return Transform(e, func(x Expr) Expr {
		if c, ok := x.(*constant); ok {
			k++
			return leaf(k-1, c.typ)
		}
		return x
	})
}

// outcome is the text of a row, NULL or its error's code.
func outcome(t types.Type, v *arrowbatch.Vec, i int, err *sqlerr.Error) string {
	switch {
	case err != nil:
		return "ERROR " + string(err.Code)
	case v.IsNull(i):
		return "NULL"
	}
	return "= " + string(types.AppendText(nil, t, v, i, nil))
}

// TestColumnsMatchRows evaluates every golden expression with its constants
// replaced by columns of random values and NULLs, under random selections, and
// compares each row with the same expression over constants.
func TestColumnsMatchRows(t *testing.T) {
	srcs, exprs := goldenExprs(t)
	rng := rand.New(rand.NewPCG(1, 2))
	pool := map[string][]*constant{}
	for _, e := range exprs {
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*constant); ok {
				pool[c.typ.String()] = append(pool[c.typ.String()], c)
			}
			return true
		})
	}
	for i, e := range exprs {
		for _, n := range []int{1, 67, 130} {
			checkColumns(t, rng, pool, srcs[i], e, n)
		}
		if t.Failed() {
			return
		}
	}
}

func checkColumns(t *testing.T, rng *rand.Rand, pool map[string][]*constant, src string, e Expr, n int) {
	leaves := leafTypes(e)
	vals := make([][]*constant, len(leaves)) // leaf, row
	in := &arrowbatch.Batch{Len: n}
	for k, lt := range leaves {
		col := arrowbatch.NewVec(lt.Shape(), 0)
		from := pool[lt.String()]
		fixed := rng.IntN(3) == 0 // some leaves stay constant
		one := from[rng.IntN(len(from))]
		for range n {
			c := from[rng.IntN(len(from))]
			if fixed {
				c = one
			} else if rng.IntN(8) == 0 {
				c = ConstNull(lt).(*constant)
			}
			vals[k] = append(vals[k], c)
			col.AppendFrom(c.v, 0)
		}
		in.Cols = append(in.Cols, col)
	}
	defer in.Release()
	cols := withLeaves(e, func(k int, lt types.Type) Expr {
		if n > 1 && !slices.ContainsFunc(vals[k], func(c *constant) bool { return c != vals[k][0] }) {
			return vals[k][0]
		}
		return NewColumn(k, fmt.Sprint("c", k), lt)
	})
	var sel []int32
	if rng.IntN(3) > 0 {
		sel = []int32{}
		for i := range n {
			if rng.IntN(2) == 0 {
				sel = append(sel, int32(i))
			}
		}
	}
	ctx := testCtx(t)
	got := cols.Eval(ctx, in, sel)
	defer got.Release()
	if got.N != n {
		t.Fatalf("%s: %d rows, want %d", src, got.N, n)
	}
	errs := map[int32]*sqlerr.Error{}
	for _, re := range ctx.TakeErrors() {
		errs[re.Row] = re.Err
		if sel != nil && !slices.Contains(sel, re.Row) {
			t.Errorf("%s: row %d failed outside the selection: %v", src, re.Row, re.Err)
		}
	}
	for _, r := range allRows(nil, n, sel) {
		row := withLeaves(e, func(k int, _ types.Type) Expr { return vals[k][r] })
		refCtx := testCtx(t)
		ref, err := EvalConst(refCtx, row)
		want := "ERROR " + string(sqlerr.CodeOf(err))
		if err == nil {
			want = outcome(e.Type(), ref, 0, nil)
			ref.Release()
		}
		if o := outcome(e.Type(), got, int(r), errs[r]); o != want {
			t.Errorf("%s\n row %d of %d: %s\n got %s\nwant %s", src, r, n, row, o, want)
			return
		}
	}
	if e.Type().ID == types.Bool {
		checkFilter(t, src, cols, in, sel, got, errs)
	}
}

// checkFilter compares Filter with the column of the predicate.
func checkFilter(t *testing.T, src string, pred Expr, in *arrowbatch.Batch, sel []int32,
	v *arrowbatch.Vec, errs map[int32]*sqlerr.Error) {
	var want []int32
	for _, r := range allRows(nil, in.Len, sel) {
		if errs[r] == nil && !v.IsNull(int(r)) && v.Bits.Get(int(r)) {
			want = append(want, r)
		}
	}
	ctx := testCtx(t)
	got := Filter(ctx, pred, in, sel, nil)
	if !slices.Equal(got, want) {
		t.Errorf("%s: Filter\n got %v\nwant %v", src, got, want)
	}
	for _, re := range ctx.TakeErrors() {
		if errs[re.Row] == nil {
			t.Errorf("%s: Filter failed row %d: %v", src, re.Row, re.Err)
		}
	}
}

// TestOddStringsNeverPanic feeds expressions with texts that are nothing like
// what they expect; NULL, a value and an error are all good answers.
func TestOddStringsNeverPanic(t *testing.T) {
	srcs, exprs := goldenExprs(t)
	rng := rand.New(rand.NewPCG(9, 9))
	var texts []string
	for _, e := range exprs {
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*constant); ok && c.typ.ID == types.Text && !c.v.IsNull(0) {
				texts = append(texts, string(c.v.BytesAt(0)))
			}
			return true
		})
	}
	odd := func() string {
		a, b := texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))]
		cut := func(s string) string { return strings.ToValidUTF8(s[:rng.IntN(len(s)+1)], "") }
		return cut(a) + []string{"", "\\", "ä", "%", "{", "-9", "\""}[rng.IntN(7)] + cut(b)
	}
	ctx := testCtx(t)
	for i, e := range exprs {
		for range 4 {
			m := withLeaves(e, func(_ int, lt types.Type) Expr {
				switch lt.ID {
				case types.Text:
					return ConstText(odd())
				case types.Int4:
					return ConstInt(int64(rng.IntN(2001) - 1000))
				}
				return ConstNull(lt)
			})
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s as %s: %v", srcs[i], m, p)
					}
				}()
				if v, err := EvalConst(ctx, m); err == nil {
					v.Release()
				} else if sqlerr.CodeOf(err) == sqlerr.InternalError {
					t.Errorf("%s: %v", m, err)
				}
			}()
		}
	}
}

package operator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

var letters = []arrowbatch.Shape{int4s, texty}

const lettered = `
	+ 3 c
	+ 1 a
	+ NULL n
	+ 2 b
	+ 1 z
	+ 3 a`

func TestSort(t *testing.T) {
	b := parse(t, letters, lettered)
	for _, c := range []struct {
		keys []SortKey
		want string
	}{
		{[]SortKey{{Col: 0}}, "+ 1 a\n+ 1 z\n+ 2 b\n+ 3 c\n+ 3 a\n+ NULL n"},
		{[]SortKey{{Col: 0, Desc: true, NullsFirst: true}}, "+ NULL n\n+ 3 c\n+ 3 a\n+ 2 b\n+ 1 a\n+ 1 z"},
		{[]SortKey{{Col: 0, Desc: true}, {Col: 1}}, "+ 3 a\n+ 3 c\n+ 2 b\n+ 1 a\n+ 1 z\n+ NULL n"},
		{[]SortKey{{Col: 0, NullsFirst: true}, {Col: 1, Desc: true}}, "+ NULL n\n+ 1 z\n+ 1 a\n+ 2 b\n+ 3 c\n+ 3 a"},
		{nil, strings.TrimSpace(strings.ReplaceAll(lettered, "\t", ""))},
	} {
		for _, compare := range []bool{false, true} {
			keys := append([]SortKey(nil), c.keys...)
			for i := range keys {
				if compare {
					keys[i].Compare = expr.Comparator([]types.Type{types.TInt4, types.TText}[keys[i].Col])
				}
			}
			got, err := drive(t, func() exec.Operator { return &Sort{Keys: keys, Shapes: letters} }, b)
			same(t, got, err, c.want)
		}
	}
}

func TestSortOfNothing(t *testing.T) {
	got, err := drive(t, func() exec.Operator { return &Sort{Keys: []SortKey{{Col: 0}}, Shapes: letters} },
		arrowbatch.NewLike(letters))
	same(t, got, err, "")
}

func TestSortIsCancelled(t *testing.T) {
	cancelled(t, &Sort{Shapes: letters}, parse(t, letters, lettered))
}

// series is n rows of i*step modulo mod.
func series(n, step, mod int) *arrowbatch.Batch {
	v := arrowbatch.NewFlat(arrowbatch.Int32, n)
	for i := range v.I32 {
		v.I32[i] = int32(i * step % mod)
	}
	return arrowbatch.NewBatch(n, v)
}

// TestTopNKeepsLittle sorts more rows than are held and looks at what is held.
func TestTopNKeepsLittle(t *testing.T) {
	const n = 100_000
	rows := series(n, 7919, n)
	top := &TopN{Keys: []SortKey{{Col: 0, Desc: true}}, Limit: expr.ConstInt8(3), Offset: expr.ConstInt8(2),
		Shapes: []arrowbatch.Shape{int4s}}
	out := &kept{t: t}
	rt := testRuntime(t.Context())
	if err := top.Open(rt, out); err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	most := int64(0)
	err := (&given{rows: rows, size: 1000}).Run(rt, emitFunc(func(b *arrowbatch.Batch) error {
		err := top.ProcessBatch(0, b)
		most = max(most, top.sort.n)
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := top.ProcessBarrier(exec.Barrier{Final: true}); err != nil {
		t.Fatal(err)
	}
	same(t, out.text.String(), nil, "+ 99997\n+ 99996\n+ 99995")
	if most > 10_000 {
		t.Errorf("%d rows were held for 5", most)
	}
}

func TestTopN(t *testing.T) {
	b := parse(t, letters, lettered)
	null := expr.ConstNull(types.TInt8)
	for _, c := range []struct {
		limit, offset expr.Expr
		ties          bool
		want          string
	}{
		{expr.ConstInt8(2), nil, false, "+ 1 a\n+ 1 z"},
		{expr.ConstInt8(1), nil, true, "+ 1 a\n+ 1 z"},
		{expr.ConstInt8(1), expr.ConstInt8(2), true, "+ 2 b"},
		{expr.ConstInt8(2), expr.ConstInt8(2), true, "+ 2 b\n+ 3 c\n+ 3 a"},
		{null, expr.ConstInt8(4), false, "+ 3 a\n+ NULL n"},
		{expr.ConstInt8(0), nil, true, ""},
		{expr.ConstInt8(9), expr.ConstInt8(9), false, ""},
		{expr.ConstInt8(1 << 62), expr.ConstInt8(1 << 62), false, ""},
	} {
		got, err := drive(t, func() exec.Operator {
			return &TopN{Keys: []SortKey{{Col: 0}}, Limit: c.limit, Offset: c.offset, WithTies: c.ties, Shapes: letters}
		}, b)
		same(t, got, err, c.want)
	}
	_, err := drive(t, func() exec.Operator { return &TopN{Limit: expr.ConstInt8(-1), Shapes: letters} }, b)
	if sqlerr.CodeOf(err) != sqlerr.InvalidLimitValue {
		t.Errorf("LIMIT -1 gives %v", err)
	}
}

// TestTopNTies has more ties than a cut leaves.
func TestTopNTies(t *testing.T) {
	rows := series(30_000, 1, 2)
	top := &TopN{Keys: []SortKey{{Col: 0}}, Limit: expr.ConstInt8(1), WithTies: true, Shapes: []arrowbatch.Shape{int4s}}
	out := &kept{t: t}
	tree := &exec.Tree{Op: top, RT: testRuntime(t.Context()), Children: []*exec.Tree{in(rows, 500)}}
	if err := tree.Run(out); err != nil || out.n != 15_000 {
		t.Errorf("%d rows, %v", out.n, err)
	}
}

func TestLimitStopsItsInput(t *testing.T) {
	leaf := &given{rows: series(1000, 1, 1000), size: 10}
	seen := 0
	counting := outputCounter{leaf, &seen}
	tree := &exec.Tree{Op: &Limit{Limit: expr.ConstInt8(15), Offset: expr.ConstInt8(4)}, RT: testRuntime(t.Context()),
		Children: []*exec.Tree{{Leaf: counting, RT: testRuntime(t.Context())}}}
	out := &kept{t: t}
	if err := tree.Run(out); err != nil || out.n != 15 {
		t.Fatalf("%d rows, %v", out.n, err)
	}
	if seen > 30 {
		t.Errorf("%d rows were read for 19", seen)
	}
}

// outputCounter counts the rows of a leaf.
type outputCounter struct {
	leaf *given
	n    *int
}

func (c outputCounter) Run(rt *exec.Runtime, out exec.Output) error {
	return c.leaf.Run(rt, emitFunc(func(b *arrowbatch.Batch) error {
		*c.n += b.Len
		return out.Emit(b)
	}))
}

func BenchmarkSort(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows := series(n, 7919, n)
			for b.Loop() {
				r := newSortRows(rows, []SortKey{{Col: 0}})
				if len(r.sorted()) != n {
					b.Fatal("rows are missing")
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

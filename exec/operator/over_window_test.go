package operator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// Columns of the tests: partition, order, value.
var overShapes = []arrowbatch.Shape{int4s, int4s, int8s}

func window(name string, result types.Type, cols ...int) WindowCall {
	return WindowCall{Call: aggregate.Call{Name: name, Result: result}, Cols: cols, Filter: -1,
		Frame: Frame{Unit: sql.FrameRange, Start: sql.UnboundedPreceding, End: sql.CurrentRow}}
}

func sumOver(f Frame) WindowCall {
	w := window("sum", types.TNumeric, 2)
	w.Args, w.Aggregate, w.Frame = []types.Type{types.TInt8}, true, f
	return w
}

func over(calls ...WindowCall) func() exec.Operator {
	return func() exec.Operator {
		return &OverWindow{PartitionBy: []SortKey{{Col: 0}}, OrderBy: []SortKey{{Col: 1}},
			OrderTypes: []types.Type{types.TInt4}, Calls: calls}
	}
}

func TestOverWindowRanks(t *testing.T) {
	b := parse(t, overShapes, "+ 1 5 50\n+ 1 3 30\n+ 2 1 10\n+ 1 3 31\n+ 1 NULL 99")
	got, err := drive(t, over(window("row_number", types.TInt8), window("rank", types.TInt8),
		window("dense_rank", types.TInt8),
		window("percent_rank", types.TFloat8), window("cume_dist", types.TFloat8)), b)
	same(t, got, err, `
		+ 1 3 30 1 1 1 0 0.5
		+ 1 3 31 2 1 1 0 0.5
		+ 1 5 50 3 3 2 0.6666666666666666 0.75
		+ 1 NULL 99 4 4 3 1 1
		+ 2 1 10 1 1 1 0 1`)
}

func TestOverWindowIgnoreNulls(t *testing.T) {
	b := parse(t, overShapes, "+ 1 1 NULL\n+ 1 2 20\n+ 1 3 NULL\n+ 1 4 40\n+ 1 5 NULL")
	var calls []WindowCall
	for _, name := range []string{"lag", "lead", "first_value", "last_value"} {
		w := window(name, types.TInt8, 2)
		w.IgnoreNulls = true
		calls = append(calls, w)
	}
	got, err := drive(t, over(calls...), b)
	same(t, got, err, `
		+ 1 1 NULL NULL 20 NULL NULL
		+ 1 2 20 NULL 40 20 20
		+ 1 3 NULL 20 40 20 20
		+ 1 4 40 20 NULL 20 40
		+ 1 5 NULL 40 NULL 20 40`)
}

func TestOverWindowErrors(t *testing.T) {
	b := parse(t, overShapes, "+ 1 1 0")
	bad := window("ntile", types.TInt4, 1)
	zero := parse(t, overShapes, "+ 1 0 0")
	if _, err := drive(t, over(bad), zero); sqlerr.CodeOf(err) != sqlerr.InvalidNtileArgument {
		t.Errorf("ntile(0) gives %v", err)
	}
	for _, c := range []struct {
		unit   sql.FrameUnit
		offset expr.Expr
		code   sqlerr.Code
	}{
		{sql.FrameRows, expr.ConstInt8(-1), sqlerr.InvalidFrameOffset},
		{sql.FrameGroups, expr.ConstInt8(-1), sqlerr.InvalidFrameOffset},
		{sql.FrameRange, expr.ConstInt(-1), sqlerr.InvalidFrameOffset},
		{sql.FrameRows, expr.ConstNull(types.TInt8), sqlerr.NullValueNotAllowed},
		{sql.FrameRange, expr.ConstNull(types.TInt4), sqlerr.NullValueNotAllowed},
	} {
		f := Frame{Unit: c.unit, Start: sql.OffsetPreceding, StartOffset: c.offset, End: sql.CurrentRow}
		if _, err := drive(t, over(sumOver(f)), b); sqlerr.CodeOf(err) != c.code {
			t.Errorf("offset %s gives %v", c.offset, err)
		}
	}
}

func TestOverWindowIsCancelled(t *testing.T) {
	cancelled(t, over(window("rank", types.TInt8))(), parse(t, overShapes, "+ 1 1 1"))
}

// overRow is a row of the model that TestOverWindowFrames compares with.
type overRow struct {
	part, order, val int
	null             bool // order is NULL
}

// before and equal are the order of the tests: NULLs last.
func (a overRow) compare(b overRow) int {
	switch {
	case a.part != b.part:
		return a.part - b.part
	case a.null != b.null:
		if a.null {
			return 1
		}
		return -1
	case a.null:
		return 0
	}
	return a.order - b.order
}

// inFrame tells from the standard's words whether row j is in row i's frame.
func inFrame(rows []overRow, f Frame, i, j, start, end int) bool {
	if rows[i].part != rows[j].part {
		return false
	}
	// at is how far row j is from row i in the frame's unit.
	at := j - i
	peer := rows[i].compare(rows[j]) == 0
	switch f.Unit {
	case sql.FrameGroups:
		at = 0
		for k := min(i, j); k < max(i, j); k++ {
			if rows[k].compare(rows[k+1]) != 0 {
				at++
			}
		}
		if j < i {
			at = -at
		}
	case sql.FrameRange:
		switch {
		case peer:
			at = 0
		case rows[i].null || rows[j].null: // farther than any offset
			at = 1000
			if rows[j].compare(rows[i]) < 0 {
				at = -1000
			}
		default:
			at = rows[j].order - rows[i].order
		}
	}
	far := func(kind sql.BoundKind, offset int) int {
		switch kind {
		case sql.UnboundedPreceding:
			return -5000
		case sql.UnboundedFollowing:
			return 5000
		case sql.OffsetPreceding:
			offset = -offset
		case sql.CurrentRow:
			offset = 0
		}
		if f.Unit == sql.FrameRange && rows[i].null {
			offset = 0 // nothing can be added to NULL: its peers
		}
		return offset
	}
	if at < far(f.Start, start) || at > far(f.End, end) {
		return false
	}
	switch f.Exclude {
	case sql.ExcludeCurrentRow:
		return i != j
	case sql.ExcludeGroup:
		return !peer
	case sql.ExcludeTies:
		return i == j || !peer
	}
	return true
}

// TestOverWindowFrames compares sums, first and last values over random frames
// with a loop over all pairs of rows.
func TestOverWindowFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 400 {
		rows := make([]overRow, 1+r.IntN(25))
		for i := range rows {
			rows[i] = overRow{r.IntN(2), r.IntN(6), r.IntN(100), r.IntN(7) == 0}
		}
		slices.SortStableFunc(rows, overRow.compare)
		f := Frame{Unit: sql.FrameUnit(r.IntN(3)), Exclude: sql.FrameExclude(r.IntN(4)),
			Start: sql.BoundKind(r.IntN(4)), End: sql.BoundKind(1 + r.IntN(4))}
		start, end := r.IntN(4), r.IntN(4)
		offset := func(x int) expr.Expr {
			if f.Unit == sql.FrameRange {
				return expr.ConstInt(int64(x))
			}
			return expr.ConstInt8(int64(x))
		}
		f.StartOffset, f.EndOffset = offset(start), offset(end)
		var text, want strings.Builder
		for i, a := range rows {
			line := fmt.Sprintf("+ %d %d %d", a.part, a.order, a.val)
			if a.null {
				line = fmt.Sprintf("+ %d NULL %d", a.part, a.val)
			}
			fmt.Fprintln(&text, line)
			sum, first, last := "NULL", "NULL", "NULL"
			total := 0
			for j := range rows {
				if inFrame(rows, f, i, j, start, end) {
					total += rows[j].val
					sum, last = fmt.Sprint(total), fmt.Sprint(rows[j].val)
					if first == "NULL" {
						first = last
					}
				}
			}
			fmt.Fprintln(&want, line, sum, first, last)
		}
		firstValue, lastValue := window("first_value", types.TInt8, 2), window("last_value", types.TInt8, 2)
		firstValue.Frame, lastValue.Frame = f, f
		got, err := drive(t, over(sumOver(f), firstValue, lastValue), parse(t, overShapes, text.String()))
		if err != nil || got != want.String() {
			t.Fatalf("case %d, frame %+v (%d, %d)\nrows\n%sgot\n%s%v\nwant\n%s", n, f, start, end, text.String(), got, err,
				want.String())
		}
	}
}

// TestOverWindowSlides takes frames so wide that rows are taken out of sums.
func TestOverWindowSlides(t *testing.T) {
	const n, width = 3000, 500
	part, val := arrowbatch.NewFlat(arrowbatch.Int32, n), arrowbatch.NewFlat(arrowbatch.Int64, n)
	for i := range n {
		part.I32[i], val.I64[i] = 1, int64(i*i%97)
	}
	f := Frame{Unit: sql.FrameRows, Start: sql.OffsetPreceding, StartOffset: expr.ConstInt8(width), End: sql.CurrentRow}
	out := &kept{t: t}
	tree := &exec.Tree{Op: over(sumOver(f))(), RT: testRuntime(t.Context()),
		Children: []*exec.Tree{in(arrowbatch.NewBatch(n, part, series(n, 1, n).Cols[0], val), 700)}}
	if err := tree.Run(out); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(out.text.String()), "\n") {
		sum := int64(0)
		for j := max(0, i-width); j <= i; j++ {
			sum += val.I64[j]
		}
		if want := fmt.Sprintf("+ 1 %d %d %d", i, val.I64[i], sum); line != want {
			t.Fatalf("row %d is %q, want %q", i, line, want)
		}
	}
}

func BenchmarkOverWindow(b *testing.B) {
	const n = 100_000
	for name, f := range map[string]Frame{
		"running": {Unit: sql.FrameRange, Start: sql.UnboundedPreceding, End: sql.CurrentRow},
		"sliding": {Unit: sql.FrameRows, Start: sql.OffsetPreceding, StartOffset: expr.ConstInt8(1000), End: sql.CurrentRow},
		"near":    {Unit: sql.FrameRows, Start: sql.OffsetPreceding, StartOffset: expr.ConstInt8(3), End: sql.CurrentRow},
	} {
		b.Run(name, func(b *testing.B) {
			val := arrowbatch.NewFlat(arrowbatch.Int64, n)
			for i := range val.I64 {
				val.I64[i] = int64(i)
			}
			rows := arrowbatch.NewBatch(n, series(n, 1, 10).Cols[0], series(n, 7919, n).Cols[0], val)
			for b.Loop() {
				tree := &exec.Tree{Op: over(sumOver(f))(), RT: testRuntime(b.Context()), Children: []*exec.Tree{in(rows, 4096)}}
				if err := tree.Run(emitFunc(func(b *arrowbatch.Batch) error { b.Release(); return nil })); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

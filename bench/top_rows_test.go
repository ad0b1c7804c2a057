package bench

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
)

// BenchmarkTopRows takes the first rows of windows and of keys, out of rows in memory.
func BenchmarkTopRows(b *testing.B) {
	shape := arrowbatch.Shape{Layout: arrowbatch.Int64}
	const key, time, windowEnd = 0, 1, 3
	windows := func(order []operator.SortKey, final bool) []exec.Operator {
		return []exec.Operator{&operator.Watermark{Column: time, Delay: 2e6},
			&operator.Window{Windowing: operator.Windowing{TimeCol: time, Size: 10e6, Slide: 10e6}},
			&operator.GroupTopN{PartitionBy: []int{windowEnd}, OrderBy: order, From: 1, To: 10, CloseCol: windowEnd,
				FinalOnly: final, AppendOnly: true, Shapes: []arrowbatch.Shape{shape, shape, shape, shape}}}
	}
	byKey := []operator.SortKey{{Col: key, Desc: true}}
	newest := []operator.SortKey{{Col: time, Desc: true}}
	b.Run("window/top10/append", func(b *testing.B) { runSteps(b, newMemory(false, fewKeys), windows(byKey, true)...) })
	b.Run("window/top10/update", func(b *testing.B) { runSteps(b, newMemory(false, fewKeys), windows(byKey, false)...) })
	b.Run("window/newest10/append", func(b *testing.B) { runSteps(b, newMemory(false, fewKeys), windows(newest, true)...) })
	b.Run("key/newest3", func(b *testing.B) {
		runSteps(b, newMemory(false, fewKeys), &operator.GroupTopN{PartitionBy: []int{key}, OrderBy: newest, From: 1, To: 3,
			CloseCol: -1, AppendOnly: true, Shapes: []arrowbatch.Shape{shape, shape}})
	})
	b.Run("changes/top10of1M", changingTop)
}

// changingTop gives other values to rows of a million, 8,192 an epoch, and takes the
// ten with the greatest.
func changingTop(b *testing.B) {
	shape := arrowbatch.Shape{Layout: arrowbatch.Int64}
	op := &operator.GroupTopN{OrderBy: []operator.SortKey{{Col: 1, Desc: true}}, From: 1, To: 10, CloseCol: -1,
		Shapes: []arrowbatch.Shape{shape, shape}}
	out := int64(0)
	rt := &exec.Runtime{Ctx: context.Background(), Parts: 1, Eval: &expr.Ctx{}, Stats: &exec.OpStats{}}
	if err := op.Open(rt, counter{&out}); err != nil {
		b.Fatal(err)
	}
	defer op.Close()
	const rows, changes = 1 << 20, 8192
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, rows)
	batch := arrowbatch.NewLike(op.Shapes)
	put := func(id int, o arrowbatch.Op) {
		batch.Cols[0].AppendInt64(int64(id))
		batch.Cols[1].AppendInt64(values[id])
		batch.AppendOp(o)
	}
	epoch := func() {
		if err := op.ProcessBatch(0, batch); err != nil {
			b.Fatal(err)
		}
		if err := op.ProcessBarrier(exec.Barrier{}); err != nil {
			b.Fatal(err)
		}
		batch = arrowbatch.NewLike(op.Shapes)
	}
	for id := range values {
		values[id] = r.Int64N(1 << 40)
		put(id, arrowbatch.Insert)
	}
	epoch()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		for range changes {
			id := r.IntN(rows)
			put(id, arrowbatch.Delete)
			values[id] = r.Int64N(1 << 40)
			put(id, arrowbatch.Insert)
		}
		epoch()
		n++
	}
	b.ReportMetric(float64(n)*changes/b.Elapsed().Seconds()/1e6, "Mchanges/s")
	b.ReportMetric(float64(out)/float64(n), "out/epoch")
}

// counter counts what an operator emits.
type counter struct{ rows *int64 }

func (c counter) Emit(b *arrowbatch.Batch) error {
	*c.rows += int64(b.Len)
	b.Release()
	return nil
}

package bench

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// passing is a source of two epochs: many groups in the windows of 100 seconds of
// event time, and then a thousand after them, whose watermark closes all the others.
type passing struct {
	memory
	groups int // divisible by 16
}

func (p *passing) Open(context.Context, connector.Split, connector.Offset) (connector.Reader, error) {
	return &passingReader{groups: p.groups}, nil
}

type passingReader struct{ groups, n int }

func (*passingReader) Close() error { return nil }

func (r *passingReader) Read(context.Context, connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	rows := r.groups / 16
	from, step := int64(r.n*rows), int64(100e6/r.groups)
	if r.n >= 16 {
		rows = 1000
	}
	k, t := arrowbatch.NewFlat(arrowbatch.Int64, rows), arrowbatch.NewFlat(arrowbatch.Int64, rows)
	for i := range rows {
		k.I64[i] = from + int64(i)
		t.I64[i] = k.I64[i] * step
		if r.n >= 16 {
			t.I64[i] = 210e6 + int64(i)
		}
	}
	r.n++
	return arrowbatch.NewBatch(rows, k, t), connector.Offset(strconv.Itoa(r.n)), nil
}

// sizes are the memory of the state: what the operator says of itself, and what the
// process's heap has more than before.
type sizes struct{ state, heap int64 }

// stateMemory measures the state when many groups are open, and when the watermark
// has left a thousand of them.
func stateMemory(tb testing.TB, w operator.Windowing, groups int) (open, left sizes) {
	store, err := state.Open(tb.TempDir(), state.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer store.Close()
	var out int64
	step := func(id int, name string, op exec.Operator) exec.Step {
		return exec.Step{Op: op, RT: &exec.Runtime{Store: store, Table: state.TableID{Query: 1, Operator: uint16(id)},
			Eval: &expr.Ctx{}, Clock: clock.System{}, Stats: &exec.OpStats{ID: id, Name: name},
			Fail: func(_ *exec.Runtime, _ *arrowbatch.Batch, e []expr.RowError) error { return e[0].Err }}}
	}
	agg := step(3, "Aggregate", makeAgg(w, types.TInt8, true))
	frag := &exec.Fragment{Name: "count", Tasks: 1, Source: &exec.SourceSpec{Name: "1", Source: &passing{groups: groups}},
		Make: func(int) []exec.Step {
			return []exec.Step{step(2, "Watermark", &operator.Watermark{Column: 1, Delay: 100e6}), agg,
				step(4, "Drop", &dropRows{rows: &out})}
		}}
	ctx := context.Background()
	before := heap()
	g := exec.NewGraph(ctx, []*exec.Fragment{frag}, store, clock.System{})
	g.Start()
	epoch := func(n uint64, rows int) sizes {
		p := exec.Pace{Barrier: exec.Barrier{Epoch: n}, MaxRows: rows, Until: map[string]map[string]connector.Offset{}}
		if n == 1 {
			p.Splits = map[string][]connector.Split{"1": {{ID: "0"}}}
		}
		if err := g.Pace(ctx, p); err != nil {
			tb.Fatal(err)
		}
		acks, err := g.Gather(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		if err := store.Commit(&state.Checkpoint{Query: 1, Epoch: n}, acks[0].Delta); err != nil {
			tb.Fatal(err)
		}
		acks[0].Done()
		return sizes{agg.RT.Stats.Read().Bytes, heap() - before}
	}
	open, left = epoch(1, groups), epoch(2, 1000)
	if n := agg.RT.Stats.Read().Groups; n != 1000 || out != int64(groups) {
		tb.Fatalf("%d groups left, %d rows out", n, out)
	}
	if err := g.Stop(); err != nil {
		tb.Fatal(err)
	}
	return open, left
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools held is free after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// passed are windows of each kind.
var passed = []struct {
	name string
	w    operator.Windowing
}{
	{"tumble", operator.Windowing{TimeCol: 1, Size: 10e6, Slide: 10e6}},
	{"session", operator.Windowing{TimeCol: 1, Size: 1e6}},
}

func BenchmarkStateMemory(b *testing.B) {
	for _, p := range passed {
		b.Run(p.name, func(b *testing.B) {
			var open, left sizes
			for b.Loop() {
				open, left = stateMemory(b, p.w, 1_000_000)
			}
			b.ReportMetric(float64(open.state)/1e6, "MB-open")
			b.ReportMetric(float64(left.state)/1e6, "MB-left")
			b.ReportMetric(float64(open.heap)/1e6, "heapMB-open")
			b.ReportMetric(float64(left.heap)/1e6, "heapMB-left")
		})
	}
}

// The memory of closed windows is given up, that of tables kept for later use too.
func TestStateFallsWithTheWatermark(t *testing.T) {
	for _, p := range passed {
		const groups = 256_000 // a mebibyte of tables is kept whatever the groups
		open, left := stateMemory(t, p.w, groups)
		t.Logf("%s: %d bytes with %d groups, %d with 1000", p.name, open.state, groups, left.state)
		if open.state < groups*16 || left.state > open.state/10 {
			t.Errorf("%s: the state takes %d bytes with %d groups and %d with 1000", p.name, open.state, groups, left.state)
		}
	}
}

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

const (
	batchRows = 65536
	fewKeys   = 10_000
	perSecond = 100_000 // rows of event time
	epochRows = 16 * batchRows
)

// memory is a source of prepared batches that repeat with times moved on.
type memory struct {
	keys []*arrowbatch.Vec
	time []*arrowbatch.Vec
}

func newMemory(text bool, keys int) *memory {
	m := &memory{}
	r := rand.New(rand.NewPCG(1, 1))
	for b := range 16 {
		t := arrowbatch.NewFlat(arrowbatch.Int64, batchRows)
		var k *arrowbatch.Vec
		if text {
			k = arrowbatch.NewFlat(arrowbatch.Bytes, 0)
		} else {
			k = arrowbatch.NewFlat(arrowbatch.Int64, batchRows)
		}
		for i := range batchRows {
			n := int64(b*batchRows + i)
			t.I64[i] = n*1e6/perSecond - int64(r.IntN(500_000))
			if text {
				k.AppendString(fmt.Sprintf("user-%07d", r.IntN(keys)))
			} else {
				k.I64[i] = int64(r.IntN(keys)) * 7919
			}
		}
		m.keys, m.time = append(m.keys, k), append(m.time, t)
	}
	return m
}

func (m *memory) Splits(context.Context) ([]connector.Split, error) {
	return []connector.Split{{ID: "0"}}, nil
}
func (m *memory) Latest(context.Context, []connector.Split) (map[string]connector.Offset, error) {
	return nil, nil
}
func (m *memory) Open(context.Context, connector.Split, connector.Offset) (connector.Reader, error) {
	return &memoryReader{m: m}, nil
}
func (m *memory) Bounded() bool { return false }
func (m *memory) Close() error  { return nil }

type memoryReader struct {
	m *memory
	n int
}

func (r *memoryReader) Close() error { return nil }

func (r *memoryReader) Read(context.Context, connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	i, shift := r.n%len(r.m.keys), int64(r.n/len(r.m.keys))*epochRows*1e6/perSecond
	r.n++
	t := arrowbatch.NewFlat(arrowbatch.Int64, batchRows)
	for j, x := range r.m.time[i].I64 {
		t.I64[j] = x + shift
	}
	return arrowbatch.NewBatch(batchRows, r.m.keys[i].Retain(), t), connector.Offset(fmt.Sprint(r.n)), nil
}

// windowCount runs source → watermark → tumbling count by key.
func windowCount(b *testing.B, w operator.Windowing, text, final bool, nkeys int) {
	kt := types.TInt8
	if text {
		kt = types.TText
	}
	runSteps(b, newMemory(text, nkeys), &operator.Watermark{Column: 1, Delay: 2e6}, makeAgg(w, kt, final))
}

// runSteps runs operators over a source, each epoch of a million rows committed to
// the store, and reports rows per second of one core.
func runSteps(b *testing.B, src *memory, ops ...exec.Operator) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	store, err := state.Open(b.TempDir(), state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var out int64
	frag := &exec.Fragment{Name: "bench", Tasks: 1, Source: &exec.SourceSpec{Name: "1", Source: src},
		Make: func(int) []exec.Step {
			var steps []exec.Step
			for i, op := range append(ops, &dropRows{rows: &out}) {
				steps = append(steps, exec.Step{Op: op, RT: &exec.Runtime{Store: store, Parts: 1,
					Table: state.TableID{Query: 1, Operator: uint16(i + 2)}, Eval: &expr.Ctx{}, Clock: clock.System{},
					Stats: &exec.OpStats{ID: i + 2, Name: fmt.Sprintf("%T", op)},
					Fail:  func(_ *exec.Runtime, _ *arrowbatch.Batch, e []expr.RowError) error { return e[0].Err }}})
			}
			return steps
		}}
	ctx := context.Background()
	g := exec.NewGraph(ctx, []*exec.Fragment{frag}, store, clock.System{})
	g.Start()
	splits := map[string][]connector.Split{"1": {{ID: "0"}}}
	epoch := uint64(0)
	for b.Loop() {
		epoch++
		if err := g.Pace(ctx, exec.Pace{Barrier: exec.Barrier{Epoch: epoch}, Splits: splits, MaxRows: epochRows,
			Until: map[string]map[string]connector.Offset{}}); err != nil {
			b.Fatal(err)
		}
		splits = nil
		acks, err := g.Gather(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := store.Commit(&state.Checkpoint{Query: 1, Epoch: epoch}, acks[0].Delta); err != nil {
			b.Fatal(err)
		}
		acks[0].Done()
	}
	if err := g.Stop(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(epoch)*epochRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(out)/float64(epoch), "out/epoch")
}

// makeAgg counts rows by key and window, or, for a window without slide, by session
// with the window's size for a gap.
func makeAgg(w operator.Windowing, kt types.Type, final bool) exec.Operator {
	aggs := []operator.AggCall{{Call: aggregate.Call{Name: "count", Result: types.TInt8, AppendOnly: true}, Filter: -1}}
	out := []operator.OutCol{{Kind: operator.OutEnd}, {Kind: operator.OutKey}, {Kind: operator.OutAgg}}
	ts := []types.Type{types.TTimestamptz, kt, types.TInt8}
	if w.Slide == 0 {
		return &operator.SessionAgg{KeyCols: []int{0}, KeyTypes: []types.Type{kt}, TimeCol: 1, FinalOnly: final,
			Gap: expr.ConstInterval(arrowbatch.IntervalValue{Micros: w.Size}), Aggs: aggs, Out: out, OutTypes: ts}
	}
	return &operator.HashAgg{KeyCols: []int{0}, KeyTypes: []types.Type{kt}, Window: &w, CloseCol: -1, FinalOnly: final,
		AppendOnly: true, Aggs: aggs, Out: out, OutTypes: ts}
}

// dropRows counts rows.
type dropRows struct{ rows *int64 }

func (o *dropRows) Open(*exec.Runtime, exec.Output) error { return nil }
func (o *dropRows) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	*o.rows += int64(b.Len)
	b.Release()
	return nil
}
func (o *dropRows) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	return w, nil
}
func (o *dropRows) ProcessBarrier(exec.Barrier) error { return nil }
func (o *dropRows) Close()                            {}

func BenchmarkWindowCount(b *testing.B) {
	tumble := operator.Windowing{TimeCol: 1, Size: 10e6, Slide: 10e6}
	b.Run("tumble/int/append", func(b *testing.B) { windowCount(b, tumble, false, true, fewKeys) })
	b.Run("tumble/text/append", func(b *testing.B) { windowCount(b, tumble, true, true, fewKeys) })
	b.Run("tumble/text/update", func(b *testing.B) { windowCount(b, tumble, true, false, fewKeys) })
	for _, overlap := range []int64{5, 60} {
		hop := operator.Windowing{TimeCol: 1, Size: overlap * 1e6, Slide: 1e6}
		b.Run(fmt.Sprintf("hop%d/text/append", overlap), func(b *testing.B) { windowCount(b, hop, true, true, fewKeys) })
	}
	// 200,000 keys at 100,000 rows a second and gaps of 1 s: about 100,000 sessions
	// are open at a time.
	b.Run("session/int/append", func(b *testing.B) {
		windowCount(b, operator.Windowing{TimeCol: 1, Size: 1e6}, false, true, 20*fewKeys)
	})
}

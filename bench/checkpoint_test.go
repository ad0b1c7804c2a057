package bench

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// dirtyKeys is how many keys each epoch of BenchmarkCheckpoint changes.
const dirtyKeys = 100_000

// touching is a source whose read number n has the key numbers that visit gives for
// each row, with a value.
type touching struct {
	memory
	text  bool
	visit func(n, row int) int64
}

func (t *touching) Open(context.Context, connector.Split, connector.Offset) (connector.Reader, error) {
	return &touchingReader{t: t}, nil
}

type touchingReader struct {
	t    *touching
	n    int
	text []byte
}

func (*touchingReader) Close() error { return nil }

func (r *touchingReader) Read(context.Context, connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	v := arrowbatch.NewFlat(arrowbatch.Int64, batchRows)
	k := arrowbatch.NewFlat(arrowbatch.Int64, batchRows)
	if r.t.text {
		k = arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	}
	for i := range batchRows {
		key := r.t.visit(r.n, i)
		v.I64[i] = key & 1023
		if !r.t.text {
			k.I64[i] = key
			continue
		}
		r.text = strconv.AppendInt(append(r.text[:0], "user-"...), 1e9+key, 10)
		k.AppendBytes(r.text)
	}
	r.n++
	return arrowbatch.NewBatch(batchRows, k, v), connector.Offset(strconv.Itoa(r.n)), nil
}

// cpuTime is what the process has used of the processor.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// quiet waits until the process does nothing: what the store still has to do for rows
// before the measured ones is done.
func quiet(tb testing.TB) {
	const look = 50 * time.Millisecond
	for was, end := cpuTime(tb), time.Now().Add(3*time.Second); time.Now().Before(end); {
		time.Sleep(look)
		now := cpuTime(tb)
		if now-was < look/10 {
			return
		}
		was = now
	}
}

// pacing runs epochs of one aggregation, each committed while the next one runs, as a
// query does; without a store nothing is saved.
type pacing struct {
	tb    testing.TB
	g     *exec.Graph
	store *state.Store
	epoch uint64
	done  chan error
}

func newPacing(tb testing.TB, src connector.Source, store *state.Store, op exec.Operator) *pacing {
	var out int64
	frag := &exec.Fragment{Name: "bench", Tasks: 1, Source: &exec.SourceSpec{Name: "1", Source: src},
		Make: func(int) []exec.Step {
			var steps []exec.Step
			for i, op := range []exec.Operator{op, &dropRows{rows: &out}} {
				steps = append(steps, exec.Step{Op: op, RT: &exec.Runtime{Store: store, Parts: 1,
					Table: state.TableID{Query: 1, Operator: uint16(i + 2)}, Eval: &expr.Ctx{}, Clock: clock.System{},
					Stats: &exec.OpStats{ID: i + 2, Name: fmt.Sprintf("%T", op)},
					Fail:  func(_ *exec.Runtime, _ *arrowbatch.Batch, e []expr.RowError) error { return e[0].Err }}})
			}
			return steps
		}}
	p := &pacing{tb: tb, store: store,
		g: exec.NewGraph(context.Background(), []*exec.Fragment{frag}, store, clock.System{})}
	p.g.Start()
	return p
}

// run runs an epoch of so many reads.
func (p *pacing) run(reads int) {
	p.epoch++
	pace := exec.Pace{Barrier: exec.Barrier{Epoch: p.epoch}, MaxRows: reads * batchRows,
		Until: map[string]map[string]connector.Offset{}}
	if p.epoch == 1 {
		pace.Splits = map[string][]connector.Split{"1": {{ID: "0"}}}
	}
	if err := p.g.Pace(context.Background(), pace); err != nil {
		p.tb.Fatal(err)
	}
	acks, err := p.g.Gather(context.Background())
	if err != nil {
		p.tb.Fatal(err)
	}
	if p.store == nil {
		acks[0].Done()
		return
	}
	p.settle()
	done := make(chan error, 1)
	p.done = done
	c := &state.Checkpoint{Query: 1, Epoch: p.epoch}
	spawn.Go("commit", func() error {
		defer acks[0].Done()
		return p.store.Commit(c, acks[0].Delta)
	}, func(err error) { done <- err })
}

func (p *pacing) settle() {
	if p.done == nil {
		return
	}
	if err := <-p.done; err != nil {
		p.tb.Fatal(err)
	}
	p.done = nil
}

func (p *pacing) stop() {
	p.settle()
	if err := p.g.Stop(); err != nil {
		p.tb.Fatal(err)
	}
}

// sums is count(*) and sum of a bigint by key, with results at each barrier.
func sums(kt types.Type) exec.Operator {
	call := func(name string, cols ...int) operator.AggCall {
		c := operator.AggCall{Call: aggregate.Call{Name: name, Result: types.TInt8, AppendOnly: true}, Filter: -1,
			Cols: cols}
		for range cols {
			c.Args, c.Result = append(c.Args, types.TInt8), types.TNumeric
		}
		return c
	}
	return &operator.HashAgg{KeyCols: []int{0}, KeyTypes: []types.Type{kt}, CloseCol: -1, AppendOnly: true,
		Aggs:     []operator.AggCall{call("count"), call("sum", 1)},
		Out:      []operator.OutCol{{Kind: operator.OutKey}, {Kind: operator.OutAgg}, {Kind: operator.OutAgg, N: 1}},
		OutTypes: []types.Type{kt, types.TInt8, types.TNumeric}}
}

// BenchmarkCheckpoint compares epochs whose changes go to the store with ones that keep
// nothing, over the same rows in the same run: the processor time that a checkpoint adds
// per changed key, and the part of the throughput that is left where an epoch lasts a
// second.
func BenchmarkCheckpoint(b *testing.B) {
	const reads = 32 // of an epoch: 2 M rows
	for _, c := range []struct {
		name string
		text bool
		keys int64
	}{{"bigint", false, dirtyKeys}, {"text", true, dirtyKeys}, {"bigint/of10M", false, 10_000_000}} {
		kt := types.TInt8
		if c.text {
			kt = types.TText
		}
		fill := int(c.keys / (reads * batchRows)) // epochs that bring all keys
		src := &touching{text: c.text, visit: func(n, row int) int64 {
			e, at := n/reads, int64(n%reads*batchRows+row)
			if e <= fill && c.keys > dirtyKeys {
				return (int64(e)*reads*batchRows + at) % c.keys
			}
			// dirtyKeys different ones that lie apart, others in each epoch.
			return (at%dirtyKeys*(c.keys/dirtyKeys) + int64(e)) * 7919 % c.keys
		}}
		measure := func(store *state.Store, epochs int) time.Duration {
			p := newPacing(b, src, store, sums(kt))
			for range fill + 2 {
				p.run(reads)
			}
			p.settle()
			quiet(b)
			from := cpuTime(b)
			for range epochs {
				p.run(reads)
			}
			p.settle()
			used := cpuTime(b) - from
			p.stop()
			return used / time.Duration(epochs)
		}
		b.Run(c.name, func(b *testing.B) {
			var with, without time.Duration
			for b.Loop() {
				store, err := state.Open(b.TempDir(), state.Options{})
				if err != nil {
					b.Fatal(err)
				}
				without += measure(nil, 8)
				with += measure(store, 8)
				if err := store.Close(); err != nil {
					b.Fatal(err)
				}
			}
			extra := float64(with-without) / float64(b.N)
			b.ReportMetric(extra/dirtyKeys, "ns/dirty-key")
			b.ReportMetric(float64(time.Second)/(float64(time.Second)+extra), "rate-at-1s")
			b.ReportMetric(float64(without)/float64(b.N)/1e6, "ms-cpu/epoch-without")
		})
	}
}

package operator

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// spillCase is an operator whose state can leave memory, over rows of a key, a value and
// a time.
type spillCase struct {
	name string
	// make makes the operator with a budget, nil for none, and a look at whether some of
	// its state has left.
	make func(budget func() int) (op exec.Operator, away func() bool)
	// deletes: the input takes rows back. inputs is how many there are.
	deletes bool
	inputs  int
	// left is how many keys the store may have after the watermark has passed all.
	left int
}

func call(name string, res types.Type, distinct, appendOnly bool, cols ...int) AggCall {
	c := AggCall{Call: aggregate.Call{Name: name, Result: res, AppendOnly: appendOnly}, Filter: -1, Cols: cols,
		Distinct: distinct}
	for range cols {
		c.Args = append(c.Args, types.TInt4)
	}
	return c
}

func spillAgg(w *Windowing, distinct, appendOnly, final bool) func(func() int) (exec.Operator, func() bool) {
	return func(budget func() int) (exec.Operator, func() bool) {
		o := &HashAgg{KeyCols: []int{0}, KeyTypes: []types.Type{types.TInt4}, CloseCol: -1, AppendOnly: appendOnly,
			FinalOnly: final, Window: w, Budget: budget,
			Aggs:     []AggCall{call("count", types.TInt8, false, appendOnly), call("max", types.TInt4, false, appendOnly, 1)},
			Out:      []OutCol{{Kind: OutKey}, {Kind: OutAgg}, {Kind: OutAgg, N: 1}},
			OutTypes: []types.Type{types.TInt4, types.TInt8, types.TInt4}}
		if distinct {
			o.Aggs = append(o.Aggs, call("count", types.TInt8, true, appendOnly, 1))
			o.Out, o.OutTypes = append(o.Out, OutCol{Kind: OutAgg, N: 2}), append(o.OutTypes, types.TInt8)
		}
		if w != nil {
			o.Out, o.OutTypes = append(o.Out, OutCol{Kind: OutEnd}), append(o.OutTypes, types.TTimestamptz)
		}
		return o, func() bool {
			for _, bk := range o.buckets {
				if bk.away {
					return true
				}
			}
			return false
		}
	}
}

func spillTop(closeCol int, deletes, final bool) func(func() int) (exec.Operator, func() bool) {
	return func(budget func() int) (exec.Operator, func() bool) {
		o := &GroupTopN{PartitionBy: []int{0}, OrderBy: []SortKey{{Col: 1}}, From: 1, To: 3, Rank: true,
			Shapes: spillShapes, CloseCol: closeCol, CloseLag: 5, FinalOnly: final, AppendOnly: !deletes, Budget: budget}
		if closeCol >= 0 {
			o.PartitionBy = []int{closeCol}
		}
		return o, func() bool {
			for _, bk := range o.buckets {
				if bk.away {
					return true
				}
			}
			return false
		}
	}
}

func spillDistinct(forget int, lag int64, order []SortKey) func(func() int) (exec.Operator, func() bool) {
	return func(budget func() int) (exec.Operator, func() bool) {
		o := &DistinctOn{Keys: []int{0}, Shapes: spillShapes, Time: forget, Forget: forget, Lag: lag, Order: order,
			Budget: budget}
		return o, func() bool { return o.away }
	}
}

func spillSessions(final, distinct bool) func(func() int) (exec.Operator, func() bool) {
	return func(budget func() int) (exec.Operator, func() bool) {
		o := &SessionAgg{KeyCols: []int{0}, KeyTypes: []types.Type{types.TInt4}, TimeCol: 2, FinalOnly: final,
			Gap: expr.ConstInterval(arrowbatch.IntervalValue{Micros: 30e6}), Budget: budget,
			Aggs:     []AggCall{call("count", types.TInt8, distinct, true, 1)},
			Out:      []OutCol{{Kind: OutKey}, {Kind: OutStart}, {Kind: OutEnd}, {Kind: OutAgg}},
			OutTypes: []types.Type{types.TInt4, types.TTimestamptz, types.TTimestamptz, types.TInt8}}
		return o, func() bool { return o.away }
	}
}

func spillSet(except, all bool) func(func() int) (exec.Operator, func() bool) {
	return func(budget func() int) (exec.Operator, func() bool) {
		o := &SetChanges{Except: except, All: all, Shapes: spillShapes, Budget: budget}
		return o, func() bool { return o.away }
	}
}

// spillAll counts the different values of all rows.
func spillAll(budget func() int) (exec.Operator, func() bool) {
	o := &HashAgg{CloseCol: -1, Keyless: true, Budget: budget, OutTypes: []types.Type{types.TInt8},
		Aggs: []AggCall{call("count", types.TInt8, true, false, 0)}, Out: []OutCol{{Kind: OutAgg}}}
	return o, func() bool { return o.buckets[arrowbatch.MaxTime].away }
}

func spillLatest(budget func() int) (exec.Operator, func() bool) {
	o := &LatestByKey{Keys: []int{0}, Shapes: spillShapes, Budget: budget}
	return o, func() bool { return o.away }
}

var spillShapes = []arrowbatch.Shape{int4s, int4s, {Layout: arrowbatch.Int64}}

var tumble20 = &Windowing{TimeCol: 2, Size: 20e6, Slide: 20e6}

var spillCases = []spillCase{
	{"groups", spillAgg(nil, false, false, false), true, 1, -1},
	{"distinct values", spillAgg(nil, true, false, false), true, 1, -1},
	{"values of all", spillAll, true, 1, -1},
	{"windows", spillAgg(tumble20, false, true, true), false, 1, 0},
	{"windows of distinct values", spillAgg(tumble20, true, true, true), false, 1, 0},
	{"windows at once", spillAgg(tumble20, true, true, false), false, 1, 0},
	{"panes", spillAgg(&Windowing{TimeCol: 2, Size: 60e6, Slide: 20e6}, false, true, true), false, 1, 0},
	{"cumulating panes", spillAgg(&Windowing{TimeCol: 2, Size: 60e6, Slide: 20e6, Cumulate: true}, false, true, true),
		false, 1, 0},
	{"keys", spillDistinct(-1, 0, nil), false, 1, -1},
	{"keys of a time", spillDistinct(2, 0, nil), false, 1, 0},
	{"keys for a time", spillDistinct(2, 100e6, nil), false, 1, 0},
	{"newest rows", spillDistinct(2, 100e6, []SortKey{{Col: 2, Desc: true}, {Col: 1}}), false, 1, 0},
	{"newest rows for ever", spillDistinct(-1, 0, []SortKey{{Col: 2, Desc: true}, {Col: 1}}), false, 1, -1},
	{"sessions", spillSessions(true, false), false, 1, 0},
	{"sessions at once", spillSessions(false, true), false, 1, 0},
	{"first rows", spillTop(-1, false, false), false, 1, -1},
	{"first rows of changing ones", spillTop(-1, true, false), true, 1, -1},
	{"first rows of times", spillTop(2, true, true), true, 1, 0},
	{"newest records", spillLatest, true, 1, -1},
	{"intersect", spillSet(false, true), true, 2, -1},
	{"except", spillSet(true, false), true, 2, -1},
}

// spillRun drives an operator over epochs.
type spillRun struct {
	t     *testing.T
	make  func() (exec.Operator, func() bool)
	store *state.Store
	op    exec.Operator
	away  func() bool
	rt    *exec.Runtime
	ack   *exec.Ack
	out   *folded
	epoch uint64
	w     arrowbatch.EventTime
	done  chan error
}

func (r *spillRun) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *spillRun) open() {
	r.op, r.away = r.make()
	r.rt = testRuntime(context.Background())
	r.rt.Store, r.rt.Table, r.rt.Clock = r.store, state.TableID{Query: 1, Operator: 1}, clock.System{}
	r.begin()
	r.check(r.op.Open(r.rt, r.out))
	if s, ok := r.op.(exec.Resumer); ok && r.w != arrowbatch.NoTime {
		s.Resume(r.w)
	}
}

func (r *spillRun) begin() {
	r.ack = exec.NewAck(0, r.store)
	r.rt.Begin(r.ack)
}

// end ends an epoch, whose commit comes later.
func (r *spillRun) end(delay time.Duration) {
	r.epoch++
	r.check(r.op.ProcessBarrier(exec.Barrier{Epoch: r.epoch}))
	ack := r.ack
	r.begin()
	r.settle()
	done, c := make(chan error, 1), &state.Checkpoint{Query: 1, Epoch: r.epoch}
	r.done = done
	spawn.Go("commit", func() error {
		time.Sleep(delay)
		defer ack.Done()
		return r.store.Commit(c, ack.Delta)
	}, func(err error) { done <- err })
}

func (r *spillRun) settle() {
	if r.done != nil {
		r.check(<-r.done)
		r.done = nil
	}
}

func (r *spillRun) restart() {
	r.settle()
	r.op.Close()
	r.ack.Delta.Discard()
	r.open()
}

func (r *spillRun) stop() {
	r.settle()
	r.op.Close()
	r.ack.Delta.Discard()
}

// keys counts what the store has of the operator.
func (r *spillRun) keys() int {
	n := 0
	p := r.rt.Table.Prefix()[:7]
	r.check(r.store.Scan(p, state.After(p), func([]byte, []byte) error {
		n++
		return nil
	}))
	return n
}

// spillRows makes the rows of an epoch; with deletes some are taken back later.
type spillRows struct {
	rng  *rand.Rand
	c    *spillCase
	live [2][][3]int64
	at   int64 // event time
}

func (s *spillRows) next(input int) *arrowbatch.Batch {
	b := arrowbatch.NewLike(spillShapes)
	add := func(r [3]int64, op arrowbatch.Op) {
		b.Cols[0].AppendInt32(int32(r[0]))
		b.Cols[1].AppendInt32(int32(r[1]))
		b.Cols[2].AppendInt64(r[2])
		b.AppendOp(op)
	}
	for range 1 + s.rng.IntN(12) {
		if l := s.live[input]; s.c.deletes && len(l) > 0 && s.rng.IntN(3) == 0 {
			i := s.rng.IntN(len(l))
			add(l[i], arrowbatch.Delete)
			l[i] = l[len(l)-1]
			s.live[input] = l[:len(l)-1]
			continue
		}
		r := [3]int64{int64(s.rng.IntN(30)), int64(s.rng.IntN(5)), s.at - int64(s.rng.IntN(60))*1e6}
		if s.c.inputs == 2 {
			r[2] = 0
		}
		if s.c.deletes && s.c.left == 0 {
			r[2] = s.at + int64(s.rng.IntN(3))*1e6 // never late, or it could not be taken back
		}
		s.live[input] = append(s.live[input], r)
		add(r, arrowbatch.Insert)
	}
	if !s.c.deletes {
		b.Ops = nil
	}
	return b
}

// TestSpill: an operator gives the same whether its state is in memory, or leaves it at
// every barrier, while commits are under way and over restarts; and what the watermark
// has passed is not in the store any more.
func TestSpill(t *testing.T) {
	for _, c := range spillCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				spillOnce(t, &c, seed)
			}
		})
	}
}

func spillOnce(t *testing.T, c *spillCase, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	budget := func() int { return 1 + int(seed%3)*1500 } // of some, a part stays
	var runs []*spillRun
	for _, b := range []func() int{nil, budget} {
		store, err := state.Open("", state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		r := &spillRun{t: t, w: arrowbatch.NoTime, store: store}
		r.make = func() (exec.Operator, func() bool) { return c.make(b) }
		runs = append(runs, r)
		r.out = &folded{t: t, rows: map[string]int{}}
		r.open()
	}
	rows := &spillRows{rng: rng, c: c, at: 1e9}
	left := false
	for epoch := range 40 {
		for range 1 + rng.IntN(3) {
			in := rng.IntN(c.inputs)
			b := rows.next(in)
			for _, r := range runs {
				r.check(r.op.ProcessBatch(in, b.Slice(0, b.Len)))
			}
			b.Release()
		}
		rows.at += int64(rng.IntN(12)) * 1e6
		w := rows.at - 50e6
		if c.deletes && c.left == 0 {
			w = rows.at - 20e6 // what it has passed cannot be taken back
			rows.live[0] = slices.DeleteFunc(rows.live[0], func(r [3]int64) bool { return r[2]+5 <= w })
		}
		delay := time.Duration(rng.IntN(500)) * time.Microsecond
		for _, r := range runs {
			if epoch%3 > 0 && w > r.w {
				r.w = w
				_, err := r.op.ProcessWatermark(w)
				r.check(err)
			}
			r.end(delay)
		}
		left = left || runs[1].away()
		if !maps.Equal(runs[0].out.rows, runs[1].out.rows) {
			t.Fatalf("seed %d, epoch %d: in memory\n%v\nin the store\n%v", seed, epoch, runs[0].out.rows, runs[1].out.rows)
		}
		if rng.IntN(10) == 0 {
			runs[1].restart()
		}
	}
	if !left && seed%3 == 0 {
		t.Error("nothing has left memory")
	}
	if c.left == 0 {
		runs[1].settle()
		w := rows.at + 1e9
		_, err := runs[1].op.ProcessWatermark(w)
		runs[1].check(err)
		runs[1].end(0)
		runs[1].settle()
		if n := runs[1].keys(); n > 0 {
			t.Errorf("seed %d: %d keys are in the store after the watermark has passed all", seed, n)
		}
	}
	for _, r := range runs {
		r.stop()
	}
}

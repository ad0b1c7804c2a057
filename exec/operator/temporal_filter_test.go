package operator

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// spanShapes are the columns of these tests: a number, and from when to when it is
// valid, both in microseconds.
var spanShapes = []arrowbatch.Shape{int4s, int8s, int8s}

// temporalTasks are the tasks of a filter over spanShapes on one store.
type temporalTasks struct {
	t     testing.TB
	store *state.Store
	ops   []*TemporalFilter
	rts   []*exec.Runtime
	acks  []*exec.Ack
	epoch uint64
	out   []string
	most  int // rows in a batch
	rows  int
	quiet bool
	stall bool // commits are held back
	held  []func()
}

func spanFilter() *TemporalFilter {
	same := func(x int64) int64 { return x }
	return &TemporalFilter{Bounds: []TemporalBound{{Op: ClockAtLeast, Row: col(1, types.TTimestamptz), Least: same},
		{Op: ClockLess, Row: col(2, types.TTimestamptz), Least: same}}, Keys: []int{0}, Shapes: spanShapes}
}

func newTemporalTasks(t testing.TB) *temporalTasks {
	store, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &temporalTasks{t: t, store: store}
}

// start opens the filter with n tasks at a time.
func (s *temporalTasks) start(n int, now int64, mk func() *TemporalFilter) {
	s.t.Helper()
	s.stop()
	s.ops, s.rts, s.acks = nil, nil, nil
	for i := range n {
		rt := testRuntime(s.t.Context())
		rt.Store, rt.Table, rt.Part, rt.Parts, rt.Eval.Now = s.store, state.TableID{Query: 1, Operator: 2}, i, n, now
		ack := exec.NewAck(i, s.store)
		rt.Begin(ack)
		s.ops, s.rts, s.acks = append(s.ops, mk()), append(s.rts, rt), append(s.acks, ack)
		if err := s.ops[i].Open(rt, s); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *temporalTasks) stop() {
	for _, o := range s.ops {
		o.Close()
	}
}

func (s *temporalTasks) Emit(b *arrowbatch.Batch) error {
	s.most, s.rows = max(s.most, b.Len), s.rows+b.Len
	if !s.quiet {
		for i := range b.Len {
			s.out = append(s.out, fmt.Sprintf("%c%d", "+-"[b.OpAt(i)], b.Cols[0].I32[i]))
		}
	}
	b.Release()
	return nil
}

// in gives rows to the tasks that own them, at a time.
func (s *temporalTasks) in(now int64, text string) {
	s.t.Helper()
	b, err := arrowbatch.ParsePretty(spanShapes, strings.TrimSpace(text))
	if err != nil {
		s.t.Fatal(err)
	}
	s.batch(now, b)
}

func (s *temporalTasks) batch(now int64, b *arrowbatch.Batch) {
	s.t.Helper()
	defer b.Release()
	hashes := make([]uint64, b.Len)
	state.HashKeys(b.Cols[:1], b.Len, hashes)
	for i, o := range s.ops {
		var mine []int32
		for k, h := range hashes {
			if s.rts[i].Owns(state.VnodeOfHash(h)) {
				mine = append(mine, int32(k))
			}
		}
		s.rts[i].Eval.Now = now
		if len(mine) > 0 {
			if err := o.ProcessBatch(0, b.Take(mine)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// end ends an epoch and returns what has left, and when the next change is.
func (s *temporalTasks) end(now int64) (out string, wake int64) {
	s.t.Helper()
	wake = exec.NoWake
	var deltas []*state.Delta
	s.epoch++
	for i, o := range s.ops {
		s.rts[i].Eval.Now = max(now, s.rts[i].Eval.Now)
		if err := o.ProcessBarrier(exec.Barrier{Epoch: s.epoch, Now: now}); err != nil {
			s.t.Fatal(err)
		}
		ended := s.acks[i]
		wake = min(wake, ended.Wake)
		deltas = append(deltas, ended.Delta)
		s.held = append(s.held, ended.Done)
		s.acks[i] = exec.NewAck(i, s.store)
		s.rts[i].Begin(s.acks[i])
	}
	if err := s.store.Commit(&state.Checkpoint{Query: 1, Epoch: s.epoch}, deltas...); err != nil {
		s.t.Fatal(err)
	}
	if !s.stall {
		s.land()
	}
	slices.Sort(s.out)
	out = strings.Join(s.out, " ")
	s.out = nil
	return out, wake
}

// land ends the commits.
func (s *temporalTasks) land() {
	for _, f := range s.held {
		f()
	}
	s.held = nil
}

func (s *temporalTasks) expect(now int64, out string, wake int64) {
	s.t.Helper()
	got, at := s.end(now)
	if got != out || at != wake {
		s.t.Fatalf("at %d: %q and a change to come at %d, not %q and %d", now, got, at, out, wake)
	}
}

func (s *temporalTasks) entries() (n int) {
	p := state.TableID{Query: 1, Operator: 2}.Prefix()
	if err := s.store.Scan(p, state.After(p), func(_, _ []byte) error { n++; return nil }); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *temporalTasks) figures() (rows int64) {
	for _, rt := range s.rts {
		rows += rt.Stats.Read().Groups
	}
	return rows
}

// TestTemporalFilter: rows enter and leave, whatever the number of tasks and though it
// changes at each start.
func TestTemporalFilter(t *testing.T) {
	for _, tasks := range [][]int{{1, 1, 1}, {2, 1, 3}, {4, 2, 1}} {
		s := newTemporalTasks(t)
		s.start(tasks[0], 100, spanFilter)
		s.in(100, "+ 1 50 200\n+ 2 100 100\n+ 3 100 101\n+ 4 101 300\n+ 4 101 300\n+ 5 90 9223372036854775807\n+ 6 NULL 200")
		s.expect(100, "+1 +3 +5", 101)
		s.in(101, "+ 7 0 102\n+ 8 150 160")
		s.expect(101, "+4 +4 +7 -3", 102)
		if n := s.figures(); n != 5 {
			t.Errorf("%d rows are held, not 5", n)
		}
		s.start(tasks[1], 170, spanFilter) // 8 came and went meanwhile
		s.expect(170, "-7", 200)
		s.expect(199, "", 200)
		s.expect(150, "", 200) // the clock is set back
		s.in(200, "+ 9 0 200\n+ 10 250 9223372036854775807")
		s.expect(200, "-1", 250)
		s.start(tasks[2], 201, spanFilter)
		s.expect(250, "+10", 300)
		s.expect(300, "-4 -4", exec.NoWake)
		if n := s.entries(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
		if n := s.figures(); n != 0 {
			t.Errorf("%d rows are held, not 0", n)
		}
		s.stop()
	}
}

// TestTemporalFilterOfChanging: rows are taken back before, while and after they are
// in the output, in one epoch and over several, and leave no trace.
func TestTemporalFilterOfChanging(t *testing.T) {
	for _, unique := range []bool{false, true} {
		s := newTemporalTasks(t)
		mk := func() *TemporalFilter {
			o := spanFilter()
			o.Changing, o.Unique = true, unique
			return o
		}
		s.start(1, 10, mk)
		s.in(10, "+ 1 0 100\n+ 2 20 100\n+ 3 0 100\n- 3 0 100\n+ 4 20 30")
		s.expect(10, "+1 +3 -3", 20)
		s.in(15, "- 2 20 100\n- 1 0 100\n+ 1 0 50")
		s.expect(15, "+1 -1", 20)
		if n := s.entries(); n != 2 {
			t.Errorf("%d entries, not those of 1 and 4", n)
		}
		s.in(25, "- 1 0 50\n+ 1 0 50\n- 4 20 30")
		s.expect(25, "+1 +4 -1 -4", 50)
		s.in(50, "- 1 0 50\n- 5 0 40")
		s.expect(50, "-1", exec.NoWake)
		if n := s.entries(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
		if !unique {
			s.in(60, "+ 6 0 70\n+ 6 0 70\n+ 6 0 70")
			s.expect(60, "+6 +6 +6", 70)
			s.in(61, "- 6 0 70")
			s.expect(61, "-6", 70)
			s.in(70, "- 6 0 70")
			s.expect(70, "-6 -6", exec.NoWake)
		}
		s.stop()
	}
}

// TestTemporalFilterEager: where results are eager, time passes within an epoch.
func TestTemporalFilterEager(t *testing.T) {
	s := newTemporalTasks(t)
	s.start(1, 10, spanFilter)
	s.in(10, "+ 1 0 30\n+ 2 15 40")
	s.expect(10, "+1", 15)
	s.rts[0].Eager = true
	s.in(12, "+ 3 13 14\n+ 4 13 35\n+ 5 0 16")
	s.in(13, "+ 6 0 20")
	s.in(15, "+ 7 0 15")
	s.in(20, "+ 8 0 21")
	if got := strings.Join(s.out, " "); got != "+5 +4 +3 +6 -3 +2 -5 -6 +8" {
		t.Errorf("in order: %s", got)
	}
	s.out = nil
	s.expect(22, "-8", 30)
	s.in(31, "+ 9 0 50")
	s.expect(40, "+9 -1 -2 -4", 50)
	s.stop()
}

// TestTemporalFilterWaitsForCommit: what an epoch has put into the store is read by
// the next, though that may come before it is there.
func TestTemporalFilterWaitsForCommit(t *testing.T) {
	s := newTemporalTasks(t)
	s.start(1, 10, spanFilter)
	s.in(10, "+ 1 0 20\n+ 2 0 30")
	s.stall = true
	s.end(10)
	s.in(11, "+ 3 0 20")
	s.expect(11, "+3", 20) // nothing is due, so nothing is waited for
	got := make(chan string, 1)
	spawn.Go("barrier", func() error {
		out, _ := s.end(20)
		got <- out
		return nil
	}, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	select {
	case out := <-got:
		t.Fatalf("%q before the commit", out)
	case <-time.After(10 * time.Millisecond):
	}
	for _, f := range slices.Clone(s.held) {
		f()
	}
	if out := <-got; out != "-1 -3" {
		t.Errorf("%q", out)
	}
	s.stop()
}

// TestTemporalFilterAnew: the static side of a join is read anew at each start.
func TestTemporalFilterAnew(t *testing.T) {
	s := newTemporalTasks(t)
	mk := func() *TemporalFilter {
		o := spanFilter()
		o.Anew, o.Changing, o.Unique = true, true, true
		return o
	}
	s.start(1, 10, mk)
	s.in(10, "+ 1 0 20\n+ 2 15 30")
	s.expect(10, "+1", 15)
	s.start(1, 12, mk)
	s.in(12, "+ 1 0 20\n+ 2 15 30")
	s.expect(12, "+1", 15)
	s.expect(16, "+2", 20)
	s.expect(40, "-1 -2", exec.NoWake)
	s.stop()
}

// TestTemporalFilterErrors: rows whose times fail are the query's errors, and those
// that a bound exempts are not asked for them.
func TestTemporalFilterErrors(t *testing.T) {
	s := newTemporalTasks(t)
	far := bin(t, "+", col(1, types.TTimestamptz), expr.ConstInterval(arrowbatch.IntervalValue{Months: math.MaxInt32 / 2}))
	s.start(1, 10, func() *TemporalFilter {
		o := spanFilter()
		o.Bounds = []TemporalBound{{Op: ClockLess, Row: far, Least: func(x int64) int64 { return x },
			Unless: bin(t, "<", col(0, types.TInt4), expr.ConstInt(2))}}
		return o
	})
	var failed []string
	s.rts[0].Fail = func(_ *exec.Runtime, b *arrowbatch.Batch, errs []expr.RowError) error {
		for _, e := range errs {
			failed = append(failed, fmt.Sprintf("%d %s", b.Cols[0].I32[e.Row], e.Err.Code))
		}
		return nil
	}
	s.in(10, "+ 1 0 0\n+ 2 0 0\n+ 1 NULL 0")
	s.expect(10, "+1 +1", exec.NoWake)
	if got := strings.Join(failed, ", "); got != "2 22008" {
		t.Errorf("failed: %s", got)
	}
	stop := errors.New("stop")
	s.rts[0].Fail = func(*exec.Runtime, *arrowbatch.Batch, []expr.RowError) error { return stop }
	b, err := arrowbatch.ParsePretty(spanShapes, "+ 2 0 0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ops[0].ProcessBatch(0, b); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	s.stop()
}

// expiring puts n rows that leave at 1000 into a filter, as epochs of 100,000.
func expiring(s *temporalTasks, n int) {
	s.quiet = true
	s.start(1, 10, spanFilter)
	for lo := 0; lo < n; lo += 100_000 {
		for at := lo; at < min(lo+100_000, n); at += chunkRows {
			b := arrowbatch.NewLike(spanShapes)
			for i := at; i < min(at+chunkRows, lo+100_000, n); i++ {
				b.Cols[0].AppendInt32(int32(i))
				b.Cols[1].AppendInt64(0)
				b.Cols[2].AppendInt64(1000)
				b.AppendOp(arrowbatch.Insert)
			}
			s.batch(10, b)
		}
		s.end(10)
	}
}

// TestTemporalFilterInSteps: rows that leave at one moment leave in batches of bounded
// size, and the epoch's changes do not grow with them.
func TestTemporalFilterInSteps(t *testing.T) {
	const n = 50_000
	s := newTemporalTasks(t)
	expiring(s, n)
	s.rows, s.most = 0, 0
	d := s.acks[0].Delta
	if err := s.ops[0].ProcessBarrier(exec.Barrier{Now: 1000}); err != nil {
		t.Fatal(err)
	}
	if s.rows != n || s.most > chunkRows {
		t.Errorf("%d rows left, up to %d at a time", s.rows, s.most)
	}
	if d.Bytes() > 1000 {
		t.Errorf("the epoch changes %d bytes", d.Bytes())
	}
	s.stop()
}

// BenchmarkTemporalFilterExpiry lets a million rows leave at one moment: the epoch's
// time, and by how much the heap grows meanwhile.
func BenchmarkTemporalFilterExpiry(b *testing.B) {
	const n = 1_000_000
	for range b.N {
		b.StopTimer()
		s := newTemporalTasks(b)
		expiring(s, n)
		s.rows = 0
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.StartTimer()
		began := time.Now()
		s.end(1000)
		took := time.Since(began)
		b.StopTimer()
		runtime.ReadMemStats(&after)
		if s.rows != n {
			b.Fatalf("%d rows left", s.rows)
		}
		b.ReportMetric(float64(took.Milliseconds()), "ms/epoch")
		b.ReportMetric(float64(int64(after.HeapInuse)-int64(before.HeapInuse))/(1<<20), "MB-grown")
		b.ReportMetric(n/took.Seconds(), "rows/s")
		s.stop()
	}
}

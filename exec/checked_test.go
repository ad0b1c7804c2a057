package exec

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/invariants"
	"github.com/streamsql/streamsql/internal/spawn"
)

// misbehaving does what the steps say: an operator that forwards what it is told
// and passes rows on, unless a test has it do otherwise.
type misbehaving struct {
	out     Output
	forward func(w arrowbatch.EventTime) arrowbatch.EventTime
	barrier func() *arrowbatch.Batch
}

func (m *misbehaving) Open(_ *Runtime, out Output) error {
	m.out = out
	return nil
}

func (m *misbehaving) ProcessBatch(_ int, b *arrowbatch.Batch) error { return m.out.Emit(b) }

func (m *misbehaving) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if m.forward != nil {
		w = m.forward(w)
	}
	return w, nil
}

func (m *misbehaving) ProcessBarrier(Barrier) error {
	if m.barrier == nil {
		return nil
	}
	return m.out.Emit(m.barrier())
}

func (m *misbehaving) Close() {}

// judging is a misbehaving operator that should drop late rows.
type judging struct{ misbehaving }

func (j *judging) Resume(arrowbatch.EventTime) {}

// watching drives an operator through its watch and collects what that finds.
type watching struct {
	t     *testing.T
	c     *checked
	found []string
}

func watch(t *testing.T, op Operator) *watching {
	w := &watching{t: t}
	times := []TimeBound{{Col: 0, Lag: 10}}
	rt := &Runtime{Stats: &OpStats{Name: "Odd", ID: 3}, Times: times, InTimes: [][]TimeBound{times}}
	w.c = newChecked(op, rt, func(format string, args ...any) { w.found = append(w.found, fmt.Sprintf(format, args...)) })
	w.must(w.c.Open(rt, discard{}))
	return w
}

func (w *watching) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *watching) rows(text string) {
	w.t.Helper()
	w.must(w.c.ProcessBatch(0, rowsOf(w.t, text)))
}

func rowsOf(t *testing.T, text string) *arrowbatch.Batch {
	t.Helper()
	b, err := arrowbatch.ParsePretty([]arrowbatch.Shape{{Layout: arrowbatch.Int64}, {Layout: arrowbatch.Bytes}}, text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (w *watching) mark(m int64) {
	w.t.Helper()
	_, err := w.c.ProcessWatermark(m)
	w.must(err)
}

func (w *watching) barrier(b Barrier) {
	w.t.Helper()
	w.must(w.c.ProcessBarrier(b))
}

func minus(n int64) func(arrowbatch.EventTime) arrowbatch.EventTime {
	return func(w arrowbatch.EventTime) arrowbatch.EventTime {
		if w > 100 {
			return w - n
		}
		return w
	}
}

// TestWatch: what breaks the dataflow's rules is found, with the operator's name,
// and what keeps them is not.
func TestWatch(t *testing.T) {
	behind := func() Operator {
		return &misbehaving{barrier: func() *arrowbatch.Batch { return rowsOf(t, "+ 90 a\n") }}
	}
	for _, c := range []struct {
		name string
		op   Operator
		do   func(w *watching)
		want string
	}{
		{"input watermark falls", &misbehaving{}, func(w *watching) { w.mark(100); w.mark(99) }, "watermark falls from 100 to 99"},
		{"output watermark falls", &misbehaving{forward: minus(50)}, func(w *watching) { w.mark(100); w.mark(120) },
			"forwards the watermark 70 after 100"},
		{"output ahead of input", &misbehaving{forward: func(x arrowbatch.EventTime) arrowbatch.EventTime { return x + 1 }},
			func(w *watching) { w.mark(100) }, "forwards the watermark 101 and was told 100"},
		{"row behind the forwarded watermark", behind(), func(w *watching) { w.mark(100); w.barrier(Barrier{Epoch: 1}) },
			"forwarded the watermark 100 and adds the row + 90 a"},
		{"late row not dropped by who judges", &judging{}, func(w *watching) { w.mark(100); w.rows("+ 91 a\n+ 90 b\n") },
			"forwarded the watermark 100 and adds the row + 90 b"},
		{"late row after a restart", &judging{}, func(w *watching) { w.c.Resume(100); w.rows("+ 90 a\n") },
			"forwarded the watermark 100 and adds the row + 90 a"},
		{"barriers out of order", &misbehaving{}, func(w *watching) { w.barrier(Barrier{Epoch: 2}); w.barrier(Barrier{Epoch: 1}) },
			"epoch 1 comes after that of epoch 2"},
		{"barrier twice", &misbehaving{}, func(w *watching) { w.barrier(Barrier{Epoch: 2}); w.barrier(Barrier{Epoch: 2}) },
			"epoch 2 comes after that of epoch 2"},
		{"rows after the last barrier", &misbehaving{}, func(w *watching) { w.barrier(Barrier{Epoch: 1, Stop: true}); w.rows("+ 1 a\n") },
			"rows come after the last barrier"},
		{"watermark after the last barrier", &misbehaving{}, func(w *watching) { w.barrier(Barrier{Epoch: 1, Stop: true}); w.mark(1) },
			"a watermark comes after the last barrier"},
		{"barrier after the last barrier", &misbehaving{}, func(w *watching) {
			w.barrier(Barrier{Epoch: 1, Stop: true})
			w.barrier(Barrier{Epoch: 2})
		}, "a barrier comes after the last barrier"},
		{"emission after the last barrier", &misbehaving{}, func(w *watching) {
			w.barrier(Barrier{Epoch: 1, Stop: true})
			w.must(w.c.op.(*misbehaving).out.Emit(rowsOf(t, "+ 1 a\n")))
		}, "rows leave after the last barrier"},
		{"late row passed on", &misbehaving{}, func(w *watching) { w.mark(100); w.rows("+ 90 a\n") }, ""},
		{"late row taken back", &judging{}, func(w *watching) { w.mark(100); w.rows("- 90 a\n") }, ""},
		{"no time", &judging{}, func(w *watching) { w.mark(100); w.rows("+ NULL a\n") }, ""},
		{"in order", &judging{}, func(w *watching) {
			w.mark(100)
			w.rows("+ 91 a\n")
			w.barrier(Barrier{Epoch: 1})
			w.mark(101)
			w.barrier(Barrier{Epoch: 2, Stop: true})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watch(t, c.op)
			c.do(w)
			switch {
			case c.want == "" && len(w.found) > 0:
				t.Errorf("found %q", w.found)
			case c.want == "":
			case len(w.found) == 0 || !strings.Contains(w.found[0], c.want) || !strings.Contains(w.found[0], "operator Odd"):
				t.Errorf("found %q and not %q", w.found, c.want)
			}
		})
	}
}

// TestWatchedGraph: in a checked build every operator of a graph and of a finite
// read is watched, and a broken rule ends the process, past every recover; else
// nobody stands between.
func TestWatchedGraph(t *testing.T) {
	op := &misbehaving{forward: minus(50)}
	rt := &Runtime{Stats: &OpStats{Name: "Odd"}, Eval: &expr.Ctx{}}
	f := &Fragment{Name: "odd", Tasks: 1, Make: func(int) []Step { return []Step{{Op: op, RT: rt}} }}
	g := NewGraph(t.Context(), []*Fragment{f}, nil, clock.System{})
	_, watched := g.tasks[0].(*Task).chain.links[0].run.(*checked)
	if watched != invariants.Enabled {
		t.Errorf("watched: %v, checked build: %v", watched, invariants.Enabled)
	}
	if !invariants.Enabled {
		return
	}
	const child = "STREAMSQL_TEST_BROKEN"
	if os.Getenv(child) != "" {
		_ = spawn.Call("a query", func() error {
			rt.Ctx = t.Context()
			return (&Tree{Op: &lingering{}, RT: rt}).Run(discard{})
		})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestWatchedGraph$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), invariants.Marker+"operator Odd (0, part 0): rows leave after the last") {
		t.Errorf("%v\n%s", err, out)
	}
}

// lingering emits when it is closed, behind the last barrier.
type lingering struct{ misbehaving }

func (l *lingering) Close() { _ = l.out.Emit(&arrowbatch.Batch{}) }

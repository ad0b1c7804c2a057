package stream

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	cq "github.com/streamsql/streamsql/stream"
)

var update = flag.Bool("update", false, "write docs/sql/support-matrix.md anew")

// triggers are the families of triggers; all but the last cut micro-batches.
var triggers = []string{"processing_time 1000 days", "available_now", "once", "real_time"}

// cell is what one shape with one trigger in one mode has come to: an error of
// CREATE, or nil.
type cell *sqlerr.Error

// TestMatrix runs every shape of query with every trigger in every output mode,
// compares the result with the rows that are right, and the outcomes with the page
// that tells of them.
func TestMatrix(t *testing.T) {
	got := make([][][]cell, len(triggers)) // trigger, shape, mode
	for i, trigger := range triggers {
		t.Run(strings.Fields(trigger)[0], func(t *testing.T) { got[i] = runMatrix(t, trigger) })
	}
	if !t.Failed() {
		checkPage(t, matrixPage(t, got))
	}
}

// matrix is a run of all shapes and modes in one engine.
type matrix struct {
	t       *testing.T
	e       *engine
	trigger string
	cells   [][]cell
}

func runMatrix(t *testing.T, trigger string) [][]cell {
	m := &matrix{t: t, trigger: trigger, e: &engine{w: newWorld(), fs: vfs.NewCrashableMem(),
		clock: clock.NewManual(time.Unix(matrixClock, 0))}}
	for _, s := range []string{"s", "p", "r"} {
		m.e.w.addSource(s, []string{"all"})
	}
	m.must(m.e.start())
	defer func() { m.must(m.e.close()) }()
	m.must(m.e.exec(matrixSetup))
	switch trigger {
	case "available_now", "once":
		for i := range matrixEpochs {
			m.feed(i)
		}
		m.create()
		m.must(m.e.await(func(s *cq.Status) bool { return s.State == cq.Finished }))
	default:
		m.create()
		if trigger == "real_time" {
			m.e.run()
		}
		for i := range matrixEpochs {
			m.feed(i)
			m.must(m.e.exec("FLUSH"))
		}
	}
	m.compare()
	return m.cells
}

func (m *matrix) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// feed gives the rows of an epoch.
func (m *matrix) feed(i int) {
	e := matrixEpochs[i]
	m.must(m.e.exec("BEGIN; " + e.table + " COMMIT;"))
	var rows []change
	for rel, list := range map[string][]string{"s": e.s, "p": e.s, "r": e.r} {
		for _, row := range list {
			rows = append(rows, change{rel: rel, split: "all", values: strings.Fields(row)})
		}
	}
	m.e.w.append(rows)
}

func sinkName(shape int, mode string) string { return fmt.Sprintf("q%d_%s", shape, mode) }

// create creates all queries and notes those that are refused.
func (m *matrix) create() {
	for i, s := range shapes {
		cells := make([]cell, len(allModes))
		for k, mode := range allModes {
			name := sinkName(i, mode)
			err := m.e.exec(fmt.Sprintf("CREATE SINK %s WITH (connector = 'memory', name = '%[1]s', output_mode = '%s', "+
				"trigger = '%s', checkpoint_interval = '1000 days', idle_timeout = '0 s') AS %s", name, mode, m.trigger, s.sql))
			if err == nil {
				continue
			}
			e, ok := codeOf(err)
			if !ok {
				m.t.Fatal(err)
			}
			if e.Code != sqlerr.FeatureNotSupported || e.Hint == "" {
				m.t.Errorf("%s, %s is refused with %s %s (hint: %s)", s.name, mode, e.Code, e.Message, e.Hint)
			}
			cells[k] = e
		}
		m.cells = append(m.cells, cells)
	}
}

// compare compares what the sinks were given with what is right, and that with what
// a SELECT finds.
func (m *matrix) compare() {
	for i, s := range shapes {
		for k, mode := range allModes {
			if m.cells[i][k] != nil {
				continue
			}
			want := s.want
			if mode == "append" && s.closed != nil {
				want = s.closed
			}
			m.same(s.name+", "+mode, want, m.result(sinkName(i, mode), mode))
		}
		if s.stream {
			continue
		}
		rows, err := m.e.query(strings.ReplaceAll(s.sql, "STREAM ", "") + ";")
		if err != nil {
			m.t.Errorf("%s, SELECT: %v", s.name, err)
			continue
		}
		m.same(s.name+", SELECT", s.want, csvRows(rows))
	}
}

// result folds what a sink was given, in update mode by the key that it was told.
func (m *matrix) result(name, mode string) []string {
	m.e.w.mu.Lock()
	defer m.e.w.mu.Unlock()
	sink := m.e.w.sink(name)
	c := &testCase{key: sink.key, hasKey: sink.key != nil}
	f := newFold()
	for _, e := range sink.epochs {
		plus, minus := divide(nil, nil, e.rows)
		c.take(f, mode, plus, minus)
	}
	var out []string
	for row, n := range f.rows {
		for range max(n, 0) {
			out = append(out, readable(row))
		}
		if n < 0 {
			out = append(out, "- "+readable(row))
		}
	}
	for _, row := range f.byKey {
		out = append(out, readable(row))
	}
	return out
}

// csvRows makes rows of a SELECT's text like those of shapes.
func csvRows(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l == "" {
			continue
		}
		f := strings.Split(l, ",")
		for i, x := range f {
			if at, err := time.Parse("2006-01-02 15:04:05Z07", strings.Trim(x, `"`)); err == nil {
				f[i] = fmt.Sprint(at.Unix())
			} else if x == "" {
				f[i] = "NULL"
			}
		}
		out = append(out, strings.Join(f, " "))
	}
	return out
}

func (m *matrix) same(what string, want, got []string) {
	m.t.Helper()
	want, got = slices.Clone(want), slices.Clone(got)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		m.t.Errorf("%s gives\n%s\ninstead of\n%s", what, strings.Join(got, "; "), strings.Join(want, "; "))
	}
}

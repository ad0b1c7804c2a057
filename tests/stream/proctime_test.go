package stream

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
)

// clocked is an engine with a source whose event time is processing time and a sink
// that counts it in windows, or passes it on.
func clocked(t *testing.T, trigger, query string) *engine {
	t.Helper()
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	e.w.addSource("p", []string{"all"})
	for _, text := range []string{
		"CREATE SOURCE p (k text, at timestamptz AS (proctime()), WATERMARK FOR at AS at) WITH (connector = 'memory', name = 'p')",
		"CREATE SINK o WITH (connector = 'memory', name = 'o', output_mode = 'append', checkpoint_interval = '1 s', trigger = '" +
			trigger + "') AS " + query,
	} {
		if err := e.exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.began(); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *engine) put(k string) { e.w.append([]change{{rel: "p", split: "all", values: []string{k}}}) }

// rows are those that the sink has, written or committed.
func (e *engine) rows(committed bool) []string {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	s := e.w.sink("o")
	all := s.written
	if committed {
		all = nil
		for _, ep := range s.epochs {
			all = append(all, ep.rows...)
		}
	}
	var out []string
	for _, r := range all {
		out = append(out, readable(r.Row))
	}
	slices.Sort(out)
	return out
}

func (e *engine) awaitRows(t *testing.T, committed bool, want ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = e.rows(committed); len(got) >= len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the rows are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (e *engine) end(t *testing.T) {
	t.Helper()
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

// TestProctimeReplayed: an epoch that a crash has undone comes again with its time
// and its rows, although the clock has gone on and there are more rows.
func TestProctimeReplayed(t *testing.T) {
	e := clocked(t, "processing_time 1000 days", "SELECT k, at, now() AS n FROM p")
	e.clock.Set(time.Unix(100, 0))
	e.put("a")
	var after *engine
	e.w.mu.Lock()
	e.w.moment = func(_, step string, _ uint64) {
		if step == "prepared" && after == nil {
			after = e.crashed(0, 1)
		}
	}
	e.w.mu.Unlock()
	if err := e.exec("FLUSH"); err != nil {
		t.Fatal(err)
	}
	e.awaitRows(t, true, "a 100 100")
	e.end(t)
	if after == nil {
		t.Fatal("there was no epoch")
	}
	after.clock.Set(time.Unix(200, 0))
	after.put("b")
	if err := after.start(); err != nil {
		t.Fatal(err)
	}
	defer after.end(t)
	if err := after.exec("FLUSH"); err != nil {
		t.Fatal(err)
	}
	after.awaitRows(t, true, "a 100 100", "b 200 200")
}

// TestProctimeCloses: a window of processing time closes when its time is over, by
// the clock alone.
func TestProctimeCloses(t *testing.T) {
	for _, trigger := range []string{"processing_time 0", "real_time"} {
		t.Run(trigger, func(t *testing.T) {
			e := clocked(t, trigger, "SELECT window_start, count(*) AS n FROM TUMBLE(p, at, INTERVAL '10 seconds') GROUP BY 1")
			defer e.end(t)
			e.clock.Set(time.Unix(12, 0))
			e.put("a")
			e.put("b")
			if err := e.exec("FLUSH"); err != nil {
				t.Fatal(err)
			}
			e.clock.Set(time.Unix(19, 0))
			if err := e.exec("FLUSH"); err != nil {
				t.Fatal(err)
			}
			e.awaitRows(t, false)
			e.clock.Set(time.Unix(22, 0))
			e.run() // pauses between looks
			e.awaitRows(t, false, "10 2")
			e.hold()
		})
	}
}

// TestProctimeOfReads: in real time a row's processing time is that of its read.
func TestProctimeOfReads(t *testing.T) {
	e := clocked(t, "real_time", "SELECT k, at, at = now() AS same FROM p")
	defer e.end(t)
	e.clock.Set(time.Unix(12, 0))
	e.put("a")
	e.awaitRows(t, false, "a 12 t")
	e.clock.Set(time.Unix(12, 250e6))
	e.put("b")
	e.awaitRows(t, false, "a 12 t", "b 12.25 t")
}

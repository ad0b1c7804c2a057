package stream

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestForgetsWithoutRows: what no row touches is forgotten though no row comes at
// all, with every trigger that goes on.
func TestForgetsWithoutRows(t *testing.T) {
	for _, trigger := range []string{"processing_time 0", "processing_time 10 ms", "real_time"} {
		t.Run(trigger, func(t *testing.T) {
			e := ttlEngine(t)
			e.run()
			for _, q := range []string{
				"CREATE MATERIALIZED VIEW groups WITH (state_ttl = '200 ms', checkpoint_interval = '10 ms', trigger = '" + trigger +
					"') AS SELECT k, count(*) AS n FROM s GROUP BY k",
				"CREATE MATERIALIZED VIEW newest WITH (state_ttl = '200 ms', checkpoint_interval = '10 ms', trigger = '" + trigger +
					"') AS SELECT DISTINCT ON (k) k, v FROM s ORDER BY k, v DESC",
			} {
				if err := e.exec(q); err != nil {
					t.Fatal(err)
				}
			}
			e.w.append([]change{{rel: "s", split: "all", values: []string{"a", "1"}}})
			for _, view := range []string{"groups", "newest"} {
				awaitRows(t, e, view, []string{"a,1"})
			}
			for _, view := range []string{"groups", "newest"} {
				awaitRows(t, e, view, nil)
			}
		})
	}
}

// TestForgetsFailedGroup: the error of a group goes with it.
func TestForgetsFailedGroup(t *testing.T) {
	e := ttlEngine(t)
	steps := []struct {
		at   int64
		rows []string
		want []string
		code sqlerr.Code
	}{
		{100, []string{"1e308", "1e308"}, nil, "22003"},
		{105, nil, nil, "22003"},
		{110, nil, nil, ""},
		{111, []string{"5"}, []string{"a,5"}, ""},
	}
	e.clock.Set(time.Unix(steps[0].at, 0))
	if err := e.exec("CREATE MATERIALIZED VIEW m WITH (state_ttl = '10 s', trigger = 'processing_time 1000 days') AS " +
		"SELECT k, sum(v::float8) AS total FROM s GROUP BY k"); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		e.clock.Set(time.Unix(s.at, 0))
		var rows []change
		for _, v := range s.rows {
			rows = append(rows, change{rel: "s", split: "all", values: []string{"a", v}})
		}
		e.w.append(rows)
		if err := e.exec("FLUSH"); err != nil {
			t.Fatal(err)
		}
		got, err := e.query("SELECT * FROM m;")
		var code sqlerr.Code
		if se, ok := codeOf(err); ok {
			code = se.Code
		}
		if code != s.code || code == "" && !slices.Equal(trimmed(got), s.want) {
			t.Errorf("at %d: %q, %v; want %q, %q", s.at, got, err, s.want, s.code)
		}
		// The error is in the store: it must be taken back after a start, too.
		if err := e.close(); err != nil {
			t.Fatal(err)
		}
		if err := e.start(); err != nil {
			t.Fatal(err)
		}
	}
}

// ttlEngine is an engine with a stream of two columns of text.
func ttlEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(100, 0))}
	e.w.addSource("s", []string{"all"})
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.exec("CREATE SOURCE s (k text, v text) WITH (connector = 'memory', name = 's')"); err != nil {
		t.Fatal(err)
	}
	return e
}

func trimmed(rows []string) []string {
	return slices.DeleteFunc(rows, func(r string) bool { return r == "" })
}

func awaitRows(t *testing.T, e *engine, view string, want []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		got, err := e.query("SELECT * FROM " + view + ";")
		if err != nil {
			t.Fatal(err)
		}
		if got = trimmed(got); slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %q instead of %q: %v", view, got, want, e.stuck())
		}
	}
}

package format

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/blackhole"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

var update = flag.Bool("update", false, "write the archive of this program's format")

// more are rows that come after a directory was opened.
const more = `INSERT INTO t VALUES (1000, 'k1', 99, 0.1), (1001, 'new', 1, 7);
DELETE FROM t WHERE id IN (3, 8, 15);
UPDATE t SET v = v + 1 WHERE id % 20 = 0;
INSERT INTO u VALUES ('k5', 1);
DELETE FROM u WHERE k = 'z';
INSERT INTO e VALUES ('k1', 500, '2026-01-01 00:01:41Z'), ('k1', 77, '2026-01-01 00:01:37Z'),
  ('k9', 501, '2026-01-01 00:05:00Z');
DELETE FROM kinds WHERE id = 2;
`

// views are what each view must hold: the query of a SELECT. joined is left out: what a
// stream was joined with has changed since.
var views = map[string]string{
	"copied":          "SELECT * FROM kinds",
	"per_key":         "SELECT k, count(*) AS n, sum(v) AS s, min(x) AS lo, max(x) AS hi FROM t GROUP BY k",
	"all_rows":        "SELECT count(*) AS n, avg(v) AS a FROM t",
	"distinct_values": "SELECT k, count(DISTINCT v) AS d, string_agg(DISTINCT v::text, ',') AS l FROM t GROUP BY k",
	"just_distinct":   "SELECT DISTINCT v FROM t",
	"top":             "SELECT k, v, id FROM t ORDER BY v DESC, id LIMIT 5",
	"firsts":          "SELECT DISTINCT ON (k) k, v FROM e ORDER BY k, v DESC",
	"bag":             "SELECT k, v FROM t",
	"without":         "SELECT k FROM t EXCEPT SELECT k FROM u",
	"together":        "SELECT k FROM t UNION ALL SELECT k FROM u",
	"of_view":         "SELECT count(*) AS n, sum(n) AS s FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS q",
	"sessions": "SELECT session_window(e.ts, '5 seconds') AS w, e.k, count(*) AS n FROM e " +
		"GROUP BY session_window(e.ts, '5 seconds'), e.k",
	"hops": "SELECT window(e.ts, '30 seconds', '10 seconds') AS w, e.k, count(*) AS n FROM e " +
		"GROUP BY window(e.ts, '30 seconds', '10 seconds'), e.k",
	"once_ever":  "SELECT DISTINCT ON (k) k, v FROM e ORDER BY k, ts",
	"once_timed": "SELECT DISTINCT ON (k, ts) k, ts, v FROM e ORDER BY k, ts, v DESC",
	"top_per": "SELECT k, v, id FROM (SELECT k, v, id, " +
		"row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM t) AS q WHERE rn <= 2",
	"windows": "SELECT window(e.ts, '30 seconds') AS w, e.k, count(*) AS n FROM e GROUP BY window(e.ts, '30 seconds'), e.k",
}

type engine struct {
	t     *testing.T
	store *state.Store
	m     *stream.Manager
	srv   *session.Server
}

func open(t *testing.T, dir string) *engine {
	t.Helper()
	store, err := state.Open(dir, state.Options{MinFreeBytes: -1, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	reg, clk := connector.Registry{"blackhole": blackhole.Factory}, clock.System{}
	m := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk})
	srv := session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(m.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clk}, nil), Queries: m,
		Connectors: reg, Clock: clk, System: session.NewSystemProvider(m, store)})
	m.Start()
	return &engine{t, store, m, srv}
}

func (e *engine) close() {
	e.t.Helper()
	e.m.Close()
	if err := e.store.Close(); err != nil {
		e.t.Error(err)
	}
}

func (e *engine) try(text string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out strings.Builder
	err := e.srv.RunScript(ctx, session.Script{File: "script.sql", Text: text, Format: "csv", Out: &out, Err: io.Discard,
		User: "streamsql", Database: "streamsql", Settings: []pgwire.Setting{{Name: "implicit_flush", Value: "on"}}})
	return out.String(), err
}

func (e *engine) rows(query string) string {
	e.t.Helper()
	out, err := e.try(query)
	if err != nil {
		e.t.Errorf("%s: %v", query, err)
		return ""
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (e *engine) check(when string) {
	e.t.Helper()
	for view, query := range views {
		if got, want := e.rows("SELECT * FROM "+view), e.rows(query); got != want || want == "" {
			e.t.Errorf("%s, %s has\n%s\nwant\n%s", when, view, got, want)
		}
	}
	var se *session.ScriptError
	if _, err := e.try("SELECT * FROM failing"); !errors.As(err, &se) || !strings.Contains(se.Error(), "22012") {
		e.t.Errorf("%s, the error of a row is %v", when, err)
	}
}

// TestFormats opens each archive.
func TestFormats(t *testing.T) {
	if *update {
		write(t)
	}
	for n := 1; n <= state.Format; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, filepath.Join("testdata", fmt.Sprintf("format-%d.tgz", n)), dir)
			e := open(t, dir)
			e.check("opened")
			if got := e.rows("SELECT count(*) FROM joined"); got != "100\ncount" {
				t.Error(got)
			}
			e.rows(more)
			e.check("with more rows")
			if got := e.rows("SELECT count(*), count(w) FROM joined"); got != "103,69\ncount,count" {
				t.Error(got)
			}
			if n >= 2 {
				e.rows("CREATE MATERIALIZED VIEW again FROM SAVEPOINT kept AS " + views["per_key"])
				if got, want := e.rows("SELECT * FROM again"), e.rows(views["per_key"]); got != want {
					t.Errorf("from the savepoint\n%s\nwant\n%s", got, want)
				}
			}
			e.close()
			e = open(t, dir)
			e.check("opened again")
			e.close()
		})
	}
}

// write makes the archive of this program's format.
func write(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile("testdata/script.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := open(t, dir)
	e.rows(string(script))
	e.rows("CREATE SAVEPOINT kept FOR per_key")
	e.close()
	pack(t, dir, filepath.Join("testdata", fmt.Sprintf("format-%d.tgz", state.Format)))
}

func pack(t *testing.T, dir, to string) {
	t.Helper()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from, dir string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.FileInfo().Mode().IsRegular() {
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

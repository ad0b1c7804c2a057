package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
)

// leftOut is an engine with two sources of rows that can be late.
func leftOut(t *testing.T) *engine {
	t.Helper()
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	for _, s := range []string{"a", "b", "u", "v"} {
		e.w.addSource(s, []string{"all"})
	}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// refused runs a statement that must fail with a SQLSTATE and a message that has a
// word in it.
func refused(t *testing.T, e *engine, text, code, word string) {
	t.Helper()
	err := e.exec(text)
	if se, ok := codeOf(err); !ok || string(se.Code) != code || !strings.Contains(se.Error()+se.Detail+se.Hint, word) {
		t.Errorf("%s\n%v, not %s with %q", text, err, code, word)
	}
}

func mustExec(t *testing.T, e *engine, text string) {
	t.Helper()
	if err := e.exec(text); err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
}

func mustQuery(t *testing.T, e *engine, text string, want ...string) {
	t.Helper()
	got, err := e.query(text)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	if got = trimmed(got); !slices.Equal(got, want) {
		t.Errorf("%s\ngives %q, not %q", text, got, want)
	}
}

const minutesOf = ` AS SELECT (window(ts, '10 seconds')).start AS w, count(*) AS n
	FROM STREAM %s WATERMARK ts DELAY OF INTERVAL '0 seconds' AS s GROUP BY window(ts, '10 seconds')`

const paced = "trigger = 'processing_time 1000 days', idle_timeout = '0 s'"

// TestLateRowsOfSource: a query does with late rows what its source says, unless it
// says something itself.
func TestLateRowsOfSource(t *testing.T) {
	e := leftOut(t)
	mustExec(t, e, "CREATE TABLE dropped (query text, k text, ts timestamptz)")
	mustExec(t, e, "CREATE SOURCE a (k text, ts timestamptz) WITH (connector = 'memory', name = 'a', late_rows = 'TABLE dropped')")
	mustExec(t, e, "CREATE SOURCE b (k text, ts timestamptz) WITH (connector = 'memory', name = 'b', late_rows = 'drop')")
	for name, with := range map[string]string{"silent": paced, "keeps": paced + ", late_rows = 'keep'"} {
		mustExec(t, e, "CREATE MATERIALIZED VIEW "+name+" WITH ("+with+")"+fmt.Sprintf(minutesOf, "a"))
	}
	mustExec(t, e, "CREATE MATERIALIZED VIEW drops WITH ("+paced+")"+fmt.Sprintf(minutesOf, "b"))
	for _, at := range []string{"40", "1"} {
		e.w.append([]change{{rel: "a", split: "all", values: []string{"x", at}},
			{rel: "b", split: "all", values: []string{"x", at}}})
		mustExec(t, e, "FLUSH")
	}
	mustQuery(t, e, "SELECT query, k FROM dropped", "silent,x")
	mustQuery(t, e, "SELECT query, \"row\"->>'ts', split, \"offset\", end_offset, reason, op FROM streamsql.late_rows",
		"keeps,1970-01-01T00:00:01+00:00,all,1,2,late,insert")
	mustQuery(t, e, "SELECT name, rows_in, late_rows FROM streamsql.queries ORDER BY name",
		"drops,2,1", "keeps,2,1", "silent,2,1")

	// Sources that an operator reads together must agree.
	both := "(SELECT k, ts FROM STREAM a WATERMARK ts DELAY OF INTERVAL '0 seconds' AS x UNION ALL " +
		"SELECT k, ts FROM STREAM b WATERMARK ts DELAY OF INTERVAL '0 seconds' AS y)"
	union := " AS SELECT (window(ts, '10 seconds')).start AS w, count(*) AS n FROM " + both + " AS z GROUP BY window(ts, '10 seconds')"
	refused(t, e, "CREATE MATERIALIZED VIEW u"+union, "22023", "late_rows")
	mustExec(t, e, "CREATE MATERIALIZED VIEW u WITH (late_rows = 'drop')"+union)

	// The table cannot go before those who need it.
	refused(t, e, "DROP TABLE dropped", "2BP01", "source a depends on table dropped")
	refused(t, e, "ALTER TABLE dropped RENAME TO other", "2BP01", "source a")
	mustExec(t, e, "DROP TABLE dropped CASCADE")
	mustQuery(t, e, "SELECT name FROM streamsql.queries ORDER BY name", "drops")
	mustQuery(t, e, "SELECT count(*) FROM streamsql.late_rows", "0") // they went with the query
}

// TestLateRowsOptions: what is wrong is told when the object is made.
func TestLateRowsOptions(t *testing.T) {
	e := leftOut(t)
	mustExec(t, e, "CREATE SOURCE a (k text, ts timestamptz) WITH (connector = 'memory', name = 'a')")
	mustExec(t, e, "CREATE TABLE keyed (k text PRIMARY KEY)")
	mustExec(t, e, "CREATE TABLE wrong (split bigint)")
	mustExec(t, e, "CREATE TABLE generated (k text, l int GENERATED ALWAYS AS (length(k)) STORED)")
	mustExec(t, e, "CREATE VIEW v AS SELECT 1 AS k")
	mustExec(t, e, "CREATE TABLE fed (k text) WITH (connector = 'memory', name = 'b')")
	source := "CREATE SOURCE s (k text, ts timestamptz) WITH (connector = 'memory', name = 'u', %s) FORMAT PLAIN ENCODE JSON %s"
	for _, c := range [][4]string{
		{"late_rows = 'table missing'", "", "42P01", "missing"},
		{"late_rows = 'table keyed'", "", "42809", "primary key"},
		{"late_rows = 'table v'", "", "42809", "not a table"},
		{"late_rows = 'table fed'", "", "42809", "feeds"},
		{"late_rows = 'table wrong'", "", "42804", "split"},
		{"late_rows = 'table generated'", "", "0A000", "generated"},
		{"late_rows = 'keep 0'", "", "22023", "from 1 to 100000"},
		{"late_rows = 'keep it'", "", "22023", "from 1 to 100000"},
		{"late_rows = 'table'", "", "22023", "table NAME"},
		{"late_rows = 'divert'", "", "22023", "drop, keep"},
		{"bad_rows = 'keep'", "", "22023", "on_error = 'skip'"},
		{"bad_rows = 'keep'", "(on_error = 'fail')", "22023", "on_error = 'skip'"},
		{"bad_rows = 'table missing'", "(on_error = 'skip')", "42P01", "missing"},
		{"bad_rows = 'table wrong'", "(on_error = 'skip')", "42804", "split"},
		{"bad_rows = 'table fed'", "(on_error = 'skip')", "42809", "feeds"},
	} {
		refused(t, e, fmt.Sprintf(source, c[0], c[1]), c[2], c[3])
	}
	refused(t, e, "CREATE MATERIALIZED VIEW m WITH (bad_rows = 'drop') AS SELECT k FROM a", "22023", "bad_rows")
	mustQuery(t, e, "SELECT name FROM streamsql.sources", "a")
}

// TestTableTakesBoth: a table takes rows of statements and of queries, none in the
// place of another, and a view over it learns of all; also while the clock stands and
// over a restart.
func TestTableTakesBoth(t *testing.T) {
	e := leftOut(t)
	mustExec(t, e, "CREATE TABLE dropped (k text, \"row\" jsonb)")
	mustExec(t, e, "CREATE SOURCE a (k text, ts timestamptz) WITH (connector = 'memory', name = 'a')")
	mustExec(t, e, "CREATE MATERIALIZED VIEW seen WITH ("+paced+") AS SELECT k, count(*) AS n FROM dropped GROUP BY k")
	for _, q := range []string{"p", "q"} {
		mustExec(t, e, "CREATE MATERIALIZED VIEW "+q+" WITH ("+paced+", late_rows = 'table dropped')"+fmt.Sprintf(minutesOf, "a"))
	}
	for i := range 6 {
		mustExec(t, e, "INSERT INTO dropped (k) SELECT 's' FROM generate_series(1, 100)")
		for _, at := range []string{"40", "1", "2"} {
			e.w.append([]change{{rel: "a", split: "all", values: []string{"l", at}}})
		}
		mustExec(t, e, "FLUSH")
		if i == 2 {
			if err := e.close(); err != nil {
				t.Fatal(err)
			}
			if err := e.start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustExec(t, e, "FLUSH")
	// Of the first epoch nothing is late.
	mustQuery(t, e, "SELECT k, count(*) FROM dropped GROUP BY k ORDER BY k", "l,20", "s,600")
	mustQuery(t, e, "SELECT k, n FROM seen ORDER BY k", "l,20", "s,600")
	mustQuery(t, e, "SELECT DISTINCT \"row\"->>'ts' FROM dropped WHERE k = 'l' ORDER BY 1",
		"1970-01-01T00:00:01+00:00", "1970-01-01T00:00:02+00:00")
}

// TestKeptOverRestart: what queries keep is there after a restart and a crash, as
// much as was committed, and goes with the query.
func TestKeptOverRestart(t *testing.T) {
	e := leftOut(t)
	mustExec(t, e, `CREATE SOURCE a (k text, v integer) WITH (connector = 'memory', name = 'a', bad_rows = 'keep 2')
		FORMAT PLAIN ENCODE JSON (on_error = 'skip')`)
	mustExec(t, e, "CREATE MATERIALIZED VIEW m WITH ("+paced+") AS SELECT k, 10 / v AS q FROM a")
	feed := func(rows ...string) {
		var all []change
		for _, r := range rows {
			all = append(all, change{rel: "a", split: "all", values: strings.Split(r, " ")})
		}
		e.w.append(all)
	}
	look := func(failed []string, bad ...string) {
		t.Helper()
		mustQuery(t, e, "SELECT operator, op, code, \"row\" FROM streamsql.failed_rows ORDER BY 4", failed...)
		mustQuery(t, e, "SELECT source, split, \"offset\", reason, convert_from(bytes, 'UTF8') FROM streamsql.bad_rows", bad...)
	}
	feed("x 1", "!y 2", "z 0")
	mustExec(t, e, "FLUSH")
	failed := []string{`Project,insert,22012,"{""k"":""z"",""v"":0}"`}
	look(failed, "a,all,1,it is marked,!y 2")

	// What is in no epoch yet is lost with the crash, and found again.
	feed("!w 1", "!v 2", "u 0")
	e.w.mu.Lock()
	after := e.crashed(0, 1)
	e.w.mu.Unlock()
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	restart := func() {
		t.Helper()
		if err := e.start(); err != nil {
			t.Fatal(err)
		}
		if err := e.began(); err != nil {
			t.Fatal(err)
		}
	}
	e = after
	restart()
	defer func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}()
	mustExec(t, e, "FLUSH")
	failed = append(failed, `Project,insert,22012,"{""k"":""u"",""v"":0}"`)
	slices.Sort(failed)
	bad := []string{"a,all,3,it is marked,!w 1", "a,all,4,it is marked,!v 2"}
	look(failed, bad...)
	counts := "SELECT r.rows_in, r.bad_rows, q.bad_rows, q.failed_rows FROM streamsql.reads r JOIN streamsql.queries q ON q.id = query_id"
	mustQuery(t, e, counts, "3,3,3,2")

	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	restart()
	look(failed, bad...)
	mustQuery(t, e, counts, "3,3,3,2")
	mustExec(t, e, "DROP MATERIALIZED VIEW m")
	look(nil)
}

package replace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestDependants replaces a view that others read.
func TestDependants(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2.5), (3, 'a', 3, 3);" +
		"CREATE MATERIALIZED VIEW v AS " + perKey + "; CREATE MATERIALIZED VIEW d AS SELECT sum(n) AS n, sum(s) AS s FROM v;" +
		"CREATE VIEW p AS SELECT k FROM v; CREATE MATERIALIZED VIEW pd AS SELECT count(*) AS n FROM p;")
	for _, having := range []string{" HAVING count(*) > 1", "", " HAVING sum(v) > 100", ""} {
		e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS " + perKey + having)
		e.same("d", "SELECT sum(n) AS n, sum(s) AS s FROM ("+perKey+having+") AS q")
		e.same("pd", "SELECT count(*) AS n FROM ("+perKey+having+") AS q")
		e.run("INSERT INTO t VALUES ((SELECT max(id) + 1 FROM t), 'c', 7, 1)")
		e.same("d", "SELECT sum(n) AS n, sum(s) AS s FROM ("+perKey+having+") AS q")
	}
	// Built anew, with the same columns.
	e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, count(*) AS n, sum(v + 1) AS s FROM t GROUP BY k")
	e.same("d", "SELECT sum(n) AS n, sum(s) AS s FROM (SELECT k, count(*) AS n, sum(v + 1) AS s FROM t GROUP BY k) AS q")
	e.run("CREATE SAVEPOINT s FOR v; INSERT INTO t VALUES (90, 'z', 1, 1); RESTART v FROM SAVEPOINT s;")
	e.same("d", "SELECT sum(n) AS n, sum(s) AS s FROM (SELECT k, count(*) AS n, sum(v + 1) AS s FROM t GROUP BY k) AS q")
	for text, want := range map[string]string{
		"SELECT k, count(*) AS n FROM t GROUP BY k":                           "cannot drop columns",
		"SELECT k, count(*) AS m, sum(v) AS s FROM t GROUP BY k":              `cannot change name of materialized view column "n" to "m"`,
		"SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k":              "cannot change data type",
		"SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY k": "cannot add column",
	} {
		e.fails("CREATE OR REPLACE MATERIALIZED VIEW v AS "+text, "42P16", want)
	}
	e.fails("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT v.k, v.n, v.s FROM v", "42P19", "depend on itself")
	e.fails("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 'a'::text AS k, d.n::bigint AS n, 1::bigint AS s FROM d", "42P19",
		"depend on itself")
	e.fails("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, 1::bigint AS n, v::bigint AS s FROM t", "2BP01", "another key")
}

// TestInsertsStay: who reads the inserts of a view counts on them.
func TestInsertsStay(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "INSERT INTO e VALUES ('a', 1, '2026-01-01Z'); CREATE MATERIALIZED VIEW v AS SELECT k, v FROM STREAM e;" +
		"CREATE MATERIALIZED VIEW d AS SELECT count(*) AS n FROM STREAM v; FLUSH; CREATE SAVEPOINT s FOR v;")
	e.fails("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, v + 1 AS v FROM STREAM e", "2BP01", "only inserts")
	e.fails("RESTART v FROM SAVEPOINT s", "2BP01", "only inserts")
	e.run("CREATE OR REPLACE MATERIALIZED VIEW v WITH (trigger = 'processing_time 1 ms') AS SELECT k, v FROM STREAM e")
	e.run("DROP MATERIALIZED VIEW d; CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, v + 1 AS v FROM STREAM e")
	e.same("v", "SELECT k, v + 1 AS v FROM e")
	e.run("INSERT INTO e VALUES ('b', 1, '2026-01-01Z'); RESTART v")
	e.same("v", "SELECT k, v + 1 AS v FROM e")
}

// lines are the sorted lines of all files in a directory.
func lines(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".") || strings.HasPrefix(n.Name(), "_") || n.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Fields(string(b))...)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestSinks replaces sinks: what was sent stays, nothing is sent twice, and another end
// gets what comes from then on.
func TestSinks(t *testing.T) {
	e := newEngine(t)
	one, two := t.TempDir(), t.TempDir()
	create := func(dir, query string) string {
		return "SINK k WITH (connector = 'file', path = '" + dir + "') FORMAT PLAIN ENCODE CSV (header = false) AS " + query + ";"
	}
	e.run(tables + "INSERT INTO e VALUES ('a', 1, '2026-01-01Z'); CREATE " + create(one, "SELECT k, v FROM STREAM e") + "FLUSH;")
	out := e.run("CREATE OR REPLACE " + create(one, "SELECT upper(k) AS k, v FROM STREAM e WHERE v > 1"))
	if !strings.Contains(out, "nothing is read again") {
		t.Error(out)
	}
	e.run("INSERT INTO e VALUES ('b', 1, '2026-01-01Z'), ('c', 2, '2026-01-01Z'); FLUSH;")
	if got := lines(t, one); got != "C,2 a,1" {
		t.Error(got)
	}
	e.run("CREATE SAVEPOINT s FOR k")
	e.run("CREATE OR REPLACE " + create(two, "SELECT upper(k) AS k, v FROM STREAM e WHERE v > 1"))
	e.run("INSERT INTO e VALUES ('d', 3, '2026-01-01Z'); FLUSH;")
	e.restart()
	e.run("INSERT INTO e VALUES ('e', 4, '2026-01-01Z'); FLUSH;")
	if got := lines(t, one) + " | " + lines(t, two); got != "C,2 a,1 | D,3 E,4" {
		t.Error(got)
	}
	fork := t.TempDir()
	e.run(strings.Replace("CREATE "+create(fork, "SELECT upper(k) AS k, v FROM STREAM e WHERE v > 1"), "SINK k", "SINK g", 1))
	e.run(strings.Replace(strings.Replace("CREATE "+create(fork+"/s", "SELECT upper(k) AS k, v FROM STREAM e WHERE v > 1"),
		"SINK k", "SINK h", 1), " AS SELECT", " FROM SAVEPOINT s AS SELECT", 1) + "FLUSH;")
	if got := lines(t, fork) + " | " + lines(t, fork+"/s"); got != "C,2 D,3 E,4 | D,3 E,4" {
		t.Error(got)
	}
	e.fails("CREATE OR REPLACE SINK e WITH (connector = 'blackhole')", "42809", "is not a sink")
	e.run("CREATE SINK bare WITH (connector = 'blackhole'); CREATE FLOW fl INTO bare AS SELECT k FROM STREAM e; FLUSH;")
	e.fails("CREATE OR REPLACE SINK bare WITH (connector = 'blackhole')", "2BP01", "other objects depend on it")
	if out := e.run("CREATE OR REPLACE FLOW fl INTO bare AS SELECT k || 'x' AS k FROM STREAM e"); !strings.Contains(out,
		"nothing is read again") {
		t.Error(out)
	}
}

// TestPausedAndFailed replaces queries that do not run.
func TestPausedAndFailed(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 0, 2.5); CREATE MATERIALIZED VIEW v AS " + perKey + "; FLUSH;" +
		"PAUSE v; CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, count(*) AS n FROM t GROUP BY k;")
	if got := e.rows("SELECT state FROM streamsql.queries WHERE name = 'v'"); got != "paused" {
		t.Error(got)
	}
	e.fails("SELECT * FROM v", "55000", "rows have not been made anew")
	e.run("RESUME v")
	e.same("v", "SELECT k, count(*) AS n FROM t GROUP BY k")
	e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, 10 / v AS q FROM t")
	e.fails("SELECT * FROM v", "22012", "division by zero")
	e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, 10 / (v + 1) AS q FROM t")
	e.same("v", "SELECT k, 10 / (v + 1) AS q FROM t")
	dir := t.TempDir()
	e.try("CREATE SINK k WITH (connector = 'file', path = '" + dir + "') FORMAT PLAIN ENCODE CSV (header = false) AS " +
		"SELECT k, 10 / v AS q FROM STREAM e; INSERT INTO e VALUES ('a', 0, '2026-01-01Z'); FLUSH;")
	if got := e.try("SET implicit_flush = off; SELECT state FROM streamsql.queries WHERE name = 'k'"); !strings.Contains(got,
		"failed") {
		t.Error(got)
	}
	e.run("CREATE OR REPLACE SINK k WITH (connector = 'file', path = '" + dir + "') FORMAT PLAIN ENCODE CSV (header = false) AS " +
		"SELECT k, 10 / (v + 1) AS q FROM STREAM e; FLUSH;")
	if got := lines(t, dir); got != "a,10" {
		t.Error(got)
	}
}

// TestTwoAtOnce lets sessions replace, alter and restart one view at the same time: each
// statement works or gives way, and the view is what the last one made it.
func TestTwoAtOnce(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2.5); CREATE MATERIALIZED VIEW v AS " + perKey + "; FLUSH;" +
		"CREATE SAVEPOINT s FOR v;")
	var all sync.WaitGroup
	for i, text := range []string{
		"CREATE OR REPLACE MATERIALIZED VIEW v AS " + perKey + " HAVING count(*) > 0",
		"CREATE OR REPLACE MATERIALIZED VIEW v AS " + perKey,
		"ALTER MATERIALIZED VIEW v SET (trigger = 'processing_time 1 ms')",
		"PAUSE v; RESUME v", "RESTART v FROM SAVEPOINT s", "RESTART v", "CREATE SAVEPOINT x FOR v; DROP SAVEPOINT x",
	} {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 5 {
				out := e.try(text)
				if strings.Contains(out, "script.sql:") && !strings.Contains(out, " 40001 ") && !strings.Contains(out, " 55000 ") &&
					!strings.Contains(out, " 42710 ") {
					t.Errorf("%d: %s", i, out)
				}
			}
		}()
	}
	for i := range 20 {
		e.run("INSERT INTO t VALUES (" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + " + 100, 'c', 1, 1)")
	}
	all.Wait()
	e.try("RESUME v")
	e.same("v", perKey)
	e.restart()
	e.same("v", perKey)
}

// TestRollback: a block that fails or is rolled back leaves the query as it was.
func TestRollback(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1); CREATE MATERIALIZED VIEW v AS " + perKey + "; FLUSH;")
	e.run("BEGIN; CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS x FROM t; ROLLBACK;")
	e.same("v", perKey)
	e.run("BEGIN; CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS x FROM t; INSERT INTO t VALUES (7, 'q', 1, 1); COMMIT;")
	e.same("v", "SELECT 1 AS x FROM t")
	e.run("BEGIN; CREATE MATERIALIZED VIEW n AS " + perKey + "; CREATE OR REPLACE MATERIALIZED VIEW n AS SELECT id FROM t; COMMIT;")
	e.same("n", "SELECT id FROM t")
}

package replace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const perKey = "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k"

// TestSavepoint takes a view back, forks it, and does both again after restarts.
func TestSavepoint(t *testing.T) {
	for _, q := range []string{perKey, definitions[9], definitions[11], definitions[13], definitions[15], definitions[17],
		definitions[21]} {
		e := newEngine(t)
		e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2.5), (3, 'a', 3, 3); INSERT INTO u VALUES ('a', 1);" +
			"INSERT INTO e VALUES ('x', 1, '2026-01-01Z'); CREATE MATERIALIZED VIEW v AS " + q + "; FLUSH;")
		e.run("CREATE SAVEPOINT s FOR v")
		e.run("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 'c', 9, 1); DELETE FROM u; INSERT INTO u VALUES ('c', 5);" +
			"INSERT INTO e VALUES ('y', 1, '2026-01-01Z');")
		e.same("v", q)
		e.run("PAUSE v")
		e.run("RESTART v FROM SAVEPOINT s") // which goes on to what there is when it is resumed
		e.run("RESUME v")
		e.same("v", q)
		e.run("CREATE MATERIALIZED VIEW w FROM SAVEPOINT s AS " + q)
		e.same("w", q)
		e = e.crash(0, 1)
		e.same("v", q)
		e.same("w", q)
		e.run("DROP MATERIALIZED VIEW v; CREATE MATERIALIZED VIEW x FROM SAVEPOINT s AS " + q)
		e.run("INSERT INTO t VALUES (5, 'd', 5, 5); INSERT INTO e VALUES ('z', 1, '2026-01-01Z')")
		e.same("x", q)
		e.restart()
		e.same("x", q)
		e.run("DELETE FROM t; DELETE FROM u;")
		if q == perKey && e.rows("SELECT bytes > 0, epoch > 0, query FROM streamsql.savepoints WHERE name = 's'") != "t,t,v" {
			t.Error(e.rows("SELECT * FROM streamsql.savepoints"))
		}
		e.run("DROP SAVEPOINT s")
		e.same("x", q)
	}
}

// TestSavepointRows compares what a savepoint gives back with what there was.
func TestSavepointRows(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(path, []byte("k,v\na,1\nb,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := fmt.Sprintf("CREATE SOURCE f (k text, v int) WITH (connector = 'file', path = '%s', tail = 'on') FORMAT PLAIN ENCODE CSV;", path)
	e.run(src + "CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) AS s FROM f GROUP BY k; FLUSH; CREATE SAVEPOINT one FOR v;")
	if got := e.rows("SELECT * FROM v"); got != "a,1\nb,2" {
		t.Fatal(got)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(view, rows string) {
		t.Helper()
		// The source looks at its file now and then.
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			got := e.rows("SELECT * FROM " + view)
			if got == rows {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s has\n%s\nand not\n%s", view, got, rows)
			}
		}
	}
	write("k,v\na,1\nb,2\na,5\n")
	want("v", "a,6\nb,2")
	// Without the row that came since there is nothing to read behind the savepoint: what
	// is there comes from it, in the view itself and in another one.
	e.run("PAUSE v")
	write("k,v\na,1\nb,2\n")
	e.run("RESTART v FROM SAVEPOINT one; RESUME v")
	want("v", "a,1\nb,2")
	e.run("CREATE MATERIALIZED VIEW w FROM SAVEPOINT one AS SELECT k, sum(v) * 10 AS s FROM f GROUP BY k")
	want("w", "a,10\nb,20")
	// Then it is read on, not anew.
	write("k,v\na,1\nb,2\na,5\n")
	want("v", "a,6\nb,2")
	want("w", "a,60\nb,20")
}

// TestSavepointErrors are the refusals.
func TestSavepointErrors(t *testing.T) {
	e := newEngine(t)
	e.run(tables + "CREATE MATERIALIZED VIEW v AS " + perKey + "; CREATE SINK k WITH (connector = 'blackhole') AS " +
		"SELECT k, v FROM STREAM e; FLUSH; CREATE SAVEPOINT s FOR v; CREATE SAVEPOINT ks FOR k;")
	e.fails("CREATE SAVEPOINT s FOR v", "42710", `savepoint "s" already exists`)
	if out := e.run("CREATE SAVEPOINT IF NOT EXISTS s FOR v"); !strings.Contains(out, "already exists, skipping") {
		t.Error(out)
	}
	e.fails("CREATE SAVEPOINT x FOR nothing", "42P01", "does not exist")
	e.fails("CREATE SAVEPOINT x FOR t", "42809", "runs no query")
	e.fails("BEGIN; CREATE SAVEPOINT x FOR v", "25001", "transaction block")
	e.fails("DROP SAVEPOINT x", "42704", "does not exist")
	if out := e.run("DROP SAVEPOINT IF EXISTS x"); !strings.Contains(out, "skipping") {
		t.Error(out)
	}
	e.fails("RESTART v FROM SAVEPOINT x", "42704", "does not exist")
	e.fails("RESTART v FROM SAVEPOINT ks", "55000", "another definition")
	e.fails("RESTART k FROM SAVEPOINT ks", "55000", "have been sent since")
	e.fails("CREATE OR REPLACE SINK k WITH (connector = 'blackhole') FROM SAVEPOINT ks AS SELECT k FROM STREAM e", "55000",
		"have been sent since")
	e.fails("CREATE MATERIALIZED VIEW z FROM SAVEPOINT s AS SELECT count(*) AS n FROM u", "55000", "can keep nothing")
	e.fails("CREATE OR REPLACE MATERIALIZED VIEW t AS SELECT 1", "42809", "is not a materialized view")
	e.run("CREATE SINK k2 WITH (connector = 'blackhole') FROM SAVEPOINT ks AS SELECT k, v FROM STREAM e")
	// A relation that the savepoint reads on from is another one when it has been dropped.
	e.run("DROP TABLE e CASCADE; CREATE TABLE e (k text, v int, ts timestamptz) APPEND ONLY;")
	e.fails("CREATE SINK k3 WITH (connector = 'blackhole') FROM SAVEPOINT ks AS SELECT k, v FROM STREAM e", "55000",
		"can keep nothing")
}

// TestSavepointCrash stops the world at many moments while savepoints are made, dropped
// and used: each is whole or not there, and what begins with it is right.
func TestSavepointCrash(t *testing.T) {
	e := newEngine(t)
	var rows strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&rows, "(%d, 'k%d', %d, 1),", i, i%500, i%7)
	}
	e.run(tables + "INSERT INTO t VALUES " + strings.TrimSuffix(rows.String(), ",") +
		"; CREATE MATERIALIZED VIEW v AS " + perKey + "; FLUSH;")
	var clones []*engine
	run := func(text string) {
		e.run(text)
		n := uint64(len(clones))
		clones = append(clones, &engine{t: t, fs: e.cloneFS(int(n%3)*50, n)})
	}
	for i := range 6 {
		run(fmt.Sprintf("CREATE SAVEPOINT s%d FOR v; INSERT INTO t VALUES (%d, 'n', 1, 1);", i, 9000+i))
		if i%2 == 1 {
			run(fmt.Sprintf("RESTART v FROM SAVEPOINT s%d; CREATE OR REPLACE MATERIALIZED VIEW v AS %s HAVING count(*) > %d;",
				i, perKey, i))
		}
		if i%3 == 2 {
			run(fmt.Sprintf("DROP SAVEPOINT s%d", i-1))
		}
	}
	e.same("v", perKey+" HAVING count(*) > 5")
	for _, c := range clones {
		c.start()
		having := c.rows("SELECT substring(definition_of FROM 'count.*$') FROM (SELECT pg_get_viewdef('v'::regclass) AS definition_of) AS q")
		q := perKey
		if i := strings.Index(having, "> "); i >= 0 {
			q += " HAVING count(*) " + strings.TrimRight(having[i:], ";\"")
		}
		c.same("v", q)
		for _, name := range strings.Fields(c.rows("SELECT name FROM streamsql.savepoints")) {
			c.run("CREATE MATERIALIZED VIEW x FROM SAVEPOINT " + name + " AS " + perKey)
			c.same("x", perKey)
			c.run("DROP MATERIALIZED VIEW x; DROP SAVEPOINT " + name)
		}
		c.stop()
	}
}

package e2e

import (
	"slices"
	"testing"
	"time"
)

// listViews are queries that read rows of their own: each is kept up to date as
// a SELECT of it gives. t has the columns a int and b text.
var listViews = []struct{ name, query string }{
	{"one", "SELECT 1 AS x, 'y' AS y"},
	{"list", "VALUES (1, 'a'), (2, NULL)"},
	{"more", "SELECT a, b FROM t UNION ALL SELECT 0, 'zero' UNION ALL VALUES (-1, 'less'), (-2, 'least')"},
	{"series", "SELECT count(*), sum(g) FROM generate_series(1, 300000) g"},
	{"series_too", "SELECT a::bigint FROM t UNION ALL SELECT g FROM generate_series(1, 20000) g"},
	{"each", "SELECT a, b, generate_series(1, a) AS g FROM t"},
	{"named", "SELECT s.a, f.name FROM STREAM s JOIN (VALUES (1, 'one'), (2, 'two')) f(a, name) ON f.a = s.a"},
	{"crossed", "SELECT s.a, g FROM STREAM s JOIN generate_series(1, 3) g ON true"},
}

// TestLists: VALUES, SELECT without FROM and functions that return rows are
// inputs of continuous queries like any other, read once whenever the server is
// killed.
func TestLists(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	c := s.connect()
	c.exec("CREATE TABLE t (a int PRIMARY KEY, b text)")
	c.exec("CREATE TABLE s (a int) APPEND ONLY")
	c.exec("INSERT INTO t VALUES (1, 'x'), (3, 'y')")
	for _, v := range listViews {
		c.exec("CREATE MATERIALIZED VIEW " + v.name + " AS " + v.query)
	}
	for _, change := range []string{
		"INSERT INTO s VALUES (1), (2), (3)",
		"INSERT INTO t VALUES (2, 'z')",
		"UPDATE t SET b = 'changed' WHERE a = 3",
		"DELETE FROM t WHERE a = 1",
	} {
		c.exec(change)
		s.kill()
		s = serve(t, dir)
		c = s.connect()
		c.exec("FLUSH")
		for _, v := range listViews {
			same(t, v.name+" after "+change, c.rows("SELECT * FROM "+v.name), c.rows(v.query))
		}
	}
}

// TestEndedSourceBesideTable: a source that has come to its end keeps a query
// that reads a table besides from resting no more than the table does.
func TestEndedSourceBesideTable(t *testing.T) {
	c := serve(t, t.TempDir()).connect()
	c.exec("CREATE TABLE t (a int PRIMARY KEY)")
	c.exec("CREATE SOURCE numbers (a int) WITH (connector = 'datagen', number_of_rows = 1000)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a FROM t UNION ALL SELECT a FROM numbers")
	c.exec("FLUSH")
	epoch := "SELECT epoch FROM streamsql.queries WHERE name = 'v'"
	for range 100 {
		was := c.rows(epoch)
		time.Sleep(100 * time.Millisecond)
		if slices.Equal(was, c.rows(epoch)) {
			c.exec("INSERT INTO t VALUES (-1)")
			c.exec("FLUSH")
			if got := c.rows("SELECT count(*) FROM v"); !slices.Equal(got, []string{"1001"}) {
				t.Errorf("%q rows, not 1001", got)
			}
			return
		}
	}
	t.Error("epochs go on without rows")
}

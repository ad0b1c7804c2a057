package stream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
)

// TestChurn: groups, distinct values and rows of two sides that lose all their rows by the thousand are
// forgotten, and those that stay or come back are right, also after a restart.
func TestChurn(t *testing.T) {
	for _, tasks := range []int{1, 2} {
		e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(e.start())
		const query = `SELECT k / 2 AS g, count(*) AS n, count(DISTINCT v % 3000) AS d, min(v) AS least, max(v) AS most,
			sum(v) FILTER (WHERE k % 3 = 0) AS some FROM t GROUP BY k / 2`
		const one = `SELECT count(DISTINCT v) AS d, sum(DISTINCT v) AS s FROM t`
		must(e.exec("CREATE TABLE t (k bigint PRIMARY KEY, v bigint)"))
		with := fmt.Sprintf("WITH (trigger = 'processing_time 1000 days', parallelism = %d)", tasks)
		views := map[string]string{"groups": query, "whole": one,
			"apart":  "SELECT v FROM t EXCEPT SELECT k FROM t",
			"copies": "SELECT v % 100 FROM t EXCEPT ALL SELECT k % 150 FROM t",
			"common": "SELECT k, v FROM t INTERSECT ALL SELECT v, k FROM t"}
		for name, q := range views {
			must(e.exec("CREATE MATERIALIZED VIEW " + name + " " + with + " AS " + q))
		}
		check := func(groups string) {
			t.Helper()
			must(e.exec("FLUSH"))
			for view, query := range views {
				got, err := e.query("SELECT * FROM " + view)
				must(err)
				want, err := e.query(query)
				must(err)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%d tasks: %s has %d rows, not the %d of the same SELECT", tasks, view, len(got), len(want))
				}
			}
			got, err := e.query("SELECT sum(rows) FROM streamsql.state WHERE query = 'groups'")
			must(err)
			if got[0] != groups {
				t.Errorf("%d tasks: a state of %s groups instead of %s", tasks, got[0], groups)
			}
		}
		must(e.exec("INSERT INTO t SELECT i, i * 7 FROM generate_series(0, 5999) AS i"))
		check("3000")
		must(e.exec("DELETE FROM t WHERE k % 10 > 1"))
		check("600")
		must(e.exec("INSERT INTO t SELECT i, i FROM generate_series(0, 5999) AS i WHERE i % 10 IN (2, 5)"))
		check("1800")
		must(e.exec("UPDATE t SET v = v + 1 WHERE k % 4 = 0; DELETE FROM t WHERE k > 300"))
		check("91")
		must(e.close())
		must(e.start())
		must(e.exec("INSERT INTO t VALUES (6001, 1), (5, 5) ON CONFLICT DO NOTHING; DELETE FROM t WHERE k = 10"))
		check("92")
		must(e.close())
	}
}

package e2e

import (
	"fmt"
	"testing"
)

// TestViewsInComplete: a view in output mode complete is its query's result after each
// epoch, with and without a key, also when rows leave the result.
func TestViewsInComplete(t *testing.T) {
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec("CREATE TABLE t (k text PRIMARY KEY, v int)")
	queries := []string{
		"SELECT v, count(*) AS n FROM t GROUP BY v",
		"SELECT count(*) AS n FROM t GROUP BY v",
		"SELECT k, v FROM t WHERE v > 1",
		"SELECT v FROM t",
		"SELECT v FROM t ORDER BY v DESC LIMIT 2",
		"SELECT DISTINCT v FROM t",
	}
	for i, q := range queries {
		for _, trigger := range []string{"processing_time 0", "real_time"} {
			c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW v%d_%s WITH (output_mode = 'complete', trigger = '%s') AS %s",
				i, trigger[:4], trigger, q))
		}
	}
	for _, change := range []string{
		"INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 2)",
		"INSERT INTO t VALUES ('d', 3), ('e', 5)",
		"UPDATE t SET v = 1 WHERE k <> 'e'",
		"DELETE FROM t WHERE k IN ('a', 'b', 'd')",
	} {
		c.exec(change)
		c.exec("FLUSH")
		for i, q := range queries {
			for _, trigger := range []string{"proc", "real"} {
				view := fmt.Sprintf("v%d_%s", i, trigger)
				same(t, fmt.Sprintf("%s after %s, %s", q, change, trigger), c.rows("SELECT * FROM "+view), c.rows(q))
			}
		}
	}
}

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// TestKeysLargerThanMemory reads rows with keys of a kilobyte, each key twice and far
// apart, into state that is larger than what a server may take: keys of a deduplication,
// values of a DISTINCT aggregate, and sessions, half of which the watermark closes on the
// way. The server is killed in the middle.
func TestKeysLargerThanMemory(t *testing.T) {
	const keyBytes, limit, budget = 1024, 256, 8
	needMemoryFigures(t)
	keys := int64(24 << 20 / keyBytes)
	const key = "repeat(md5(n::text) || md5((-n)::text) || md5('x' || n) || md5('y' || n), 8)"
	for _, c := range []struct{ name, query, done string }{
		{"deduplication", "SELECT count(*) AS n, sum(n) AS total FROM (SELECT DISTINCT ON (k) k, n FROM (SELECT " + key +
			" AS k, n FROM numbers) AS x) AS y", fmt.Sprintf("%d|%d", keys, keys*(keys+1)/2)},
		{"values", "SELECT count(DISTINCT " + key + ") AS n, count(*) AS total FROM numbers",
			fmt.Sprintf("%d|%d", keys, 2*keys)},
		{"sessions", "SELECT count(*) AS n, sum(c) AS total FROM (SELECT k, window_start, window_end, count(*) AS c FROM " +
			"SESSION((SELECT " + key + " AS k, at FROM numbers) PARTITION BY k, at, " +
			fmt.Sprintf("INTERVAL '%d milliseconds') GROUP BY k, window_start, window_end) AS g", keys*3/4),
			fmt.Sprintf("%d|%d", 2*keys, 2*keys)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", fmt.Sprintf("%dMiB", limit*8/10))
			dir := t.TempDir()
			start := func() (*server, *db) {
				s := serve(t, dir, "--state-memory", fmt.Sprintf("%d MiB", budget))
				return s, s.connect()
			}
			s, conn := start()
			conn.exec(fmt.Sprintf(`CREATE SOURCE numbers (n bigint, at timestamptz, WATERMARK FOR at AS at)
				WITH (connector = 'datagen', number_of_rows = '%d', "fields.n.kind" = 'sequence', "fields.n.start" = '1',
				"fields.n.end" = '%d', "fields.at.step" = '1 ms')`, 2*keys, keys))
			conn.exec("CREATE MATERIALIZED VIEW v AS " + c.query)
			killed, most := false, int64(0)
			for began := time.Now(); conn.value("SELECT max(n) || '|' || max(total) FROM v") != c.done; {
				if time.Since(began) > 2*testTime {
					t.Fatalf("there is %s instead of %s", conn.value("SELECT max(n) || '|' || max(total) FROM v"), c.done)
				}
				var held int64
				row := conn.QueryRow(testContext(t), `SELECT coalesce(sum(bytes), 0)::bigint >> 20
					FROM streamsql.state WHERE query = 'v'`)
				if err := row.Scan(&held); err != nil {
					t.Fatal(err)
				}
				most = max(most, held)
				if peak := peakMemory(t, s); peak > limit*110/100 {
					t.Fatalf("the server has had %d MiB in memory, its limit is %d", peak, limit)
				}
				if !killed && conn.value("SELECT coalesce(max(n), 0) > "+fmt.Sprint(keys/2)+" FROM v") == "t" {
					killed = true
					s.kill()
					s, conn = start()
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Logf("%d keys of %d bytes: at most %d MiB of state and %d MiB of all in memory", keys, keyBytes, most,
				peakMemory(t, s))
			if most > 2*budget {
				t.Errorf("the state in memory was up to %d MiB, it may be %d", most, budget)
			}
			if !killed {
				t.Error("the server was not killed in the middle")
			}
		})
	}
}

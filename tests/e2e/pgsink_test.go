package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/streamsql/streamsql/tests/testenv"
)

// ownPostgres starts a PostgreSQL server of the test's own.
func ownPostgres(t *testing.T) (r *restartable, url string) {
	t.Helper()
	testenv.Postgres(t) // where there is none, there is no other
	r = &restartable{t, "postgres", testenv.Unique(t, "e2e")}
	t.Cleanup(func() { r.script("stop") })
	return r, r.script("start")
}

// pgSinkSetUp declares a filter into a table that takes rows as they come, the same at
// once, and an aggregate by key into another.
func pgSinkSetUp(c *db, k *broker, url, schema, in string) {
	c.exec(fmt.Sprintf(`CREATE SOURCE ids (id bigint, k int)
		WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON`, k.addr, in))
	sink := func(name, options, format, query string) {
		c.exec(fmt.Sprintf(`CREATE SINK %s WITH (connector = 'postgres', url = '%s', schema = '%s', table = '%s',
			create_table = 'on'%s) FORMAT %s AS %s`, name, url, schema, name, options, format, query))
	}
	sink("plain", ", output_mode = 'append'", "PLAIN", "SELECT id, k::text AS k FROM ids WHERE k <> 3")
	sink("live", ", output_mode = 'append', trigger = 'real_time', checkpoint_interval = '100 ms'", "PLAIN",
		"SELECT id FROM ids")
	sink("folded", "", "UPSERT", "SELECT k, count(*) AS n, sum(id) AS total FROM ids GROUP BY k")
	// Rows of it come and go: a key is there while its count is odd.
	sink("odd", "", "UPSERT", "SELECT k, count(*) AS n FROM ids GROUP BY k HAVING count(*) % 2 = 1")
}

// TestExactlyOncePostgres kills the server at random instants up to 2 s after its start;
// with STREAMSQL_CRASH_PG_RESTARTS the PostgreSQL server is killed, too. In the end its
// tables have each id once and each group's figures. STREAMSQL_CRASH_RUNS and
// STREAMSQL_CRASH_IDS set the numbers of kills and ids.
func TestExactlyOncePostgres(t *testing.T) {
	kills, ids := crashRuns(t), envCount(t, "STREAMSQL_CRASH_IDS", 60_000)
	restarts := envCount(t, "STREAMSQL_CRASH_PG_RESTARTS", 1)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	k := kafka(t)
	own, url := ownPostgres(t)
	in, schema := k.topic(3), "public"
	s := serve(t, t.TempDir())
	pgSinkSetUp(s.connect(), k, url, schema, in)

	restarted := 0
	s = killed(t, s, rng, kills, ids, func(n, lo, hi int) {
		chunk := make(chan struct{})
		go func() {
			defer close(chunk)
			k.produceIDs(in, lo, hi)
		}()
		if restarted < restarts*(n+1)/kills {
			restarted++
			own.script("restart")
		}
		<-chunk
	}, nil)
	c := s.connect()
	c.until("SELECT count(*) FROM streamsql.queries WHERE state = 'running'", "4")
	c.exec("FLUSH")
	t.Logf("%d ids, %d kills, %d restarts of PostgreSQL", ids, kills, restarted)
	checkPgSinks(t, url, ids)
	if states := c.rows("SELECT name, state, error FROM streamsql.queries WHERE state <> 'running'"); len(states) > 0 {
		t.Errorf("queries that do not run: %q", states)
	}
}

// checkPgSinks compares the tables with what PostgreSQL says of the ids 0 to ids-1.
func checkPgSinks(t *testing.T, url string, ids int) {
	t.Helper()
	ctx := testContext(t)
	pg, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Close(context.Background())
	if _, err := pg.Exec(ctx, fmt.Sprintf(`CREATE TEMP TABLE ids AS SELECT id::bigint, (id %% 10)::int AS k
		FROM generate_series(0, %d) id`, ids-1)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"plain":  "SELECT id, k::text FROM ids WHERE k <> 3",
		"live":   "SELECT id FROM ids",
		"folded": "SELECT k, count(*), sum(id) FROM ids GROUP BY k",
		"odd":    "SELECT k, count(*) FROM ids GROUP BY k HAVING count(*) % 2 = 1",
	} {
		var missing, surplus int
		err := pg.QueryRow(ctx, fmt.Sprintf(`SELECT (SELECT count(*) FROM (%[2]s EXCEPT ALL TABLE %[1]s) a),
			(SELECT count(*) FROM (TABLE %[1]s EXCEPT ALL %[2]s) b)`, name, want)).Scan(&missing, &surplus)
		if err != nil {
			t.Fatal(err)
		}
		if missing > 0 || surplus > 0 {
			t.Errorf("table %s lacks %d rows and has %d that it should not have", name, missing, surplus)
		}
	}
	if t.Failed() {
		var progress []string
		rows, _ := pg.Query(ctx, "SELECT name || ' ' || part || ' ' || epoch FROM streamsql_sinks")
		if progress, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			t.Logf("progress: %s", strings.Join(progress, ", "))
		}
	}
}

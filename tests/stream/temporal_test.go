package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/clock"
	cq "github.com/streamsql/streamsql/stream"
)

// temporalQueries are views of the rows of t and s (append-only) that are valid now.
var temporalQueries = []string{
	`SELECT id, k FROM t WHERE ts > now() - INTERVAL '20 seconds'`,
	`SELECT id, k, ends FROM t WHERE ts <= now() AND now() < ends`,
	`SELECT k, v FROM u WHERE ts BETWEEN now() - INTERVAL '15 seconds' AND now()`,
	`SELECT v FROM s WHERE ts <= now()`,
	`SELECT k, count(*) AS n, min(v) AS least, max(ts) AS most FROM s WHERE ts + v * INTERVAL '1 second' > now() GROUP BY k`,
	`SELECT count(*) AS n, count(DISTINCT v) AS d FROM t WHERE v > 3 OR ends IS NULL OR now() < ends`,
	`SELECT k, sum(v) AS total FROM u GROUP BY k HAVING max(ts) > now() - INTERVAL '10 seconds'`,
	`SELECT DISTINCT v FROM s WHERE date_trunc('minute', now()) = date_trunc('minute', ts)`,
	`SELECT id, v FROM t WHERE ts > now() - INTERVAL '20 seconds' ORDER BY v, id LIMIT 5`,
	`SELECT DISTINCT ON (k) k, id FROM t WHERE now() < ends ORDER BY k, ts DESC, id`,
}

// TestTemporalFiltersAtRandom: after each change of the tables, step of the clock,
// stop or crash, every view is what its SELECT gives at the same time.
func TestTemporalFiltersAtRandom(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { temporalWalk(t, seed) })
	}
}

func temporalWalk(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(1000, 0))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.start())
	defer func() { must(e.close()) }()
	must(e.exec(`CREATE TABLE t (id int PRIMARY KEY, k text, v int, ts timestamptz, ends timestamptz);
		CREATE TABLE u (k text, v int, ts timestamptz);
		CREATE TABLE s (k text, v int, ts timestamptz) APPEND ONLY;`))
	trigger, eager := "processing_time 1000 days", seed/2%2 == 1
	if eager { // the clock must run then
		trigger = "real_time"
		e.run()
	}
	for i, q := range temporalQueries {
		must(e.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW v%d WITH (trigger = '%s', parallelism = %d) AS %s",
			i, trigger, 1+int(seed)%2, q)))
	}
	began := func(e *engine) {
		if eager {
			e.run()
		}
	}
	at := func(spread int) string {
		if rng.IntN(20) == 0 {
			return []string{"NULL", "timestamptz 'infinity'", "timestamptz '-infinity'"}[rng.IntN(3)]
		}
		return fmt.Sprintf("to_timestamp(%d)", e.clock.Now().Unix()+int64(rng.IntN(2*spread)-spread))
	}
	change := func() string {
		k, v, id := string(rune('a'+rng.IntN(4))), rng.IntN(8), rng.IntN(40)
		switch rng.IntN(9) {
		case 0, 1, 2:
			return fmt.Sprintf(`INSERT INTO t VALUES (%d, '%s', %d, %s, %s) ON CONFLICT (id) DO UPDATE
				SET k = excluded.k, v = excluded.v, ts = excluded.ts, ends = excluded.ends`, id, k, v, at(30), at(60))
		case 3:
			return fmt.Sprintf("DELETE FROM t WHERE id = %d", id)
		case 4:
			return fmt.Sprintf("UPDATE t SET v = v + 1, ends = %s WHERE k = '%s'", at(30), k)
		case 5:
			return fmt.Sprintf("INSERT INTO u SELECT '%s', %d, x FROM (SELECT (%s)::timestamptz AS x) AS one, generate_series(1, %d)", k, v, at(20), 1+v%3)
		case 6:
			return fmt.Sprintf("DELETE FROM u WHERE v = %d", v)
		}
		return fmt.Sprintf("INSERT INTO s VALUES ('%s', %d, %s), ('%[1]s', %[2]d, %[4]s)", k, v, at(20), at(40))
	}
	steps := 60
	if eager {
		steps = 12 // each FLUSH is two epochs, by the clock
	}
	for step := range steps {
		var text strings.Builder
		for range rng.IntN(6) {
			text.WriteString(change() + "; ")
		}
		if text.Len() > 0 {
			must(e.exec("BEGIN; " + text.String() + "COMMIT"))
		}
		switch rng.IntN(6) {
		case 0:
			e.clock.Advance(time.Duration(1+rng.IntN(5)) * time.Second)
		case 1:
			e.clock.Advance(time.Duration(rng.IntN(50_000_000)) * time.Microsecond)
		}
		switch rng.IntN(8) {
		case 0:
			must(e.close())
			e.clock.Advance(time.Duration(rng.IntN(90)) * time.Second)
			must(e.start())
			began(e)
		case 1:
			next := e.crashed(rng.IntN(3)*50, seed)
			must(e.close())
			e = next
			must(e.start())
			began(e)
		}
		if rng.IntN(4) == 0 {
			continue
		}
		must(e.exec("FLUSH"))
		for i, q := range temporalQueries {
			got, want := temporalAnswers(t, e, i, eager)
			if !slices.Equal(got, want) {
				t.Fatalf("step %d, at %s: %s\nis   %v\nnot  %v", step, e.clock.Now().UTC(), q, got, want)
			}
		}
		e.clock.Advance(time.Millisecond) // off the whole seconds that epochs have counted up from
	}
}

// temporalAnswers are the rows of a view and of its SELECT. While the clock runs a row
// may enter or leave between the two; then they are asked again.
func temporalAnswers(t *testing.T, e *engine, view int, runs bool) (got, want []string) {
	t.Helper()
	for try := range 5 {
		var err error
		if try > 0 {
			err = e.exec("FLUSH")
		}
		if err == nil {
			got, err = e.query(fmt.Sprintf("SELECT * FROM v%d", view))
		}
		if err == nil {
			want, err = e.query(temporalQueries[view])
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !runs || slices.Equal(got, want) {
			break
		}
	}
	return got, want
}

// TestTemporalFilterWakes: as time passes, without rows and without FLUSH, an epoch
// comes when a row is to enter or to leave, and none else.
func TestTemporalFilterWakes(t *testing.T) {
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(1000, 0))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.start())
	defer func() { must(e.close()) }()
	must(e.exec(`CREATE TABLE t (id int PRIMARY KEY, begins timestamptz, ends timestamptz);
		CREATE MATERIALIZED VIEW v WITH (trigger = 'processing_time 0', idle_timeout = 'off') AS
			SELECT id FROM t WHERE begins <= now() AND now() < ends;
		INSERT INTO t VALUES (1, to_timestamp(900), to_timestamp(1010)), (2, to_timestamp(1020), to_timestamp(1030)),
			(3, to_timestamp(1500), to_timestamp(1600)); FLUSH`))
	epoch := func() uint64 {
		t.Helper()
		s, err := e.status("v")
		must(err)
		return s.Epoch
	}
	last := epoch()
	step := func(seconds int64, epochs uint64, want ...string) {
		t.Helper()
		stride := time.Unix(seconds, 0).Sub(e.clock.Now()) / 20
		for range 20 {
			e.clock.Advance(stride)
			time.Sleep(time.Millisecond)
		}
		var got []string
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			var err error
			got, err = e.query("SELECT id FROM v ORDER BY id")
			must(err)
			if slices.Equal(got, want) && epoch() >= last+epochs || time.Now().After(deadline) {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at %d the view has %v, not %v", seconds, got, want)
		}
		if n := epoch(); n != last+epochs {
			t.Errorf("up to %d there were %d epochs, not %d", seconds, n-last, epochs)
		}
		last = epoch()
	}
	step(1009, 0, "1")
	step(1010, 1, []string{}...)
	step(1021, 1, "2")
	must(e.exec("DELETE FROM t WHERE id = 2; FLUSH"))
	last = epoch()
	step(1100, 1) // for the row that was deleted: what was the next may be gone
	must(e.close())
	must(e.start())
	must(e.exec("FLUSH"))
	last = epoch()
	step(1501, 1, "3")
	step(1601, 1)
	step(2000, 0)
}

// TestTemporalFilterOfAnEnd: a query whose input has ended goes on until no row is to
// enter or leave.
func TestTemporalFilterOfAnEnd(t *testing.T) {
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(1000, 0))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.start())
	defer func() { must(e.close()) }()
	must(e.exec(`CREATE SOURCE s (id int, ts timestamptz) WITH (connector = 'datagen', number_of_rows = 3,
			"fields.id.kind" = 'sequence', "fields.id.start" = 1, "fields.id.end" = 100,
			"fields.ts.start" = '1970-01-01 00:15:00Z', "fields.ts.step" = '100 s');
		CREATE MATERIALIZED VIEW v WITH (trigger = 'processing_time 0', idle_timeout = 'off') AS
			SELECT id FROM s WHERE ts + INTERVAL '50 s' > now(); FLUSH`))
	see := func(want ...string) {
		t.Helper()
		got, err := e.query("SELECT id FROM v")
		must(err)
		if !slices.Equal(got, want) {
			t.Errorf("the view has %v, not %v", got, want)
		}
	}
	see("2", "3")
	if s, err := e.status("v"); err != nil || s.State != cq.Running {
		t.Errorf("the query is %s: %v", s.State, err)
	}
	e.run() // for the pauses of the pacer
	e.clock.Advance(time.Hour)
	must(e.await(func(s *cq.Status) bool { return s.State == cq.Finished }))
	see([]string{}...)
}

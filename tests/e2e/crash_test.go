package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// crashRuns is how often the server is killed.
func crashRuns(t *testing.T) int {
	v := os.Getenv("STREAMSQL_CRASH_RUNS")
	if v == "" {
		return 15
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("STREAMSQL_CRASH_RUNS=%q is no count", v)
	}
	return n
}

// crashEvents is how many events are produced at once, at most.
const crashEvents = 300

// crashBegin is the time of the first event; one follows each 10 ms.
var crashBegin = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func crashEvent(i int, at time.Time) string {
	return fmt.Sprintf(`{"id":%d,"k":%d,"v":%d,"ts":"%s"}`, i, i*i%17, i*7919%1000-500, at.Format(time.RFC3339Nano))
}

// crashViews are the views with their queries, and PostgreSQL's where that has
// other words for it; %s and %h are the windows of events.
var crashViews = []struct{ name, options, query, pg string }{
	{name: "by_key", query: "SELECT k, count(*) AS n, sum(v) AS total, min(v) AS lo, max(v) AS hi FROM events GROUP BY k"},
	{name: "spread", options: "WITH (parallelism = 2)",
		query: "SELECT v % 50 AS m, count(*) AS n, count(DISTINCT k) AS ks, avg(v) AS mean FROM events GROUP BY v % 50"},
	{name: "per_10s", query: "SELECT window_start, k, count(*) AS n, sum(v) AS total FROM %s GROUP BY window_start, k"},
	{name: "closed", options: "WITH (output_mode = 'append')",
		query: "SELECT window_start, count(*) AS n, max(v) AS hi FROM %s GROUP BY window_start"},
	{name: "hops", options: "WITH (output_mode = 'append')",
		query: "SELECT window_start, count(*) AS n, max(v) AS hi FROM %h GROUP BY window_start"},
	{name: "sessions", options: "WITH (output_mode = 'append')",
		query: "SELECT window_start, k, count(*) AS n, sum(v) AS total FROM SESSION(events PARTITION BY k, ts, INTERVAL '205 ms') GROUP BY window_start, window_end, k",
		pg: `SELECT min(ts) AS window_start, k, count(*) AS n, sum(v) AS total FROM (
				SELECT *, count(*) FILTER (WHERE fresh) OVER (PARTITION BY k ORDER BY ts) AS session FROM (
					SELECT *, ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > INTERVAL '205 ms' IS NOT FALSE AS fresh FROM events) e) e
			GROUP BY k, session`},
	{name: "live", options: "WITH (trigger = 'real_time', checkpoint_interval = '100 ms')",
		query: "SELECT k % 3 AS r, count(*) AS n, sum(v) AS total FROM events GROUP BY k % 3"},
	{name: "paced", options: "WITH (trigger = 'processing_time 150 ms')",
		query: "SELECT k % 2 AS r, count(*) AS n, sum(v) AS total FROM events GROUP BY k % 2"},
	{name: "joined", query: "SELECT n.name, count(*) AS n, sum(e.v) AS total FROM events e JOIN names n ON n.k = e.k GROUP BY n.name"},
	{name: "over", query: "SELECT n % 2 AS odd, sum(total) AS total, max(hi) AS hi FROM by_key GROUP BY n % 2"},
}

const (
	crashWindows   = "TUMBLE(events, ts, INTERVAL '10 seconds')"
	crashHops      = "HOP(events, ts, INTERVAL '2 seconds', INTERVAL '6 seconds')"
	pgCrashWindows = "(SELECT *, date_bin('10 seconds', ts, '2000-01-01') AS window_start FROM events) e"
	pgCrashHops    = "(SELECT *, date_bin('2 seconds', ts, '2000-01-01') - i * INTERVAL '2 seconds' AS window_start FROM events, generate_series(0, 2) AS g(i)) e"
)

func crashQuery(query, windows, hops string) string {
	return strings.NewReplacer("%s", windows, "%h", hops).Replace(query)
}

// crashSetUp declares everything that must survive.
func crashSetUp(c *db, k *broker, in, plain, upsert, files string) {
	c.exec("CREATE TABLE names (k int PRIMARY KEY, name text)")
	c.exec("INSERT INTO names SELECT i, 'name ' || i % 4 FROM generate_series(0, 16) AS g(i)")
	c.exec("CREATE TABLE notes (id bigint PRIMARY KEY, g int, note text)")
	c.exec(fmt.Sprintf(`CREATE SOURCE events (id bigint, k int, v int, ts timestamptz,
		WATERMARK FOR ts AS ts - INTERVAL '2 seconds')
		WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON`, k.addr, in))
	for _, v := range crashViews {
		c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s %s AS %s", v.name, v.options, crashQuery(v.query, crashWindows, crashHops)))
	}
	c.exec("CREATE MATERIALIZED VIEW noted AS SELECT g, count(*) AS n, min(id) AS lo, max(note) AS hi FROM notes GROUP BY g")
	c.exec(fmt.Sprintf("CREATE SINK files WITH (connector = 'file', path = '%s') FORMAT PLAIN ENCODE JSON AS SELECT id, k FROM events", files))
	c.exec(fmt.Sprintf(`CREATE SINK plain WITH (connector = 'kafka', brokers = '%s', topic = '%s', output_mode = 'append')
		FORMAT PLAIN ENCODE JSON AS SELECT id, v FROM events`, k.addr, plain))
	c.exec(fmt.Sprintf(`CREATE SINK upsert WITH (connector = 'kafka', brokers = '%s', topic = '%s')
		FORMAT UPSERT ENCODE JSON AS SELECT k, n, total FROM by_key`, k.addr, upsert))
}

// TestCrash kills the server at random instants of its life, its start included,
// while everything runs. In the end all views are what an undisturbed server and
// PostgreSQL say, no acknowledged row is missing, a file sink and a Kafka sink have
// each row once.
func TestCrash(t *testing.T) {
	runs, seed := crashRuns(t), rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	k := kafka(t)
	in, plain, upsert := k.topic(3), k.topic(2), k.topic(2)
	dir, files := t.TempDir(), filepath.Join(t.TempDir(), "out")
	s := serve(t, dir)
	crashSetUp(s.connect(), k, in, plain, upsert, files)

	w := newWriter(rng.Uint64())
	var events []string
	duringStart, orderly := 0, 0
	for kills := 0; kills < runs; {
		ctx, cancel := context.WithCancel(context.Background())
		done, acked, url := make(chan struct{}), w.acked, s.url()
		go func() {
			defer close(done)
			w.write(ctx, url)
		}()
		wait := time.Duration(50+rng.IntN(750)) * time.Millisecond
		if rng.IntN(4) == 0 {
			wait = time.Duration(rng.IntN(50)) * time.Millisecond
		}
		victim := s
		end := victim.kill
		if kills++; rng.IntN(5) == 0 { // an orderly stop between, at any instant too
			kills--
			orderly++
			end = func() {
				_ = victim.cmd.Process.Signal(syscall.SIGTERM)
				<-victim.end
			}
		}
		time.AfterFunc(wait, end)
		for !s.ended() {
			first := len(events)
			for range 1 + rng.IntN(crashEvents) {
				events = append(events, crashEvent(len(events), crashBegin.Add(time.Duration(len(events))*10*time.Millisecond)))
			}
			k.produceEvents(in, events[first:], first)
			time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
		}
		cancel()
		<-done
		if w.acked == acked {
			duringStart++
		}
		s = launch(t, dir)
	}
	s.ready()
	t.Logf("%d kills and %d stops, %d of them before the server took a row; %d events, %d statements acknowledged",
		runs, orderly, duringStart, len(events), w.acked)
	// One event of each partition far ahead closes all windows.
	last := crashBegin.Add(time.Duration(len(events)) * 10 * time.Millisecond)
	for range 3 {
		events = append(events, crashEvent(len(events), last.Add(time.Hour)))
	}
	k.produceEvents(in, events[len(events)-3:], len(events)-3)
	c := s.connect()
	c.exec("SET TIME ZONE 'UTC'; FLUSH")

	checkCrashViews(t, c, events, last)
	checkUndisturbed(t, c, k, in, k.topic(2), k.topic(2))
	w.check(t, c)
	checkCrashSinks(t, c, k, plain, upsert, files, len(events))
}

// produceEvents writes events from number first on, each to the partition of its
// number.
func (b *broker) produceEvents(topic string, events []string, first int) {
	b.t.Helper()
	lists := make([][]string, 3)
	for i, e := range events {
		lists[(first+i)%3] = append(lists[(first+i)%3], e)
	}
	for p, l := range lists {
		b.produceTo(topic, int32(p), l...)
	}
}

// checkCrashViews compares with PostgreSQL; what was closed ends before last.
func checkCrashViews(t *testing.T, c *db, events []string, last time.Time) {
	t.Helper()
	pg := oracle(t, events)
	pg.exec(`CREATE TABLE events AS SELECT (l->>'id')::bigint AS id, (l->>'k')::int AS k, (l->>'v')::int AS v,
		(l->>'ts')::timestamptz AS ts FROM lines;
		CREATE TABLE names AS SELECT i AS k, 'name ' || i % 4 AS name FROM generate_series(0, 16) AS g(i)`)
	for _, v := range crashViews {
		query := crashQuery(cmp.Or(v.pg, v.query), pgCrashWindows, pgCrashHops)
		cond := ""
		if strings.Contains(v.options, "append") {
			cond = " WHERE window_start < '" + last.Format(time.RFC3339) + "'"
		}
		same(t, v.name, c.rows("SELECT * FROM "+v.name+cond), pg.rows("SELECT * FROM ("+query+") q"+cond))
		pg.exec("CREATE VIEW " + v.name + " AS " + query)
	}
	if states := c.rows("SELECT name, state FROM streamsql.queries WHERE state <> 'running'"); len(states) > 0 {
		t.Errorf("queries that do not run: %q", states)
	}
	if late := c.value("SELECT sum(late_rows) FROM streamsql.queries"); late != "0" {
		t.Errorf("%s late rows", late)
	}
}

// checkUndisturbed compares with a server that reads the topic without a crash.
func checkUndisturbed(t *testing.T, c *db, k *broker, in, plain, upsert string) {
	t.Helper()
	u := serve(t, t.TempDir()).connect()
	u.exec("SET TIME ZONE 'UTC'")
	crashSetUp(u, k, in, plain, upsert, filepath.Join(t.TempDir(), "out"))
	u.exec("FLUSH")
	for _, v := range crashViews {
		same(t, v.name+" beside an undisturbed server", c.rows("SELECT * FROM "+v.name), u.rows("SELECT * FROM "+v.name))
	}
}

// checkCrashSinks checks that each of n events is in the files once and in the
// plain topic once, and that the upsert topic folds to the view.
func checkCrashSinks(t *testing.T, c *db, k *broker, plain, upsert, files string, n int) {
	t.Helper()
	count := make([]int, n)
	for _, l := range partLines(t, files) {
		count[jsonInt(t, l, "id")]++
	}
	onceEach(t, "the files", count)
	clear(count)
	for _, r := range k.read(plain) {
		count[jsonInt(t, string(r.Value), "id")]++
	}
	onceEach(t, "the topic", count)
	var folded []string
	for _, v := range k.fold(upsert) {
		folded = append(folded, fmt.Sprintf("%d|%d|%d", jsonInt(t, v, "k"), jsonInt(t, v, "n"), jsonInt(t, v, "total")))
	}
	same(t, "upsert topic", folded, c.rows("SELECT k, n, total FROM by_key"))
}

// onceEach checks that each event was counted once.
func onceEach(t *testing.T, where string, count []int) {
	t.Helper()
	missing, more := 0, 0
	for id, c := range count {
		if c == 1 {
			continue
		}
		if missing+more < 10 {
			t.Errorf("event %d is %d times in %s", id, c, where)
		}
		if c == 0 {
			missing++
		} else {
			more++
		}
	}
	if missing+more > 0 {
		t.Errorf("%s: of %d events %d are missing and %d are there more than once", where, len(count), missing, more)
	}
}

// partLines returns the lines of all files that a file sink has published.
func partLines(t *testing.T, dir string) []string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range parts {
		if text := strings.TrimSpace(readFile(t, p)); text != "" {
			out = append(out, strings.Split(text, "\n")...)
		}
	}
	return out
}

func jsonInt(t *testing.T, text, field string) int64 {
	t.Helper()
	m := map[string]json.Number{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	n, err := m[field].Int64()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return n
}

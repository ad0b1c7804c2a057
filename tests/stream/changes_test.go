package stream

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
)

// readChanges reads what the memory connector's records are.
func readChanges(s *connector.Spec) (connector.Format, error) {
	o := connector.NewOptions(`connector "memory"`, map[string]string{})
	f := connector.ReadFormat(s, o, connector.FormatSupport{Envelopes: []string{connector.Upsert, connector.Debezium},
		Encodes: []string{format.JSON}, OnError: []string{"fail"}})
	return f, o.Err()
}

// decodeChanges makes a batch of records; a key or value "" is none.
func decodeChanges(f *connector.Format, cols []connector.Column, records [][]string) (*arrowbatch.Batch, error) {
	d, err := f.Decoder(cols)
	if err != nil {
		return nil, err
	}
	bytesOf := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	for _, r := range records {
		if err := d.AppendRecord(bytesOf(r[0]), bytesOf(r[1])); err != nil {
			return nil, err
		}
	}
	return d.Take(), nil
}

// changedRow is a row of the table that changes come from.
type changedRow struct {
	id, g int
	cents int // of v, a numeric(10,2)
	note  string
}

func (r changedRow) json() string {
	return fmt.Sprintf(`{"id":%d,"g":%d,"v":%d.%02d,"note":%q}`, r.id, r.g, r.cents/100, r.cents%100, r.note)
}

func (r changedRow) sql() string {
	return fmt.Sprintf(`(%d, %d, %d.%02d, '%s')`, r.id, r.g, r.cents/100, r.cents%100, r.note)
}

// changer changes a table at random, and has the records that tell of it.
type changer struct {
	rng  *rand.Rand
	rows map[int]changedRow
	// log are the records of the last changes by split, statements what they are in SQL.
	log        map[string][][2]changeRecord
	statements []string
}

// changeRecord is a record in both formats: key and value.
type changeRecord [2]string

func splitOf(id int) string { return []string{"A", "B"}[id%2] }

func (c *changer) add(id int, upsert, event changeRecord) {
	s := splitOf(id)
	c.log[s] = append(c.log[s], [2]changeRecord{upsert, event})
}

// tell adds the event of a change; old is how much of the row before it says.
func (c *changer) event(op string, before *changedRow, after *changedRow) changeRecord {
	old, now := "null", "null"
	if before != nil {
		switch c.rng.IntN(3) {
		case 0:
			old = fmt.Sprintf(`{"id":%d}`, before.id)
		case 1:
			old = fmt.Sprintf(`{"id":%d,"g":null,"v":null,"note":null}`, before.id)
		default:
			old = before.json()
		}
		if op == "u" && before.id == after.id && c.rng.IntN(2) == 0 {
			old = "null"
		}
	}
	if after != nil {
		now = after.json()
	}
	value := fmt.Sprintf(`{"before":%s,"after":%s,"source":{"lsn":%d},"op":%q,"ts_ms":1}`, old, now, c.rng.IntN(99), op)
	if c.rng.IntN(3) == 0 {
		value = `{"schema":{"type":"struct","fields":[]},"payload":` + value + `}`
	}
	return changeRecord{"", value}
}

// change makes one change.
func (c *changer) change() {
	id := c.rng.IntN(24)
	old, there := c.rows[id]
	now := changedRow{id, c.rng.IntN(4), c.rng.IntN(500), []string{"", "a", "ä b", "x"}[c.rng.IntN(4)]}
	key := fmt.Sprintf(`{"id":%d}`, id)
	switch {
	case there && c.rng.IntN(3) == 0:
		delete(c.rows, id)
		c.add(id, changeRecord{key, ""}, c.event("d", &old, nil))
		c.add(id, changeRecord{key, ""}, changeRecord{key, ""}) // its tombstone
		c.statements = append(c.statements, fmt.Sprintf("DELETE FROM m WHERE id = %d", id))
		return
	case there && c.rng.IntN(4) == 0 && c.rows[id+26].note == "": // another key
		now.id, now.note = id+26, "moved"
		delete(c.rows, id)
		c.rows[now.id] = now
		c.add(id, changeRecord{key, ""}, c.event("u", &old, &now))
		c.add(id, changeRecord{fmt.Sprint(now.id), now.json()}, changeRecord{"", `{"status":"END","id":"1"}`})
		c.statements = append(c.statements, fmt.Sprintf("UPDATE m SET id = %d, g = %d, v = %d.%02d, note = '%s' WHERE id = %d",
			now.id, now.g, now.cents/100, now.cents%100, now.note, id))
		return
	case there && c.rng.IntN(5) == 0:
		now = old // which changes nothing
	}
	op, before := "c", (*changedRow)(nil)
	if there {
		op, before = "u", &old
	}
	c.rows[id] = now
	c.add(id, changeRecord{key, now.json()}, c.event(op, before, &now))
	c.statements = append(c.statements, "INSERT INTO m VALUES "+now.sql()+
		" ON CONFLICT (id) DO UPDATE SET g = excluded.g, v = excluded.v, note = excluded.note")
}

// changesQuery is what is asked of the rows; the others print it and the rows.
const (
	changesQuery = `SELECT g, count(*) AS n, sum(v) AS s, min(v) AS least, max(note) AS most, count(DISTINCT v) AS d
	FROM %s WHERE note <> 'x' GROUP BY g`
	printGroups = `SELECT concat_ws('|', g, n, s, least, most, d) FROM `
	printRows   = `SELECT concat_ws('|', id, g, v, note) FROM `
)

// TestChanges: what is made of records that change rows is what the same changes make of
// a table in PostgreSQL, over sources and fed tables, with stops, crashes and several tasks, and when
// the last records come twice.
func TestChanges(t *testing.T) {
	for seed, way := range []struct {
		tasks, batch int
		stop         string
	}{{1, 0, ""}, {1, 3, "restart"}, {2, 1, "restart"}, {3, 2, "crash"}, {2, 0, "rescale"}} {
		t.Run(fmt.Sprintf("%d_tasks_%s", way.tasks, way.stop), func(t *testing.T) {
			r := newChangesRun(t, uint64(seed), way.tasks, way.batch)
			for step := range 8 {
				if step > 0 {
					r.interrupt(way.stop, step)
				}
				r.step(step)
				r.check(step)
			}
			r.must(r.e.close())
		})
	}
}

type changesRun struct {
	t   *testing.T
	e   *engine
	c   *changer
	pg  *postgres // nil: there is no PostgreSQL
	old map[string]int
}

func newChangesRun(t *testing.T, seed uint64, tasks, batch int) *changesRun {
	r := &changesRun{t: t, c: &changer{rng: rand.New(rand.NewPCG(seed, 7)), rows: map[int]changedRow{},
		log: map[string][][2]changeRecord{}}, old: map[string]int{}}
	r.e = &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0))}
	r.e.w.batch = batch
	if os.Getenv("STREAMSQL_TEST_PG") != "" {
		r.pg = connectPostgres(t)
		r.pg.must("CREATE TEMP TABLE m (id bigint PRIMARY KEY, g int, v numeric(10,2), note text)")
	}
	r.must(r.e.start())
	r.must(r.e.exec("CREATE TABLE m (id bigint PRIMARY KEY, g int, v numeric(10,2), note text)"))
	for _, f := range []string{connector.Upsert, connector.Debezium} {
		r.e.w.addSource(f, []string{"A", "B"})
		for _, kind := range []string{"source", "table"} {
			name := kind + "_" + f
			opts := fmt.Sprintf("connector = 'memory', name = '%s'", f)
			run := fmt.Sprintf("trigger = 'processing_time 1000 days', parallelism = %d", tasks)
			if kind == "table" {
				opts += ", " + run
			}
			r.must(r.e.exec(fmt.Sprintf(`CREATE %s %s (id bigint PRIMARY KEY, g int, v numeric(10,2), note text)
				WITH (%s) FORMAT %s ENCODE JSON`, kind, name, opts, f)))
			r.must(r.e.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW view_%s WITH (%s) AS "+changesQuery, name, run, name)))
			r.must(r.e.exec(fmt.Sprintf("CREATE SINK sink_%s WITH (connector = 'memory', name = 'sink_%[1]s', output_mode = 'changelog', %s) AS SELECT * FROM %[1]s",
				name, run)))
		}
	}
	return r
}

func (r *changesRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// interrupt stops the engine and starts it again.
func (r *changesRun) interrupt(how string, step int) {
	switch how {
	case "restart":
		r.must(r.e.close())
		r.must(r.e.start())
	case "crash":
		r.e.w.mu.Lock()
		next := r.e.crashed(50, uint64(step))
		r.e.w.mu.Unlock()
		r.must(r.e.close())
		r.e = next
		r.must(r.e.start())
	case "rescale":
		for _, name := range []string{"view_source_upsert", "view_source_debezium", "view_table_debezium"} {
			r.must(r.e.exec(fmt.Sprintf("ALTER MATERIALIZED VIEW %s SET (parallelism = %d)", name, step%3+1)))
		}
	}
}

// step makes changes; now and then the last records of a split come once more.
func (r *changesRun) step(step int) {
	for range 5 + r.c.rng.IntN(30) {
		r.c.change()
	}
	var rows []change
	for i, f := range []string{connector.Upsert, connector.Debezium} {
		for _, s := range []string{"A", "B"} {
			all := r.c.log[s]
			from := r.old[s]
			if step%3 == 2 {
				from = max(0, from-6)
			}
			for _, rec := range all[from:] {
				rows = append(rows, change{rel: f, split: s, values: []string{rec[i][0], rec[i][1]}})
			}
		}
	}
	for s, all := range r.c.log {
		r.old[s] = len(all)
	}
	r.e.w.append(rows)
	r.must(r.e.exec("DELETE FROM m"))
	var values []string
	for _, id := range slices.Sorted(maps.Keys(r.c.rows)) {
		values = append(values, r.c.rows[id].sql())
	}
	if len(values) > 0 {
		r.must(r.e.exec("INSERT INTO m VALUES " + strings.Join(values, ", ")))
	}
	if r.pg != nil {
		r.pg.must(strings.Join(r.c.statements, "; "))
	}
	r.c.statements = nil
	r.must(r.e.exec("FLUSH"))
}

// check compares all that was made with the table.
func (r *changesRun) check(step int) {
	r.t.Helper()
	groups := func(of string) string { return printGroups + "(" + fmt.Sprintf(changesQuery, of) + ") AS q" }
	wantGroups, wantRows := r.sorted(groups("m")), r.sorted(printRows+"m")
	same := func(query string, want []string) {
		r.t.Helper()
		if got := r.sorted(query); !slices.Equal(got, want) {
			r.t.Errorf("step %d: %s: got %v, wanted %v", step, query, got, want)
		}
	}
	if r.pg != nil {
		for query, want := range map[string][]string{groups("m"): wantGroups, printRows + "m": wantRows} {
			if got := r.pg.sorted(query); !slices.Equal(got, want) {
				r.t.Fatalf("step %d: PostgreSQL has %v, not %v", step, got, want)
			}
		}
	}
	var sink []string
	for _, name := range []string{"source_upsert", "table_upsert", "source_debezium", "table_debezium"} {
		same(printRows+name, wantRows)
		same(groups(name), wantGroups)
		same(printGroups+"view_"+name, wantGroups)
		got := r.folded("sink_" + name)
		if len(got) != len(wantRows) || sink != nil && !slices.Equal(got, sink) {
			r.t.Errorf("step %d: the sink of %s has %v, wanted %v", step, name, got, sink)
		}
		sink = got
	}
}

// folded returns the rows that a sink's changes come to.
func (r *changesRun) folded(name string) []string {
	r.e.w.mu.Lock()
	defer r.e.w.mu.Unlock()
	rows := map[string]int{}
	for _, e := range r.e.w.sink(name).epochs {
		for _, row := range e.rows {
			if rows[row.Row]++; row.Delete {
				rows[row.Row] -= 2
			}
		}
	}
	var out []string
	for row, n := range rows {
		if n != 0 && n != 1 {
			r.t.Errorf("%s has the row %s %d times", name, row, n)
		}
		for ; n > 0; n-- {
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return out
}

func (r *changesRun) sorted(query string) []string {
	r.t.Helper()
	got, err := r.e.query(query)
	r.must(err)
	slices.Sort(got)
	return got
}

// sorted returns the result of a query of one column.
func (p *postgres) sorted(query string) []string {
	p.t.Helper()
	res, err := p.conn.Exec(context.Background(), query).ReadAll()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, query)
	}
	out := []string{}
	for _, row := range res[0].Rows {
		out = append(out, string(row[0]))
	}
	slices.Sort(out)
	return out
}

// TestChangesFill: what is made of records that change rows shows nothing until they have
// been read to where they reached at its beginning, though it takes several epochs with
// stops between them; and what reads it waits.
func TestChangesFill(t *testing.T) {
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(0, 0)), epochRows: 2}
	e.w.batch = 1
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.start())
	e.w.addSource("log", []string{"A"})
	var rows []change
	for id := range 40 {
		rows = append(rows, change{rel: "log", split: "A", values: []string{fmt.Sprint(id), `{"v":1}`}})
	}
	e.w.append(rows)
	var seen []string
	look := func() {
		for _, rel := range []string{"up", "agg", "direct", "next"} {
			got, err := e.query("SELECT count(*), sum(v) FROM " + rel)
			must(err)
			seen = append(seen, rel+" "+strings.Join(got, " "))
		}
	}
	must(e.exec(`CREATE TABLE up (id bigint PRIMARY KEY, v int) WITH (connector = 'memory', name = 'log') FORMAT UPSERT ENCODE JSON;
		CREATE SOURCE src (id bigint PRIMARY KEY, v int) WITH (connector = 'memory', name = 'log') FORMAT UPSERT ENCODE JSON;
		CREATE MATERIALIZED VIEW direct WITH (trigger = 'real_time') AS SELECT id, v FROM src`))
	must(e.exec("CREATE MATERIALIZED VIEW agg AS SELECT id, sum(v) AS v FROM up GROUP BY id; " +
		"CREATE MATERIALIZED VIEW next AS SELECT id, v FROM direct"))
	e.run()
	for n := range 12 {
		look()
		if n == 4 || n == 8 {
			e.hold()
			must(e.close())
			must(e.start())
			e.run()
		}
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		from := len(seen)
		look()
		if !slices.ContainsFunc(seen[from:], func(s string) bool { return !strings.HasSuffix(s, " 40,40") }) {
			break
		}
		if time.Since(begin) > patience {
			t.Fatalf("in the end reads show %v: %v", seen[from:], e.stuck())
		}
	}
	e.hold()
	for _, s := range seen {
		if !strings.HasSuffix(s, " 0,") && !strings.HasSuffix(s, " 40,40") {
			t.Errorf("a read shows %s", s)
		}
	}
	must(e.close())
}

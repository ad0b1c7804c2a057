package stream

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/tests/testenv"
)

var derive = flag.String("derive", "", "the files, by a pattern, whose output lines TestCasesEqualPostgres writes anew")

// TestCasesEqualPostgres holds the output that the cases state against PostgreSQL:
// after each epoch, what a mode has given must come to what the query gives there
// over all rows so far; in append mode, to what of that is final. It asks nothing of
// the engine.
//
// A mode with late rows and a case that forgets groups are left out, since their
// results are not those of all rows.
//
// With -derive PATTERN the output lines of files are written anew from PostgreSQL's
// answers, and watermarks and late 0 where there are none.
func TestCasesEqualPostgres(t *testing.T) {
	pg := connectPostgres(t)
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if p == refusedFile {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		deriving, err := filepath.Match(*derive, filepath.Base(p))
		if err != nil {
			t.Fatal(err)
		}
		if *derive != "" && !deriving {
			continue
		}
		if deriving {
			text = withoutOutput(text)
		}
		cases, err := parseCases(p, string(text))
		if err != nil {
			t.Fatal(err)
		}
		var added []addition
		for _, c := range cases {
			if len(c.modes) == 0 || c.noPostgres || c.options["state_ttl"] != "" {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(p), ".txt")+"/"+c.name, func(t *testing.T) {
				o := &oracle{t: t, pg: pg, file: p, c: c, marks: newMarkers(c)}
				pg.t = t
				o.begin()
				if deriving {
					added = append(added, o.derived()...)
				} else {
					o.compare()
				}
			})
		}
		if deriving && !t.Failed() {
			writeAdded(t, p, string(text), added)
		}
	}
}

// postgres is a connection with a schema of its own.
type postgres struct {
	conn *pgconn.PgConn
	t    *testing.T
}

func connectPostgres(t *testing.T) *postgres {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &postgres{conn, t}
	schema := testenv.Unique(t, "stream_cases")
	p.must("CREATE SCHEMA " + schema + "; SET search_path = " + schema + ", pg_catalog; " +
		"SET client_min_messages = warning; SET jit = off")
	p.must(pgFunctions)
	t.Cleanup(func() {
		p.t = t
		p.must("ROLLBACK; DROP SCHEMA " + schema + " CASCADE")
		_ = conn.Close(ctx)
	})
	return p
}

func (p *postgres) must(text string) {
	p.t.Helper()
	if _, err := p.conn.Exec(context.Background(), text).ReadAll(); err != nil {
		p.t.Fatalf("%v\n%s", err, text)
	}
}

// oracle follows one case.
type oracle struct {
	t     *testing.T
	pg    *postgres
	file  string
	c     *testCase
	query string
	marks *markers
	// earlier are the answers after the last epoch and those of them that were final.
	earlier, final []string
}

// begin creates the case's relations.
func (o *oracle) begin() {
	zone := orElse(o.c.options["timezone"], "UTC")
	o.pg.must("ROLLBACK; BEGIN; SET LOCAL timezone = '" + zone + "'; SET LOCAL stream.clock = '0 s'")
	for _, r := range o.c.rels {
		var cols []string
		for _, c := range r.cols {
			cols = append(cols, c.name+" "+c.text)
		}
		o.pg.must("CREATE TABLE " + r.name + " (" + strings.Join(cols, ", ") + ")")
	}
	for _, s := range o.c.setup {
		head, query, view := strings.Cut(s, " AS ")
		if !view {
			o.pg.must(strings.Replace(s, " APPEND ONLY", "", 1))
			continue
		}
		head, _, _ = strings.Cut(strings.Replace(head, "MATERIALIZED ", "", 1), " WITH ")
		o.pg.must(head + " AS " + toPostgres(query))
	}
	o.query = o.c.postgres
	if o.query == "" {
		o.query = toPostgres(o.c.sql)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// take gives the rows of some of an epoch's steps to PostgreSQL and returns the
// answer over all so far, and what of it is final.
func (o *oracle) take(ep *epoch, steps ...*step) (rows, final []string) {
	if ep.hasClock {
		o.pg.must(fmt.Sprintf("SET LOCAL stream.clock = '%f s'", ep.clock))
	}
	for _, s := range steps {
		o.insert(s)
		o.marks.take(s)
	}
	return o.answer(ep)
}

// insert gives a step's rows to PostgreSQL.
func (o *oracle) insert(s *step) {
	text, rows, err := o.c.statements(s.rows)
	if err != nil {
		o.t.Fatalf("%s:%d: %v", o.file, s.line, err)
	}
	for i, ch := range rows {
		_, values, err := ch.text(o.c.relation(ch.rel))
		if err != nil {
			o.t.Fatalf("%s:%d: %v", o.file, s.line, err)
		}
		if i > 0 && rows[i-1].rel == ch.rel {
			text = strings.TrimSuffix(text, "; ") + ", (" + values + "); "
		} else {
			text += "INSERT INTO " + ch.rel + " VALUES (" + values + "); "
		}
	}
	o.pg.must(text)
}

// answer asks PostgreSQL.
func (o *oracle) answer(ep *epoch) (rows, final []string) {
	var names, values, order []string
	for i, c := range o.c.columns {
		name := fmt.Sprintf("c%d", i)
		names, values = append(names, name), append(values, name)
		if c.typ.IsTimestamp() {
			values[i] = fmt.Sprintf("CASE WHEN isfinite(%s) THEN (extract(epoch FROM %[1]s) * 1000000)::bigint::text"+
				" ELSE %[1]s::text END", name)
		}
		if c.typ.ID != types.JSON {
			order = append(order, name)
		}
	}
	text := fmt.Sprintf("SELECT %s FROM (%s) AS answer(%s)", strings.Join(values, ", "), o.query,
		strings.Join(names, ", "))
	if len(order) > 0 {
		text += " ORDER BY " + strings.Join(order, ", ")
	}
	results, err := o.pg.conn.Exec(context.Background(), text).ReadAll()
	if err != nil {
		o.t.Fatalf("%s:%d: case %s: %v\n%s", o.file, o.c.line, o.c.name, err, text)
	}
	res := results[0]
	for i := range res.FieldDescriptions {
		c := o.c.columns[i]
		if got := res.FieldDescriptions[i].DataTypeOID; !c.typ.IsTimestamp() && got != c.typ.OID() {
			o.t.Errorf("%s:%d: case %s: column %s is of type oid %d in PostgreSQL", o.file, o.c.line, o.c.name, c.name, got)
		}
	}
	for _, r := range res.Rows {
		row, closed := o.shown(r)
		rows = append(rows, row)
		if closed {
			final = append(final, row)
		}
	}
	return rows, final
}

// shown is a row's text, and whether the windows that it is of are closed.
func (o *oracle) shown(r [][]byte) (row string, closed bool) {
	out := make([]string, len(r))
	closed = true
	for i, v := range r {
		if v == nil {
			out[i] = "NULL"
			continue
		}
		text := string(v)
		if o.c.columns[i].typ.IsTimestamp() && !bytes.HasSuffix(v, []byte("infinity")) {
			us, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				o.t.Fatal(err)
			}
			text = seconds(us)
			if o.closes(o.c.columns[i].name) {
				closed = closed && us <= o.marks.query
			}
		}
		out[i] = "=" + text
	}
	return strings.Join(out, sep), closed
}

// closes tells whether a column is the end of the windows that a row is of.
func (o *oracle) closes(name string) bool {
	if o.c.closes != nil {
		return slices.Contains(o.c.closes, name)
	}
	return name == "window_end" || name == "session_end"
}

// compare compares what a case states with the answers.
func (o *oracle) compare() {
	modes := slices.DeleteFunc(slices.Clone(o.c.modes), o.drops)
	folds := map[string]fold{}
	for _, m := range modes {
		folds[m] = newFold()
	}
	r := &runner{t: o.t, c: o.c, file: o.file, way: way{name: "PostgreSQL"}}
	var rows, final []string
	for _, ep := range o.c.epochs {
		rows, final = o.take(ep, ep.steps...)
		for _, m := range modes {
			for _, s := range ep.steps {
				if w := orEmpty(s.want[m]); m != "complete" || s == ep.steps[len(ep.steps)-1] {
					o.c.take(folds[m], m, w.plus, w.minus)
				}
			}
			want := rows
			if m == "append" {
				if want = final; o.waits() {
					continue
				}
			}
			r.compare(ep.line, "up to here, "+m, want, folds[m].list())
		}
	}
	if f, ok := folds["append"]; ok && o.waits() {
		r.compare(o.c.line, "in the end, append", nil, minus(f.list(), rows))
	}
}

// waits tells whether the rows of append mode may come later than the answer tells:
// out of a join of streams, or of windows whose end is not among the columns.
func (o *oracle) waits() bool {
	streams := 0
	for _, r := range o.c.rels {
		if !r.table {
			streams++
		}
	}
	if streams > 1 && strings.Contains(o.c.sql, "JOIN ") {
		return true
	}
	return windowed.MatchString(o.c.sql) &&
		!slices.ContainsFunc(o.c.columns, func(c column) bool { return o.closes(c.name) })
}

var windowed = regexp.MustCompile(`(?i)\b(tumble|hop|cumulate|session|window|session_window)\s*\(`)

func orEmpty(w *output) *output {
	if w == nil {
		return &output{}
	}
	return w
}

// drops tells whether a mode's result is not that of all rows: some were late, or
// there is a choice.
func (o *oracle) drops(mode string) bool {
	for _, ep := range o.c.epochs {
		for _, s := range ep.steps {
			if orEmpty(s.want[mode]).choose > 0 {
				return true
			}
			for _, c := range expected(s, mode) {
				if c.n > 0 && (c.what == "late" || c.what == "partial") {
					return true
				}
			}
		}
	}
	return false
}

// markers computes the watermark of a case's query from its rows: the least over
// sources and splits.
type markers struct {
	c *testCase
	// high is the greatest time by source and split.
	high  map[string]map[string]int64
	query int64
}

func newMarkers(c *testCase) *markers {
	m := &markers{c: c, high: map[string]map[string]int64{}, query: math.MinInt64}
	for _, r := range c.rels {
		if r.watermark == "" {
			continue
		}
		m.high[r.name] = map[string]int64{}
		for _, s := range r.splits {
			m.high[r.name][s] = math.MinInt64
		}
	}
	return m
}

// take moves the watermark by a step's rows, or to what the step states.
func (m *markers) take(s *step) {
	for _, ch := range s.rows {
		r := m.c.relation(ch.rel)
		i := slices.IndexFunc(r.cols, func(c column) bool { return c.name == r.watermark })
		if i < 0 {
			continue
		}
		us, err := micros(ch.values[i])
		delay, _ := micros(r.delay)
		if err == nil {
			split := ch.split
			if r.table {
				split = r.splits[0]
			}
			m.high[r.name][split] = max(m.high[r.name][split], us-delay)
		}
	}
	least := int64(math.MaxInt64)
	for _, splits := range m.high {
		for _, us := range splits {
			least = min(least, us)
		}
	}
	if least < math.MaxInt64 {
		m.query = max(m.query, least)
	}
	for _, w := range s.marks {
		if w.source == "" && !w.none {
			m.query = w.micros
		}
	}
}

package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/sql/types"
)

// The shapes of generated queries.
const (
	genTumble     = "tumble"
	genHop        = "hop"
	genHopOdd     = "hop_odd" // the slide does not divide the size
	genCumulate   = "cumulate"
	genSession    = "session"
	genSessionRow = "session_row" // a gap of each row's own
	genTrunc      = "trunc"       // grouped by a time derived from the event time
	genPlain      = "plain"
	genGlobal     = "global"
	genNested     = "nested"      // windows' groups by key, grouped by window
	genNestedKeys = "nested_keys" // groups by key, grouped by how many rows they have
)

var genKinds = []string{genTumble, genHop, genHopOdd, genCumulate, genSession, genSessionRow, genTrunc, genPlain,
	genGlobal, genNested, genNestedKeys}

// genAgg is an aggregate as a generated query has it. pg is PostgreSQL's spelling of
// it over the table of rows, if it is another.
type genAgg struct {
	sql, pg string
	approx  bool // the order of the rows shows in the last digits
	time    bool // a time, in microseconds in PostgreSQL
	flat    bool // not over sessions
}

// genSets are the aggregates by the sets in which queries have them; count(*) comes
// with each.
var genSets = [][]genAgg{
	{{sql: "count(i)"}, {sql: "sum(i)"}, {sql: "avg(i)"}, {sql: "count(k)"}},
	{{sql: "min(i)"}, {sql: "max(s)"}, {sql: "min(s)"}, {sql: "max(n)"}, {sql: "min(f)"}, {sql: "max(l)"}},
	{{sql: "sum(l)"}, {sql: "sum(n)"}, {sql: "avg(n)"}, {sql: "avg(l)"}},
	{{sql: "bool_and(b)"}, {sql: "bool_or(b)"}, {sql: "every(b)"}, {sql: "count(*) FILTER (WHERE b)"},
		{sql: "sum(i) FILTER (WHERE i > 10)"}, {sql: "any_value('x'::text)", pg: "min('x'::text)"}},
	{{sql: "stddev(i)"}, {sql: "stddev_pop(n)"}, {sql: "var_samp(i)"}, {sql: "var_pop(l)"}, {sql: "variance(n)"},
		{sql: "stddev_samp(i)"}},
	{{sql: "count(DISTINCT i)"}, {sql: "sum(DISTINCT i)"}, {sql: "avg(DISTINCT n)"},
		{sql: "count(DISTINCT s) FILTER (WHERE b)"}, {sql: "max(DISTINCT i)"}},
	{{sql: "array_agg(i ORDER BY i)"}, {sql: "string_agg(s, ',' ORDER BY s)"}, {sql: "array_agg(s ORDER BY s DESC)"},
		{sql: "array_agg(DISTINCT i)", flat: true}, {sql: "string_agg(DISTINCT s, ',')", flat: true}},
	{{sql: "sum(f)"}, {sql: "avg(f)", approx: true}, {sql: "stddev(f)", approx: true}, {sql: "var_pop(f)", approx: true}},
	{{sql: "min(ts)", pg: "min(t)", time: true}, {sql: "max(ts)", pg: "max(t)", time: true},
		{sql: "sum(i * 2 + 1)"}, {sql: "max(n) - min(n)"}},
}

// genOuter are the aggregates over groups of c rows with the greatest m.
var genOuter = []genAgg{{sql: "sum(c)"}, {sql: "max(c)"}, {sql: "min(m)"}, {sql: "max(m)"}, {sql: "avg(m)"},
	{sql: "count(DISTINCT m)"}, {sql: "sum(m) FILTER (WHERE c > 1)"}, {sql: "array_agg(m ORDER BY m)"}}

// genRow is one row of a generated stream. Times are microseconds.
type genRow struct {
	split      int
	t          int64
	gap        int64 // in seconds
	noTime     bool
	noGap      bool
	values     []string // k i l n f s b, as files of cases spell them
	mark       int64    // the watermark that it meets
	marked     bool     // there is one
	color      int      // keeps apart sessions that touch and are not one
	late, part bool
}

// genStream is one generated stream: rows by epoch, and a query over them.
type genStream struct {
	id                 int
	kind, mode         string
	set                int
	keyed              bool
	size, slide, off   int64 // microseconds
	delay              int64
	idle               time.Duration
	greatest           bool // the splits' greatest watermark counts
	spilled            bool // next to nothing of the state may stay in memory
	splits             int
	tasks              int
	aggs               []genAgg
	epochs             [][]*genRow
	final              int64 // the last watermark
	hasFinal           bool
	late, part, noTime int
	// from the engine
	got     fold
	figures map[string]int64
}

// genColumns are the columns of a generated source.
var genColumns = func() []column {
	var out []column
	for _, c := range []struct {
		name, text string
		typ        types.Type
	}{{"k", "text", types.TText}, {"ts", "timestamptz", types.TTimestamptz}, {"gap", "integer", types.TInt4},
		{"i", "integer", types.TInt4}, {"l", "bigint", types.TInt8}, {"n", "numeric", types.TNumeric},
		{"f", "double precision", types.TFloat8}, {"s", "text", types.TText}, {"b", "boolean", types.TBool}} {
		out = append(out, column{c.name, c.typ, c.text})
	}
	return out
}()

func (s *genStream) source() string { return "src" + strconv.Itoa(s.id) }
func (s *genStream) sink() string   { return "out" + strconv.Itoa(s.id) }

func (s *genStream) windowed() bool {
	return s.kind != genPlain && s.kind != genGlobal && s.kind != genNestedKeys
}
func (s *genStream) nested() bool   { return s.kind == genNested || s.kind == genNestedKeys }
func (s *genStream) sessions() bool { return s.kind == genSession || s.kind == genSessionRow }

func pickOf[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }

const second = int64(1e6)

// makeStream makes stream number n. Kinds, modes and sets of aggregates go round.
func makeStream(rng *rand.Rand, id, n int, g *genGroup) *genStream {
	s := &genStream{id: id, kind: genKinds[n%len(genKinds)], got: newFold()}
	modes := allModes
	if !s.windowed() {
		modes = allModes[1:] // there append is refused
	}
	s.mode, s.set = modes[n/len(genKinds)%len(modes)], n/len(genKinds)/len(allModes)%len(genSets)
	s.keyed = chance(rng, 75)
	switch s.kind {
	case genPlain, genNestedKeys:
		s.keyed = true
	case genGlobal, genNested:
		s.keyed = false
	}
	s.delay = pickOf[int64](rng, 0, 1, 2, 5, 10) * second
	if chance(rng, 10) {
		s.delay += 500_000
	}
	s.splits, s.tasks = 1+rng.IntN(4), 1+rng.IntN(3)
	// A crash amid an epoch may or may not give the splits their time anew.
	if g.trigger == "processing_time" && !slices.Contains(g.before, "moment") && chance(rng, 40) {
		s.idle = time.Duration(pickOf(rng, 3, 6)) * time.Second
	}
	s.greatest, s.spilled = chance(rng, 10), chance(rng, 15)
	s.windows(rng)
	if s.slide > 0 && chance(rng, 40) { // watermarks at the ends of windows
		s.delay = s.slide * rng.Int64N(3)
	}
	all := genSets[s.set]
	if s.nested() {
		all = genOuter
	}
	for _, a := range all {
		if !(a.flat && s.sessions()) {
			s.aggs = append(s.aggs, a)
		}
	}
	orderly := false
	if g.trigger == "real_time" {
		// One read brings an epoch's rows, or no row can be late.
		if orderly = chance(rng, 50); !orderly {
			s.splits = 1
		}
		s.greatest = s.greatest && !orderly
	}
	s.rows(rng, g, orderly)
	return s
}

// windows chooses the spans of the windows.
func (s *genStream) windows(rng *rand.Rand) {
	switch s.kind {
	case genTumble, genNested:
		s.size = pickOf[int64](rng, 1, 3, 7, 10, 60) * second
		s.slide = s.size
	case genHop:
		s.slide = pickOf[int64](rng, 1, 2, 5) * second
		s.size = s.slide * pickOf[int64](rng, 2, 3, 4)
	case genHopOdd:
		s.slide = pickOf[int64](rng, 3, 4, 7) * second
		s.size = s.slide*pickOf[int64](rng, 1, 2) + pickOf[int64](rng, 1, 2)*second
	case genCumulate:
		s.slide = pickOf[int64](rng, 1, 2, 5) * second
		s.size = s.slide * pickOf[int64](rng, 2, 3, 5)
	case genSession:
		s.size = pickOf[int64](rng, 1, 2, 4) * second
	case genTrunc:
		s.size, s.slide = 60*second, 60*second
	}
	if !s.sessions() && s.windowed() && s.kind != genTrunc && chance(rng, 30) {
		s.off = s.slide / pickOf[int64](rng, -2, 2, 5)
	}
}

// rows makes the rows, epoch by epoch.
func (s *genStream) rows(rng *rand.Rand, g *genGroup, orderly bool) {
	base := pickOf[int64](rng, 0, 0, -300, 1_700_000_000, -3_000_000_000) * second
	at := make([]int64, s.splits) // how far each split's time has come
	top := make([]int64, s.splits)
	speed, asleep := make([]int, s.splits), make([]int, s.splits)
	for i := range at {
		at[i], top[i], speed[i] = base, base, 1+rng.IntN(8)
	}
	spread := pickOf(rng, 0, 2, 6, 15)
	for e := range g.epochs {
		var rows []*genRow
		silent := chance(rng, 10)
		for sp := range s.splits {
			n := rng.IntN(7)
			if asleep[sp]--; asleep[sp] < 0 && chance(rng, 20) {
				asleep[sp] = 1 + rng.IntN(3) // epochs without rows
			}
			if silent || asleep[sp] > 0 {
				n = 0
			}
			for range n {
				if len(rows) > 0 && chance(rng, 5) { // a duplicate, perhaps from another split
					r := *rows[rng.IntN(len(rows))]
					r.split = sp
					rows = append(rows, &r)
				} else {
					r := s.row(rng, sp)
					at[sp] += int64(rng.IntN(speed[sp]+1)) * second
					r.t = s.moment(rng, at[sp], top, spread)
					rows = append(rows, r)
				}
				r := rows[len(rows)-1]
				if orderly {
					r.t = max(r.t, top[sp]-s.delay+1)
				}
				if !r.noTime {
					top[sp] = max(top[sp], r.t)
				}
			}
		}
		if e == g.epochs-1 && g.closing {
			for sp := range s.splits {
				r := s.row(rng, sp)
				r.t, r.noTime = base+1_000_000*second, false
				rows = append(rows, r)
			}
		}
		s.epochs = append(s.epochs, rows)
	}
	if !slices.ContainsFunc(s.epochs, func(rows []*genRow) bool { return len(rows) > 0 }) {
		r := s.row(rng, 0) // PostgreSQL's grouped answer has nothing to say of no rows
		r.t = base
		s.epochs[0] = append(s.epochs[0], r)
	}
}

// moment is the time of a row where a split's time has come to at, and the splits'
// greatest times are top: somewhat back from there, often on the edge of a window, and
// now and then about where the watermark must be.
func (s *genStream) moment(rng *rand.Rand, at int64, top []int64, spread int) int64 {
	t := at - int64(rng.IntN(spread+1))*second
	switch n := rng.IntN(100); {
	case n < 12:
		t += rng.Int64N(second)
	case n < 16:
		t -= 30 * second
	case n < 26:
		t = slices.Min(top) - s.delay - pickOf(rng, 0, 1, second, s.size)
	}
	if s.slide > 0 && chance(rng, 30) {
		t = below(t-s.off, s.slide) + s.off + pickOf(rng, 0, s.slide, -1)
	}
	return t
}

func (s *genStream) row(rng *rand.Rand, split int) *genRow {
	null := func(text string) string {
		if chance(rng, 12) {
			return "NULL"
		}
		return text
	}
	i := rng.IntN(40) - 10
	r := &genRow{split: split, noTime: chance(rng, 5), gap: int64(rng.IntN(6)), noGap: chance(rng, 4)}
	if chance(rng, 3) {
		r.gap = -1
	}
	r.values = []string{
		null("'" + pickOf(rng, "a", "b", "c", "", "key that is longer than what a slot holds")),
		null(strconv.Itoa(i)),
		null(strconv.FormatInt(int64(i)*pickOf[int64](rng, 1, 1_000_000_007), 10)),
		null(fmt.Sprintf("%d.%0*d", i, 1+(i+10)%3, rng.IntN(10))), // what is equal has one scale
		null(strconv.FormatFloat(float64(rng.IntN(80)-20)/4, 'f', -1, 64)),
		null("'" + pickOf(rng, "x", "y", "zz", "", "é", "a longer text, of more than a slot")),
		null(pickOf(rng, "t", "f")),
	}
	return r
}

// fields is the row in the order of genColumns.
func (r *genRow) fields() []string {
	ts, gap := seconds(r.t), strconv.FormatInt(r.gap, 10)
	if r.noTime {
		ts = "NULL"
	}
	if r.noGap {
		gap = "NULL"
	}
	return append([]string{r.values[0], ts, gap}, r.values[1:]...)
}

func interval(us int64) string { return "INTERVAL '" + seconds(us) + " seconds'" }

// ddl creates the source.
func (s *genStream) ddl() string {
	var cols []string
	for _, c := range genColumns {
		cols = append(cols, c.name+" "+c.text)
	}
	with := fmt.Sprintf("connector = 'memory', name = '%s'", s.source())
	if s.greatest {
		with += ", watermark_splits = 'max'"
	}
	return fmt.Sprintf("CREATE SOURCE %s (%s, WATERMARK FOR ts AS ts - %s) WITH (%s);\n", s.source(),
		strings.Join(cols, ", "), interval(s.delay), with)
}

// query is the SELECT. Its columns are the window's bounds, the key and the
// aggregates.
func (s *genStream) query() string {
	var cols, group []string
	from := s.source()
	span := func(fn string, spans ...int64) {
		args := []string{s.source(), "ts"}
		for _, us := range spans {
			args = append(args, interval(us))
		}
		if s.off != 0 {
			args = append(args, interval(s.off))
		}
		from = fn + "(" + strings.Join(args, ", ") + ") AS w"
		cols = []string{"window_start", "window_end"}
		group = cols
	}
	call := ""
	switch s.kind {
	case genTumble, genNested:
		span("TUMBLE", s.size)
	case genHop, genHopOdd:
		span("HOP", s.slide, s.size)
	case genCumulate:
		span("CUMULATE", s.slide, s.size)
	case genSession:
		call = fmt.Sprintf("session_window(ts, %s)", interval(s.size))
	case genSessionRow:
		call = "session_window(ts, gap * INTERVAL '1 second')"
	case genTrunc:
		cols, group = []string{"date_trunc('minute', ts)"}, []string{"date_trunc('minute', ts)"}
	}
	if call != "" {
		cols, group = []string{"(" + call + ").start", "(" + call + ").end"}, []string{call}
	}
	switch {
	case s.kind == genNested:
		from = "(SELECT window_start, window_end, k, count(*) AS c, max(i) AS m FROM " + from +
			" GROUP BY window_start, window_end, k) g"
	case s.kind == genNestedKeys:
		from = "(SELECT k, count(*) AS c, max(i) AS m FROM " + from + " GROUP BY k) g"
		cols, group = []string{"c"}, []string{"c"}
	case s.keyed:
		cols, group = append(slices.Clone(cols), "k"), append(slices.Clone(group), "k")
	}
	var list []string
	for i, c := range append(slices.Clone(cols), "count(*)") {
		list = append(list, c+" AS c"+strconv.Itoa(i))
	}
	for i, a := range s.aggs {
		list = append(list, a.sql+" AS a"+strconv.Itoa(i))
	}
	q := "SELECT " + strings.Join(list, ", ") + " FROM " + from
	if len(group) > 0 {
		q += " GROUP BY " + strings.Join(group, ", ")
	}
	return q
}

// keys is how many columns of the result are its key.
func (s *genStream) keys() int {
	n := 0
	switch {
	case s.kind == genTrunc:
		n = 1
	case s.windowed():
		n = 2
	}
	if s.keyed {
		n++
	}
	return n
}

// create creates the query.
func (s *genStream) create(g *genGroup) string {
	trigger := g.trigger
	if trigger == "processing_time" {
		trigger += " 1000 days"
	}
	idle := "off"
	if s.idle > 0 {
		idle = s.idle.String()
	}
	more := ""
	if s.spilled {
		more = ", state_memory = '1 B'"
	}
	return fmt.Sprintf("CREATE SINK %s WITH (connector = 'memory', name = '%[1]s', output_mode = '%s', trigger = '%s', "+
		"checkpoint_interval = '1000 days', idle_timeout = '%s', parallelism = %d%s) AS %s;\n", s.sink(), s.mode, trigger,
		idle, s.tasks, more, s.query())
}

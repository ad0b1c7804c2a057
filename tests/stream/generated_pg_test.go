package stream

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// genDB answers in batch what the streams were asked.
type genDB struct{ conn *pgx.Conn }

func genConnect(t *testing.T, url string) *genDB {
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	db := &genDB{conn}
	db.exec(t, `CREATE TEMP TABLE q (id int PRIMARY KEY, kind text, set int, keyed boolean, whole boolean, final boolean,
		size bigint, slide bigint, off bigint, mark bigint);
		CREATE TEMP TABLE r (q int, k text, t bigint, gap bigint, i int, l bigint, n numeric, f float8, s text, b boolean,
		mark bigint, color int);`)
	return db
}

func (db *genDB) exec(t *testing.T, text string) {
	t.Helper()
	if _, err := db.conn.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// compare loads the streams of some groups and compares their results.
func (db *genDB) compare(t *testing.T, groups []*genGroup) {
	t.Helper()
	streams, of := map[int]*genStream{}, map[int]*genGroup{}
	var qs, rs [][]any
	for _, g := range groups {
		for _, s := range g.streams {
			id := len(streams) + 1
			streams[id], of[id] = s, g
			qs = append(qs, s.parameters(id))
			for _, e := range s.epochs {
				for _, r := range e {
					row, err := s.loaded(id, r)
					if err != nil {
						t.Fatal(err)
					}
					rs = append(rs, row)
				}
			}
		}
	}
	db.exec(t, "TRUNCATE q, r")
	db.load(t, "q", qs, "id", "kind", "set", "keyed", "whole", "final", "size", "slide", "off", "mark")
	db.load(t, "r", rs, "q", "k", "t", "gap", "i", "l", "n", "f", "s", "b", "mark", "color")
	db.exec(t, "ANALYZE q; ANALYZE r")
	want := map[int]map[string]int{}
	for _, kind := range genKinds {
		for set := range genSets {
			db.answer(t, kind, set, streams, want)
		}
	}
	rows := 0
	for id := range len(streams) {
		rows += streams[id+1].compare(t, of[id+1], want[id+1])
	}
	t.Logf("%d streams, %d rows in, %d rows of results compared", len(streams), len(rs), rows)
	if rows == 0 {
		t.Error("nothing was compared")
	}
}

func (db *genDB) load(t *testing.T, table string, rows [][]any, cols ...string) {
	t.Helper()
	if _, err := db.conn.CopyFrom(t.Context(), pgx.Identifier{table}, cols, pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
}

// parameters is a stream's row in the table q.
func (s *genStream) parameters(id int) []any {
	var mark *int64
	if s.hasFinal {
		mark = &s.final
	}
	return []any{id, s.kind, s.set, s.keyed, s.mode == "complete", s.mode == "append", s.size, s.slide, s.off, mark}
}

// loaded is a row in the table r.
func (s *genStream) loaded(id int, r *genRow) ([]any, error) {
	var mark, at *int64
	if r.marked {
		mark = &r.mark
	}
	if !r.noTime {
		at = &r.t
	}
	row := []any{id, nil, at, s.gap(r)}
	for i, v := range r.values {
		text, null := unquoted(v)
		var x any
		var err error
		switch {
		case null:
		case i == 1 || i == 2:
			x, err = strconv.ParseInt(text, 10, 64)
		case i == 4:
			x, err = strconv.ParseFloat(text, 64)
		case i == 6:
			x = text == "t"
		default:
			x = text
		}
		if err != nil {
			return nil, err
		}
		if i == 0 {
			row[1] = x
		} else {
			row = append(row, x)
		}
	}
	return append(row, mark, r.color), nil
}

// genWindows are queries for the rows with the bounds of their windows, ws and we, by
// kind; rows that are late for a window are not in it.
var genWindows = func() map[string]string {
	hop := `SELECT r.*, z.no * q.slide + q.off AS ws, z.no * q.slide + q.off + q.size AS we FROM r JOIN q ON q.id = r.q,
		LATERAL generate_series(floor((t - off - size)::numeric / slide)::bigint + 1,
		floor((t - off)::numeric / slide)::bigint) z (no)`
	// Rows that follow each other within the gap are an island.
	session := `SELECT r.*, max(t + gap) OVER island AS we FROM (
		SELECT *, min(t) OVER (PARTITION BY q, part, color, no) AS ws FROM (
		SELECT *, count(*) FILTER (WHERE fresh) OVER (PARTITION BY q, part, color ORDER BY t, nr) AS no FROM (
		SELECT *, t > coalesce(max(t + gap) OVER (PARTITION BY q, part, color ORDER BY t, nr
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), t - 1) AS fresh FROM (
		SELECT r.*, CASE WHEN q.keyed THEN k END AS part, row_number() OVER () AS nr FROM r JOIN q ON q.id = r.q
			WHERE gap > 0 AND t IS NOT NULL AND (q.whole OR r.mark IS NULL OR t + gap > r.mark)) r) r) r) r
		WINDOW island AS (PARTITION BY q, part, color, no)`
	none := `SELECT r.*, NULL::bigint AS ws, NULL::bigint AS we FROM r`
	return map[string]string{
		genNested: hop, genNestedKeys: none, genTumble: hop, genHop: hop, genHopOdd: hop,
		genCumulate: `SELECT r.*, z AS ws, z + no * q.slide AS we
			FROM r JOIN q ON q.id = r.q, LATERAL (SELECT (floor((t - off)::numeric / size) * size)::bigint + off AS z) z,
			LATERAL generate_series(1, q.size / q.slide) no WHERE z + no * q.slide > t`,
		genSession: session, genSessionRow: session,
		genTrunc: `SELECT r.*, z AS ws, z + 60000000 AS we
			FROM r, LATERAL (SELECT (floor(t::numeric / 60000000) * 60000000)::bigint AS z) z`,
		genPlain: none, genGlobal: none,
	}
}()

// answer puts the results of the streams of a kind with a set of aggregates into
// want, by stream.
func (db *genDB) answer(t *testing.T, kind string, set int, streams map[int]*genStream, want map[int]map[string]int) {
	t.Helper()
	var aggs []genAgg
	var one *genStream
	for _, s := range streams {
		if s.kind == kind && s.set == set {
			one = s
			break
		}
	}
	if one == nil {
		return
	}
	aggs = one.aggs
	var list strings.Builder
	for _, a := range aggs {
		text := a.pg
		if text == "" {
			text = a.sql
		}
		list.WriteString(", " + text)
	}
	// The end of a session is not what its rows were judged by.
	from := fmt.Sprintf(`(%s) r JOIN q ON q.id = r.q
		WHERE (%t OR q.whole OR we IS NULL OR r.mark IS NULL OR we > r.mark) AND (NOT q.final OR we <= q.mark)`,
		genWindows[kind], one.sessions())
	key := "CASE WHEN q.keyed THEN k END"
	if one.nested() {
		from = "(SELECT q.id, ws, we, k, count(*) AS c, max(i) AS m FROM " + from + " GROUP BY 1, 2, 3, 4) q"
		key = "CASE WHEN ws IS NULL THEN c END"
	}
	text := fmt.Sprintf(`WITH r AS MATERIALIZED (SELECT r.* FROM r JOIN q ON q.id = r.q WHERE q.kind = '%s' AND q.set = %d)
		SELECT q.id, ws, we, %s, count(*)%s FROM %s GROUP BY 1, 2, 3, 4`, kind, set, key, list.String(), from)
	res, err := db.conn.PgConn().Exec(t.Context(), text).ReadAll()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, row := range res[0].Rows {
		id, err := strconv.Atoi(string(row[0]))
		if err != nil {
			t.Fatal(err)
		}
		if want[id] == nil {
			want[id] = map[string]int{}
		}
		want[id][streams[id].answered(row)]++
	}
}

// answered is a row of PostgreSQL's as the sinks show it.
func (s *genStream) answered(row [][]byte) string {
	at := func(v []byte) string {
		if v == nil {
			return "NULL"
		}
		us, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return err.Error()
		}
		return "=" + seconds(us)
	}
	var out []string
	if s.windowed() {
		out = append(out, at(row[1]))
		if s.kind != genTrunc {
			out = append(out, at(row[2]))
		}
	}
	text := func(v []byte) string {
		if v == nil {
			return "NULL"
		}
		return "=" + string(v)
	}
	if s.keyed {
		out = append(out, text(row[3]))
	}
	out = append(out, text(row[4]))
	for i, a := range s.aggs {
		if v := row[5+i]; a.time {
			out = append(out, at(v))
		} else {
			out = append(out, text(v))
		}
	}
	return s.rounded(strings.Join(out, sep))
}

// rounded drops the last digits where they show the order of the rows.
func (s *genStream) rounded(row string) string {
	if !slices.ContainsFunc(s.aggs, func(a genAgg) bool { return a.approx }) {
		return row
	}
	f := strings.Split(row, sep)
	for i, a := range s.aggs {
		k := len(f) - len(s.aggs) + i
		if x, err := strconv.ParseFloat(strings.TrimPrefix(f[k], "="), 64); err == nil && a.approx {
			if math.Abs(x) < 1e-9 {
				x = 0
			}
			f[k] = "=" + strconv.FormatFloat(x, 'g', 12, 64)
		}
	}
	return strings.Join(f, sep)
}

// compare compares what a stream has come to with PostgreSQL's answer.
func (s *genStream) compare(t *testing.T, g *genGroup, want map[string]int) int {
	t.Helper()
	left := maps.Clone(want)
	if left == nil {
		left = map[string]int{}
	}
	for row, n := range s.got.rows {
		left[s.rounded(row)] -= n
	}
	for _, row := range s.got.byKey {
		left[s.rounded(row)]--
	}
	var diff []string
	for row, n := range left {
		switch {
		case n > 0:
			diff = append(diff, fmt.Sprintf("missing (%d) %s", n, readable(row)))
		case n < 0:
			diff = append(diff, fmt.Sprintf("too much (%d) %s", -n, readable(row)))
		}
	}
	if len(diff) > 0 {
		slices.Sort(diff)
		t.Errorf("%s, %s, stream %d of %s", s.kind, s.mode, s.id, strings.Join(append(diff, s.describe(g)), "\n"))
	}
	return len(want)
}

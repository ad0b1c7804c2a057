package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql"
)

const timesSchema = `
CREATE SOURCE s (k text, ts timestamptz, other timestamptz, WATERMARK FOR ts AS ts - INTERVAL '10 seconds')
  WITH (connector = 'kafka');
CREATE SOURCE late (k text, ts timestamptz, WATERMARK FOR ts AS ts - INTERVAL '1 hour') WITH (connector = 'kafka');
CREATE SOURCE local (k text, ts timestamp, WATERMARK FOR ts AS ts) WITH (connector = 'kafka');
CREATE SOURCE clocked (k text, ts timestamptz AS (proctime()), WATERMARK FOR ts AS ts) WITH (connector = 'kafka');
CREATE SOURCE plain (k text, ts timestamptz) WITH (connector = 'kafka');
CREATE TABLE users (k text PRIMARY KEY, born timestamptz);
CREATE VIEW w AS SELECT window_start, window_end, k, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute')
  GROUP BY window_start, window_end, k;
`

// TestTimes: which columns of a result a watermark bounds, and by how much a row's
// value may be behind the time that the watermark speaks of; * is the event time.
func TestTimes(t *testing.T) {
	for _, c := range []struct{ query, times string }{
		{"SELECT k, ts FROM s", "*ts+0 s"},
		{"SELECT k FROM s", ""},
		{"SELECT ts FROM s WHERE k > 'a'", "*ts+0 s"},
		{"SELECT ts AS a, ts AS b FROM s", "*a+0 s b+0 s"},
		{"SELECT other FROM s", ""},
		{"SELECT ts + INTERVAL '1 minute' AS x FROM s", "*x+0 s"}, // sooner than its value: no lag below 0
		{"SELECT ts - INTERVAL '1 minute' AS x FROM s", "*x+1 min"},
		{"SELECT ts + INTERVAL '1 day' AS x FROM s", ""}, // a day may be 23 hours
		{"SELECT ts - INTERVAL '1 day' AS x FROM local", "*x+1 d"},
		{"SELECT ts - INTERVAL '1 month' AS x FROM local", ""},
		{"SELECT ts - (ts - other) AS x FROM s", ""},
		{"SELECT date_trunc('minute', ts) AS x FROM s", "*x+1 min"},
		{"SELECT date_trunc('month', ts) AS x FROM s", "*x+745 h"},
		{"SELECT date_trunc('year', ts) AS x FROM s", ""},
		{"SELECT date_trunc(k, ts) AS x FROM s", ""},
		{"SELECT greatest(ts, other) AS x FROM s", ""},
		{"SELECT ts::date AS d FROM s", ""},
		{"SELECT ts FROM s UNION ALL SELECT ts FROM late", "*ts+0 s"},
		{"SELECT ts FROM s UNION ALL SELECT date_trunc('minute', ts) FROM late", "*ts+1 min"},
		{"SELECT ts FROM s UNION ALL SELECT ts FROM plain", ""},
		{"SELECT ts, other FROM s UNION ALL SELECT other, ts FROM s", ""}, // another column in each
		{"SELECT k, ts FROM s DEDUPLICATE BY k, ts", "*ts+0 s"},
		{"SELECT k, ts FROM s DEDUPLICATE BY k WITHIN WATERMARK", "*ts+0 s"},
		{"SELECT DISTINCT ts FROM s", "*ts+0 s"},
		{"SELECT s.ts, u.born FROM s JOIN users u ON s.k = u.k", "*ts+0 s"},
		{"SELECT u.born, s.ts FROM users u JOIN s ON s.k = u.k", "*ts+0 s"},
		{"SELECT window_start, window_end, ts FROM TUMBLE(s, ts, INTERVAL '1 minute')",
			"window_start+1 min window_end+0 s *ts+0 s"},
		{"SELECT window_start, window_end, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute') GROUP BY 1, 2",
			"window_start+1 min *window_end+0 s"},
		{"SELECT window_end, count(*) AS n FROM HOP(s, ts, INTERVAL '1 minute', INTERVAL '5 minutes') GROUP BY 1",
			"*window_end+0 s"},
		{"SELECT window_start, window_end, k, count(*) AS n FROM SESSION(s PARTITION BY k, ts, INTERVAL '1 minute') " +
			"GROUP BY 1, 2, 3", "*window_end+0 s"},
		{"SELECT count(*) AS n, max(ts) AS ts FROM s", ""},
		{"SELECT k, count(*) AS n FROM s GROUP BY k", ""},
		{"SELECT ts, count(*) AS n FROM s GROUP BY ts", "*ts+0 s"},
		{"SELECT window_start, sum(n) AS n " +
			"FROM TUMBLE((SELECT window_end AS we, n FROM w), we, INTERVAL '5 minutes') GROUP BY 1",
			"*window_start+5 min"},
		{"SELECT window_start, window_end, sum(n) AS n FROM " +
			"TUMBLE((SELECT window_end - INTERVAL '1 microsecond' AS wt, n FROM w), wt, INTERVAL '5 minutes') GROUP BY 1, 2",
			"window_start+5 min *window_end+0 s"},
		{"SELECT (window(window_time(v), '5 minutes')).end AS e, sum(n) AS n FROM " +
			"(SELECT window(ts, '1 minute') AS v, count(*) AS n FROM s GROUP BY 1) AS q GROUP BY window(window_time(v), '5 minutes')",
			"*e+0 s"},
		{"SELECT ts FROM clocked", "*ts+0 s"},
		{"SELECT ts FROM (SELECT ts FROM plain UNION ALL SELECT ts FROM plain) AS u " +
			"WATERMARK ts DELAY OF INTERVAL '1 s'", "*ts+0 s"},
		{"SELECT at, ts FROM STREAM plain WATERMARK (ts - INTERVAL '1 hour') AS at DELAY OF INTERVAL '1 s'", "*at+0 s"},
	} {
		if got := timesOf(t, c.query); got != c.times {
			t.Errorf("%s\n  bounds %q, want %q", c.query, got, c.times)
		}
	}
}

func planTimes(t *testing.T, query string) (*Plan, error) {
	t.Helper()
	c := newTestCatalog(t)
	if err := c.define(timesSchema); err != nil {
		t.Fatal(err)
	}
	q, err := sql.ParseQuery(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return Continuous(&Env{Resolver: c}, q, nil, Options{Mode: physical.Update})
}

func timesOf(t *testing.T, query string) string {
	t.Helper()
	p, err := planTimes(t, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	in := p.Root.(*physical.Emit).Input[0]
	props := in.Props()
	cols := slices.Clone(props.Times)
	slices.SortFunc(cols, func(a, b physical.TimeColumn) int { return a.Col - b.Col })
	var out []string
	for _, x := range cols {
		star := ""
		if x.Col == props.EventTime {
			star = "*"
		}
		out = append(out, fmt.Sprintf("%s%s+%s", star, p.Columns[x.Col].Name, plan.Micros(x.Lag)))
	}
	if _, ok := props.Time(props.EventTime); props.EventTime >= 0 && !ok {
		out = append(out, "event time without a bound")
	}
	return strings.Join(out, " ")
}

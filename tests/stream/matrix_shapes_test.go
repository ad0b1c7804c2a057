package stream

// shape is a kind of query. Its rows are what it must come to, by hand: fields
// between blanks, times in seconds.
type shape struct {
	group, name string
	sql         string
	// want is the result over all rows, closed what append mode has given of it when
	// the watermark is at 36 seconds; the same where closed is nil.
	want, closed []string
	// stream: the result depends on the order or the time of the rows' coming, so a
	// SELECT over them all has another one.
	stream bool
}

// matrixSetup are the relations that all shapes read: streams with and without a
// watermark, a table whose rows change, a table that stands.
const matrixSetup = `
CREATE SOURCE s (k text, v integer, ts timestamptz, WATERMARK FOR ts AS ts - INTERVAL '5 seconds')
  WITH (connector = 'memory', name = 's');
CREATE SOURCE r (k text, w integer, ts timestamptz, WATERMARK FOR ts AS ts - INTERVAL '5 seconds')
  WITH (connector = 'memory', name = 'r');
CREATE SOURCE p (k text, v integer, ts timestamptz) WITH (connector = 'memory', name = 'p');
CREATE TABLE t (id integer PRIMARY KEY, k text, v integer);
CREATE TABLE u (k text PRIMARY KEY, name text);
INSERT INTO u VALUES ('a', 'Ann'), ('b', 'Bob');
`

// matrixEpochs are the rows of s and p, of r, and the changes of t, epoch by epoch.
var matrixEpochs = []struct {
	s, r  []string
	table string
}{
	{[]string{"a 1 1", "b 2 2", "a 3 4"}, []string{"a 10 2", "b 20 3"},
		"INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'a', 3);"},
	{[]string{"a 1 12", "b 7 11", "a 1 13"}, []string{"a 30 14"},
		"INSERT INTO t VALUES (4, 'a', 1), (5, 'b', 7); DELETE FROM t WHERE id = 3;"},
	{[]string{"c 9 41"}, []string{"c 40 41"}, "INSERT INTO t VALUES (7, 'c', 9); UPDATE t SET v = 8 WHERE id = 2;"},
}

// matrixClock is when the matrix is run, in seconds.
const matrixClock = 50

var shapes = []shape{
	{group: "rows", name: "projection, filter", sql: `SELECT k, v * 2 AS twice, ts FROM s WHERE v > 1`,
		want: []string{"b 4 2", "a 6 4", "b 14 11", "c 18 41"}},
	{group: "rows", name: "table", sql: `SELECT id, k, v FROM t`,
		want: []string{"1 a 1", "2 b 8", "4 a 1", "5 b 7", "7 c 9"}},
	{group: "rows", name: "table, its key not selected", sql: `SELECT k, v FROM t`,
		want: []string{"a 1", "b 8", "a 1", "b 7", "c 9"}},
	{group: "rows", name: "set-returning function", sql: `SELECT k, generate_series(1, 2) AS i FROM s WHERE v > 6`,
		want: []string{"b 1", "b 2", "c 1", "c 2"}},
	{group: "rows", name: "UNION ALL", sql: `SELECT k, v FROM s WHERE v > 2 UNION ALL SELECT k, w FROM r`,
		want: []string{"a 3", "b 7", "c 9", "a 10", "b 20", "a 30", "c 40"}},
	{group: "rows", name: "temporal filter", sql: `SELECT k, v FROM s WHERE ts > now() - INTERVAL '20 seconds'`,
		want: []string{"c 9"}, stream: true},
	{group: "rows", name: "LIMIT", sql: `SELECT k, v FROM s LIMIT 2`, want: []string{"a 1", "b 2"}, stream: true},

	{group: "joins", name: "stream with a table", sql: `SELECT s.k, v, name FROM s JOIN u ON s.k = u.k`,
		want: []string{"a 1 Ann", "b 2 Bob", "a 3 Ann", "a 1 Ann", "b 7 Bob", "a 1 Ann"}},
	{group: "joins", name: "stream with a table, left",
		sql:  `SELECT s.k, v, name FROM s LEFT JOIN u ON s.k = u.k WHERE v > 6`,
		want: []string{"b 7 Bob", "c 9 NULL"}},
	{group: "joins", name: "stream with a stream, within a time",
		sql: `SELECT s.k, v, w FROM s JOIN r ON s.k = r.k
  AND r.ts BETWEEN s.ts - INTERVAL '2 seconds' AND s.ts + INTERVAL '2 seconds'`,
		want: []string{"a 1 10", "b 2 20", "a 3 10", "a 1 30", "a 1 30", "c 9 40"}},
	{group: "joins", name: "stream with a stream", sql: `SELECT s.k, v, w FROM s JOIN r ON s.k = r.k WHERE v > 2`,
		want: []string{"a 3 10", "a 3 30", "b 7 20", "c 9 40"}},
	{group: "joins", name: "table with a table", sql: `SELECT id, t.k, name FROM t JOIN u ON t.k = u.k`,
		want: []string{"1 a Ann", "2 b Bob", "4 a Ann", "5 b Bob"}},

	{group: "aggregates", name: "without GROUP BY", sql: `SELECT count(*) AS n, sum(v) AS total FROM s`,
		want: []string{"7 24"}},
	{group: "aggregates", name: "by key", sql: `SELECT k, count(*) AS n, max(v) AS top FROM p GROUP BY k`,
		want: []string{"a 4 3", "b 2 7", "c 1 9"}},
	{group: "aggregates", name: "by key, beside a watermark", sql: `SELECT k, count(*) AS n FROM s GROUP BY k`,
		want: []string{"a 4", "b 2", "c 1"}},
	{group: "aggregates", name: "by a time with a watermark", sql: `SELECT ts, count(*) AS n FROM s GROUP BY ts`,
		want:   []string{"1 1", "2 1", "4 1", "11 1", "12 1", "13 1", "41 1"},
		closed: []string{"1 1", "2 1", "4 1", "11 1", "12 1", "13 1"}},
	{group: "aggregates", name: "of a table", sql: `SELECT k, count(*) AS n, min(v) AS least FROM t GROUP BY k`,
		want: []string{"a 2 1", "b 2 7", "c 1 9"}},
	{group: "aggregates", name: "its key not selected", sql: `SELECT count(*) AS n, max(v) AS top FROM p GROUP BY k`,
		want: []string{"4 3", "2 7", "1 9"}},
	{group: "aggregates", name: "DISTINCT aggregate", sql: `SELECT k, count(DISTINCT v) AS n FROM p GROUP BY k`,
		want: []string{"a 2", "b 2", "c 1"}},
	{group: "aggregates", name: "DISTINCT aggregate of a table",
		sql:  `SELECT k, count(DISTINCT v) AS n, sum(DISTINCT v) AS total FROM t GROUP BY k`,
		want: []string{"a 1 1", "b 2 15", "c 1 9"}},
	{group: "aggregates", name: "HAVING", sql: `SELECT k, count(*) AS n FROM p GROUP BY k HAVING count(*) < 3`,
		want: []string{"b 2", "c 1"}},
	{group: "aggregates", name: "GROUPING SETS", sql: `SELECT k, count(*) AS n FROM p GROUP BY GROUPING SETS ((k), ())`,
		want: []string{"a 4", "b 2", "c 1", "NULL 7"}},
	{group: "aggregates", name: "GROUPING SETS of a table",
		sql:  `SELECT k, grouping(k) AS g, count(*) AS n FROM t GROUP BY ROLLUP (k)`,
		want: []string{"a 0 2", "b 0 2", "c 0 1", "NULL 1 5"}},
	{group: "aggregates", name: "of an aggregate",
		sql:  `SELECT n, count(*) AS keys FROM (SELECT k, count(*) AS n FROM p GROUP BY k) AS x GROUP BY n`,
		want: []string{"4 1", "2 1", "1 1"}},
	{group: "aggregates", name: "of an aggregate, without GROUP BY",
		sql:  `SELECT max(n) AS top, count(*) AS keys FROM (SELECT k, count(*) AS n FROM p GROUP BY k) AS x`,
		want: []string{"4 3"}},
	{group: "aggregates", name: "of a join with a table",
		sql:  `SELECT name, count(*) AS n FROM s JOIN u ON s.k = u.k GROUP BY name`,
		want: []string{"Ann 4", "Bob 2"}},
	{group: "aggregates", name: "joined with a table",
		sql:  `SELECT x.k, n, name FROM (SELECT k, count(*) AS n FROM p GROUP BY k) AS x JOIN u ON x.k = u.k`,
		want: []string{"a 4 Ann", "b 2 Bob"}},

	{group: "windows", name: "TUMBLE", sql: `SELECT window_start, k, sum(v) AS total
  FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start, k`,
		want:   []string{"0 a 4", "0 b 2", "10 a 2", "10 b 7", "40 c 9"},
		closed: []string{"0 a 4", "0 b 2", "10 a 2", "10 b 7"}},
	{group: "windows", name: "TUMBLE without a watermark", sql: `SELECT window_start, sum(v) AS total
  FROM TUMBLE(p, ts, INTERVAL '10 seconds') GROUP BY window_start`,
		want: []string{"0 6", "10 9", "40 9"}},
	{group: "windows", name: "HOP", sql: `SELECT window_start, sum(v) AS total
  FROM HOP(s, ts, INTERVAL '10 seconds', INTERVAL '20 seconds') GROUP BY window_start`,
		want: []string{"-10 6", "0 15", "10 9", "30 9", "40 9"}, closed: []string{"-10 6", "0 15", "10 9"}},
	{group: "windows", name: "CUMULATE", sql: `SELECT window_end, sum(v) AS total
  FROM CUMULATE(s, ts, INTERVAL '10 seconds', INTERVAL '20 seconds') GROUP BY window_start, window_end`,
		want: []string{"10 6", "20 15", "50 9", "60 9"}, closed: []string{"10 6", "20 15"}},
	{group: "windows", name: "SESSION", sql: `SELECT k, window_start, window_end, count(*) AS n
  FROM SESSION(s PARTITION BY k, ts, INTERVAL '5 seconds') GROUP BY k, window_start, window_end`,
		want:   []string{"a 1 9 2", "b 2 7 1", "a 12 18 2", "b 11 16 1", "c 41 46 1"},
		closed: []string{"a 1 9 2", "b 2 7 1", "a 12 18 2", "b 11 16 1"}},
	{group: "windows", name: "DISTINCT aggregate", sql: `SELECT window_start, count(DISTINCT k) AS n
  FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start`,
		want: []string{"0 2", "10 2", "40 1"}, closed: []string{"0 2", "10 2"}},
	{group: "windows", name: "DISTINCT aggregate, SESSION", sql: `SELECT window_start, window_end, count(DISTINCT k) AS n
  FROM SESSION(s, ts, INTERVAL '5 seconds') GROUP BY window_start, window_end`,
		want: []string{"1 9 2", "11 18 2", "41 46 1"}, closed: []string{"1 9 2", "11 18 2"}},
	{group: "windows", name: "HAVING", sql: `SELECT window_start, k, count(*) AS n
  FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start, k HAVING count(*) = 2`,
		want: []string{"0 a 2", "10 a 2"}},
	{group: "windows", name: "GROUPING SETS", sql: `SELECT window_start, k, count(*) AS n
  FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start, ROLLUP (k)`,
		want:   []string{"0 a 2", "0 b 1", "0 NULL 3", "10 a 2", "10 b 1", "10 NULL 3", "40 c 1", "40 NULL 1"},
		closed: []string{"0 a 2", "0 b 1", "0 NULL 3", "10 a 2", "10 b 1", "10 NULL 3"}},
	{group: "windows", name: "windows over windows",
		sql: `SELECT (window(at, INTERVAL '20 seconds')).start AS begins, max(total) AS top
  FROM (SELECT window_time(window(ts, INTERVAL '10 seconds')) AS at, sum(v) AS total
    FROM s GROUP BY window(ts, INTERVAL '10 seconds')) AS x GROUP BY window(at, INTERVAL '20 seconds')`,
		want: []string{"0 9", "40 9"}, closed: []string{"0 9"}},
	{group: "windows", name: "aggregate over the windows of keys", sql: `SELECT window_start, max(n) AS top FROM (
  SELECT window_start, k, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start, k) AS x
  GROUP BY window_start`,
		want: []string{"0 2", "10 2", "40 1"}, closed: []string{"0 2", "10 2"}},
	{group: "windows", name: "aggregate without GROUP BY over windows",
		sql: `SELECT count(*) AS n, max(total) AS top FROM (
  SELECT window_start, sum(v) AS total FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start) AS x`,
		want: []string{"3 9"}},
	{group: "windows", name: "row_number() in a window", sql: `SELECT window_start, k, v FROM (
  SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS n
  FROM TUMBLE(s, ts, INTERVAL '10 seconds')) AS x WHERE n <= 1`,
		want: []string{"0 a 3", "10 b 7", "40 c 9"}, closed: []string{"0 a 3", "10 b 7"}},

	{group: "distinct", name: "SELECT DISTINCT", sql: `SELECT DISTINCT k, v FROM p`,
		want: []string{"a 1", "b 2", "a 3", "b 7", "c 9"}},
	{group: "distinct", name: "SELECT DISTINCT of a table", sql: `SELECT DISTINCT k FROM t`,
		want: []string{"a", "b", "c"}},
	{group: "distinct", name: "SELECT DISTINCT with a time", sql: `SELECT DISTINCT k, ts FROM s WHERE v > 2`,
		want: []string{"a 4", "b 11", "c 41"}},
	{group: "distinct", name: "UNION", sql: `SELECT k FROM s UNION SELECT k FROM r`,
		want: []string{"a", "b", "c"}},
	{group: "distinct", name: "DISTINCT ON", sql: `SELECT DISTINCT ON (k) k, v FROM p`,
		want: []string{"a 1", "b 2", "c 9"}},
	{group: "distinct", name: "DISTINCT ON key and time", sql: `SELECT DISTINCT ON (k, ts) k, ts, v FROM s WHERE v > 2`,
		want: []string{"a 4 3", "b 11 7", "c 41 9"}},
	{group: "distinct", name: "DEDUPLICATE WITHIN WATERMARK", sql: `SELECT k, v FROM s DEDUPLICATE BY k WITHIN WATERMARK`,
		want: []string{"a 1", "b 2", "c 9"}},
	{group: "distinct", name: "newest row of a key", sql: `SELECT DISTINCT ON (k) k, v, ts FROM p ORDER BY k, ts DESC`,
		want: []string{"a 1 13", "b 7 11", "c 9 41"}},
	{group: "distinct", name: "DISTINCT ON, then by key", sql: `SELECT v, count(*) AS n FROM (
  SELECT DISTINCT ON (k) k, v FROM p) AS x GROUP BY v`, want: []string{"1 1", "2 1", "9 1"}},
	{group: "distinct", name: "SELECT DISTINCT, then by key", sql: `SELECT k, count(*) AS n FROM (
  SELECT DISTINCT k, v FROM p) AS x GROUP BY k`, want: []string{"a 2", "b 2", "c 1"}},
	{group: "distinct", name: "newest row of a key, then by value", sql: `SELECT v, count(*) AS n FROM (
  SELECT DISTINCT ON (k) k, v FROM p ORDER BY k, ts DESC) AS x GROUP BY v`,
		want: []string{"1 1", "7 1", "9 1"}},
	{group: "distinct", name: "DEDUPLICATE, then windows", sql: `SELECT window_start, count(*) AS n FROM TUMBLE(
  (SELECT k, v, ts FROM s DEDUPLICATE BY k, v WITHIN INTERVAL '1 minute'), ts, INTERVAL '10 seconds')
  GROUP BY window_start`,
		want: []string{"0 3", "10 1", "40 1"}, closed: []string{"0 3", "10 1"}, stream: true},
	{group: "distinct", name: "SELECT DISTINCT over an aggregate", sql: `SELECT DISTINCT n FROM (
  SELECT k, count(*) AS n FROM p GROUP BY k) AS x`, want: []string{"4", "2", "1"}},

	{group: "order", name: "ORDER BY … LIMIT", sql: `SELECT k, v FROM s ORDER BY v DESC, k LIMIT 2`,
		want: []string{"c 9", "b 7"}},
	{group: "order", name: "ORDER BY … LIMIT over an aggregate",
		sql: `SELECT k, count(*) AS n FROM p GROUP BY k ORDER BY n DESC LIMIT 2`, want: []string{"a 4", "b 2"}},
	{group: "order", name: "row_number() by key", sql: `SELECT k, v, ts FROM (
  SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM p) AS x WHERE n <= 1`,
		want: []string{"a 1 13", "b 7 11", "c 9 41"}},
	{group: "order", name: "OVER", sql: `SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts) AS total FROM s`,
		want:   []string{"a 1 1", "a 3 4", "a 1 5", "a 1 6", "b 2 2", "b 7 9", "c 9 9"},
		closed: []string{"a 1 1", "a 3 4", "a 1 5", "a 1 6", "b 2 2", "b 7 9"}},

	{group: "sets and subqueries", name: "EXCEPT", sql: `SELECT k FROM p EXCEPT SELECT k FROM u`,
		want: []string{"c"}},
	{group: "sets and subqueries", name: "INTERSECT", sql: `SELECT k FROM p INTERSECT SELECT k FROM u`,
		want: []string{"a", "b"}},
	{group: "sets and subqueries", name: "INTERSECT of streams", sql: `SELECT k FROM s INTERSECT SELECT k FROM r`,
		want: []string{"a", "b", "c"}},
	{group: "sets and subqueries", name: "EXCEPT ALL", sql: `SELECT k FROM p EXCEPT ALL SELECT k FROM t`,
		want: []string{"a", "a"}},
	{group: "sets and subqueries", name: "IN (subquery)", sql: `SELECT k, v FROM s WHERE k IN (SELECT k FROM u)`,
		want: []string{"a 1", "b 2", "a 3", "a 1", "b 7", "a 1"}},
	{group: "sets and subqueries", name: "scalar subquery", sql: `SELECT k, v FROM s WHERE v > (SELECT count(*) FROM u)`,
		want: []string{"a 3", "b 7", "c 9"}},
	{group: "sets and subqueries", name: "WITH RECURSIVE", sql: `WITH RECURSIVE x (n) AS (SELECT v FROM t WHERE v > 7
  UNION SELECT n - 1 FROM x WHERE n > 7) SELECT n FROM x`, want: []string{"9", "8", "7"}},
}

package replace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func sortStrings(s []string) { slices.Sort(s) }

const tables = `
CREATE TABLE t (id int PRIMARY KEY, k text, v int, x numeric);
CREATE TABLE u (k text PRIMARY KEY, w int);
CREATE TABLE e (k text, v int, ts timestamptz) APPEND ONLY;
`

// definitions are queries of which any may replace any.
var definitions = []string{
	"SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k",
	"SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k HAVING count(*) > 2",
	"SELECT k, count(*) * 10 AS n, sum(v) AS s FROM t GROUP BY k",
	"SELECT k || '!' AS k, s AS s, n AS n FROM (SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k) AS q",
	"SELECT k, count(*) AS n, sum(v) AS s, sum(v) / count(*) AS mean FROM t GROUP BY k",
	"SELECT count(*) AS n, sum(v) AS s FROM t",
	"SELECT n, count(*) AS groups FROM (SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k) AS q GROUP BY n",
	"SELECT id, k, v FROM t WHERE v > 3",
	"SELECT id, k, v + 1 AS v FROM t WHERE v > 4",
	"SELECT DISTINCT k FROM t",
	"SELECT upper(k) AS k FROM (SELECT DISTINCT k FROM t) AS q",
	"SELECT k, v, id FROM t ORDER BY v DESC, id LIMIT 3",
	"SELECT k, -v AS v FROM (SELECT k, v, id FROM t ORDER BY v DESC, id LIMIT 3) AS q",
	"SELECT k FROM t EXCEPT SELECT k FROM u",
	"SELECT k || '?' AS k FROM (SELECT k FROM t EXCEPT SELECT k FROM u) AS q",
	"SELECT k, count(DISTINCT v) AS d FROM t GROUP BY k",
	"SELECT k, count(DISTINCT v) AS d FROM t GROUP BY k HAVING count(DISTINCT v) > 1",
	"SELECT k, v FROM t UNION ALL SELECT k, w FROM u",
	"SELECT k, sum(x) AS x FROM t GROUP BY k",
	"SELECT k, round(sum(x), 1) AS x FROM t GROUP BY k",
	"SELECT k, sum(100 / v) AS q FROM t WHERE v <> 0 GROUP BY k",
	"SELECT k, count(*) AS n FROM e GROUP BY k",
	"SELECT k, n FROM (SELECT k, count(*) AS n FROM e GROUP BY k) AS q WHERE n > 1",
	"SELECT DISTINCT ON (k) k, v FROM e ORDER BY k, v",
	"SELECT k, v * 2 AS v FROM (SELECT DISTINCT ON (k) k, v FROM e ORDER BY k, v) AS q",
}

// changes makes some rows come and go.
func changes(rng *rand.Rand, next *int) string {
	var b strings.Builder
	key := func() string { return string(rune('a' + rng.IntN(5))) }
	for range 1 + rng.IntN(6) {
		switch rng.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "DELETE FROM t WHERE id = %d;\n", rng.IntN(*next+1))
		case 1:
			fmt.Fprintf(&b, "UPDATE t SET v = %d, k = '%s' WHERE id %% 5 = %d;\n", rng.IntN(9), key(), rng.IntN(5))
		case 2:
			fmt.Fprintf(&b, "INSERT INTO u VALUES ('%s', %d) ON CONFLICT (k) DO UPDATE SET w = excluded.w;\n", key(),
				rng.IntN(9))
		case 3:
			fmt.Fprintf(&b, "DELETE FROM u WHERE k = '%s';\n", key())
		case 4:
			fmt.Fprintf(&b, "INSERT INTO e VALUES ('%s', %d, '2026-01-01 00:00:%02d+00');\n", key(), rng.IntN(9), rng.IntN(60))
		default:
			*next++
			fmt.Fprintf(&b, "INSERT INTO t VALUES (%d, '%s', %d, %d.%d);\n", *next, key(), rng.IntN(9), rng.IntN(99),
				rng.IntN(99))
		}
	}
	return b.String()
}

// TestAnyReplacesAny replaces views by others again and again, with rows between, and
// starts the engine anew now and then, in order or after a crash.
func TestAnyReplacesAny(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 7))
			e := newEngine(t)
			next := 0
			e.run(tables + changes(rng, &next))
			now := definitions[0]
			e.run("CREATE MATERIALIZED VIEW v AS " + now)
			for range 30 {
				e.run(changes(rng, &next))
				now = definitions[rng.IntN(len(definitions))]
				if rng.IntN(2) == 0 { // a neighbour: more is kept
					i := slices.Index(definitions, now)
					now = definitions[max(0, i-1)]
				}
				e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS " + now)
				switch rng.IntN(6) {
				case 0:
					e.restart()
				case 1:
					e = e.crash(rng.IntN(2)*50, seed)
				case 2:
					e.run(changes(rng, &next))
				case 3: // one that is not carried out yet is replaced
					now = definitions[rng.IntN(len(definitions))]
					e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS " + now)
				}
				e.same("v", now)
				e.run(changes(rng, &next))
				e.same("v", now)
			}
		})
	}
}

// TestKept tells of pairs of definitions what is kept.
func TestKept(t *testing.T) {
	const anew = "is built anew from table t"
	const kept = "goes on with the state of 2 operators; nothing is read again"
	const all = "goes on with all its state"
	cases := []struct{ old, next, want string }{
		{definitions[0], definitions[0], all},
		{definitions[0], definitions[1], kept},
		{definitions[1], definitions[0], kept},
		{definitions[0], definitions[3], kept},
		{definitions[0], definitions[4], kept},
		{definitions[0], definitions[6], anew}, // which needs no sum
		{definitions[6], "SELECT k, count(*) AS n FROM t GROUP BY k", kept},
		{definitions[0], definitions[5], anew},
		{definitions[7], definitions[8], anew},
		{definitions[9], definitions[10], kept},
		{definitions[11], definitions[12], "goes on with the state of 3 operators; nothing is read again"},
		{definitions[13], definitions[14], "goes on with the state of 3 operators; nothing is read again"},
		{definitions[15], definitions[16], kept},
		{definitions[18], definitions[19], kept},
		{definitions[21], definitions[22], kept},
		{definitions[23], definitions[24], kept},
		// The same text of another type is another thing.
		{"SELECT k, sum(v) AS s FROM t GROUP BY k", "SELECT k, sum(v::bigint) AS s FROM t GROUP BY k", anew},
		{"SELECT k, sum(v) AS s FROM t GROUP BY k", "SELECT k, sum(v) AS s FROM t WHERE v > 1 GROUP BY k", anew},
		{"SELECT k, sum(v) AS s FROM t WHERE v > 1 GROUP BY k", "SELECT k, sum(v) AS s FROM t WHERE v > 2 GROUP BY k", anew},
		{"SELECT k AS a, sum(v) AS s FROM t GROUP BY k", "SELECT k AS b, sum(v) AS s FROM t GROUP BY k", all},
	}
	e := newEngine(t)
	e.run(tables + "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2.5), (3, 'a', 3, 3);")
	for _, c := range cases {
		e.run("CREATE MATERIALIZED VIEW v AS " + c.old)
		e.run("FLUSH")
		if out := e.run("CREATE OR REPLACE MATERIALIZED VIEW v AS " + c.next); !strings.Contains(out, c.want) {
			t.Errorf("%s\nreplaced by\n%s\ntells\n%swant %s", c.old, c.next, out, c.want)
		}
		e.same("v", c.next)
		e.run("DROP MATERIALIZED VIEW v")
	}
}

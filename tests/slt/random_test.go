package slt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestRandom runs random statements over random rows here and on PostgreSQL and
// compares. STREAMSQL_TEST_SEED picks other ones.
func TestRandom(t *testing.T) {
	url := os.Getenv("STREAMSQL_TEST_PG")
	if url == "" {
		t.Skip("STREAMSQL_TEST_PG is not set")
	}
	seed, n := uint64(1), 400
	if s := os.Getenv("STREAMSQL_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed, &n); err != nil {
			if _, err := fmt.Sscan(s, &seed); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	here, there := connect(t, serve(t)), connect(t, url)
	exec := func(c *pgconn.PgConn, sql string) {
		t.Helper()
		if _, err := c.Exec(context.Background(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	exec(there, "DROP SCHEMA IF EXISTS slt_random CASCADE; CREATE SCHEMA slt_random; SET search_path = slt_random; SET timezone = 'UTC'")
	defer exec(there, "DROP SCHEMA slt_random CASCADE")
	for _, table := range []string{"r", "s", "u"} {
		sql := g.table(table, 5+g.IntN(40))
		exec(here, sql)
		exec(there, sql)
	}
	failed, errs, unsupported := 0, 0, 0
	for range n {
		b := &block{kind: "sql", sql: g.query(3)}
		want := result(t.Context(), there, b)
		got := result(t.Context(), here, b)
		switch {
		case strings.HasPrefix(got, "ERROR 0A000"):
			unsupported++
			continue
		case strings.HasPrefix(got, "ERROR") && strings.HasPrefix(want, "ERROR"):
			errs++
			continue
		case got == want:
			continue
		}
		t.Errorf("%s;\ngot:\n%s\nwant:\n%s", b.sql, got, want)
		if failed++; failed > 5 || here.IsClosed() {
			break
		}
	}
	t.Logf("%d statements, %d with errors, %d not supported", n, errs, unsupported)
}

// generator makes statements that are right for sure, but for runtime errors.
type generator struct{ *rand.Rand }

func (g *generator) pick(s ...string) string { return s[g.IntN(len(s))] }

// table fills a table with small values, so that they meet.
func (g *generator) table(name string, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (id int PRIMARY KEY, a int, b bigint, c numeric, t text, d date);\nINSERT INTO %s VALUES ", name, name)
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		null := func(s string) string {
			if g.IntN(6) == 0 {
				return "NULL"
			}
			return s
		}
		fmt.Fprintf(&b, "(%d, %s, %s, %s, %s, %s)", i+1, null(fmt.Sprint(g.IntN(6)-1)), null(fmt.Sprint(g.IntN(9)*3)),
			null(fmt.Sprintf("%d.%02d", g.IntN(5), g.IntN(4)*25)), null(g.pick("'x'", "'y'", "'xy'", "''", "'Z'")),
			null(fmt.Sprintf("'2024-01-%02d'", 1+g.IntN(20))))
	}
	return b.String()
}

// num, text and cond are expressions over the relation q.
func (g *generator) num(q string, depth int) string {
	if depth > 0 {
		switch g.IntN(9) {
		case 0:
			return fmt.Sprintf("(%s + %s)", g.num(q, depth-1), g.num(q, depth-1))
		case 1:
			return fmt.Sprintf("coalesce(%s, %s)", g.num(q, depth-1), g.num(q, depth-1))
		case 2:
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.cond(q, depth-1), g.num(q, depth-1), g.num(q, depth-1))
		case 3:
			return fmt.Sprintf("(SELECT %s FROM %s z WHERE %s)", g.agg("z"), g.relation(), g.link("z", q))
		case 4:
			return fmt.Sprintf("nullif(%s, %s)", g.num(q, depth-1), g.num(q, 0))
		}
	}
	return g.pick(q+".a", q+".b", q+".id", "2", q+".a", "length("+q+".t)")
}

func (g *generator) relation() string { return g.pick("r", "s", "u") }

func (g *generator) link(x, y string) string {
	return g.pick(x+".a = "+y+".a", x+".b = "+y+".b", x+".a < "+y+".id", x+".t = "+y+".t", x+".id = "+y+".a", "true",
		x+".a IS NOT DISTINCT FROM "+y+".a", x+".a = "+y+".a AND "+x+".t <> "+y+".t", x+".c = "+y+".a")
}

func (g *generator) cond(q string, depth int) string {
	if depth > 0 {
		switch g.IntN(10) {
		case 0:
			return fmt.Sprintf("(%s AND %s)", g.cond(q, depth-1), g.cond(q, depth-1))
		case 1:
			return fmt.Sprintf("(%s OR %s)", g.cond(q, depth-1), g.cond(q, depth-1))
		case 2:
			return fmt.Sprintf("NOT %s", g.cond(q, depth-1))
		case 3:
			return fmt.Sprintf("%s (SELECT 1 FROM %s z WHERE %s)", g.pick("EXISTS", "NOT EXISTS"), g.relation(), g.link("z", q))
		case 4:
			return fmt.Sprintf("%s %s (SELECT z.%s FROM %s z WHERE %s)", g.pick(q+".a", q+".b"), g.pick("IN", "NOT IN"),
				g.pick("a", "b"), g.relation(), g.link("z", q))
		case 5:
			return fmt.Sprintf("%s %s %s (SELECT z.%s FROM %s z%s)", g.pick(q+".a", q+".b"), g.pick("<", "=", ">=", "<>"),
				g.pick("ANY", "ALL"), g.pick("a", "b"), g.relation(), g.pick("", " WHERE z.a > 1", " WHERE "+g.link("z", q)))
		}
	}
	return g.pick(q+".a > 1", q+".b <= 9", q+".t LIKE 'x%'", q+".c BETWEEN 1 AND 3", q+".a IS NULL", q+".t IN ('x', 'y')",
		q+".d > '2024-01-10'", q+".a <> 2", "("+q+".a, "+q+".t) = (1, 'x')")
}

func (g *generator) agg(q string) string {
	return g.pick("count(*)", "count("+q+".a)", "sum("+q+".a)", "max("+q+".b)", "min("+q+".id)", "count(DISTINCT "+q+".a)",
		"sum("+q+".a) FILTER (WHERE "+q+".b > 6)", "sum(DISTINCT "+q+".b)")
}

func (g *generator) window(q string) string {
	f := g.pick("sum("+q+".a)", "count(*)", "count("+q+".c)", "min("+q+".a)", "max("+q+".c)", "avg("+q+".b)",
		"first_value("+q+".id)", "last_value("+q+".id)", "nth_value("+q+".id, 2)", "array_agg("+q+".id)", "sum("+q+".c) FILTER (WHERE "+q+".a > 0)")
	part := g.pick("", "", "PARTITION BY "+q+".a ", "PARTITION BY "+q+".t, "+q+".a ")
	off := func() string { return fmt.Sprint(g.IntN(4)) }
	lo := func() string { return g.pick("UNBOUNDED PRECEDING", off()+" PRECEDING", "CURRENT ROW") }
	hi := func() string { return g.pick("UNBOUNDED FOLLOWING", off()+" FOLLOWING", "CURRENT ROW") }
	between := func() string {
		switch g.IntN(4) {
		case 0:
			return off() + " FOLLOWING AND " + off() + " FOLLOWING"
		case 1:
			return off() + " PRECEDING AND " + off() + " PRECEDING"
		}
		return lo() + " AND " + hi()
	}
	exclude := g.pick("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES")
	dir := g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	// What depends on the order of peers gets a whole order.
	total := strings.Contains(f, "value") || strings.Contains(f, "array_agg")
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf("%s OVER (%sORDER BY %s.id%s ROWS BETWEEN %s%s)", f, part, q, dir, between(), exclude)
	case 1:
		if !total {
			return fmt.Sprintf("%s OVER (%sORDER BY %s%s RANGE BETWEEN %s%s)", f, part, g.pick(q+".a", q+".b", q+".c"), dir, between(), exclude)
		}
	case 2:
		if !total {
			return fmt.Sprintf("%s OVER (%sORDER BY %s%s GROUPS BETWEEN %s%s)", f, part, g.pick(q+".a", q+".t COLLATE \"C\""), dir, between(), exclude)
		}
	case 3:
		rank := g.pick("rank()", "dense_rank()", "percent_rank()", "cume_dist()")
		return fmt.Sprintf("%s OVER (%sORDER BY %s%s)", rank, part, g.pick(q+".a", q+".b", q+".d"), dir)
	case 4:
		shift := g.pick("lag("+q+".a)", "lead("+q+".b, 2)", "lag("+q+".id, "+q+".a, -1)", "row_number()", "ntile(3)", "lead("+q+".t, 1, 'none')")
		return fmt.Sprintf("%s OVER (%sORDER BY %s.id%s)", shift, part, q, dir)
	}
	return fmt.Sprintf("%s OVER (%sORDER BY %s.id)", f, part, q)
}

// query makes a SELECT of columns without a fixed number.
func (g *generator) query(depth int) string {
	where := func(q string) string {
		if g.IntN(2) == 0 {
			return ""
		}
		return " WHERE " + g.cond(q, depth)
	}
	switch g.IntN(8) {
	case 0: // join
		kind := g.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
		on := g.link("x", "y")
		if kind == "FULL JOIN" {
			on = g.pick("x.a = y.a", "x.b = y.b AND x.t = y.t", "x.id = y.a")
		}
		return fmt.Sprintf("SELECT x.id, y.id, %s FROM %s x %s %s y ON %s%s", g.num("x", depth), g.relation(), kind,
			g.relation(), on, where(g.pick("x", "y")))
	case 1: // three
		return fmt.Sprintf("SELECT x.id, y.id, z.id FROM %s x %s %s y ON %s %s %s z ON %s%s", g.relation(), g.pick("JOIN", "LEFT JOIN"),
			g.relation(), g.link("x", "y"), g.pick("JOIN", "LEFT JOIN"), g.relation(), g.link(g.pick("x", "y"), "z"), where("x"))
	case 2: // groups
		key := g.pick("x.a", "x.t", "x.a, x.t", "x.b % 2", "x.d")
		group := g.pick(key, key, "ROLLUP ("+key+")", "CUBE ("+key+")", "GROUPING SETS (("+key+"), ())")
		return fmt.Sprintf("SELECT %s, %s, %s FROM %s x%s GROUP BY %s%s", key, g.agg("x"), g.agg("x"), g.relation(), where("x"), group,
			g.pick("", " HAVING count(*) > 2", " HAVING sum(x.a) IS NOT NULL"))
	case 3: // windows
		return fmt.Sprintf("SELECT x.id, %s, %s FROM %s x%s", g.window("x"), g.window("x"), g.relation(), where("x"))
	case 4: // set operations
		half := func() string {
			return fmt.Sprintf("(SELECT x.a, %s FROM %s x%s)", g.pick("x.t", "x.t", "'x'"), g.relation(), where("x"))
		}
		op := func() string {
			return g.pick(" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ")
		}
		return half() + op() + half() + op() + half()
	case 5: // order and limit over a whole order
		return fmt.Sprintf("SELECT * FROM (SELECT x.id, %s AS n FROM %s x%s ORDER BY %s%s, x.id LIMIT %d OFFSET %d) q", g.num("x", depth),
			g.relation(), where("x"), g.pick("x.a", "x.b", "x.c", "x.d", "x.a + x.b"), g.pick("", " DESC", " NULLS FIRST"), g.IntN(12), g.IntN(4))
	case 6: // lateral
		return fmt.Sprintf("SELECT x.id, l.* FROM %s x %s LATERAL (SELECT %s AS n, %s AS m FROM %s y WHERE %s) l ON %s", g.relation(),
			g.pick("JOIN", "LEFT JOIN"), g.agg("y"), g.agg("y"), g.relation(), g.link("y", "x"), g.pick("true", "l.n > 1", "l.n = x.a"))
	}
	return fmt.Sprintf("SELECT x.id, %s, %s FROM %s x%s", g.num("x", depth), g.cond("x", depth), g.relation(), where("x"))
}

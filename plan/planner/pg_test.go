package planner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// TestAgainstPostgres prepares each line of testdata/pg/queries.sql here and on a
// PostgreSQL, and compares what the client is told: columns and parameters, or
// the error's code and position. It needs STREAMSQL_TEST_PG, a connection
// string; testdata/pg/expected.txt holds the answers for where there is none.
func TestAgainstPostgres(t *testing.T) {
	lines := queryLines(t)
	want := readExpected(t, len(lines))
	if url := os.Getenv("STREAMSQL_TEST_PG"); url != "" {
		got := askPostgres(t, url, lines)
		if rewriting() {
			text := strings.Join(got, "\n") + "\n"
			if err := os.WriteFile("testdata/pg/expected.txt", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			want = got
		}
		for i := range lines {
			if want[i] != got[i] {
				t.Errorf("expected.txt is not what PostgreSQL says\n%s\n want %s\n got  %s", lines[i], want[i], got[i])
			}
		}
	}
	c := newTestCatalog(t)
	schema, err := os.ReadFile("testdata/pg/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.define(string(schema)); err != nil {
		t.Fatal(err)
	}
	for i, q := range lines {
		got := describe(c, q)
		if w := want[i]; got != w && !agreed(q, w, got) {
			t.Errorf("%s\n want %s\n got  %s", q, w, got)
		}
	}
}

// rewriting tells whether -rewrite was given, the flag of package datadriven.
func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

func queryLines(t *testing.T) []string {
	text, err := os.ReadFile("testdata/pg/queries.sql")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func readExpected(t *testing.T, n int) []string {
	text, err := os.ReadFile("testdata/pg/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != n && !rewriting() {
		t.Fatalf("expected.txt has %d lines, queries.sql %d", len(lines), n)
	}
	return lines
}

func askPostgres(t *testing.T, url string, lines []string) []string {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	schema, err := os.ReadFile("testdata/pg/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	setup := strings.ReplaceAll(string(schema), "CREATE TABLE", "CREATE TEMP TABLE")
	if _, err := conn.Exec(ctx, setup); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(lines))
	for i, q := range lines {
		s, err := conn.PgConn().Prepare(ctx, "", strings.ReplaceAll(q, "public.users", "pg_temp.users"), nil)
		var pe *pgconn.PgError
		switch {
		case errors.As(err, &pe):
			out[i] = fmt.Sprintf("error %s at %d: %s", pe.Code, pe.Position, pe.Message)
		case err != nil:
			t.Fatal(err)
		default:
			var cols []string
			for _, f := range s.Fields {
				oid := f.DataTypeOID
				if oid >= 16384 { // the row type of a table
					oid = types.StructOf().OID()
				}
				cols = append(cols, fmt.Sprintf("%s %d/%d", f.Name, oid, f.TypeModifier))
			}
			out[i] = fmt.Sprintf("(%s) params %v", strings.Join(cols, ", "), s.ParamOIDs)
		}
	}
	return out
}

// describe says the same of our plan.
func describe(c *testCatalog, q string) string {
	cols, params, err := prepare(c, q)
	if err != nil {
		e := sqlerr.From(err)
		return fmt.Sprintf("error %s at %d: %s", e.Code, e.Pos, e.Message)
	}
	var names []string
	for _, k := range cols {
		names = append(names, fmt.Sprintf("%s %d/%d", k.Name, k.Type.OID(), k.Type.TypMod()))
	}
	oids := make([]uint32, len(params))
	for i, p := range params {
		oids[i] = p.OID()
	}
	return fmt.Sprintf("(%s) params %v", strings.Join(names, ", "), oids)
}

func prepare(c *testCatalog, q string) ([]Column, []types.Type, error) {
	env := &Env{Resolver: c}
	stmt, err := sql.ParseOne(q)
	if err != nil {
		return nil, nil, err
	}
	if s, ok := stmt.(*sql.QueryStmt); ok {
		p, err := Select(env, s.Query)
		if err != nil {
			return nil, nil, err
		}
		return p.Columns, p.Params, nil
	}
	ch, err := DML(env, stmt)
	if err != nil {
		return nil, nil, err
	}
	return ch.Columns, ch.Params, nil
}

// differences are the queries whose answer is meant to differ, each with the
// reason.
var differences = map[string]string{
	"SELECT date '2020-01-01', timestamp '2020-01-01 00:00', interval '1 day', interval '1' hour": "an interval's fields are not kept in its type",
	"SELECT date 'x'": "the place of the type, not of the text",
	"SELECT DISTINCT name, id FROM users ORDER BY id + 0":                                                             "the place of the operator, not of the leftmost word",
	"SELECT * FROM users u RIGHT JOIN LATERAL (SELECT amount FROM orders o WHERE o.user_id = u.id LIMIT 1) s ON true": "the place of the join",
	"SELECT count(*) FROM orders GROUP BY unnest(tags)":                                                               "not supported: rows are made after grouping",
	"SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM users":                           "the place of the frame",
	"SELECT sum(id) OVER (ORDER BY name RANGE 1 PRECEDING) FROM users":                                                "the place of the frame",
	"SELECT sum(id) OVER (ORDER BY id, name RANGE 1 PRECEDING) FROM users":                                            "the place of the frame",
	"SELECT coalesce($1, 5), $2 IS NULL":                                                                              "a parameter that nothing types is text",
	"SELECT $2":                                                                                                       "a parameter that nothing types is text",
	"INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT (name) DO NOTHING":                                      "found when the statement is prepared, not when it runs",
	"INSERT INTO users (id, name) VALUES (1, 'a') ON CONFLICT DO UPDATE SET name = 'x'":                               "the place of DO",
	"SELECT pos / 2, pos + id, price * 2, weight + price, pos * 1.5 FROM items, users":                                "real with integer gives real",
}

// agreed tells whether a difference is one that is wanted: a place where
// PostgreSQL names none, or one that is listed.
func agreed(q, want, got string) bool {
	if code, _, ok := strings.Cut(want, " at 0: "); ok && strings.HasPrefix(got, code+" at ") {
		return true
	}
	return differences[q] != ""
}

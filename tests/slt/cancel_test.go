package slt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// endless are statements that only a cancellation ends, each in another operator.
var endless = map[string]string{
	"recursion":           "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r",
	"recursion with rows": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT n FROM r",
	"series":              "SELECT count(*) FROM generate_series(1, 1000000000000)",
	"project set":         "SELECT count(*) FROM (SELECT generate_series(1, 1000000000000)) s",
	"cross join":          "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100000) c",
	"lateral":             "SELECT count(*) FROM generate_series(1, 10000000) a, LATERAL (SELECT a + b FROM generate_series(1, 10) b) s",
	"any":                 "SELECT count(*) FROM generate_series(1, 1000000) a WHERE (a > ALL (SELECT b FROM generate_series(1, 1000000) b)) IS NULL",
	"window":              "SELECT max(s) FROM (SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS s FROM generate_series(1, 1000000) a) q",
	"loop join":           "SELECT count(*) FROM generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b ON a + b < 0",
}

func TestCancel(t *testing.T) {
	url := serve(t)
	for name, sql := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, url)
			if _, err := c.Exec(t.Context(), "SET statement_timeout = '300ms'").ReadAll(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			r := c.Exec(ctx, sql)
			for r.NextResult() {
				for r.ResultReader().NextRow() {
				}
			}
			var e *pgconn.PgError
			if err := r.Close(); !errors.As(err, &e) || e.Code != "57014" {
				t.Fatalf("ended with %v", err)
			}
			if _, err := c.Exec(ctx, "SELECT 1").ReadAll(); err != nil {
				t.Fatalf("after the cancellation: %v", err)
			}
		})
	}
}

// TestGone checks that a statement ends when its client has gone away: the
// server could not be stopped else.
func TestGone(t *testing.T) {
	url := serve(t)
	for _, sql := range []string{endless["recursion with rows"], endless["series"]} {
		c := connect(t, url)
		time.AfterFunc(400*time.Millisecond, func() { _ = c.Conn().Close() })
		r := c.Exec(t.Context(), sql)
		for r.NextResult() {
			for r.ResultReader().NextRow() {
			}
		}
		if err := r.Close(); err == nil {
			t.Fatal("the statement came to an end")
		}
	}
}

package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPipelineIsOneTransaction sends statements without waiting for their answers: an
// error takes back what stands before it since the last Sync, and nothing behind it up
// to the next one runs.
func TestPipelineIsOneTransaction(t *testing.T) {
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(`CREATE TABLE piped (n int); CREATE MATERIALIZED VIEW piped_count AS SELECT count(*) AS n FROM piped`)
	ctx := testContext(t)
	conn := c.PgConn()

	const broken = "SELECT 1/0"
	inserts := func(p *pgconn.Pipeline, numbers ...string) {
		for _, n := range numbers {
			p.SendQueryParams("INSERT INTO piped VALUES ($1)", [][]byte{[]byte(n)}, nil, nil, nil)
		}
	}
	count := func(want int64) {
		t.Helper()
		c.exec("FLUSH")
		for _, from := range []string{"(SELECT count(*) AS n FROM piped)", "piped_count"} {
			var n int64
			if err := c.QueryRow(ctx, "SELECT n FROM "+from+" AS t").Scan(&n); err != nil || n != want {
				t.Errorf("%s: %d rows, %v; there are %d", from, n, err, want)
			}
		}
	}

	p := conn.StartPipeline(ctx)
	inserts(p, "1", "2", "3")
	p.SendQueryParams(broken, nil, nil, nil, nil)
	inserts(p, "4")
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, p); got != "ok ok ok 22012 sync" {
		t.Errorf("outside a block: %s", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if status := conn.TxStatus(); status != 'I' {
		t.Errorf("the session is in state %c", status)
	}
	count(0)

	// Each Sync ends a transaction of its own.
	p = conn.StartPipeline(ctx)
	inserts(p, "1")
	p.SendPipelineSync()
	p.SendQueryParams(broken, nil, nil, nil, nil)
	inserts(p, "2")
	p.SendPipelineSync()
	inserts(p, "3")
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, p); got != "ok sync 22012 sync ok sync" {
		t.Errorf("three transactions: %s", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	count(2)

	// In a block the failure stays until it is rolled back.
	p = conn.StartPipeline(ctx)
	p.SendQueryParams("BEGIN", nil, nil, nil, nil)
	inserts(p, "5")
	p.SendQueryParams(broken, nil, nil, nil, nil)
	inserts(p, "6")
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, p); got != "ok ok 22012 sync" {
		t.Errorf("in a block: %s", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if status := conn.TxStatus(); status != 'E' {
		t.Errorf("in a failed block the session is in state %c", status)
	}
	var pe *pgconn.PgError
	if _, err := c.Exec(ctx, "SELECT 1"); !errors.As(err, &pe) || pe.Code != "25P02" {
		t.Errorf("in a failed block: %v", err)
	}
	c.exec("ROLLBACK")
	count(2)
}

// drain reads a pipeline's answers up to its last Sync and says what they are.
func drain(t *testing.T, p *pgconn.Pipeline) string {
	t.Helper()
	var got []string
	for {
		var pe *pgconn.PgError
		r, err := p.GetResults()
		switch {
		case errors.As(err, &pe):
			got = append(got, pe.Code)
			continue
		case err != nil:
			t.Fatal(err)
		}
		switch r := r.(type) {
		case nil:
			return strings.Join(got, " ")
		case *pgconn.PipelineSync:
			got = append(got, "sync")
		case *pgconn.ResultReader:
			if _, err := r.Close(); errors.As(err, &pe) {
				got = append(got, pe.Code)
			} else if err != nil {
				t.Fatal(err)
			} else {
				got = append(got, "ok")
			}
		}
	}
}

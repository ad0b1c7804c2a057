package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestChurn: clients that create, alter, pause, restart and drop their queries at
// once, while others flush, each see their own results and nobody waits for ever.
func TestChurn(t *testing.T) {
	s := serve(t, t.TempDir())
	stop := make(chan struct{})
	var wg, others sync.WaitGroup
	flusher := s.connect()
	others.Add(1)
	go func() {
		defer others.Done()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := flusher.try("FLUSH"); err != nil {
				t.Errorf("FLUSH beside the others: %v", err)
				return
			}
		}
	}()
	for client := range 4 {
		c := s.connect()
		seed := rand.Uint64()
		t.Logf("seed of client %d: %d", client, seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		wg.Add(1)
		go func() {
			defer wg.Done()
			for begin := time.Now(); time.Since(begin) < 3*time.Second && !t.Failed(); {
				if err := churn(c, rng, client); err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	close(stop)
	others.Wait()
	if left := s.connect().rows(statesSQL); len(left) > 0 {
		t.Errorf("queries that are left:\n%s", strings.Join(left, "\n"))
	}
}

// churn is one life of a table and what reads it.
func churn(c *db, rng *rand.Rand, client int) error {
	var err error
	do := func(sql string, args ...any) {
		sql = strings.ReplaceAll(fmt.Sprintf(sql, args...), "@", fmt.Sprint(client))
		if err != nil {
			return
		}
		if err = c.try(sql); err != nil {
			err = fmt.Errorf("%s: %w", sql, err)
		}
	}
	do("CREATE TABLE t@ (id int PRIMARY KEY, k int, v int)")
	do("CREATE MATERIALIZED VIEW v@ AS SELECT k, count(*) AS n, sum(v) AS total FROM t@ GROUP BY k")
	do("CREATE MATERIALIZED VIEW w@ AS SELECT count(*) AS n, sum(total) AS total FROM v@")
	do("CREATE SINK s@ WITH (connector = 'blackhole') AS SELECT * FROM v@")
	rows, total := 0, 0
	for range 1 + rng.IntN(6) {
		n := 1 + rng.IntN(50)
		do("INSERT INTO t@ SELECT i, i %% 5, i FROM generate_series(%d, %d) AS g(i)", rows, rows+n-1)
		for i := rows; i < rows+n; i++ {
			total += i
		}
		rows += n
		object := []string{"MATERIALIZED VIEW v@", "MATERIALIZED VIEW w@", "SINK s@"}[rng.IntN(3)]
		name := object[strings.LastIndexByte(object, ' ')+1:]
		switch rng.IntN(5) {
		case 0:
			do("ALTER %s SET (trigger = '%s')", object, triggers[rng.IntN(len(triggers))].text)
		case 1:
			do("ALTER %s SET (idle_timeout = '%d s')", object, 1+rng.IntN(9)) // restarts it
		case 2:
			do("PAUSE %s", name)
			do("RESUME %s", name)
		case 3:
			do("RESTART %s", name)
		}
		do("FLUSH")
		if err != nil {
			return err
		}
		got, e := c.tryRows(strings.ReplaceAll("SELECT n, total FROM w@", "@", fmt.Sprint(client)))
		if want := fmt.Sprintf("%d|%d", min(rows, 5), total); e != nil || len(got) != 1 || got[0] != want {
			return fmt.Errorf("after %d rows w is %q, not %s: %w", rows, got, want, e)
		}
	}
	do("DROP SINK s@")
	do("DROP TABLE t@ CASCADE")
	var pe *pgconn.PgError
	if err == nil {
		if e := c.try(strings.ReplaceAll("SELECT * FROM w@", "@", fmt.Sprint(client))); !errors.As(e, &pe) || pe.Code != "42P01" {
			err = fmt.Errorf("a dropped view: %w", e)
		}
	}
	return err
}

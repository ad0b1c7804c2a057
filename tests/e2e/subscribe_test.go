package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// follower folds what SUBSCRIBE sends of a relation.
type follower struct {
	mu    sync.Mutex
	rows  map[string]int
	wrong string // the first change that does not fit
	epoch int64
	ended chan error
}

// follow begins a subscription on a connection of its own.
func follow(s *server, relation string) *follower {
	f := &follower{rows: map[string]int{}, ended: make(chan error, 1)}
	c := s.connect()
	go func() {
		rows, err := c.Query(context.Background(), "SUBSCRIBE TO "+relation+" WITH (snapshot = true)")
		if err != nil {
			f.ended <- err
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := rows.Values()
			if err != nil {
				f.ended <- err
				return
			}
			f.take(v)
		}
		f.ended <- rows.Err()
	}()
	return f
}

// take folds one row: epoch, op, columns.
func (f *follower) take(v []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, n := fmt.Sprint(v[2:]...), 1
	if v[1] == "delete" {
		n = -1
	}
	if f.rows[row] += n; f.rows[row] == 0 {
		delete(f.rows, row)
	}
	epoch, ok := v[0].(int64)
	switch {
	case f.wrong != "":
	case !ok || epoch < f.epoch:
		f.wrong = fmt.Sprintf("epoch %v after %d", v[0], f.epoch)
	case f.rows[row] < 0:
		f.wrong = fmt.Sprintf("%v deletes what is not there", v)
	}
	f.epoch = epoch
}

// is tells whether the fold is exactly these rows, each once.
func (f *follower) is(want []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := slices.Sorted(maps.Keys(f.rows))
	for _, n := range f.rows {
		if n != 1 {
			return false
		}
	}
	return slices.Equal(have, want)
}

// TestSubscribe: the changes of a view that a client is sent fold to the view, for
// clients that come at any time and again after a crash.
func TestSubscribe(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(`CREATE TABLE t (id int PRIMARY KEY, k int, v int);
		CREATE MATERIALIZED VIEW sums AS SELECT k, count(*) AS n, sum(v) AS v FROM t GROUP BY k;
		CREATE MATERIALIZED VIEW all_of_it AS SELECT id, k, v FROM t WHERE v >= 0;
		CREATE MATERIALIZED VIEW eager WITH (trigger = 'real_time', checkpoint_interval = '50 ms') AS SELECT k, max(v) AS v FROM t GROUP BY k`)
	views := []string{"sums", "all_of_it", "eager"}
	next := 0
	for range 2 {
		var fs []*follower
		var of []string
		for range 4 {
			for _, v := range views {
				fs, of = append(fs, follow(s, v)), append(of, v)
			}
			for range 20 {
				switch rng.IntN(3) {
				case 0:
					n := 1 + rng.IntN(30)
					c.exec(fmt.Sprintf("INSERT INTO t SELECT i, i %% 7, i FROM generate_series(%d, %d) AS g(i)", next, next+n-1))
					next += n
				case 1:
					c.exec(fmt.Sprintf("UPDATE t SET v = v + %d WHERE k = %d", rng.IntN(5)-2, rng.IntN(7)))
				case 2:
					c.exec(fmt.Sprintf("DELETE FROM t WHERE id %% 13 = %d", rng.IntN(13)))
				}
			}
		}
		c.exec("FLUSH")
		for i, f := range fs {
			want := folded(c, of[i])
			for begin := time.Now(); !f.is(want) && time.Since(begin) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
			}
			if !f.is(want) || f.wrong != "" {
				t.Errorf("follower %d of %s: %s; %d rows, %d wanted", i, of[i], f.wrong, len(f.rows), len(want))
			}
		}
		s.kill()
		for _, f := range fs {
			if err := <-f.ended; err == nil {
				t.Error("a follower was not told of the end")
			}
		}
		s = serve(t, s.dir)
		c = s.connect()
	}
}

// folded is what followers of a relation should have.
func folded(c *db, relation string) []string {
	c.t.Helper()
	rows, err := c.Query(testContext(c.t), "SELECT * FROM "+relation)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		v, err := rows.Values()
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, fmt.Sprint(v...))
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	slices.Sort(out)
	if len(out) == 0 {
		c.t.Fatalf("%s is empty: nothing is tested", strings.ToUpper(relation))
	}
	return out
}

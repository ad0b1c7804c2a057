package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServeRefuses: what cannot be served ends at once with status 1 and says why.
func TestServeRefuses(t *testing.T) {
	s := serve(t, t.TempDir())
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	plain := filepath.Join(t.TempDir(), "file")
	writeLines(t, plain, nil)
	free := freeAddr(t)
	for name, c := range map[string]struct {
		data, listen, http string
		says               []string
	}{
		"directory in use":      {s.dir, free, "", []string{"55006", s.dir, "in use by another process", "HINT"}},
		"every address":         {"", ":7432", "", []string{"refusing to listen on :7432", "not authenticated", "HINT"}},
		"foreign address":       {"", "0.0.0.0:7432", "", []string{"refusing to listen on 0.0.0.0:7432"}},
		"foreign http":          {"", free, "[::]:7480", []string{"refusing to listen on [::]:7480"}},
		"no address":            {"", "here", "", []string{`invalid address "here"`, "HOST:PORT"}},
		"port in use":           {"", busy.Addr().String(), "", []string{"58000", "cannot listen on " + busy.Addr().String(), "in use"}},
		"http port in use":      {"", free, busy.Addr().String(), []string{"cannot listen on " + busy.Addr().String()}},
		"directory is a file":   {plain, free, "", []string{"58030", plain, "not a directory"}},
		"directory not to make": {"/proc/streamsql/data", free, "", []string{"58030", "/proc/streamsql"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.data == "" {
				c.data = t.TempDir()
			}
			r := program(t, "", "serve", "--data", c.data, "--listen", c.listen, "--http", c.http)
			if r.code != 1 || r.out != "" {
				t.Errorf("status %d, output %q", r.code, r.out)
			}
			for _, w := range c.says {
				if !strings.Contains(r.errOut, w) {
					t.Errorf("%q is not in %q", w, r.errOut)
				}
			}
		})
	}
	s.connect().exec("SELECT 1") // and the first server goes on
}

// busyQueries starts queries over endless sources.
func busyQueries(c *db) {
	c.exec(`CREATE SOURCE numbers (n bigint, k int) WITH (connector = 'datagen', rows_per_second = '5000',
			"fields.k.min" = '0', "fields.k.max" = '9');
		CREATE TABLE kept (id bigint PRIMARY KEY);
		INSERT INTO kept SELECT * FROM generate_series(1, 1000);
		CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM numbers GROUP BY k;
		CREATE MATERIALIZED VIEW live WITH (trigger = 'real_time') AS SELECT k, count(*) AS n FROM numbers GROUP BY k;
		CREATE MATERIALIZED VIEW slow WITH (trigger = 'processing_time 1 h') AS SELECT k, count(*) AS n FROM numbers GROUP BY k;
		CREATE SINK nowhere WITH (connector = 'blackhole') AS SELECT * FROM numbers`)
	c.until("SELECT count(*) FROM counts", "10")
}

// TestServeStops: SIGTERM and Ctrl-C end a server with busy queries and clients
// in order, and it is there again with all it had.
func TestServeStops(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			s := serve(t, dir)
			c := s.connect()
			busyQueries(c)
			endless := []string{"SUBSCRIBE TO counts", "COPY (SUBSCRIBE TO counts) TO STDOUT"}
			if sig == syscall.SIGTERM {
				endless = append(endless, "AWAIT counts") // is waited for, for a while
			}
			ended := make(chan error, len(endless))
			for _, sql := range endless {
				busy := s.connect()
				go func() {
					_, err := busy.PgConn().Exec(context.Background(), sql).ReadAll()
					ended <- err
				}()
			}
			time.Sleep(50 * time.Millisecond)
			before := c.value("SELECT sum(n) FROM counts")
			begin := time.Now()
			s.stop(sig)
			t.Logf("stopped in %v", time.Since(begin).Round(time.Millisecond))
			for range endless {
				if err := <-ended; err == nil || !strings.Contains(err.Error(), "57P01") {
					t.Errorf("a client in a statement without end was told %v", err)
				}
			}
			s = serve(t, dir)
			c = s.connect()
			if n := c.value("SELECT count(*) FROM kept"); n != "1000" {
				t.Errorf("%s rows of 1000", n)
			}
			if ok := c.value("SELECT sum(n) >= " + before + " FROM counts"); ok != "t" {
				t.Errorf("counts went back below %s", before)
			}
			c.until("SELECT count(*) FROM streamsql.queries WHERE state = 'running'", "4")
			s.stop(sig)
		})
	}
}

// TestCreateAgain: a dropped object leaves nothing to the next one of its name,
// over restarts too.
func TestCreateAgain(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		s := serve(t, dir)
		c := s.connect()
		if round > 0 {
			if got := strings.Join(c.rows("SELECT * FROM sums ORDER BY k"), " "); got != fmt.Sprintf("0|%d 1|%d", round-1, round-1) {
				t.Errorf("round %d begins with %s", round, got)
			}
			c.exec("DROP MATERIALIZED VIEW sums; DROP TABLE t")
			if err := c.try("SELECT * FROM sums"); err == nil || !strings.Contains(err.Error(), "42P01") {
				t.Errorf("a dropped view: %v", err)
			}
		}
		c.exec("CREATE TABLE t (id int PRIMARY KEY, k int, v int); CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS v FROM t GROUP BY k")
		c.exec(fmt.Sprintf("INSERT INTO t VALUES (1, 0, %d), (2, 1, %d); FLUSH", round, round))
		s.stop(syscall.SIGTERM)
	}
}

// TestFailureStaysAlone: a query that fails stops itself and nothing else, tells
// why, and can be dropped.
func TestFailureStaysAlone(t *testing.T) {
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(`CREATE TABLE t (id int PRIMARY KEY, v int);
		CREATE MATERIALIZED VIEW good AS SELECT count(*) AS n FROM t;
		CREATE SINK bad WITH (connector = 'blackhole') AS SELECT id, 10 / v AS q FROM t;
		CREATE MATERIALIZED VIEW sick AS SELECT id, 10 / v AS q FROM t;
		INSERT INTO t VALUES (1, 5), (2, 0)`)
	c.until("SELECT state, error_code FROM streamsql.queries WHERE name = 'bad'", "failed|22012")
	c.exec("INSERT INTO t VALUES (3, 2)")
	c.until("SELECT n FROM good", "3")
	c.until("SELECT state FROM streamsql.queries WHERE name = 'good'", "running")
	if _, err := c.tryRows("SELECT * FROM sick"); err == nil || !strings.Contains(err.Error(), "22012") {
		t.Errorf("a view with a failed row: %v", err)
	}
	c.exec("UPDATE t SET v = 1 WHERE id = 2") // the view heals
	c.until("SELECT count(*) FROM streamsql.failed_rows WHERE query = 'bad'", "1")
	c.until("SELECT n FROM good", "3")
	if err := c.try("FLUSH"); err == nil || !strings.Contains(err.Error(), "22012") {
		t.Errorf("FLUSH beside a failed query: %v", err)
	}
	c.exec("DROP SINK bad; FLUSH")
	if got := strings.Join(c.rows("SELECT id, q FROM sick ORDER BY id"), " "); got != "1|2 2|10 3|5" {
		t.Errorf("the healed view: %s", got)
	}
}

// TestMalformedFile and TestMalformedKafka: a record that cannot be read stops the
// query, which tells where it is, or is left out and kept.
func TestMalformedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.ndjson")
	writeLines(t, path, []string{`{"a":1}`, `{"a":2}`, `{"a":"x"}`, `nope`, `{"a":5}`})
	c := serve(t, t.TempDir()).connect()
	malformed(t, c, fileSource(path), fmt.Sprintf(`%%line 3 of file "%s": column "a": invalid input syntax for type integer: "x"`, path),
		[]string{`column "a": invalid input syntax for type integer: "x"|{"a":"x"}`, "invalid input syntax for type json%|nope"})
}

func TestMalformedKafka(t *testing.T) {
	k := kafka(t)
	topic := k.topic(1)
	k.produce(topic, 1, `{"a":1}`, `{"a":2}`, `{"a":"x"}`, `nope`, `{"a":5}`)
	c := serve(t, t.TempDir()).connect()
	malformed(t, c, fmt.Sprintf("WITH (connector = 'kafka', brokers = '%s', topic = '%s')", k.addr, topic),
		fmt.Sprintf(`%%offset 2 of partition 0 of topic "%s": column "a": invalid input syntax for type integer: "x"`, topic),
		[]string{`column "a": invalid input syntax for type integer: "x"|{"a":"x"}`, "invalid input syntax for type json%|nope"})
}

// malformed checks both ways; says and bad are patterns of LIKE.
func malformed(t *testing.T, c *db, with, says string, bad []string) {
	t.Helper()
	c.exec("CREATE SOURCE strict (a int) " + with + " FORMAT PLAIN ENCODE JSON")
	c.exec("CREATE SOURCE lenient (a int) " + with + " FORMAT PLAIN ENCODE JSON (on_error = 'skip')")
	c.exec("CREATE MATERIALIZED VIEW stopped AS SELECT count(*) AS n, sum(a) AS total FROM strict")
	c.exec("CREATE MATERIALIZED VIEW went_on AS SELECT count(*) AS n, sum(a) AS total FROM lenient")
	c.until("SELECT state, error_code FROM streamsql.queries WHERE name = 'stopped'", "failed|22P02")
	if ok := c.value("SELECT error LIKE '" + says + "' FROM streamsql.queries WHERE name = 'stopped'"); ok != "t" {
		t.Errorf("the error is not like %s: %s", says, c.value("SELECT error FROM streamsql.queries WHERE name = 'stopped'"))
	}
	c.until("SELECT n, total FROM went_on", "3|8")
	for _, b := range bad {
		q := "SELECT count(*) FROM streamsql.bad_rows WHERE query = 'went_on' AND reason || '|' || convert_from(bytes, 'UTF8') LIKE '" + b + "'"
		if n := c.value(q); n != "1" {
			t.Errorf("%s bad rows like %s: %q", n, b, c.rows("SELECT reason, bytes FROM streamsql.bad_rows"))
		}
	}
	if n := c.value("SELECT count(*) FROM streamsql.bad_rows"); n != "2" {
		t.Errorf("%s bad rows", n)
	}
}

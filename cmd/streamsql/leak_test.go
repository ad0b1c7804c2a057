package main

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamsql/streamsql/internal/spawn"
)

// TestNothingOutlivesTheEngine runs queries of every trigger, of which one fails and
// one is dropped, and closes the engine under them.
func TestNothingOutlivesTheEngine(t *testing.T) {
	defer goleak.VerifyNone(t)
	before := spawn.Live()
	e, err := openEngine(engineConfig{data: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(e, serveConfig{listen: "127.0.0.1:0", http: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = script(context.Background(), e, `
		CREATE TABLE t (a int PRIMARY KEY, b text);
		INSERT INTO t VALUES (1, '1'), (2, 'x');
		CREATE SOURCE g (n bigint, k bigint) WITH (connector = 'datagen', rows_per_second = '1000');
		CREATE MATERIALIZED VIEW v1 AS SELECT b, count(*) FROM t GROUP BY b;
		CREATE MATERIALIZED VIEW v2 WITH (trigger = 'real_time') AS SELECT k, count(*) FROM g GROUP BY k;
		CREATE MATERIALIZED VIEW v3 WITH (trigger = 'once') AS SELECT count(*) FROM v1;
		CREATE MATERIALIZED VIEW v4 WITH (trigger = 'processing_time 1 s', parallelism = 2) AS SELECT b, max(a) FROM t GROUP BY b;
		CREATE SINK bad WITH (connector = 'blackhole') AS SELECT a, 1 / (a - 1) AS q FROM t;
		CREATE SINK gone WITH (connector = 'blackhole') AS SELECT * FROM g;
		DROP SINK gone;
		AWAIT v3;`, io.Discard)
	if err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
	if n := spawn.Live(); n != before {
		t.Errorf("%d goroutines of the engine are left", n-before)
	}
}

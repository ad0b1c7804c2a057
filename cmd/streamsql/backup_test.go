package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// A server started in a backup goes on from it: tables and views as they were, and
// the views follow what is written to the copy alone.
func TestBackupIsAServersDirectory(t *testing.T) {
	dir := t.TempDir()
	in := func(data, text string) string {
		t.Helper()
		e, err := openEngine(engineConfig{data: filepath.Join(dir, data)}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		e.queries.Start()
		var out strings.Builder
		if err := script(context.Background(), e, text, &out); err != nil {
			t.Error(err)
		}
		if err := e.close(); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	in("data", fmt.Sprintf(`
		CREATE TABLE t (a int PRIMARY KEY, b int);
		CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;
		INSERT INTO t SELECT i, i %% 2 FROM generate_series(1, 1000) AS i;
		FLUSH;
		BACKUP TO '%s';
		DELETE FROM t;
		FLUSH;`, filepath.Join(dir, "copy")))
	const ask = "SELECT b, n FROM v ORDER BY b;"
	if got := in("copy", "INSERT INTO t VALUES (0, 0); FLUSH;"+ask); !strings.Contains(got, "501") || !strings.Contains(got, "500") {
		t.Errorf("the copy has %s", got)
	}
	if got := in("data", ask); strings.Contains(got, "500") {
		t.Errorf("the original has %s", got)
	}
}

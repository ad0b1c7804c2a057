package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Damaged blocks of the store fail the queries and the statements that read them;
// everything else goes on. A block may have the keys next to an object's too, so there
// is one between those that are looked at.
func TestDamageIsLocal(t *testing.T) {
	dir := t.TempDir()
	start := func() *engine {
		e, err := openEngine(engineConfig{data: dir}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		e.queries.Start()
		return e
	}
	run := func(e *engine, text string) (string, error) {
		var out strings.Builder
		err := script(context.Background(), e, text, &out)
		return out.String(), err
	}
	e := start()
	if _, err := run(e, `
		CREATE TABLE t1 (k text PRIMARY KEY);
		CREATE TABLE middle (k text PRIMARY KEY);
		CREATE TABLE t2 (k text PRIMARY KEY);
		CREATE MATERIALIZED VIEW v1 AS SELECT k, count(*) AS n FROM t1 GROUP BY k;
		CREATE MATERIALIZED VIEW middle_view AS SELECT k, count(*) AS n FROM middle GROUP BY k;
		CREATE MATERIALIZED VIEW v2 AS SELECT k, count(*) AS n FROM t2 GROUP BY k;
		INSERT INTO t1 SELECT md5(i::text) FROM generate_series(1, 2000) AS i;
		INSERT INTO middle SELECT md5(i::text) FROM generate_series(1, 2000) AS i;
		INSERT INTO t2 SELECT CASE i WHEN 1000 THEN '7 marks the spot' ELSE md5((-i)::text) END FROM generate_series(1, 2000) AS i;
		FLUSH;`); err != nil {
		t.Fatal(err)
	}
	// A copy of the store has all its data in tables, not in the log.
	copied := filepath.Join(t.TempDir(), "copy")
	if err := e.store.Backup(copied); err != nil {
		t.Fatal(err)
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	dir = copied
	e = start()
	if err := e.close(); err != nil { // opening writes the log to tables
		t.Fatal(err)
	}
	if damageAll(t, copied, "7 marks the spot") == 0 {
		t.Fatal("no table has the row")
	}
	e = start()
	defer func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := run(e, "SELECT count(*) FROM v2"); err == nil || sqlerr.CodeOf(err) != sqlerr.DataCorrupted {
		t.Errorf("a damaged view answers %v", err)
	}
	if _, err := run(e, "INSERT INTO t1 VALUES ('new')"); err != nil {
		t.Error(err)
	}
	var got string
	for range 200 {
		var err error
		got, err = run(e, "SELECT count(*) FROM v1; SELECT name, state, error FROM streamsql.queries;")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "2001") && strings.Contains(got, "failed") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("beside a damaged view:\n%s", got)
}

// damageAll flips a bit at each place of the tables that has text.
func damageAll(t *testing.T, dir, text string) (n int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; ; n++ {
			i := bytes.Index(b[at:], []byte(text))
			if i < 0 {
				break
			}
			at += i
			if _, err := f.WriteAt([]byte{b[at] ^ 0x10}, int64(at)); err != nil {
				t.Fatal(err)
			}
			at++
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

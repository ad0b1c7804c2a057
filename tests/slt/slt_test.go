package slt

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

var rewrite = flag.Bool("rewrite", false, "make the results what the files expect: PostgreSQL's, or here of own blocks alone")

// statementTimeout ends a statement that does not come back.
const statementTimeout = 20 * time.Second

func TestFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.slt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	for _, p := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".slt"), func(t *testing.T) {
			if url := os.Getenv("STREAMSQL_TEST_PG"); url != "" {
				onPostgres(t, url, p)
				return
			}
			run(t, connect(t, serve(t)), p, false)
		})
	}
}

// serve starts a server in this process over an empty store in memory.
func serve(t *testing.T) string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := state.Open("", state.Options{})
	check(err)
	cat, err := catalog.Open(store)
	check(err)
	clk := clock.System{}
	reg := connector.Registry{}
	queries := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk})
	srv := session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(queries.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clk}, nil), Queries: queries,
		Connectors: reg, Clock: clk})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	pg, err := pgwire.NewServer(srv, pgwire.Options{Log: slog.New(slog.DiscardHandler)})
	check(err)
	queries.Start()
	done := make(chan struct{})
	spawn.Go("listener", func() error { return pg.Serve(ln) }, func(error) { close(done) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := pg.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-done
		queries.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return "postgres://streamsql@" + ln.Addr().String() + "/streamsql?sslmode=disable"
}

func connect(t *testing.T, url string) *pgconn.PgConn {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// onPostgres runs a file in a schema of its own, which goes with the test.
func onPostgres(t *testing.T, url, path string) {
	c := connect(t, url)
	schema := "slt_" + strings.TrimSuffix(filepath.Base(path), ".slt")
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(context.Background(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE; CREATE SCHEMA " + schema)
	defer exec("RESET ALL; DROP SCHEMA " + schema + " CASCADE")
	exec("SET search_path = " + schema + "; SET timezone = 'UTC'; SET client_min_messages = warning")
	run(t, c, path, true)
}

// run runs a file's statements and compares.
func run(t *testing.T, c *pgconn.PgConn, path string, postgres bool) {
	blocks, tail := readFile(t, path)
	for i := range blocks {
		b := &blocks[i]
		if postgres && b.kind == "own" {
			continue
		}
		got := result(t.Context(), c, b)
		if got == b.expected {
			continue
		}
		if *rewrite && (postgres || b.kind == "own") {
			b.expected = got
			continue
		}
		t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", path, b.line, b.sql, got, b.expected)
		if c.IsClosed() {
			t.Fatal("the connection is gone")
		}
	}
	if *rewrite {
		writeFile(t, path, blocks, tail)
	}
}

var typeMap = pgtype.NewMap()

// result runs a statement and prints what comes of it.
func result(ctx context.Context, c *pgconn.PgConn, b *block) string {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var fields []pgconn.FieldDescription
	var values [][][]byte
	reader := c.Exec(ctx, b.sql)
	for reader.NextResult() {
		r := reader.ResultReader()
		fields, values = slices.Clone(r.FieldDescriptions()), nil
		for r.NextRow() {
			row := make([][]byte, len(fields))
			for i, v := range r.Values() {
				if v != nil {
					row[i] = append([]byte{}, v...)
				}
			}
			values = append(values, row)
		}
	}
	err := reader.Close()
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr):
		return "ERROR " + pgErr.Code + " " + oneLine(pgErr.Message)
	case err != nil:
		return "ERROR " + oneLine(err.Error())
	case len(fields) == 0 && len(values) == 0:
		return "OK"
	}
	head := make([]string, len(fields))
	for i, f := range fields {
		name := "?"
		if typ, ok := typeMap.TypeForOID(f.DataTypeOID); ok {
			name = typ.Name
		}
		head[i] = f.Name + ":" + name
	}
	if len(head) == 0 {
		head = append(head, "no columns")
	}
	var rows []string
	for _, row := range values {
		text := make([]string, len(row))
		for i, v := range row {
			text[i] = "NULL"
			if v != nil {
				text[i] = oneLine(string(v))
			}
		}
		rows = append(rows, "("+strings.Join(text, "\t")+")")
	}
	if b.kind != "ordered" {
		sort.Strings(rows)
	}
	return strings.Join(append([]string{strings.Join(head, "\t")}, rows...), "\n")
}

// oneLine keeps a value from looking like the end of a block.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }

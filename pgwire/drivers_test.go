package pgwire

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

func pgxConnect(t *testing.T, addr, extra string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), "postgres://u@"+addr+"/d?"+extra)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func TestPgxQueryModes(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		c := pgxConnect(t, addr, "sslmode=prefer&default_query_exec_mode="+mode)
		for range 2 {
			rows, err := c.Query(context.Background(), "ROWS 2500")
			if err != nil {
				t.Fatal(mode, err)
			}
			n := 0
			for rows.Next() {
				var i int32
				var s string
				var d float64
				if err := rows.Scan(&i, &s, &d); err != nil {
					t.Fatal(mode, err)
				}
				if n++; int(i) != n || s != fmt.Sprintf("row %d", n) || d != float64(n)/2 {
					t.Fatalf("%s: row %d is %d %q %g", mode, n, i, s, d)
				}
			}
			if err := rows.Err(); err != nil || n != 2500 {
				t.Fatal(mode, n, err)
			}
		}
		if mode == "simple_protocol" || mode == "exec" {
			continue // these send $1 as text or in line
		}
		var a int32
		var b string
		var at time.Time
		when := time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC)
		err := c.QueryRow(context.Background(), "SELECT $1::int4, $2::text, $3::timestamptz", 7, "ü", when).
			Scan(&a, &b, &at)
		if err != nil || a != 7 || b != "ü" || !at.Equal(when) {
			t.Errorf("%s: %d %q %s, %v", mode, a, b, at, err)
		}
	}
}

func TestPgxErrorsKeepTheConnection(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	c := pgxConnect(t, addr, "sslmode=disable")
	ctx := context.Background()
	var pe *pgconn.PgError
	if _, err := c.Exec(ctx, "SELECT 1::nosuch"); !errors.As(err, &pe) || pe.Code != "42704" || pe.Position != 11 {
		t.Errorf("got %v", err)
	}
	rows, _ := c.Query(ctx, "ROWS 5000 FAIL AT 4000")
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); !errors.As(err, &pe) || pe.Code != "22012" || n != 3999 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
}

func TestPgxBatchIsOneTransaction(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	c := pgxConnect(t, addr, "sslmode=disable")
	ctx := context.Background()
	b := &pgx.Batch{}
	b.Queue("INSERT $1", 1)
	b.Queue("FAILRUN 22012 x")
	b.Queue("INSERT $1", 2)
	if err := c.SendBatch(ctx, b).Close(); err == nil {
		t.Error("the batch did not fail")
	}
	b = &pgx.Batch{}
	b.Queue("INSERT $1", 3)
	b.Queue("INSERT $1", 4)
	if err := c.SendBatch(ctx, b).Close(); err != nil {
		t.Error(err)
	}
	var journal string
	if err := c.QueryRow(ctx, "SHOW JOURNAL").Scan(&journal); err != nil || journal != "3,4" {
		t.Errorf("journal %q, %v", journal, err)
	}
}

func TestPgxTransactionCopyCancelNotify(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	c := pgxConnect(t, addr, "sslmode=disable")
	ctx := context.Background()
	for _, end := range []func(pgx.Tx) error{
		func(tx pgx.Tx) error { return tx.Rollback(ctx) },
		func(tx pgx.Tx) error { return tx.Commit(ctx) },
	} {
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tag, err := tx.Exec(ctx, "INSERT 5")
		if err != nil || tag.RowsAffected() != 5 {
			t.Error(tag, err)
		}
		if err := end(tx); err != nil {
			t.Error(err)
		}
	}
	var journal string
	if err := c.QueryRow(ctx, "SHOW JOURNAL").Scan(&journal); err != nil || journal != "5" {
		t.Errorf("journal %q, %v", journal, err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(short, "SLEEP 60000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c = pgxConnect(t, addr, "sslmode=disable")
	if _, err := c.Exec(ctx, "NOTIFY ch hello"); err != nil {
		t.Fatal(err)
	}
	if n, err := c.WaitForNotification(ctx); err != nil || n.Channel != "ch" || n.Payload != "hello" {
		t.Errorf("got %v, %v", n, err)
	}
}

func TestPqDriver(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	for _, extra := range []string{"", "&binary_parameters=yes"} {
		db, err := sql.Open("postgres", "postgres://u@"+addr+"/d?sslmode=disable"+extra)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Ping(); err != nil {
			t.Fatal(err)
		}
		var i int64
		var s sql.NullString
		if err := db.QueryRow("SELECT $1::int8, $2::text", 42, nil).Scan(&i, &s); err != nil || i != 42 || s.Valid {
			t.Errorf("%d %v, %v", i, s, err)
		}
		var pe *pq.Error
		if _, err := db.Exec("FAIL 42P01 5 'no table'"); !errors.As(err, &pe) || pe.Code != "42P01" || pe.Position != "6" {
			t.Errorf("got %v", err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		st, err := tx.Prepare("INSERT $1")
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if r, err := st.Exec(n + 1); err != nil {
				t.Error(err)
			} else if got, _ := r.RowsAffected(); got != int64(n+1) {
				t.Errorf("%d rows affected", got)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if _, err := db.ExecContext(ctx, "SLEEP 60000"); err == nil {
			t.Error("a cancelled statement succeeded")
		}
		cancel()
	}
}

func TestPqListenerAndNotices(t *testing.T) {
	_, _, addr := startServer(t, Options{})
	conn, err := pq.NewConnector("postgres://u@" + addr + "/d?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	db := sql.OpenDB(pq.ConnectorWithNoticeHandler(conn, func(e *pq.Error) { notices = append(notices, e.Message) }))
	defer db.Close()
	if _, err := db.Exec("NOTICE warning 'look out'"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"look out"}; !reflect.DeepEqual(notices, want) {
		t.Errorf("notices %q", notices)
	}
}

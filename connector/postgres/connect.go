package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// keepAlive is how often a silent connection is tried.
const keepAlive = 15 * time.Second

// closeTime is how long a connection may take to say good-bye.
const closeTime = time.Second

// sessionSettings make a session whose results do not depend on the server's
// configuration. A server that lost its client gives up the client's locks soon: the
// next run waits for them. An epoch that was answered must outlive the server.
const sessionSettings = `SET timezone = 'UTC'; SET datestyle = 'ISO'; SET client_encoding = 'UTF8';
	SET standard_conforming_strings = on; SET client_min_messages = 'warning'; SET tcp_keepalives_idle = 30;
	SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3; SET idle_in_transaction_session_timeout = '5min';
	SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
		WHERE pg_catalog.current_setting('synchronous_commit') = 'off'`

// leastVersion is the oldest server that is written to.
const leastVersion = 120000

// writable is run on each new connection: of several servers the first one that
// takes writes is chosen.
func writable(ctx context.Context, pg *pgconn.PgConn) error {
	rows, err := query(ctx, pg, `SELECT pg_catalog.current_setting('server_version_num'),
		pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_is_in_recovery()`)
	if err != nil {
		return err
	}
	if v, err := strconv.Atoi(rows[0][0]); err != nil || v < leastVersion {
		return sqlerr.Unsupported("PostgreSQL %s is too old: version 12 or newer is needed",
			pg.ParameterStatus("server_version")).AsPermanent()
	}
	if rows[0][1] != "on" {
		return nil
	}
	e := sqlerr.New(sqlerr.ReadOnlyTransaction, "the PostgreSQL server takes no writes")
	if rows[0][2] == "t" {
		return e.WithDetail("It is a standby.")
	}
	return e.WithDetail("Its transactions are read-only by default.")
}

// connect opens a session.
func (c *config) connect(ctx context.Context) (*pgconn.PgConn, error) {
	pg, err := pgconn.ConnectConfig(ctx, c.server.Copy())
	if err != nil {
		return nil, err
	}
	if err := run(ctx, pg, sessionSettings); err != nil {
		hangUp(pg)
		return nil, err
	}
	return pg, nil
}

// hangUp ends a session and what it has begun.
func hangUp(pg *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = pg.Close(ctx) // it is gone either way
}

// run runs statements without looking at their rows.
func run(ctx context.Context, pg *pgconn.PgConn, sql string) error {
	return pg.Exec(ctx, sql).Close()
}

// null stands for NULL in what query returns; no name or number is it.
const null = "\x00"

// query runs one statement with text parameters and returns its rows as text.
func query(ctx context.Context, pg *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	r := pg.ExecParams(ctx, sql, params, nil, nil, nil)
	var rows [][]string
	for r.NextRow() {
		rows = append(rows, texts(r.Values()))
	}
	_, err := r.Close()
	return rows, err
}

// queryLast runs statements and returns the rows of the last one that has any.
func queryLast(ctx context.Context, pg *pgconn.PgConn, sql string) ([][]string, error) {
	results, err := pg.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		if r.FieldDescriptions == nil {
			continue
		}
		rows = nil
		for _, row := range r.Rows {
			rows = append(rows, texts(row))
		}
	}
	return rows, nil
}

func texts(values [][]byte) []string {
	row := make([]string, len(values))
	for i, v := range values {
		if row[i] = null; v != nil {
			row[i] = string(v)
		}
	}
	return row
}

// ident quotes the parts of a name.
func ident(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ".")
}

// idents quotes names and puts commas between them.
func idents(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ident(n)
	}
	return strings.Join(quoted, ", ")
}

// literal quotes a text for a session with standard_conforming_strings.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

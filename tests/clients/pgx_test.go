package clients

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgxClient is Go's driver: it takes results in binary and caches statements.
type pgxClient struct {
	conn *pgx.Conn
}

func openPgx(t *testing.T, url string) client {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	return pgxClient{c}
}

func (p pgxClient) close() error { return p.conn.Close(context.Background()) }

func (p pgxClient) run(sql string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	rows, err := p.conn.Query(ctx, sql, list...)
	if err != nil {
		return pgxError(err)
	}
	defer rows.Close()
	var columns []string
	for _, f := range rows.FieldDescriptions() {
		columns = append(columns, f.Name)
	}
	var out [][]string
	for rows.Next() {
		row, err := p.text(rows)
		if err != nil {
			return "", err
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		return pgxError(err)
	}
	if columns != nil {
		return printRows(columns, out), nil
	}
	if w := strings.Fields(rows.CommandTag().String()); len(w) < 2 || w[len(w)-1] < "0" || w[len(w)-1] > "9~" {
		return printCount(-1), nil
	}
	return printCount(rows.CommandTag().RowsAffected()), nil
}

// text decodes the present row and prints its values as PostgreSQL would.
func (p pgxClient) text(rows pgx.Rows) ([]string, error) {
	values, err := rows.Values()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(values))
	for i, v := range values {
		if v == nil {
			out[i] = null
			continue
		}
		f := rows.FieldDescriptions()[i]
		if f.DataTypeOID == pgtype.JSONBOID && f.Format == pgtype.TextFormatCode { // as the server writes it
			out[i] = string(rows.RawValues()[i])
			continue
		}
		b, err := p.conn.TypeMap().Encode(f.DataTypeOID, pgtype.TextFormatCode, v, nil)
		if err != nil {
			return nil, err
		}
		if out[i] = string(b); f.DataTypeOID == pgtype.TimestamptzOID { // pgx writes UTC as Z
			out[i] = strings.Replace(out[i], "Z", "+00", 1)
		}
	}
	return out, nil
}

func pgxError(err error) (string, error) {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return printError(e.Code, e.Message), nil
	}
	return "", err
}

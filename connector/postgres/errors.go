package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// passing are the classes and codes of the server's errors that may go away by
// themselves: lost connections, conflicts with other transactions, a lack of
// resources, a restart, a server that takes no writes until another one does.
var passing = []string{"08", "40", "53", "57", "58", "55P03", "55006", "25006", "XX000"}

// retriable tells whether err may go away by itself.
func retriable(err error) bool {
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return !own.Permanent
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		for _, p := range passing {
			if strings.HasPrefix(pg.Code, p) {
				return true
			}
		}
		return false
	}
	var unknownCA x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	return !errors.As(err, &unknownCA) && !errors.As(err, &hostname) && !errors.As(err, &invalid) &&
		!errors.As(err, &alert) && !noTLS(err)
}

// noTLS tells whether the server refused TLS, for which the driver has no type.
func noTLS(err error) bool { return strings.Contains(err.Error(), "server refused TLS connection") }

// explain returns err as it is told to the user; doing is what was tried, as in
// «writing epoch 3». Errors that retrying cannot heal are permanent.
func (c *config) explain(err error, doing string) error {
	var own *sqlerr.Error
	if errors.As(err, &own) {
		return own
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		e := c.serverError(pg, doing)
		var row *rowError
		if errors.As(err, &row) && row.row != "" {
			e.Detail = strings.TrimPrefix(e.Detail+"\nRow: "+row.row, "\n")
		}
		return e
	}
	e := sqlerr.New(sqlerr.ConnectionFailure, "%s failed: %s: %s", doing, c.address, reason(err))
	e.Permanent = !retriable(err)
	if noTLS(err) {
		e.Hint = "The server does not speak TLS: use sslmode = 'disable' or 'prefer', or set it up there."
	}
	return e
}

// serverError is an error that the server has sent.
func (c *config) serverError(pg *pgconn.PgError, doing string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.Code(pg.Code), "%s failed: %s", doing, pg.Message)
	e.Permanent, e.Hint = !retriable(pg), pg.Hint
	var detail []string
	for _, d := range []string{pg.Detail, pg.Where} {
		if d != "" {
			detail = append(detail, d)
		}
	}
	e.Detail = strings.Join(detail, "\n")
	if e.Hint == "" {
		e.Hint = c.hint(pg)
	}
	return e
}

// hint says what to do about an error of the server.
func (c *config) hint(pg *pgconn.PgError) string {
	switch code := sqlerr.Code(pg.Code); {
	case code == sqlerr.InvalidPassword || code == sqlerr.InvalidAuthorization:
		return `Correct options "user" and "password".`
	case code == sqlerr.InvalidCatalogName:
		return `Create the database, or correct option "database".`
	case code == sqlerr.ReadOnlyTransaction:
		return "The server is a standby, or its transactions are read-only by default."
	case strings.HasPrefix(pg.Code, "23"), strings.HasPrefix(pg.Code, "22"):
		return "Change the table so that it takes the row, then RESTART the sink; or DROP the sink and CREATE it with a " +
			"query that leaves the row out."
	}
	return ""
}

// reason is what became of a connection, without the driver's long names of it.
func reason(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

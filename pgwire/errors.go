package pgwire

import (
	"context"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// idleSessionTimeout is PostgreSQL's idle_session_timeout.
const idleSessionTimeout sqlerr.Code = "57P05"

// errGone ends a connection whose client went away: there is nobody to tell.
var errGone = errors.New("client is gone")

// fatalError ends the connection after the client was told.
type fatalError struct{ err *sqlerr.Error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

func fatal(code sqlerr.Code, format string, args ...any) error {
	return &fatalError{sqlerr.New(code, format, args...)}
}

func protocolError(format string, args ...any) error {
	return sqlerr.New(sqlerr.ProtocolViolation, format, args...)
}

// errCanceled and errShutdown are the reasons of an ended context.
func errCanceled() error {
	return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to user request")
}

func errTimeout() error {
	return sqlerr.New(sqlerr.QueryCanceled, "canceling statement due to statement timeout")
}

func errShutdown() error {
	return fatal(sqlerr.AdminShutdown, "terminating connection due to administrator command")
}

// reason puts the cause of an ended context in place of the error that the
// statement made of it.
func reason(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// source is the text that positions of an error refer to: statement text that
// begins at off in the query string the client sent.
type source struct {
	query string
	off   int
}

// position returns the character position, from 1, in the query string of a
// byte position, from 1, in the statement; 0 where there is none.
func (s source) position(pos int) int32 {
	if pos <= 0 {
		return 0
	}
	end := min(s.off+pos-1, len(s.query))
	return int32(min(utf8.RuneCountInString(s.query[:end])+1, math.MaxInt32))
}

// errorResponse is the message for err.
func errorResponse(severity string, err error, src source) *pgproto3.ErrorResponse {
	e := sqlerr.From(err)
	return &pgproto3.ErrorResponse{
		Severity:            severity,
		SeverityUnlocalized: severity,
		Code:                string(e.Code),
		Message:             clean(e.Error()),
		Detail:              clean(e.Detail),
		Hint:                clean(e.Hint),
		Position:            src.position(e.Pos),
		Where:               clean(e.Where),
	}
}

// clean is text that a message can have: zero bytes end it early.
func clean(s string) string { return sqlerr.Text(s) }

// checkUTF8 fails with 22021 where s is not UTF-8 or holds a NUL.
func checkUTF8(s []byte) error {
	bad := -1
	for i, n := 0, len(s); i < n && bad < 0; {
		if c := s[i]; c != 0 && c < utf8.RuneSelf {
			i++
			continue
		}
		if r, size := utf8.DecodeRune(s[i:]); r != utf8.RuneError && r != 0 || size > 1 {
			i += size
			continue
		}
		bad = i
	}
	if bad < 0 {
		return nil
	}
	return badSequence(s[bad:])
}

// badSequence words the error as PostgreSQL does: the bytes that the first one
// announces.
func badSequence(s []byte) error {
	n := 1
	switch c := s[0]; {
	case c >= 0xf0:
		n = 4
	case c >= 0xe0:
		n = 3
	case c >= 0xc0:
		n = 2
	}
	const hex = "0123456789abcdef"
	var b []byte
	for i, c := range s[:min(n, len(s))] {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, '0', 'x', hex[c>>4], hex[c&15])
	}
	return sqlerr.New(sqlerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, b)
}

package sqlerr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Error is an error with a SQLSTATE.
type Error struct {
	Code    Code
	Message string
	Detail  string
	Hint    string
	// Pos is the byte offset of the fault in the statement's text plus one;
	// 0 when there is none. The wire layer turns it into a character position.
	Pos int
	// Where names the place in the engine: query, operator, source, offset.
	Where string
	// Permanent marks a fault that a retry cannot heal (a row error that stops a
	// sink, a missing topic, a recreated topic); the query goes to failed.
	Permanent bool
	Cause     error
}

// New makes an error; format and args as fmt.Sprintf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an error whose cause is kept for errors.Is and errors.As.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Cause = cause
	return e
}

// Error returns the message followed by the cause's, if there is one.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	if e.Cause != nil {
		b.WriteString(": ")
		b.WriteString(e.Cause.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// At sets the position (byte offset from 0) unless one is set or off is
// negative, and returns e.
func (e *Error) At(off int) *Error {
	if e.Pos == 0 && off >= 0 {
		e.Pos = off + 1
	}
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// WithWhere sets the place in the engine unless one is set, and returns e.
func (e *Error) WithWhere(format string, args ...any) *Error {
	if e.Where == "" {
		e.Where = fmt.Sprintf(format, args...)
	}
	return e
}

// AsPermanent marks e as a fault that a retry cannot heal and returns e.
func (e *Error) AsPermanent() *Error {
	e.Permanent = true
	return e
}

// From returns err as an *Error: itself when it is one, the code that fits a
// context, disk or file error, else XX000. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if outer, ok := err.(*Error); ok {
			return outer
		}
		if msg := err.Error(); msg != e.Error() && e.Where == "" {
			c := *e
			c.Where = msg
			return &c
		}
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Wrap(err, QueryCanceled, "canceling statement due to user request").plain()
	case errors.Is(err, context.DeadlineExceeded):
		return Wrap(err, QueryCanceled, "canceling statement due to statement timeout").plain()
	case errors.Is(err, syscall.ENOSPC):
		return Wrap(err, DiskFull, "no space left on disk")
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EPERM):
		return Wrap(err, InsufficientPrivilege, "the operating system refused access")
	}
	return &Error{Code: InternalError, Message: err.Error()}
}

// plain drops the cause from the printed message.
func (e *Error) plain() *Error { e.Cause = nil; return e }

// CodeOf returns the SQLSTATE of err, XX000 for an error without one.
func CodeOf(err error) Code {
	if err == nil {
		return SuccessfulCompletion
	}
	return From(err).Code
}

// Internal makes an XX000 for a broken invariant.
func Internal(format string, args ...any) *Error { return New(InternalError, format, args...) }

// Unsupported makes a 0A000.
func Unsupported(format string, args ...any) *Error { return New(FeatureNotSupported, format, args...) }

package session

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func notAQuery(o *catalog.Object, n sql.QualifiedName) *sqlerr.Error {
	return sqlerr.New(sqlerr.WrongObjectType, "%s %q runs no query", o.Kind, o.Name).At(n.Pos()).
		WithHint("Materialized views, sinks with a query, flows and tables with a connector do.")
}

// target finds an object that a continuous query belongs to.
func (s *Session) target(n sql.QualifiedName) (*catalog.Object, error) {
	o, err := s.resolve(n)
	if err != nil {
		return nil, err
	}
	if !o.Runs() {
		return nil, notAQuery(o, n)
	}
	return o, nil
}

func (s *Session) prepareControl(_ *input, tree sql.Statement) (*statement, error) {
	return s.command(func(ctx context.Context) (string, error) {
		switch t := tree.(type) {
		case *sql.Control:
			if err := s.outsideBlock(ctx, t.Action.String()); err != nil {
				return "", err
			}
			o, err := s.target(t.Name)
			if err != nil {
				return "", err
			}
			if t.Savepoint.Text != "" {
				return t.Action.String(), s.restartFrom(ctx, t, o)
			}
			return t.Action.String(), s.srv.Queries.Control(ctx, o, t.Action)
		case *sql.Flush:
			if err := s.outsideBlock(ctx, "FLUSH"); err != nil {
				return "", err
			}
			return "FLUSH", s.srv.Queries.Flush(ctx)
		case *sql.Await:
			return "AWAIT", s.await(ctx, t)
		}
		return "", sqlerr.Internal("not a control statement")
	}), nil
}

func (s *Session) await(ctx context.Context, t *sql.Await) error {
	if err := s.outsideBlock(ctx, "AWAIT"); err != nil {
		return err
	}
	var o *catalog.Object
	if !t.Any {
		var err error
		if o, err = s.target(t.Name); err != nil {
			return err
		}
	}
	if t.Timeout == nil {
		return s.srv.Queries.Await(ctx, o)
	}
	text, err := literal(t.Timeout)
	if err != nil {
		return err
	}
	d, ok := connector.ParseDuration(text)
	if !ok {
		return sqlerr.New(sqlerr.InvalidParameterValue, "invalid timeout %q", text).At(t.Timeout.Position()).
			WithHint("Write a span of time such as '1 min'.")
	}
	return s.awaitFor(ctx, o, d)
}

func (s *Session) awaitFor(ctx context.Context, o *catalog.Object, d time.Duration) error {
	due, stop := s.srv.Clock.After(d)
	defer stop()
	sub, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errTimeout := sqlerr.New(sqlerr.QueryCanceled, "the query has not ended within %s", d)
	done := make(chan struct{})
	defer close(done)
	spawn.Go("await timeout", func() error {
		select {
		case <-due:
			cancel(errTimeout)
		case <-done:
		}
		return nil
	}, nil)
	err := s.srv.Queries.Await(sub, o)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(sub), errTimeout) {
		return errTimeout
	}
	return err
}

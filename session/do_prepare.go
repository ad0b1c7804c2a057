package session

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

func (s *Session) preparePrepare(in *input, t *sql.Prepare) (*statement, error) {
	declared := make([]types.Type, len(t.Types))
	for i, n := range t.Types {
		typ, err := bind.TypeOf(n)
		if err != nil {
			return nil, err
		}
		declared[i] = typ
	}
	inner, err := s.analyse(in.ctx, in.text, t.Stmt, declared)
	if err != nil {
		return nil, err
	}
	return s.command(func(context.Context) (string, error) {
		return "PREPARE", s.names.PutStatement(&pgwire.NamedStatement{Name: t.Name.Text, Statement: inner,
			Text: in.text, FromSQL: true})
	}), nil
}

// named returns a prepared statement of this session.
func (s *Session) named(name sql.Name) (*statement, error) {
	ns, err := s.names.Statement(name.Text)
	if err != nil {
		return nil, err
	}
	st, ok := ns.Statement.(*statement)
	if !ok {
		return nil, sqlerr.New(sqlerr.InvalidStatementName, "prepared statement %q is empty", name.Text)
	}
	return st, nil
}

func (s *Session) prepareExecute(in *input, t *sql.Execute) (*statement, error) {
	inner, err := s.named(t.Name)
	if err != nil {
		return nil, err
	}
	if len(t.Args) != len(inner.params) {
		return nil, sqlerr.New(sqlerr.SyntaxError, "wrong number of parameters for prepared statement %q", t.Name.Text).
			WithDetail("Expected %d parameters but got %d.", len(inner.params), len(t.Args))
	}
	st := &statement{s: s, cols: inner.cols, traits: inner.traits, anyTx: inner.anyTx, noTx: inner.noTx}
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		var vals *arrowbatch.Batch
		if len(t.Args) > 0 {
			if vals, err = s.constants(ctx, in.text, t.Args, inner.params, in.params, args); err != nil {
				return nil, err
			}
		}
		p, err := inner.Bind(ctx, vals)
		if err != nil {
			return nil, err
		}
		return &nested{p}, nil
	}
	return st, nil
}

// nested is the run of a statement inside another.
type nested struct{ pgwire.Portal }

func (s *Session) prepareDeallocate(t *sql.Deallocate) *statement {
	return s.command(func(context.Context) (string, error) {
		if t.All {
			s.names.DropStatements()
			return "DEALLOCATE ALL", nil
		}
		if _, err := s.names.Statement(t.Name.Text); err != nil {
			return "", err
		}
		s.names.DropStatement(t.Name.Text)
		return "DEALLOCATE", nil
	})
}

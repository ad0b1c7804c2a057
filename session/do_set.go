package session

import (
	"context"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

func (s *Session) prepareSet(t *sql.Set) *statement {
	return s.command(func(context.Context) (string, error) {
		name, local := t.Name.Text, t.Scope == sql.ScopeLocal
		if local && (s.tx == nil || !s.tx.block) {
			s.warning(sqlerr.NoActiveTransaction, "SET LOCAL can only be used in transaction blocks")
		}
		if t.Values == nil {
			return "SET", s.vars.resetOne(name, local)
		}
		if err := s.checkIdentity(name, t.Values); err != nil {
			return "", err
		}
		value, err := s.setValue(name, t.Values)
		if err != nil {
			return "", err
		}
		works, err := s.vars.set(name, value, local)
		if err == nil && !works {
			s.notice(sqlerr.Warning, "setting %q has no effect", name)
		}
		return "SET", err
	})
}

// checkIdentity takes only the user's own name where a role is set.
func (s *Session) checkIdentity(name string, values []sql.Expr) error {
	if name != "role" && name != "session_authorization" {
		return nil
	}
	v, err := literal(values[0])
	if err != nil {
		return err
	}
	if v == s.user || name == "role" && v == "none" {
		return nil
	}
	return sqlerr.New(sqlerr.InvalidParameterValue, "role %q does not exist", v)
}

// setValue joins the values of SET as PostgreSQL does.
func (s *Session) setValue(name string, values []sql.Expr) (string, error) {
	list := false
	if i, ok := s.vars.reg.find(name); ok {
		def := &s.vars.reg.all[i]
		list = def.list
		if len(values) > 1 && !list && !strings.EqualFold(name, "DateStyle") {
			return "", sqlerr.New(sqlerr.InvalidParameterValue, "SET %s takes only one argument", def.name)
		}
	}
	parts := make([]string, len(values))
	for i, x := range values {
		v, err := literal(x)
		if err != nil {
			return "", err
		}
		if list {
			v = catalog.QuoteIdent(v)
		}
		parts[i] = v
	}
	return strings.Join(parts, ", "), nil
}

// literal returns the text of a literal or bare word.
func literal(x sql.Expr) (string, error) {
	switch v := x.(type) {
	case *sql.StringLit:
		return v.Value, nil
	case *sql.NumberLit:
		return v.Text, nil
	case *sql.BoolLit:
		if v.Value {
			return "true", nil
		}
		return "false", nil
	case *sql.TypedLit:
		return v.Value, nil
	case *sql.Cast:
		return literal(v.X)
	case *sql.Unary:
		if n, ok := v.X.(*sql.NumberLit); ok && (v.Op.Name == "-" || v.Op.Name == "+") {
			return strings.TrimPrefix(v.Op.Name, "+") + n.Text, nil
		}
	case *sql.ColumnRef:
		names := make([]string, len(v.Parts))
		for i, p := range v.Parts {
			names[i] = p.Text
		}
		return strings.Join(names, "."), nil
	}
	return "", sqlerr.New(sqlerr.SyntaxError, "a literal is expected here").At(x.Position())
}

func (s *Session) prepareReset(t *sql.Reset) *statement {
	return s.command(func(context.Context) (string, error) {
		if t.Name.Text == "all" {
			s.vars.resetAll()
			return "RESET", nil
		}
		return "RESET", s.vars.resetOne(t.Name.Text, false)
	})
}

func (s *Session) prepareSetTransaction(t *sql.SetTransaction) *statement {
	return s.command(func(context.Context) (string, error) {
		switch {
		case t.Snapshot != "":
			return "", sqlerr.Unsupported("SET TRANSACTION SNAPSHOT is not supported")
		case t.Session:
			return "SET", s.setModes("default_transaction", t.Modes)
		case s.tx == nil || !s.tx.block:
			s.warning(sqlerr.NoActiveTransaction, "SET TRANSACTION can only be used in transaction blocks")
		}
		return "SET", s.setModes("transaction", t.Modes)
	})
}

func (s *Session) prepareDiscard(t *sql.Discard) *statement {
	return s.command(func(ctx context.Context) (string, error) {
		if t.What != "all" {
			if t.What == "plans" || t.What == "sequences" || t.What == "temp" || t.What == "temporary" {
				return "DISCARD " + strings.ToUpper(t.What), nil
			}
			return "", sqlerr.New(sqlerr.SyntaxError, "DISCARD %s is not known", strings.ToUpper(t.What))
		}
		if err := s.outsideBlock(ctx, "DISCARD ALL"); err != nil {
			return "", err
		}
		s.names.DropPortals()
		s.names.DropStatements()
		s.vars.resetAll()
		s.srv.unlisten(s, "")
		return "DISCARD ALL", nil
	})
}

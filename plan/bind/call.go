package bind

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

// args binds a call's arguments.
func (l *level) args(c *sql.FuncCall, clause string) ([]expr.Expr, error) {
	for _, a := range c.Args {
		if n, ok := a.(*sql.NamedArg); ok {
			return nil, sqlerr.Unsupported("function %s does not take named arguments", c.Name.Text).At(n.Pos)
		}
	}
	return l.list(c.Args, clause)
}

// call binds a call that is not a column of the plan already.
func (l *level) call(c *sql.FuncCall, clause string) (expr.Expr, error) {
	name := c.Name.Text
	switch s := c.Schema.Text; s {
	case "", "pg_catalog":
	case "information_schema", "streamsql":
		if !expr.IsFunction(name) && !isSetFunc(name) {
			return nil, l.undefinedCall(c, clause)
		}
	default:
		if !l.b.schemaKnown(s) {
			return nil, sqlerr.New(sqlerr.InvalidSchemaName, "schema %q does not exist", s).At(c.Schema.Pos)
		}
		return nil, l.undefinedCall(c, clause)
	}
	switch {
	case c.Over != nil:
		return nil, misplaced(c, clause, "window functions", sqlerr.WindowingError)
	case isAggregate(c):
		return nil, misplaced(c, clause, "aggregate functions", sqlerr.GroupingError)
	case isSetFunc(name):
		e := misplaced(c, clause, "set-returning functions", sqlerr.FeatureNotSupported)
		return nil, e
	case windowSigs[name] != nil:
		return nil, sqlerr.New(sqlerr.WrongObjectType, "window function %s requires an OVER clause", name)
	case isGroupingWindow(c) && l.windowed != nil && clause != "WHERE":
		return l.windowValue()
	case isGroupingWindow(c) && !expr.IsFunction(name):
		return nil, sqlerr.Unsupported("%s() is not allowed in %s", name, clause).
			WithHint("Use it in the select list and in GROUP BY.")
	}
	if err := plainCall(c); err != nil {
		return nil, err
	}
	if !c.Schema.Given() {
		if e, ok, err := l.special(c, clause); ok || err != nil {
			return e, err
		}
	}
	args, err := l.args(c, clause)
	if err != nil {
		return nil, err
	}
	if c.Variadic {
		return expr.CallVariadic(name, args)
	}
	return expr.Call(name, args)
}

// plainCall refuses what only aggregates take.
func plainCall(c *sql.FuncCall) error {
	what := ""
	switch {
	case c.Star:
		return noFunction(c, nil)
	case c.Distinct:
		what = "DISTINCT"
	case c.WithinGroup:
		what = "WITHIN GROUP"
	case len(c.OrderBy) > 0:
		what = "ORDER BY"
	case c.Filter != nil:
		what = "FILTER"
	case c.IgnoreNulls:
		what = "IGNORE NULLS"
	default:
		return nil
	}
	return sqlerr.New(sqlerr.WrongObjectType, "%s specified, but %s is not an aggregate function", what, c.Name.Text)
}

// special binds the calls that have a syntax or a typing of their own.
func (l *level) special(c *sql.FuncCall, clause string) (e expr.Expr, ok bool, err error) {
	name := c.Name.Text
	switch name {
	case "grouping":
		e, err = l.grouping(c)
		return e, true, err
	case "coalesce", "nullif", "greatest", "least", "window_time", "window_start", "window_end":
	default:
		return nil, false, nil
	}
	args, err := l.args(c, clause)
	if err != nil {
		return nil, true, err
	}
	need := 1
	if name == "nullif" {
		need = 2
	}
	if len(args) < need {
		return nil, true, sqlerr.New(sqlerr.SyntaxError, "%s needs %d arguments", strings.ToUpper(name), need)
	}
	switch name {
	case "coalesce":
		e, err = expr.Coalesce(args...)
		err = unmatched(err, c.Args, args)
	case "greatest":
		e, err = expr.Greatest(args...)
		err = unmatched(err, c.Args, args)
	case "least":
		e, err = expr.Least(args...)
		err = unmatched(err, c.Args, args)
	case "nullif":
		e, err = expr.NullIf(args[0], args[1])
	default:
		if len(args) != 1 || !isWindowStruct(args[0].Type()) {
			return nil, false, nil
		}
		e, err = l.ofWindow(name, args[0])
	}
	return e, true, err
}

// ofWindow binds window_time(w) and its kin.
func (l *level) ofWindow(name string, w expr.Expr) (expr.Expr, error) {
	end := "end"
	if name == "window_start" {
		end = "start"
	}
	var e expr.Expr
	var err error
	if parts, ok := expr.RowFields(w); ok {
		e = parts[1]
		if end == "start" {
			e = parts[0]
		}
	} else if e, err = expr.Field(w, end); err != nil {
		return nil, err
	}
	if name == "window_time" {
		return expr.Binary("-", e, expr.ConstInterval(microsecond))
	}
	return e, nil
}

func misplaced(c *sql.FuncCall, clause, what string, code sqlerr.Code) *sqlerr.Error {
	switch {
	case clause == "aggregate functions" && what == "window functions":
		return sqlerr.New(sqlerr.GroupingError, "aggregate function calls cannot contain window function calls").At(c.Pos)
	case clause == "aggregate functions" && what == "set-returning functions":
		return sqlerr.New(code, "aggregate function calls cannot contain set-returning function calls").At(c.Pos)
	case clause == "window functions" && what == clause:
		return sqlerr.New(code, "window function calls cannot be nested").At(c.Pos)
	}
	return sqlerr.New(code, "%s are not allowed in %s", what, clause).At(c.Pos)
}

// undefinedCall is the error for a function that does not exist in its schema.
func (l *level) undefinedCall(c *sql.FuncCall, clause string) error {
	args, err := l.args(c, clause)
	if err != nil {
		return err
	}
	named := *c
	named.Name.Text = c.Schema.Text + "." + c.Name.Text
	return noFunction(&named, args)
}

// schemaKnown tells whether a schema exists as far as functions go.
func (b *Binder) schemaKnown(s string) bool {
	return s == "public" || s == "pg_catalog" || s == "information_schema" || s == "streamsql"
}

package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// open refuses subqueries where none can be run.
func (l *level) open(clause string, pos int) error {
	if l.closed {
		return sqlerr.Unsupported("cannot use subquery in %s", clause).At(pos)
	}
	return nil
}

// apply adds a subquery's result to the level's plan as a column.
func (l *level) apply(sub logical.Node, kind plan.ApplyKind, test expr.Expr, pos int) expr.Expr {
	n := logical.NewApply(l.node, sub, kind, test, pos)
	k := l.node.Schema().Len()
	l.node = n
	f := n.Schema().Fields[k]
	return expr.NewColumn(k, f.Name, f.Type)
}

// subquery binds (query), EXISTS (query) and ARRAY(query).
func (l *level) subquery(x *sql.Subquery, clause string) (expr.Expr, error) {
	if err := l.open(clause, x.Pos); err != nil {
		return nil, err
	}
	n, err := l.b.query(x.Query, l, l.ctes)
	if err != nil {
		return nil, err
	}
	if x.Kind == sql.ExistsSubquery {
		return l.apply(n, plan.ApplyExists, nil, x.Pos), nil
	}
	if n.Schema().Len() != 1 {
		return nil, sqlerr.New(sqlerr.SyntaxError, "subquery must return only one column").At(x.Pos)
	}
	if x.Kind == sql.ArraySubquery {
		if n.Schema().Fields[0].Type.ID == types.Array {
			return nil, sqlerr.Unsupported("arrays of more than one dimension are not supported").At(x.Pos)
		}
		return l.apply(n, plan.ApplyArray, nil, x.Pos), nil
	}
	return l.apply(n, plan.ApplyScalar, nil, x.Pos), nil
}

// inQuery binds x [NOT] IN (query).
func (l *level) inQuery(x *sql.In, clause string) (expr.Expr, error) {
	e, err := l.compareAll(x.X, x.Query, "=", plan.ApplyAny, clause, x.Pos)
	if err != nil || !x.Not {
		return e, err
	}
	return expr.Not(e)
}

// compareAll binds x op ANY|ALL (query).
func (l *level) compareAll(x sql.Expr, q *sql.Query, op string, kind plan.ApplyKind, clause string,
	pos int,
) (expr.Expr, error) {
	if err := l.open(clause, pos); err != nil {
		return nil, err
	}
	left, err := l.scalar(x, clause)
	if err != nil {
		return nil, err
	}
	n, err := l.b.query(q, l, l.ctes)
	if err != nil {
		return nil, err
	}
	fields := []expr.Expr{left}
	parts, isRow := rowParts(x, left)
	if isRow {
		fields = parts
	}
	s := n.Schema()
	switch {
	case s.Len() > len(fields):
		return nil, sqlerr.New(sqlerr.SyntaxError, "subquery has too many columns").At(pos)
	case s.Len() < len(fields):
		return nil, sqlerr.New(sqlerr.SyntaxError, "subquery has too few columns").At(pos)
	}
	width := l.node.Schema().Len()
	cols := make([]expr.Expr, s.Len())
	for i, f := range s.Fields {
		cols[i] = expr.NewColumn(width+i, f.Name, f.Type)
	}
	var test expr.Expr
	if isRow {
		test, err = expr.CompareRows(op, fields, cols)
	} else {
		test, err = expr.Binary(op, left, cols[0])
	}
	if err != nil {
		return nil, at(err, pos)
	}
	if test.Type().ID != types.Bool {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "row comparison operator must yield type boolean, not type %s",
			test.Type()).At(pos)
	}
	return l.apply(n, kind, test, pos), nil
}

// quantified binds x op ANY|ALL (query or array).
func (l *level) quantified(x *sql.Quantified, clause string) (expr.Expr, error) {
	if err := checkOperator(x.Op); err != nil {
		return nil, err
	}
	if x.Query != nil {
		kind := plan.ApplyAny
		if x.All {
			kind = plan.ApplyAll
		}
		return l.compareAll(x.X, x.Query, x.Op.Name, kind, clause, x.Pos)
	}
	a, b, err := l.pair(x.X, x.Array, clause)
	if err != nil {
		return nil, err
	}
	return expr.AnyAll(x.Op.Name, a, b, x.All)
}

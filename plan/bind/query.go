package bind

import (
	"strconv"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// query binds a query; outer is the level that its references to enclosing rows
// start from. Untyped literals among the columns become text.
func (b *Binder) query(q *sql.Query, outer *level, ctes *cteScope) (logical.Node, error) {
	n, err := b.rawQuery(q, outer, ctes)
	if err != nil {
		return nil, err
	}
	return b.settle(n)
}

// rawQuery is query with untyped columns left as they are, for whoever knows
// their types better.
func (b *Binder) rawQuery(q *sql.Query, outer *level, ctes *cteScope) (logical.Node, error) {
	if err := b.enter(q.Pos); err != nil {
		return nil, err
	}
	defer b.leave()
	if len(q.Locks) > 0 {
		return nil, sqlerr.Unsupported("FOR %s is not supported", q.Locks[0].Strength).At(q.Locks[0].Pos).
			WithHint("Every SELECT reads one consistent snapshot; remove the clause.")
	}
	ctes, err := b.with(q.With, outer, ctes)
	if err != nil {
		return nil, err
	}
	var n logical.Node
	if sel, ok := q.Body.(*sql.Select); ok {
		n, err = b.selectBody(sel, q.OrderBy, outer, ctes)
	} else {
		n, err = b.body(q.Body, outer, ctes)
		if err == nil && len(q.OrderBy) > 0 {
			n, err = b.orderOutput(n, q.OrderBy, outer, ctes)
		}
	}
	if err != nil {
		return nil, err
	}
	return b.limit(n, q, outer, ctes)
}

// body binds what stands between WITH and ORDER BY.
func (b *Binder) body(q sql.QueryBody, outer *level, ctes *cteScope) (logical.Node, error) {
	switch q := q.(type) {
	case *sql.Query:
		return b.rawQuery(q, outer, ctes)
	case *sql.Select:
		return b.selectBody(q, nil, outer, ctes)
	case *sql.SetOp:
		return b.setOp(q, outer, ctes)
	case *sql.Values:
		return b.values(q, outer, ctes)
	case *sql.TableBody:
		l := b.newLevel(outer, ctes)
		if err := l.from([]sql.TableRef{q.Rel}); err != nil {
			return nil, err
		}
		return l.projectStar()
	}
	return nil, sqlerr.Internal("unknown query body %T", q)
}

// settle gives untyped columns the type text.
func (b *Binder) settle(n logical.Node) (logical.Node, error) {
	s := n.Schema()
	list := logical.Identity(s)
	changed := false
	for i, f := range s.Fields {
		if f.Type.ID == types.Unknown {
			changed = true
			var err error
			if list[i], err = expr.Cast(list[i], types.TText, expr.Implicit); err != nil {
				return nil, err
			}
		}
	}
	if !changed {
		return n, nil
	}
	return retype(n, types.TText, s)
}

// retype casts the untyped columns of a plan to t, in the projections and rows
// that make them where that is possible, so that literals are read as t.
func retype(n logical.Node, t types.Type, s *plan.Schema) (logical.Node, error) {
	want := make([]types.Type, s.Len())
	for i, f := range s.Fields {
		want[i] = f.Type
		if f.Type.ID == types.Unknown {
			want[i] = t
		}
	}
	return castColumns(n, want)
}

// castColumns casts a plan's columns to the types want, implicitly.
func castColumns(n logical.Node, want []types.Type) (logical.Node, error) {
	s := n.Schema()
	same := true
	for i, f := range s.Fields {
		same = same && f.Type.Equal(want[i])
	}
	if same {
		return n, nil
	}
	switch n := n.(type) {
	case *logical.Project:
		list := make([]expr.Expr, len(n.List))
		for i, e := range n.List {
			x, err := expr.Cast(e, want[i], expr.Implicit)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return logical.NewProject(n.Input(), list, s.Names()), nil
	case *logical.Values:
		rows := make([][]expr.Expr, len(n.Rows))
		for r, row := range n.Rows {
			rows[r] = make([]expr.Expr, len(row))
			for i, e := range row {
				x, err := expr.Cast(e, want[i], expr.Implicit)
				if err != nil {
					return nil, err
				}
				rows[r][i] = x
			}
		}
		f := append([]plan.Field(nil), s.Fields...)
		for i := range f {
			f[i].Type = want[i]
		}
		return logical.NewValues(rows, f...), nil
	case *logical.Sort, *logical.Limit:
		// The order does not depend on a literal's type: it has one value.
		in, err := castColumns(n.Children()[0], want)
		if err != nil {
			return nil, err
		}
		return n.WithChildren([]logical.Node{in}), nil
	}
	list := logical.Identity(s)
	for i, e := range list {
		x, err := expr.Cast(e, want[i], expr.Implicit)
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return logical.NewProject(n, list, s.Names()), nil
}

// setOp binds UNION, INTERSECT and EXCEPT.
func (b *Binder) setOp(q *sql.SetOp, outer *level, ctes *cteScope) (logical.Node, error) {
	if err := b.enter(q.Pos); err != nil {
		return nil, err
	}
	defer b.leave()
	l, err := b.body(q.Left, outer, ctes)
	if err != nil {
		return nil, err
	}
	r, err := b.body(q.Right, outer, ctes)
	if err != nil {
		return nil, err
	}
	if l.Schema().Len() != r.Schema().Len() {
		return nil, sqlerr.New(sqlerr.SyntaxError, "each %s query must have the same number of columns", q.Op).
			At(columnPos(q.Right, 0))
	}
	want := make([]types.Type, l.Schema().Len())
	for i := range want {
		t, err := types.Common(q.Op.String(), l.Schema().Fields[i].Type, r.Schema().Fields[i].Type)
		if err != nil {
			return nil, at(err, columnPos(q.Right, i))
		}
		want[i] = t
	}
	if l, err = castColumns(l, want); err != nil {
		return nil, at(bodyLiteral(err, q.Left), q.Left.Position())
	}
	if r, err = castColumns(r, want); err != nil {
		return nil, at(bodyLiteral(err, q.Right), q.Right.Position())
	}
	switch {
	case q.Op != sql.Union:
		return logical.NewSetOp(l, r, q.Op == sql.Except, q.All, q.Pos), nil
	case q.All:
		return logical.NewUnion(l, r), nil
	}
	return logical.NewDistinct(logical.NewUnion(l, r), q.Pos), nil
}

// values binds VALUES lists.
func (b *Binder) values(q *sql.Values, outer *level, ctes *cteScope) (logical.Node, error) {
	l := b.newLevel(outer, ctes)
	width := len(q.Rows[0])
	rows := make([][]expr.Expr, len(q.Rows))
	for r, row := range q.Rows {
		if len(row) != width {
			return nil, sqlerr.New(sqlerr.SyntaxError, "VALUES lists must all be the same length").At(row[0].Position())
		}
		for _, x := range row {
			if d, ok := x.(*sql.Default); ok {
				return nil, sqlerr.New(sqlerr.SyntaxError, "DEFAULT is not allowed in this context").At(d.Pos)
			}
			e, err := l.scalar(x, "VALUES")
			if err != nil {
				return nil, err
			}
			rows[r] = append(rows[r], e)
		}
	}
	fields := make([]plan.Field, width)
	for i := range fields {
		t, err := unifyColumn(rows, i, q)
		if err != nil {
			return nil, err
		}
		fields[i] = plan.Field{Name: "column" + strconv.Itoa(i+1), Type: t}
	}
	if _, plain := l.node.(*logical.Values); plain {
		return logical.NewValues(rows, fields...), nil
	}
	// A row holds a subquery: each row is a projection of what l has become.
	in := make([]logical.Node, len(rows))
	for r, row := range rows {
		in[r] = logical.NewProject(l.node, row, plan.NewSchema(fields...).Names())
	}
	if len(in) == 1 {
		return in[0], nil
	}
	return logical.NewUnion(in...), nil
}

// unifyColumn brings column i of the rows to one type. A column of untyped
// literals only stays untyped.
func unifyColumn(rows [][]expr.Expr, i int, q *sql.Values) (types.Type, error) {
	col := make([]expr.Expr, len(rows))
	ts := make([]types.Type, len(rows))
	untyped := true
	for r := range rows {
		col[r], ts[r] = rows[r][i], rows[r][i].Type()
		untyped = untyped && ts[r].ID == types.Unknown
	}
	if untyped {
		return types.TUnknown, nil
	}
	t, err := types.Common("VALUES", ts...)
	if err != nil {
		for r := range rows {
			if _, err := types.Common("VALUES", ts[:r+1]...); err != nil {
				return t, at(err, q.Rows[r][i].Position())
			}
		}
		return t, at(err, q.Pos)
	}
	for r := range rows {
		x, err := expr.Cast(col[r], t, expr.Implicit)
		if err != nil {
			return t, at(err, q.Rows[r][i].Position())
		}
		rows[r][i] = x
	}
	return t, nil
}

// limit puts LIMIT and OFFSET on a plan.
func (b *Binder) limit(n logical.Node, q *sql.Query, outer *level, ctes *cteScope) (logical.Node, error) {
	if q.Limit == nil && q.Offset == nil {
		return n, nil
	}
	l := b.newLevel(outer, ctes)
	l.closed = true
	one := func(x sql.Expr, what string) (expr.Expr, error) {
		if x == nil {
			return nil, nil
		}
		if _, null := x.(*sql.NullLit); null {
			return nil, nil
		}
		e, err := l.scalar(x, what)
		if c := firstColumn(x); c != nil && (err != nil || outer == nil) {
			return nil, sqlerr.New(sqlerr.InvalidColumnReference, "argument of %s must not contain variables", what).At(c.Pos)
		}
		if err != nil {
			return nil, err
		}
		out, err := expr.Cast(e, types.TInt8, expr.Assignment)
		if err != nil {
			if e.Type().ID == types.Unknown {
				return nil, at(err, x.Position())
			}
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s",
				what, e.Type()).At(x.Position())
		}
		return out, nil
	}
	count, err := one(q.Limit, "LIMIT")
	if err != nil {
		return nil, err
	}
	offset, err := one(q.Offset, "OFFSET")
	if err != nil {
		return nil, err
	}
	if count == nil && offset == nil {
		return n, nil
	}
	if q.WithTies && len(q.OrderBy) == 0 {
		return nil, sqlerr.New(sqlerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause").At(q.Pos)
	}
	pos := q.Pos
	if q.Limit != nil {
		pos = q.Limit.Position()
	} else if q.Offset != nil {
		pos = q.Offset.Position()
	}
	// The limit goes below a projection that only drops what was sorted by, so that
	// it stands on the sort.
	if p, ok := n.(*logical.Project); ok && len(q.OrderBy) > 0 {
		if s, ok := p.Input().(*logical.Sort); ok {
			return p.WithChildren([]logical.Node{logical.NewLimit(s, count, offset, q.WithTies, pos)}), nil
		}
	}
	return logical.NewLimit(n, count, offset, q.WithTies, pos), nil
}

func firstColumn(x sql.Expr) *sql.ColumnRef {
	var found *sql.ColumnRef
	walk(x, func(e sql.Expr) bool {
		if c, ok := e.(*sql.ColumnRef); ok && found == nil {
			found = c
		}
		return found == nil
	})
	return found
}

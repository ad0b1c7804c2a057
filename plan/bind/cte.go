package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// cteScope is the common table expressions in sight, innermost first.
type cteScope struct {
	next *cteScope
	cte  *sql.CTE
	// node is the plan; its references to enclosing rows count from outer.
	node  logical.Node
	outer *level
	// work is set while the recursive term of the expression is bound.
	work *logical.WorkTable
	used bool // the work table was named
}

// find returns the expression of that name.
func (c *cteScope) find(name string) *cteScope {
	for ; c != nil; c = c.next {
		if c.cte.Name.Text == name {
			return c
		}
	}
	return nil
}

// with binds a WITH clause: each expression sees those before it.
func (b *Binder) with(w *sql.With, outer *level, ctes *cteScope) (*cteScope, error) {
	if w == nil {
		return ctes, nil
	}
	first := ctes
	for i := range w.CTEs {
		c := &w.CTEs[i]
		for k := ctes; k != first; k = k.next {
			if k.cte.Name.Text == c.Name.Text {
				return nil, sqlerr.New(sqlerr.DuplicateAlias, "WITH query name %q specified more than once",
					c.Name.Text).At(c.Name.Pos)
			}
		}
		s := &cteScope{next: ctes, cte: c, outer: outer}
		var err error
		if w.Recursive && mentions(c.Query, c.Name.Text) {
			s.node, err = b.recursive(c, outer, ctes)
		} else {
			s.node, err = b.query(c.Query, outer, ctes)
			if err == nil {
				s.node, err = renameColumns(s.node, c.Columns, "WITH query", c.Name)
			}
		}
		if err != nil {
			return nil, err
		}
		ctes = s
	}
	return ctes, nil
}

// recursive binds WITH RECURSIVE name AS (first UNION [ALL] step).
func (b *Binder) recursive(c *sql.CTE, outer *level, ctes *cteScope) (logical.Node, error) {
	u, ok := c.Query.Body.(*sql.SetOp)
	if !ok || u.Op != sql.Union {
		return nil, sqlerr.New(sqlerr.InvalidRecursion,
			"recursive query %q does not have the form non-recursive-term UNION [ALL] recursive-term",
			c.Name.Text).At(c.Name.Pos)
	}
	if len(c.Query.OrderBy) > 0 {
		return nil, sqlerr.Unsupported("ORDER BY in a recursive query is not implemented").At(c.Query.OrderBy[0].X.Position())
	}
	if c.Query.Limit != nil || c.Query.Offset != nil {
		return nil, sqlerr.Unsupported("LIMIT in a recursive query is not implemented").At(c.Query.Pos)
	}
	ctes, err := b.with(c.Query.With, outer, ctes)
	if err != nil {
		return nil, err
	}
	if mentionsBody(u.Left, c.Name.Text) {
		return nil, sqlerr.New(sqlerr.InvalidRecursion,
			"recursive reference to query %q must not appear within its non-recursive term", c.Name.Text).At(u.Left.Position())
	}
	first, err := b.body(u.Left, outer, ctes)
	if err != nil {
		return nil, err
	}
	if first, err = b.settle(first); err != nil {
		return nil, err
	}
	if first, err = renameColumns(first, c.Columns, "WITH query", c.Name); err != nil {
		return nil, err
	}
	b.tables++
	table := b.tables
	schema := first.Schema().Nullable()
	for i := range schema.Fields {
		schema.Fields[i].Table, schema.Fields[i].Attr = 0, 0
	}
	s := &cteScope{next: ctes, cte: c, outer: outer, work: logical.NewWorkTable(schema, table, c.Name.Text)}
	step, err := b.body(u.Right, outer, s)
	if err != nil {
		return nil, err
	}
	if err := (&recursionRules{cte: c, work: s.work}).check(step, ""); err != nil {
		return nil, err
	}
	if step, err = castTo(step, schema, c, u); err != nil {
		return nil, err
	}
	return logical.NewRecursive(first, step, schema, table, c.Name.Text, u.All, c.Name.Pos), nil
}

// castTo checks that the recursive term has the columns of the other one.
func castTo(n logical.Node, want *plan.Schema, c *sql.CTE, u *sql.SetOp) (logical.Node, error) {
	got := n.Schema()
	if got.Len() != want.Len() {
		return nil, sqlerr.New(sqlerr.SyntaxError,
			"each UNION query must have the same number of columns").At(columnPos(u.Right, 0))
	}
	list := logical.Identity(got)
	for i, e := range list {
		w := want.Fields[i].Type
		if e.Type().Equal(w) {
			continue
		}
		x, err := expr.Cast(e, w, expr.Implicit)
		if err != nil {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch,
				"recursive query %q column %d has type %s in non-recursive term but type %s overall",
				c.Name.Text, i+1, w, e.Type()).At(columnPos(u.Left, i)).
				WithHint("Cast the output of the non-recursive term to the correct type.")
		}
		list[i] = x
	}
	return logical.NewProject(n, list, want.Names()), nil
}

// reference puts the plan of a common table expression where it is named.
func (l *level) reference(c *cteScope, r *sql.Relation) (logical.Node, error) {
	if c.work != nil {
		if c.used {
			return nil, sqlerr.New(sqlerr.InvalidRecursion,
				"recursive reference to query %q must not appear more than once", c.cte.Name.Text).At(r.Pos)
		}
		c.used = true
		return c.work, nil
	}
	depth := 0
	for q := l.outer; q != c.outer && q != nil; q = q.outer {
		depth++
	}
	n := logical.ShiftOuter(c.node, 1, depth)
	return n, l.b.grow(n, r.Pos)
}

// renameColumns applies a column list to a plan.
func renameColumns(n logical.Node, cols []sql.Name, kind string, name sql.Name) (logical.Node, error) {
	if len(cols) == 0 {
		return n, nil
	}
	s := n.Schema()
	if len(cols) > s.Len() {
		return nil, sqlerr.New(sqlerr.InvalidColumnReference, "%s %q has %d columns available but %d columns specified",
			kind, name.Text, s.Len(), len(cols)).At(name.Pos)
	}
	names := s.Names()
	for i, c := range cols {
		names[i] = c.Text
	}
	return logical.NewProject(n, logical.Identity(s), names), nil
}

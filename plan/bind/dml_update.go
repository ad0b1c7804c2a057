package bind

import (
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

func asText(e expr.Expr) (expr.Expr, error) {
	if e.Type().ID == types.Unknown {
		return expr.Cast(e, types.TText, expr.Implicit)
	}
	return e, nil
}

// conflict binds ON CONFLICT.
func (b *Binder) conflict(c *sql.OnConflict, o *catalog.Object, alias string) (*Conflict, error) {
	if len(c.Keys) > 0 || c.Constraint.Given() {
		if err := checkArbiter(c, o); err != nil {
			return nil, err
		}
	} else if len(c.Update) > 0 {
		return nil, sqlerr.New(sqlerr.SyntaxError,
			"ON CONFLICT DO UPDATE requires inference specification or constraint name").
			At(c.Pos).WithHint("For example, ON CONFLICT (column_name).")
	}
	out := &Conflict{}
	if len(c.Update) == 0 {
		return out, nil
	}
	old, new := tableRow(o), tableRow(o)
	l := b.newLevel(nil, nil)
	l.closed = true
	hidden := func(i int) bool { return o.Columns[i].Hidden }
	sc, err := relScope(alias, o.Name.Schema, old, o, hidden).join(
		relScope("excluded", "", new, nil, hidden).shift(len(o.Columns)))
	if err != nil {
		return nil, at(err, c.Pos)
	}
	// A bare name is the stored row's column.
	sc.cols = sc.cols[:len(o.Columns)]
	l.scope, l.node = sc, logical.NewJoin(old, new, plan.CrossJoin, nil, c.Pos)
	set, err := l.assignments(o, c.Update)
	if err != nil {
		return nil, err
	}
	base := logical.Identity(old.Schema())
	src, row, err := b.newRow(o, l.node, func(i int) (expr.Expr, error) {
		if e := set[i]; e != nil {
			return e, nil
		}
		return base[i], nil
	})
	if err != nil {
		return nil, err
	}
	if src != l.node {
		return nil, sqlerr.Unsupported(
			"ON CONFLICT DO UPDATE with a volatile value that a generated column reads is not supported").At(c.Pos)
	}
	if out.Set = row; c.Where == nil {
		return out, nil
	}
	if out.Where, err = l.scalar(c.Where, "ON CONFLICT WHERE"); err == nil {
		out.Where, err = expr.NeedBool("WHERE", out.Where)
	}
	return out, at(err, c.Pos)
}

// checkArbiter demands that the conflict's columns are the primary key.
func checkArbiter(c *sql.OnConflict, o *catalog.Object) error {
	visible := len(o.Key) > 0
	var key []string
	for _, k := range o.Key {
		visible = visible && !o.Columns[k].Hidden
		key = append(key, o.Columns[k].Name)
	}
	if c.Constraint.Given() {
		if visible && c.Constraint.Text == o.Name.Name+"_pkey" {
			return nil
		}
		return sqlerr.New(sqlerr.UndefinedObject, "constraint %q for table %q does not exist", c.Constraint.Text,
			o.Name.Name).At(c.Constraint.Pos)
	}
	var cols []string
	for _, k := range c.Keys {
		ref, ok := k.(*sql.ColumnRef)
		if !ok || len(ref.Parts) != 1 {
			return sqlerr.Unsupported("ON CONFLICT with an expression is not supported").At(k.Position())
		}
		if _, err := columnIndex(o, ref.Parts[0]); err != nil {
			return err
		}
		cols = append(cols, ref.Parts[0].Text)
	}
	if c.KeyWhere != nil {
		return sqlerr.Unsupported("ON CONFLICT with a partial index is not supported").At(c.KeyWhere.Position())
	}
	slices.Sort(cols)
	slices.Sort(key)
	if !visible || !slices.Equal(slices.Compact(cols), key) {
		return sqlerr.New(sqlerr.InvalidColumnReference,
			"there is no unique or exclusion constraint matching the ON CONFLICT specification").At(c.Pos)
	}
	return nil
}

// assignments binds SET: the new values by column.
func (l *level) assignments(o *catalog.Object, items []sql.SetItem) (map[int]expr.Expr, error) {
	set := map[int]expr.Expr{}
	for _, it := range items {
		values, err := l.setValues(o, it)
		if err != nil {
			return nil, err
		}
		for i, n := range it.Columns {
			k, err := columnIndex(o, n)
			if err != nil {
				return nil, err
			}
			col := o.Columns[k]
			if set[k] != nil {
				return nil, sqlerr.New(sqlerr.SyntaxError, "multiple assignments to same column %q", n.Text).At(n.Pos)
			}
			e := values[i]
			switch {
			case col.Generated != "":
				if e == nil {
					continue // SET generated = DEFAULT
				}
				return nil, sqlerr.New("428C9", "column %q can only be updated to DEFAULT", n.Text).At(n.Pos).
					WithDetail("Column %q is a generated column.", n.Text)
			case e == nil:
				if e, err = l.b.defaultOf(col, o); err != nil {
					return nil, err
				}
			}
			if set[k], err = expr.CoerceAssign(e, col.Name, col.Type); err != nil {
				return nil, at(err, it.Value.Position())
			}
		}
	}
	return set, nil
}

// setValues binds the right side of one assignment; nil stands for DEFAULT.
func (l *level) setValues(o *catalog.Object, it sql.SetItem) ([]expr.Expr, error) {
	one := func(x sql.Expr) (expr.Expr, error) {
		if _, ok := x.(*sql.Default); ok {
			return nil, nil
		}
		return l.scalar(x, "UPDATE")
	}
	if !it.Multi {
		e, err := one(it.Value)
		return []expr.Expr{e}, err
	}
	wrong := func(n int) error {
		return sqlerr.New(sqlerr.SyntaxError, "number of columns does not match number of values").
			WithDetail("%d columns are set to %d values.", len(it.Columns), n).At(it.Value.Position())
	}
	switch v := it.Value.(type) {
	case *sql.Row:
		if len(v.Fields) != len(it.Columns) {
			return nil, wrong(len(v.Fields))
		}
		out := make([]expr.Expr, len(v.Fields))
		for i, f := range v.Fields {
			var err error
			if out[i], err = one(f); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *sql.Subquery:
		if err := l.open("UPDATE", v.Pos); err != nil {
			return nil, err
		}
		n, err := l.b.query(v.Query, l, l.ctes)
		if err != nil {
			return nil, err
		}
		if n.Schema().Len() != len(it.Columns) {
			return nil, wrong(n.Schema().Len())
		}
		width := l.node.Schema().Len()
		l.node = logical.NewApply(l.node, n, plan.ApplyRow, nil, v.Pos)
		return logical.Identity(l.node.Schema())[width:], nil
	}
	if len(it.Columns) == 1 {
		e, err := one(it.Value)
		return []expr.Expr{e}, err
	}
	return nil, sqlerr.Unsupported("source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").
		At(it.Value.Position())
}

// target puts the table that a statement changes, and the relations it joins,
// into a level.
func (b *Binder) target(o *catalog.Object, r *sql.Relation, from []sql.TableRef,
	ctes *cteScope,
) (*level, string, *item, error) {
	l := b.newLevel(nil, ctes)
	alias := o.Name.Name
	if r.Alias != nil {
		if len(r.Alias.Columns) > 0 {
			return nil, "", nil, sqlerr.New(sqlerr.SyntaxError, "column aliases are not allowed here").At(r.Pos)
		}
		alias = r.Alias.Name.Text
	}
	row := tableRow(o)
	hidden := func(i int) bool { return o.Columns[i].Hidden }
	l.node, l.scope = row, relScope(alias, o.Name.Schema, row, o, hidden)
	if len(from) == 0 {
		return l, alias, nil, nil
	}
	other := b.newLevel(nil, ctes)
	if err := other.from(from); err != nil {
		return nil, "", nil, err
	}
	n := len(o.Columns)
	extra := &item{other.node, other.scope.shift(n)}
	sc, err := l.scope.join(extra.scope)
	if err != nil {
		return nil, "", nil, at(err, r.Pos)
	}
	l.node, l.scope = logical.NewJoin(row, other.node, plan.CrossJoin, nil, r.Pos), sc
	return l, alias, extra, nil
}

// Update binds UPDATE.
func (b *Binder) Update(s *sql.Update) (*Change, error) {
	o, err := b.table(s.Table.Name, Update)
	if err != nil {
		return nil, err
	}
	ctes, err := b.with(s.With, nil, nil)
	if err != nil {
		return nil, err
	}
	l, alias, extra, err := b.target(o, s.Table, s.From, ctes)
	if err != nil {
		return nil, err
	}
	width := l.node.Schema().Len()
	if err := l.where(s.Where); err != nil {
		return nil, err
	}
	set, err := l.assignments(o, s.Set)
	if err != nil {
		return nil, err
	}
	in := logical.Identity(l.node.Schema())
	n := len(o.Columns)
	src, row, err := b.newRow(o, l.node, func(i int) (expr.Expr, error) {
		if e := set[i]; e != nil {
			return e, nil
		}
		return in[i], nil
	})
	if err != nil {
		return nil, err
	}
	list := append(append(slices.Clone(in[:n]), row...), in[n:width]...)
	names := append(append(columnNames(o), columnNames(o)...), l.node.Schema().Names()[n:width]...)
	c := &Change{Kind: Update, Table: o, Source: logical.NewProject(src, list, names)}
	return c, b.returning(c, s.Returning, alias, extra, ctes)
}

// Delete binds DELETE.
func (b *Binder) Delete(s *sql.Delete) (*Change, error) {
	o, err := b.table(s.Table.Name, Delete)
	if err != nil {
		return nil, err
	}
	ctes, err := b.with(s.With, nil, nil)
	if err != nil {
		return nil, err
	}
	l, alias, extra, err := b.target(o, s.Table, s.Using, ctes)
	if err != nil {
		return nil, err
	}
	width := l.node.Schema().Len()
	if err := l.where(s.Where); err != nil {
		return nil, err
	}
	c := &Change{Kind: Delete, Table: o, Source: trim(l.node, width)}
	return c, b.returning(c, s.Returning, alias, extra, ctes)
}

package bind

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// scopeCol is a column that a FROM clause makes visible.
type scopeCol struct {
	name string
	// e is the column in terms of the level's plan; a column that USING merges may
	// be a COALESCE.
	e      expr.Expr
	hidden bool // not part of *
}

// scopeRel is a relation of a FROM clause under the name it goes by.
type scopeRel struct {
	alias, schema string
	cols          []scopeCol
	object        *catalog.Object // nil for all but plain relations
	// single: of a function that returns values, not rows; its name as a value is
	// the value.
	single bool
}

// scope is the names of a FROM clause. cols are the columns that bare names and
// * mean, in order; rels are found by their names.
type scope struct {
	cols []scopeCol
	rels []scopeRel
}

// relScope is the scope of one relation whose columns are the plan's.
func relScope(alias, schema string, node logical.Node, o *catalog.Object, hidden func(i int) bool) *scope {
	s := node.Schema()
	cols := make([]scopeCol, s.Len())
	for i, f := range s.Fields {
		cols[i] = scopeCol{name: f.Name, e: expr.NewColumn(i, f.Name, f.Type), hidden: hidden != nil && hidden(i)}
	}
	sc := &scope{cols: cols}
	if alias != "" {
		sc.rels = []scopeRel{{alias: alias, schema: schema, cols: cols, object: o}}
	}
	return sc
}

// shift moves the columns of s by n places, for the right side of a join.
func (s *scope) shift(n int) *scope {
	move := func(cols []scopeCol) []scopeCol {
		out := make([]scopeCol, len(cols))
		for i, c := range cols {
			c.e = expr.Remap(c.e, func(k int) int { return k + n })
			out[i] = c
		}
		return out
	}
	out := &scope{cols: move(s.cols)}
	for _, r := range s.rels {
		r.cols = move(r.cols)
		out.rels = append(out.rels, r)
	}
	return out
}

// join puts two scopes side by side; the second is shifted already.
func (s *scope) join(o *scope) (*scope, error) {
	out := &scope{cols: append(s.cols[:len(s.cols):len(s.cols)], o.cols...)}
	out.rels = append(s.rels[:len(s.rels):len(s.rels)], o.rels...)
	for _, r := range o.rels {
		for _, l := range s.rels {
			if l.alias == r.alias && (l.schema == r.schema || l.schema == "" || r.schema == "") {
				return nil, sqlerr.New(sqlerr.DuplicateAlias, "table name %q specified more than once", r.alias)
			}
		}
	}
	return out, nil
}

// rename applies AS alias (columns) to s.
func (s *scope) rename(a *sql.Alias, kind string) (*scope, error) {
	if a == nil {
		return s, nil
	}
	cols := append([]scopeCol(nil), s.cols...)
	visible := 0
	for i := range cols {
		if cols[i].hidden {
			continue
		}
		if visible < len(a.Columns) {
			cols[i].name = a.Columns[visible].Text
		}
		visible++
	}
	if len(a.Columns) > visible {
		return nil, sqlerr.New(sqlerr.InvalidColumnReference, "%s %q has %d columns available but %d columns specified",
			kind, a.Name.Text, visible, len(a.Columns)).At(a.Columns[visible].Pos)
	}
	r := scopeRel{alias: a.Name.Text, cols: cols}
	if len(s.rels) == 1 {
		r.object, r.single = s.rels[0].object, s.rels[0].single
	}
	return &scope{cols: cols, rels: []scopeRel{r}}, nil
}

// rel finds a relation by name; nil if there is none.
func (s *scope) rel(schema, name string) *scopeRel {
	for i, r := range s.rels {
		if r.alias == name && (schema == "" || schema == r.schema) {
			return &s.rels[i]
		}
	}
	return nil
}

// find looks for a bare column name. found counts the matches.
func find(cols []scopeCol, name string) (c scopeCol, found int) {
	for _, x := range cols {
		if x.name == name {
			if found == 0 {
				c = x
			}
			found++
		}
	}
	return c, found
}

// column resolves a column reference in l and the queries around it, as an
// expression over l's plan.
func (l *level) column(ref *sql.ColumnRef) (expr.Expr, error) {
	for q, depth := l, 0; q != nil; q, depth = q.outer, depth+1 {
		e, ok, err := q.lookup(ref)
		if err == nil && ok && q.group != nil {
			e, err = q.groupedColumn(ref, e, depth > 0)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			for range depth {
				e = plan.IntoSubquery(e)
			}
			return e, nil
		}
	}
	return nil, l.undefined(ref)
}

// lookup resolves a reference in the scope of l alone, ahead of any grouping.
func (l *level) lookup(ref *sql.ColumnRef) (e expr.Expr, ok bool, err error) {
	parts := ref.Parts
	name := parts[len(parts)-1].Text
	if len(parts) == 1 {
		c, n := find(l.scope.cols, name)
		if n > 1 {
			return nil, false, sqlerr.New(sqlerr.AmbiguousColumn, "column reference %q is ambiguous", name).At(ref.Pos)
		}
		if n == 1 {
			return c.e, true, nil
		}
		if r := l.scope.rel("", name); r != nil {
			e, err := wholeRow(r)
			return e, err == nil, at(err, ref.Pos)
		}
		return nil, false, nil
	}
	schema := ""
	if len(parts) > 2 {
		schema = parts[len(parts)-3].Text
	}
	r := l.scope.rel(schema, parts[len(parts)-2].Text)
	if r == nil {
		return l.structField(ref)
	}
	c, n := find(r.cols, name)
	switch {
	case n > 1:
		return nil, false, sqlerr.New(sqlerr.AmbiguousColumn, "column reference %q is ambiguous", name).At(ref.Pos)
	case n == 1:
		return c.e, true, nil
	}
	err = sqlerr.New(sqlerr.UndefinedColumn, "column %s does not exist", qualified(parts)).At(ref.Pos)
	if near := sqlerr.Nearest(name, names(r.cols)); near != "" {
		err = sqlerr.From(err).WithHint("Perhaps you meant to reference the column \"%s.%s\".", r.alias, near)
	}
	return nil, false, err
}

// structField reads w.start as (w).start where w is a column and no relation.
func (l *level) structField(ref *sql.ColumnRef) (expr.Expr, bool, error) {
	if len(ref.Parts) != 2 {
		return nil, false, nil
	}
	c, n := find(l.scope.cols, ref.Parts[0].Text)
	if n != 1 || len(c.e.Type().Fields) == 0 {
		return nil, false, nil
	}
	e, err := expr.Field(c.e, ref.Parts[1].Text)
	return e, err == nil, at(err, ref.Pos)
}

// wholeRow is a relation's name used as a value.
func wholeRow(r *scopeRel) (expr.Expr, error) {
	if r.single {
		return r.cols[0].e, nil
	}
	var names []string
	var vals []expr.Expr
	for _, c := range r.cols {
		if !c.hidden {
			names, vals = append(names, c.name), append(vals, c.e)
		}
	}
	return expr.RowCtor(names, vals...)
}

func names(cols []scopeCol) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.name
	}
	return out
}

// undefined is the error for a reference that no query around it resolves.
func (l *level) undefined(ref *sql.ColumnRef) error {
	parts := ref.Parts
	name := parts[len(parts)-1].Text
	if len(parts) == 1 {
		err := sqlerr.New(sqlerr.UndefinedColumn, "column %q does not exist", name).At(ref.Pos)
		for q := l; q != nil; q = q.outer {
			for _, r := range q.scope.rels {
				if near := sqlerr.Nearest(name, names(r.cols)); near != "" {
					return err.WithHint("Perhaps you meant to reference the column \"%s.%s\".", r.alias, near)
				}
			}
		}
		return err
	}
	table := parts[len(parts)-2].Text
	return l.missingFrom(table, ref.Pos)
}

// missingFrom is the error for a table that is not in FROM.
func (l *level) missingFrom(table string, pos int) error {
	err := sqlerr.New(sqlerr.UndefinedTable, "missing FROM-clause entry for table %q", table).At(pos)
	var known []string
	for q := l; q != nil; q = q.outer {
		for _, r := range q.scope.rels {
			known = append(known, r.alias)
			if r.object != nil && r.object.Name.Name == table {
				err.Message = `invalid reference to FROM-clause entry for table "` + table + `"`
				return err.WithHint("Perhaps you meant to reference the table alias %q.", r.alias)
			}
		}
	}
	if near := sqlerr.Nearest(table, known); near != "" {
		return err.WithHint("Perhaps you meant to reference the table alias %q.", near)
	}
	return err
}

// star expands * and t.* to the columns and their names.
func (l *level) star(s *sql.Star) ([]scopeCol, error) {
	cols := l.scope.cols
	if len(s.Qualifier) > 0 {
		schema, name := "", s.Qualifier[len(s.Qualifier)-1].Text
		if len(s.Qualifier) > 1 {
			schema = s.Qualifier[len(s.Qualifier)-2].Text
		}
		r := l.scope.rel(schema, name)
		if r == nil {
			if c, n := find(l.scope.cols, name); n == 1 && len(c.e.Type().Fields) > 0 {
				return fieldsOf(c.e)
			}
			return l.outerStar(s, schema, name)
		}
		cols = r.cols
	} else if len(l.scope.rels) == 0 && len(cols) == 0 {
		return nil, sqlerr.New(sqlerr.SyntaxError, "SELECT * with no tables specified is not valid").At(s.Pos)
	}
	var out []scopeCol
	for _, c := range cols {
		if !c.hidden {
			out = append(out, c)
		}
	}
	return out, nil
}

// outerStar expands t.* where t is in an enclosing query.
func (l *level) outerStar(s *sql.Star, schema, name string) ([]scopeCol, error) {
	for q := l.outer; q != nil; q = q.outer {
		r := q.scope.rel(schema, name)
		if r == nil {
			continue
		}
		var out []scopeCol
		for _, c := range r.cols {
			if c.hidden {
				continue
			}
			parts := append(s.Qualifier[:len(s.Qualifier):len(s.Qualifier)], sql.Name{Text: c.name, Pos: s.Pos})
			e, err := l.column(&sql.ColumnRef{Pos: s.Pos, Parts: parts})
			if err != nil {
				return nil, err
			}
			out = append(out, scopeCol{name: c.name, e: e})
		}
		return out, nil
	}
	return nil, l.missingFrom(name, s.Pos)
}

// fieldsOf expands a struct to its fields.
func fieldsOf(e expr.Expr) ([]scopeCol, error) {
	var out []scopeCol
	for _, f := range e.Type().Fields {
		x, err := expr.Field(e, f.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, scopeCol{name: f.Name, e: x})
	}
	return out, nil
}

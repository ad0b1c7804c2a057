package bind

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// item is a part of a FROM clause being bound: its plan, whose references to
// enclosing rows count from side.lat, and its names.
type item struct {
	node  logical.Node
	scope *scope
}

// side is what a part of a FROM clause may refer to: lat is the enclosing level
// that a lateral part sees, depth levels of which are the parts to its left and
// not enclosing queries.
type side struct {
	lat   *level
	depth int
}

// from binds a FROM clause into l.
func (l *level) from(refs []sql.TableRef) error {
	for i, r := range refs {
		if i == 0 {
			it, err := l.ref(r, side{lat: l.outer})
			if err != nil {
				return err
			}
			l.node, l.scope = it.node, it.scope
			continue
		}
		it, err := l.combine(item{l.node, l.scope}, r, side{lat: l.outer}, nil)
		if err != nil {
			return err
		}
		l.node, l.scope = it.node, it.scope
	}
	return nil
}

// combine joins left with the part r, which may refer to it laterally. j is nil
// for a comma.
func (l *level) combine(left item, r sql.TableRef, s side, j *sql.Join) (item, error) {
	lat := &level{b: l.b, outer: s.lat, ctes: l.ctes, scope: left.scope, node: left.node, bound: map[sql.Expr]expr.Expr{}}
	right, err := l.ref(r, side{lat, s.depth + 1})
	if err != nil {
		return item{}, err
	}
	width := left.node.Schema().Len()
	correlated := logical.Correlated(right.node, 1)
	if !correlated {
		right.node = logical.ShiftOuter(right.node, 2, -1)
	}
	right.scope = right.scope.shift(width)
	if j == nil {
		sc, err := left.scope.join(right.scope)
		if err != nil {
			return item{}, at(err, r.Position())
		}
		if correlated {
			return item{logical.NewApply(left.node, right.node, plan.ApplyCross, nil, r.Position()), sc}, nil
		}
		return item{logical.NewJoin(left.node, right.node, plan.CrossJoin, nil, r.Position()), sc}, nil
	}
	return l.join(j, left, right, correlated, s)
}

// ref binds one part of a FROM clause.
func (l *level) ref(t sql.TableRef, s side) (item, error) {
	switch t := t.(type) {
	case *sql.Relation:
		return l.relation(t, s)
	case *sql.DerivedTable:
		return l.derived(t, s)
	case *sql.TableFunc:
		return l.tableFunc(t, s)
	case *sql.Join:
		left, err := l.ref(t.Left, s)
		if err != nil {
			return item{}, err
		}
		it, err := l.combine(left, t.Right, s, t)
		if err != nil || t.Alias == nil {
			return it, err
		}
		it.scope, err = it.scope.rename(t.Alias, "table")
		return it, err
	}
	return item{}, sqlerr.Internal("unknown table reference %T", t)
}

// relation binds a named relation: a common table expression or an object.
func (l *level) relation(r *sql.Relation, s side) (item, error) {
	name := r.Name.Name.Text
	if !r.Name.Schema.Given() {
		if c := l.ctes.find(name); c != nil {
			return l.cteRef(c, r, s)
		}
	}
	if r.Name.Catalog.Given() && r.Name.Catalog.Text != "streamsql" {
		return item{}, sqlerr.Unsupported("cross-database references are not implemented: \"%s.%s.%s\"",
			r.Name.Catalog.Text, r.Name.Schema.Text, name).At(r.Pos)
	}
	o, err := l.b.env.Resolver.Resolve(r.Name.Schema.Text, name)
	if err != nil {
		return item{}, at(err, r.Pos)
	}
	if !o.Relation() {
		return item{}, sqlerr.New(sqlerr.WrongObjectType, "%q is a %s and cannot be read", o.Name, o.Kind).At(r.Pos).
			WithHint("Read the relation that feeds it.")
	}
	if err := l.checkAsOf(r); err != nil {
		return item{}, err
	}
	var node logical.Node
	if o.Kind == catalog.KindView {
		if r.Stream {
			return item{}, sqlerr.New(sqlerr.WrongObjectType, "view %q cannot be read with STREAM", o.Name).At(r.Pos).
				WithHint("Leave out STREAM: a view means its query.")
		}
		if node, err = l.b.view(o, r.Pos); err != nil {
			return item{}, err
		}
	} else if node, err = l.b.scan(o, r); err != nil {
		return item{}, err
	}
	hidden := func(i int) bool { return i < len(o.Columns) && o.Columns[i].Hidden }
	sc := relScope(name, o.Name.Schema, node, o, hidden)
	return l.finish(item{node, sc}, r.Alias, r.Watermark)
}

func notAppendOnly(o *catalog.Object, pos int) error {
	return sqlerr.New(sqlerr.WrongObjectType, "%s %q is not append-only and cannot be read as a stream", o.Kind, o.Name).
		At(pos).WithHint("Leave out STREAM to follow its changes.")
}

// finish applies the watermark clause and the alias of a part.
func (l *level) finish(it item, a *sql.Alias, w *sql.WatermarkClause) (item, error) {
	if w != nil {
		var err error
		if it, err = l.b.watermarkClause(it, w); err != nil {
			return item{}, err
		}
	}
	var err error
	it.scope, err = it.scope.rename(a, "table")
	return it, err
}

func (l *level) cteRef(c *cteScope, r *sql.Relation, s side) (item, error) {
	if r.Stream || r.AsOf != nil {
		return item{}, sqlerr.New(sqlerr.WrongObjectType, "WITH query %q cannot be read with STREAM or FOR SYSTEM_TIME",
			c.cte.Name.Text).At(r.Pos)
	}
	n, err := l.reference(c, r)
	if err != nil {
		return item{}, err
	}
	n = logical.ShiftOuter(n, 1, s.depth)
	return l.finish(item{n, relScope(c.cte.Name.Text, "", n, nil, nil)}, r.Alias, r.Watermark)
}

// checkAsOf admits FOR SYSTEM_TIME AS OF the present, which is what a join with a
// table means anyway.
func (l *level) checkAsOf(r *sql.Relation) error {
	if r.AsOf == nil {
		return nil
	}
	switch x := r.AsOf.(type) {
	case *sql.FuncCall:
		switch x.Name.Text {
		case "now", "proctime", "clock_timestamp", "statement_timestamp", "transaction_timestamp":
			return nil
		}
	case *sql.ValueFunc:
		if x.Name == "current_timestamp" {
			return nil
		}
	}
	return sqlerr.Unsupported("FOR SYSTEM_TIME AS OF a time other than now() is not supported").At(r.AsOf.Position()).
		WithHint("A join with a table sees the table as it is when the row arrives: FOR SYSTEM_TIME AS OF now().")
}

// view expands a view in place.
func (b *Binder) view(o *catalog.Object, pos int) (logical.Node, error) {
	for _, v := range b.views {
		if v.ID == o.ID {
			return nil, sqlerr.New(sqlerr.InvalidRecursion, "infinite recursion detected in rules for relation %q", o.Name).
				At(pos)
		}
	}
	b.views = append(b.views, o)
	defer func() { b.views = b.views[:len(b.views)-1] }()
	q, err := sql.ParseQuery(o.Query)
	if err == nil {
		var n logical.Node
		if n, err = b.query(q, nil, nil); err == nil {
			return b.viewColumns(o, n, pos)
		}
	}
	// Positions inside the view's text mean nothing in the statement's.
	e := *sqlerr.From(err)
	e.Pos = pos + 1
	return nil, e.WithWhere("view %s", o.Name)
}

func (b *Binder) viewColumns(o *catalog.Object, n logical.Node, pos int) (logical.Node, error) {
	s := n.Schema()
	if s.Len() != len(o.Columns) {
		return nil, sqlerr.New(sqlerr.ObjectNotInState, "view %q has %d columns but its query gives %d", o.Name,
			len(o.Columns), s.Len()).At(pos).WithHint("A relation that it reads has changed; create the view again.")
	}
	names := make([]string, s.Len())
	for i, c := range o.Columns {
		names[i] = c.Name
	}
	return logical.NewProject(n, logical.Identity(s), names), b.grow(n, pos)
}

// derived binds a parenthesised query.
func (l *level) derived(t *sql.DerivedTable, s side) (item, error) {
	var n logical.Node
	var err error
	if t.Lateral {
		n, err = l.b.query(t.Query, s.lat, l.ctes)
	} else if n, err = l.b.query(t.Query, l.outer, l.ctes); err == nil {
		n = logical.ShiftOuter(n, 1, s.depth)
	}
	if err != nil {
		return item{}, notLateral(err, s)
	}
	return l.finish(item{n, relScope("", "", n, nil, nil)}, t.Alias, t.Watermark)
}

// notLateral names the reason where a subquery in FROM refers to a part to its
// left without LATERAL.
func notLateral(err error, s side) error {
	e := sqlerr.From(err)
	for q, d := s.lat, s.depth; q != nil && d > 0; q, d = q.outer, d-1 {
		for _, r := range q.scope.rels {
			if e.Message == `missing FROM-clause entry for table "`+r.alias+`"` {
				e.Message = `invalid reference to FROM-clause entry for table "` + r.alias + `"`
				return e.WithDetail("There is an entry for table %q, "+
					"but it cannot be referenced from this part of the query.", r.alias).
					WithHint("To reference that table, you must mark this subquery with LATERAL.")
			}
		}
	}
	return err
}

// join joins two bound parts by an explicit join. The right scope is shifted.
func (l *level) join(j *sql.Join, left, right item, correlated bool, s side) (item, error) {
	if j.Asof {
		return item{}, sqlerr.Unsupported("ASOF JOIN is not supported").At(j.Pos)
	}
	kind := [...]plan.JoinKind{plan.InnerJoin, plan.LeftJoin, plan.RightJoin, plan.FullJoin, plan.CrossJoin}[j.Kind]
	sc, err := left.scope.join(right.scope)
	if err != nil {
		return item{}, at(err, j.Right.Position())
	}
	if correlated && (kind == plan.RightJoin || kind == plan.FullJoin) {
		return item{}, sqlerr.New(sqlerr.InvalidColumnReference, "invalid reference to FROM-clause entry in a lateral item").
			WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.").At(j.Pos)
	}
	pair := logical.NewJoin(left.node, right.node, plan.CrossJoin, nil, j.Pos)
	var on expr.Expr
	// Conditions see enclosing queries, never the parts to the left of the join.
	cond := &level{b: l.b, outer: s.lat, ctes: l.ctes, scope: sc, node: pair, bound: map[sql.Expr]expr.Expr{}}
	switch {
	case j.Natural || j.Using != nil:
		if sc, on, err = l.using(j, left.scope, right.scope, sc, kind); err != nil {
			return item{}, err
		}
	case j.On != nil:
		if on, err = cond.scalar(j.On, "JOIN conditions"); err == nil {
			on, err = expr.NeedBool("JOIN/ON", on)
		}
		if err != nil {
			return item{}, at(err, j.On.Position())
		}
	}
	if kind == plan.InnerJoin && on == nil {
		kind = plan.CrossJoin
	}
	it := item{scope: sc}
	switch {
	case cond.node != logical.Node(pair):
		if kind != plan.InnerJoin || correlated {
			return item{}, sqlerr.Unsupported("a subquery in the condition of this join is not supported").At(j.On.Position()).
				WithHint("Compute it in a subquery that is joined.")
		}
		it.node = logical.NewFilter(cond.node, on)
	case correlated && kind == plan.LeftJoin:
		it.node = logical.NewApply(left.node, right.node, plan.ApplyLeft, on, j.Pos)
	case correlated:
		it.node = logical.NewApply(left.node, right.node, plan.ApplyCross, on, j.Pos)
	default:
		it.node = logical.NewJoin(left.node, right.node, kind, on, j.Pos)
	}
	return it, nil
}

// using resolves USING and NATURAL: the condition, and a scope in which the
// common columns come first and once.
func (l *level) using(j *sql.Join, left, right, both *scope, kind plan.JoinKind) (*scope, expr.Expr, error) {
	common := j.Using
	if j.Natural {
		for _, c := range left.cols {
			if _, n := find(right.cols, c.name); n > 0 && !c.hidden {
				common = append(common, sql.Name{Text: c.name, Pos: j.Pos})
			}
		}
	}
	var merged []scopeCol
	var conds []expr.Expr
	gone := map[string]bool{}
	for _, u := range common {
		if gone[u.Text] {
			return nil, nil, sqlerr.New(sqlerr.DuplicateColumn, "column name %q appears more than once in USING clause",
				u.Text).At(u.Pos)
		}
		a, err := usingColumn(left.cols, u, "left")
		if err != nil {
			return nil, nil, err
		}
		b, err := usingColumn(right.cols, u, "right")
		if err != nil {
			return nil, nil, err
		}
		eq, err := expr.Binary("=", a.e, b.e)
		if err != nil {
			return nil, nil, at(err, u.Pos)
		}
		m, err := mergedColumn(a, b, kind)
		if err != nil {
			return nil, nil, at(err, u.Pos)
		}
		conds, merged, gone[u.Text] = append(conds, eq), append(merged, m), true
	}
	out := &scope{cols: merged, rels: both.rels}
	for _, c := range both.cols {
		if !gone[c.name] {
			out.cols = append(out.cols, c)
		}
	}
	if j.UsingAlias.Given() {
		out.rels = append(out.rels[:len(out.rels):len(out.rels)], scopeRel{alias: j.UsingAlias.Text, cols: merged})
	}
	return out, plan.Conjunction(conds), nil
}

func usingColumn(cols []scopeCol, u sql.Name, side string) (scopeCol, error) {
	c, n := find(cols, u.Text)
	switch {
	case n == 0:
		return c, sqlerr.New(sqlerr.UndefinedColumn, "column %q specified in USING clause does not exist in %s table",
			u.Text, side).At(u.Pos)
	case n > 1:
		return c, sqlerr.New(sqlerr.AmbiguousColumn, "common column name %q appears more than once in %s table",
			u.Text, side).At(u.Pos)
	}
	return c, nil
}

func mergedColumn(a, b scopeCol, kind plan.JoinKind) (scopeCol, error) {
	pair, _, err := expr.Unify("JOIN/USING", a.e, b.e)
	if err != nil {
		return a, err
	}
	switch kind {
	case plan.RightJoin:
		a.e = pair[1]
	case plan.FullJoin:
		a.e, err = expr.Coalesce(pair...)
	default:
		a.e = pair[0]
	}
	return a, err
}

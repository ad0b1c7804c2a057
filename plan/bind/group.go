package bind

import (
	"reflect"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// groupKey is a grouping expression: e over the plan below the aggregation, out
// its column above.
type groupKey struct {
	ast sql.Expr // nil for a column that depends on the others
	e   expr.Expr
	out expr.Expr
}

// grouping is the aggregation of a level: what expressions above it may use.
type grouping struct {
	below level // the level as it was, for binding grouping expressions
	keys  []groupKey
	// sets are the grouping sets as positions in keys, nil without GROUPING SETS;
	// set is the column that tells them apart.
	sets [][]int
	set  expr.Expr
}

// aggregation puts GROUP BY, the aggregates of the parts and HAVING on the plan,
// if the SELECT has any.
func (l *level) aggregation(sel *sql.Select, ts []target, parts []sql.Expr) error {
	items, sets, err := l.groupItems(sel.GroupBy, ts)
	if err != nil {
		return err
	}
	var texts []sql.Expr
	for _, it := range items {
		texts = append(texts, present(it.ast)...)
	}
	if sel.GroupDistinct {
		sets = distinctSets(sets)
	}
	all := append(append(parts[:len(parts):len(parts)], texts...), present(sel.Having)...)
	if err := l.groupingWindow(all, items); err != nil {
		return err
	}
	calls, err := aggregates(append(parts[:len(parts):len(parts)], present(sel.Having)...))
	if err != nil {
		return err
	}
	if len(sel.GroupBy) == 0 && len(calls) == 0 && sel.Having == nil {
		return nil
	}
	g := &grouping{sets: sets}
	for _, x := range items {
		e, err := l.groupExpr(x)
		if err != nil {
			return err
		}
		for _, k := range e {
			g.keys = append(g.keys, groupKey{ast: x.ast, e: k})
		}
	}
	if len(items) != len(g.keys) && sets != nil {
		return sqlerr.Unsupported("window() in grouping sets is not supported").At(sel.Pos)
	}
	if sets == nil {
		g.addDependent(l, all, ts)
	}
	g.below = *l
	if err := l.aggregate(g, calls, len(items) == 0 && sets == nil, sel.Pos); err != nil {
		return err
	}
	l.group = g
	if sel.Having != nil {
		e, err := l.scalar(sel.Having, "HAVING")
		if err == nil {
			e, err = expr.NeedBool("HAVING", e)
		}
		if err != nil {
			return at(err, sel.Having.Position())
		}
		l.node = logical.NewFilter(l.node, e)
	}
	return nil
}

// groupItems flattens GROUP BY to its expressions and, if it has grouping sets,
// these as positions of expressions.
func (l *level) groupItems(items []sql.GroupItem, ts []target) ([]target, [][]int, error) {
	var exprs []target
	add := func(x sql.Expr) (int, error) {
		t, err := l.groupRef(x, ts)
		if err != nil {
			return 0, err
		}
		for k, o := range exprs {
			if sameTarget(o, t) {
				return k, nil
			}
		}
		exprs = append(exprs, t)
		return len(exprs) - 1, nil
	}
	sets, plain := [][]int{{}}, true
	for _, it := range items {
		alts, err := groupSets(it, add)
		if err != nil {
			return nil, nil, err
		}
		plain = plain && it.Kind == sql.GroupExpr
		if len(sets)*len(alts) > 4096 {
			return nil, nil, sqlerr.New(sqlerr.StatementTooComplex, "too many grouping sets present (maximum %d)",
				4096).At(it.Pos)
		}
		var next [][]int
		for _, s := range sets {
			for _, a := range alts {
				next = append(next, union(s, a))
			}
		}
		sets = next
	}
	if plain || len(items) == 1 && items[0].Kind == sql.GroupEmpty {
		return exprs, nil, nil
	}
	return exprs, sets, nil
}

func union(a, b []int) []int {
	out := append([]int(nil), a...)
	for _, x := range b {
		dup := false
		for _, y := range out {
			dup = dup || x == y
		}
		if !dup {
			out = append(out, x)
		}
	}
	return out
}

// groupSets returns the sets that one item stands for.
func groupSets(it sql.GroupItem, add func(sql.Expr) (int, error)) ([][]int, error) {
	switch it.Kind {
	case sql.GroupEmpty:
		return [][]int{{}}, nil
	case sql.GroupExpr:
		if r, ok := it.X.(*sql.Row); ok && !r.Explicit {
			var set []int
			for _, f := range r.Fields {
				k, err := add(f)
				if err != nil {
					return nil, err
				}
				set = union(set, []int{k})
			}
			return [][]int{set}, nil
		}
		k, err := add(it.X)
		return [][]int{{k}}, err
	}
	var parts [][][]int
	for _, sub := range it.Items {
		s, err := groupSets(sub, add)
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	var out [][]int
	switch it.Kind {
	case sql.GroupRollup:
		for n := len(parts); n >= 0; n-- {
			set := []int{}
			for _, p := range parts[:n] {
				set = union(set, p[0])
			}
			out = append(out, set)
		}
	case sql.GroupCube:
		if len(parts) > 12 {
			return nil, sqlerr.New(sqlerr.TooManyColumns, "CUBE is limited to 12 elements").At(it.Pos)
		}
		for bits := 1<<len(parts) - 1; bits >= 0; bits-- {
			set := []int{}
			for i, p := range parts {
				if bits&(1<<(len(parts)-1-i)) != 0 {
					set = union(set, p[0])
				}
			}
			out = append(out, set)
		}
	default:
		for _, p := range parts {
			out = append(out, p...)
		}
	}
	return out, nil
}

func distinctSets(sets [][]int) [][]int {
	var out [][]int
	for _, s := range sets {
		dup := false
		for _, o := range out {
			dup = dup || len(o) == len(s) && len(union(o, s)) == len(o)
		}
		if !dup {
			out = append(out, s)
		}
	}
	return out
}

// groupRef replaces the number or name of an output column by its expression. A
// name means an input column if there is one.
func (l *level) groupRef(x sql.Expr, ts []target) (target, error) {
	own := target{ast: x, pos: x.Position()}
	k := -1
	var err error
	switch r := x.(type) {
	case *sql.NumberLit:
		k, err = ordinal(r, len(ts), "GROUP BY")
	case *sql.StringLit:
		err = sqlerr.New(sqlerr.SyntaxError, "non-integer constant in GROUP BY").At(r.Pos)
	case *sql.ColumnRef:
		if len(r.Parts) != 1 {
			return own, nil
		}
		if _, n := find(l.scope.cols, r.Parts[0].Text); n == 0 {
			k, err = namedTarget(ts, r, "GROUP BY")
		}
	}
	if err != nil || k < 0 {
		return own, err
	}
	return ts[k], nil
}

// groupExpr binds a grouping expression. A window counts as its two columns.
func (l *level) groupExpr(t target) ([]expr.Expr, error) {
	if t.ast == nil {
		return []expr.Expr{t.e}, nil
	}
	x := t.ast
	if c, ok := x.(*sql.FuncCall); ok && isGroupingWindow(c) {
		return []expr.Expr{l.windowed.start, l.windowed.end}, nil
	}
	e, err := l.scalar(x, "GROUP BY")
	if err != nil {
		return nil, err
	}
	if l.windowed != nil {
		e = l.windowed.partition(e)
	}
	switch e.Type().ID {
	case types.JSON:
		return nil, sqlerr.New(sqlerr.UndefinedFunction,
			"could not identify an equality operator for type json").At(x.Position())
	case types.Unknown:
		if e, err = expr.Cast(e, types.TText, expr.Implicit); err != nil {
			return nil, err
		}
	}
	return []expr.Expr{e}, nil
}

// addDependent adds the columns of tables whose whole primary key is grouped by:
// they have one value per group.
func (g *grouping) addDependent(l *level, parts []sql.Expr, ts []target) {
	var covered []scopeRel
	for _, r := range l.scope.rels {
		if r.object != nil && r.object.Kind == catalog.KindTable && g.covers(r) {
			covered = append(covered, r)
		}
	}
	if len(covered) == 0 {
		return
	}
	need := func(e expr.Expr) {
		for _, r := range covered {
			for _, c := range r.cols {
				if expr.Equal(c.e, e) && g.key(e) < 0 {
					g.keys = append(g.keys, groupKey{e: e})
				}
			}
		}
	}
	for _, t := range ts {
		if t.e != nil {
			need(t.e)
		}
	}
	for _, p := range parts {
		walk(p, func(x sql.Expr) bool {
			if c, ok := x.(*sql.FuncCall); ok && isAggregate(c) {
				return false
			}
			if c, ok := x.(*sql.ColumnRef); ok {
				if e, found, err := l.lookup(c); found && err == nil {
					need(e)
				}
			}
			return true
		})
	}
}

func (g *grouping) covers(r scopeRel) bool {
	for _, k := range r.object.Key {
		if k >= len(r.cols) || g.key(r.cols[k].e) < 0 {
			return false
		}
	}
	return len(r.object.Key) > 0
}

// key returns the position of the key that equals e, or -1.
func (g *grouping) key(e expr.Expr) int {
	for i, k := range g.keys {
		if expr.Equal(k.e, e) {
			return i
		}
	}
	return -1
}

// replace turns an expression below the aggregation into one above it.
func (g *grouping) replace(e expr.Expr) (expr.Expr, error) {
	if k := g.key(e); k >= 0 {
		return g.keys[k].out, nil
	}
	if c, ok := plan.ColumnOf(e); ok {
		return nil, ungrouped(g.below.nameOf(c), false)
	}
	kids := e.Children()
	if len(kids) == 0 {
		return e, nil
	}
	out := make([]expr.Expr, len(kids))
	for i, k := range kids {
		x, err := g.replace(k)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return e.WithChildren(out), nil
}

func ungrouped(name string, inSub bool) *sqlerr.Error {
	if inSub {
		return sqlerr.New(sqlerr.GroupingError, "subquery uses ungrouped column %q from outer query", name)
	}
	return sqlerr.New(sqlerr.GroupingError,
		"column %q must appear in the GROUP BY clause or be used in an aggregate function", name)
}

// nameOf is the qualified name of a plan column for messages.
func (l *level) nameOf(col int) string {
	for _, r := range l.scope.rels {
		for _, c := range r.cols {
			if k, ok := plan.ColumnOf(c.e); ok && k == col {
				return r.alias + "." + c.name
			}
		}
	}
	return l.node.Schema().ColumnName(col)
}

// groupedColumn resolves a column of a grouped level, given as it is below.
func (l *level) groupedColumn(ref *sql.ColumnRef, e expr.Expr, inSub bool) (expr.Expr, error) {
	g := l.group
	if k := g.key(e); k >= 0 {
		return g.keys[k].out, nil
	}
	if len(expr.Columns(e)) == 0 {
		return e, nil
	}
	if c, ok := plan.ColumnOf(e); ok {
		return nil, ungrouped(g.below.nameOf(c), inSub).At(ref.Pos)
	}
	x, err := g.replace(e)
	if err != nil {
		return nil, at(err, ref.Pos)
	}
	return x, nil
}

// match binds x below the aggregation if it may be a grouping expression; ok
// tells that it is one.
func (g *grouping) match(x sql.Expr) (expr.Expr, bool) {
	for _, k := range g.keys {
		if k.ast == nil || reflect.TypeOf(k.ast) != reflect.TypeOf(x) {
			continue
		}
		if _, isRef := x.(*sql.ColumnRef); isRef {
			return nil, false // resolved by name
		}
		below := g.below
		below.closed = true
		e, err := below.scalar(x, "GROUP BY")
		if err == nil && e.Type().ID == types.Unknown {
			e, err = expr.Cast(e, types.TText, expr.Implicit)
		}
		if err != nil {
			return nil, false
		}
		if w := below.windowed; w != nil {
			e = w.partition(e)
		}
		if i := g.key(e); i >= 0 {
			return g.keys[i].out, true
		}
		return nil, false
	}
	return nil, false
}

// aggregates finds the aggregate calls of the parts, outermost ones only.
func aggregates(parts []sql.Expr) ([]*sql.FuncCall, error) {
	var calls []*sql.FuncCall
	var nested error
	for _, p := range parts {
		walk(p, func(x sql.Expr) bool {
			c, ok := x.(*sql.FuncCall)
			if !ok || !isAggregate(c) {
				return true
			}
			calls = append(calls, c)
			for _, o := range callOperands(c) {
				walk(o, func(y sql.Expr) bool {
					if d, ok := y.(*sql.FuncCall); ok && isAggregate(d) && nested == nil {
						nested = sqlerr.New(sqlerr.GroupingError, "aggregate function calls cannot be nested").At(d.Pos)
					}
					return true
				})
			}
			return false
		})
	}
	return calls, nested
}

func isAggregate(c *sql.FuncCall) bool {
	return c.Over == nil && (!c.Schema.Given() || c.Schema.Text == "pg_catalog") && aggregate.Is(c.Name.Text)
}

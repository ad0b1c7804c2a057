package bind

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// target is a column of a select list: ast, or e for what * stands for.
type target struct {
	ast  sql.Expr
	e    expr.Expr
	name string
	pos  int
}

// sortTerm is an ORDER BY item: target number at, or else an expression.
type sortTerm struct {
	item sql.SortItem
	at   int
}

// selectBody binds a SELECT with the ORDER BY that belongs to it.
func (b *Binder) selectBody(sel *sql.Select, order []sql.SortItem, outer *level, ctes *cteScope) (logical.Node, error) {
	l := b.newLevel(outer, ctes)
	if err := l.from(sel.From); err != nil {
		return nil, err
	}
	if err := l.hints(sel.Hints); err != nil {
		return nil, err
	}
	if err := l.where(sel.Where); err != nil {
		return nil, err
	}
	if err := l.dedup(sel.Dedup); err != nil {
		return nil, err
	}
	targets, err := l.targets(sel.Targets)
	if err != nil {
		return nil, err
	}
	terms, err := sortTerms(order, targets, "ORDER BY")
	if err != nil {
		return nil, err
	}
	on, err := distinctTerms(sel, targets)
	if err != nil {
		return nil, err
	}
	parts := outputParts(targets, terms, on)
	if err := l.aggregation(sel, targets, parts); err != nil {
		return nil, err
	}
	if err := l.windowFuncs(sel, parts); err != nil {
		return nil, err
	}
	if err := l.setFuncs(parts); err != nil {
		return nil, err
	}
	return l.output(sel, targets, terms, on)
}

// hints applies /*+ REGULAR(t) */; other hints are comments.
func (l *level) hints(hs []sql.Hint) error {
	for _, h := range hs {
		if h.Name.Text != "regular" {
			continue
		}
		for _, a := range h.Args {
			if l.scope.rel("", a.Text) == nil {
				return l.missingFrom(a.Text, a.Pos)
			}
		}
		if j, ok := l.node.(*logical.Join); ok {
			c := *j
			c.Regular = true
			l.node = &c
		}
	}
	return nil
}

// where puts a condition on the level's plan.
func (l *level) where(x sql.Expr) error {
	if x == nil {
		return nil
	}
	e, err := l.scalar(x, "WHERE")
	if err == nil {
		e, err = expr.NeedBool("WHERE", e)
	}
	if err != nil {
		return at(err, x.Position())
	}
	l.node = logical.NewFilter(l.node, e)
	return nil
}

// targets expands a select list.
func (l *level) targets(ts []sql.Target) ([]target, error) {
	var out []target
	for _, t := range ts {
		var cols []scopeCol
		var err error
		switch x := t.X.(type) {
		case *sql.Star:
			cols, err = l.star(x)
		case *sql.FieldStar:
			if c, ok := x.X.(*sql.FuncCall); ok && isGroupingWindow(c) {
				out = append(out, windowField(c, "start"), windowField(c, "end"))
				continue
			}
			var e expr.Expr
			if e, err = l.scalar(x.X, "SELECT"); err == nil {
				if len(e.Type().Fields) == 0 {
					err = sqlerr.New(sqlerr.WrongObjectType, "type %s is not composite", e.Type()).At(x.Pos)
				} else {
					cols, err = fieldsOf(e)
				}
			}
		default:
			name := t.Alias.Text
			if name == "" {
				name = columnName(x)
			}
			out = append(out, target{ast: x, name: name, pos: x.Position()})
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range cols {
			out = append(out, target{e: c.e, name: c.name, pos: t.X.Position()})
		}
	}
	if len(out) > 1664 {
		return nil, sqlerr.New(sqlerr.TooManyColumns, "target lists can have at most %d entries", 1664)
	}
	return out, nil
}

func windowField(c *sql.FuncCall, name string) target {
	return target{ast: &sql.Field{Pos: c.Pos, X: c, Name: sql.Name{Text: name, Pos: c.Pos}}, name: name, pos: c.Pos}
}

// sortTerms resolves the numbers and output names of ORDER BY items.
func sortTerms(items []sql.SortItem, ts []target, clause string) ([]sortTerm, error) {
	out := make([]sortTerm, len(items))
	for i, it := range items {
		out[i] = sortTerm{it, -1}
		switch x := it.X.(type) {
		case *sql.NumberLit:
			k, err := ordinal(x, len(ts), clause)
			if err != nil {
				return nil, err
			}
			out[i].at = k
		case *sql.StringLit, *sql.NullLit, *sql.BoolLit:
			if _, str := x.(*sql.StringLit); str {
				return nil, sqlerr.New(sqlerr.SyntaxError, "non-integer constant in %s", clause).At(x.Position())
			}
		case *sql.ColumnRef:
			if len(x.Parts) != 1 {
				continue
			}
			k, err := namedTarget(ts, x, clause)
			if err != nil {
				return nil, err
			}
			out[i].at = k
		}
	}
	return out, nil
}

func ordinal(x *sql.NumberLit, n int, clause string) (int, error) {
	k, err := strconv.Atoi(x.Text)
	if err != nil {
		return 0, sqlerr.New(sqlerr.SyntaxError, "non-integer constant in %s", clause).At(x.Pos)
	}
	if k < 1 || k > n {
		return 0, sqlerr.New(sqlerr.InvalidColumnReference, "%s position %d is not in select list", clause, k).At(x.Pos)
	}
	return k - 1, nil
}

// namedTarget finds the output column of a bare name; -1 if there is none.
func namedTarget(ts []target, x *sql.ColumnRef, clause string) (int, error) {
	found := -1
	for k, t := range ts {
		if t.name != x.Parts[0].Text {
			continue
		}
		if found >= 0 && !sameTarget(ts[found], t) {
			return 0, sqlerr.New(sqlerr.AmbiguousColumn, "%s %q is ambiguous", clause, t.name).At(x.Pos)
		}
		if found < 0 {
			found = k
		}
	}
	return found, nil
}

func sameTarget(a, b target) bool {
	if a.e != nil && b.e != nil {
		return expr.Equal(a.e, b.e)
	}
	return a.ast != nil && b.ast != nil && sql.FormatExpr(a.ast) == sql.FormatExpr(b.ast)
}

func distinctTerms(sel *sql.Select, ts []target) ([]sortTerm, error) {
	items := make([]sql.SortItem, len(sel.DistinctOn))
	for i, x := range sel.DistinctOn {
		items[i].X = x
	}
	return sortTerms(items, ts, "SELECT DISTINCT ON")
}

// outputParts lists the texts that are bound after grouping.
func outputParts(ts []target, order, on []sortTerm) []sql.Expr {
	var out []sql.Expr
	for _, t := range ts {
		if t.ast != nil {
			out = append(out, t.ast)
		}
	}
	for _, o := range append(order[:len(order):len(order)], on...) {
		if o.at < 0 {
			out = append(out, o.item.X)
		}
	}
	return out
}

// output binds the select list and puts projection, DISTINCT and ORDER BY on
// the plan.
func (l *level) output(sel *sql.Select, ts []target, order, on []sortTerm) (logical.Node, error) {
	list := make([]expr.Expr, len(ts))
	names := make([]string, len(ts))
	for i, t := range ts {
		e, err := l.target(t)
		if err != nil {
			return nil, err
		}
		if (sel.Distinct || len(order) > 0) && e.Type().ID == types.Unknown {
			if e, err = expr.Cast(e, types.TText, expr.Implicit); err != nil {
				return nil, err
			}
		}
		list[i], names[i] = e, t.name
	}
	width := len(list)
	keys, list, err := l.sortKeys(order, list, sel.Distinct && len(on) == 0)
	if err != nil {
		return nil, err
	}
	onCols, list, err := l.distinctCols(on, list)
	if err != nil {
		return nil, err
	}
	for len(names) < len(list) {
		names = append(names, "?sort?")
	}
	var n logical.Node = logical.NewProject(l.node, list, names)
	switch {
	case len(on) > 0:
		if n, err = distinctOn(n, onCols, keys, sel); err != nil {
			return nil, err
		}
	case sel.Distinct:
		for _, f := range n.Schema().Fields {
			if f.Type.ID == types.JSON {
				return nil, sqlerr.New(sqlerr.UndefinedFunction,
					"could not identify an equality operator for type json").At(sel.Pos)
			}
		}
		n = logical.NewDistinct(n, sel.Pos)
	}
	if len(keys) > 0 {
		n = logical.NewSort(n, keys, order[0].item.X.Position())
	}
	return trim(n, width), nil
}

// trim keeps the first width columns.
func trim(n logical.Node, width int) logical.Node {
	s := n.Schema()
	if s.Len() == width {
		return n
	}
	return logical.NewProject(n, logical.Identity(s)[:width], s.Names()[:width])
}

func (l *level) target(t target) (expr.Expr, error) {
	if t.ast != nil {
		return l.scalar(t.ast, "SELECT")
	}
	if l.group != nil {
		e, err := l.group.replace(t.e)
		return e, at(err, t.pos)
	}
	return t.e, nil
}

// sortKeys finds the column of each ORDER BY item, adding those that are not in
// the list.
func (l *level) sortKeys(order []sortTerm, list []expr.Expr, distinct bool) ([]plan.SortKey, []expr.Expr, error) {
	var keys []plan.SortKey
	for _, o := range order {
		key, err := sortKey(o.item)
		if err != nil {
			return nil, nil, err
		}
		before := len(list)
		if key.Col, list, err = l.outputColumn(o, list, "ORDER BY"); err != nil {
			return nil, nil, err
		}
		if distinct && len(list) > before {
			return nil, nil, sqlerr.New(sqlerr.InvalidColumnReference,
				"for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(o.item.X.Position())
		}
		if list[key.Col].Type().ID == types.JSON {
			return nil, nil, sqlerr.New(sqlerr.UndefinedFunction, "could not identify an ordering operator for type json").
				At(o.item.X.Position()).WithHint("Use an explicit ordering operator or modify the query.")
		}
		keys = append(keys, key)
	}
	return keys, list, nil
}

// sortKey gives the direction of an ORDER BY item.
func sortKey(o sql.SortItem) (plan.SortKey, error) {
	k := plan.SortKey{Desc: o.Order == sql.Descending}
	if o.Order == sql.SortUsing {
		switch o.Using.Name {
		case "<":
		case ">":
			k.Desc = true
		default:
			return k, sqlerr.New(sqlerr.WrongObjectType, "operator %s is not a valid ordering operator", o.Using.Name).
				At(o.X.Position()).WithHint("Ordering operators must be \"<\" or \">\" members of btree operator families.")
		}
	}
	k.NullsFirst = o.Nulls == sql.NullsFirst || o.Nulls == sql.NullsDefault && k.Desc
	return k, nil
}

// outputColumn finds a term among the list's expressions, or adds it.
func (l *level) outputColumn(o sortTerm, list []expr.Expr, clause string) (int, []expr.Expr, error) {
	if o.at >= 0 {
		return o.at, list, nil
	}
	e, err := l.scalar(o.item.X, clause)
	if err != nil {
		return 0, nil, err
	}
	for i, x := range list {
		if expr.Equal(x, e) {
			return i, list, nil
		}
	}
	if e.Type().ID == types.Unknown {
		if e, err = expr.Cast(e, types.TText, expr.Implicit); err != nil {
			return 0, nil, err
		}
	}
	return len(list), append(list, e), nil
}

// distinctCols finds the columns of DISTINCT ON.
func (l *level) distinctCols(on []sortTerm, list []expr.Expr) ([]int, []expr.Expr, error) {
	var cols []int
	for _, o := range on {
		var c int
		var err error
		if c, list, err = l.outputColumn(o, list, "SELECT DISTINCT ON"); err != nil {
			return nil, nil, err
		}
		cols = append(cols, c)
	}
	return cols, list, nil
}

// distinctOn checks that ORDER BY begins with the keys of DISTINCT ON.
func distinctOn(n logical.Node, on []int, keys []plan.SortKey, sel *sql.Select) (logical.Node, error) {
	isKey, seen := map[int]bool{}, map[int]bool{}
	for _, c := range on {
		isKey[c] = true
	}
	for _, k := range keys {
		if isKey[k.Col] {
			seen[k.Col] = true
		} else if len(seen) < len(isKey) {
			return nil, sqlerr.New(sqlerr.InvalidColumnReference,
				"SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(sel.DistinctOn[0].Position())
		} else {
			break
		}
	}
	order := keys
	for _, c := range on {
		if !seen[c] {
			order = append(order[:len(order):len(order)], plan.SortKey{Col: c})
		}
	}
	return logical.NewDistinctOn(n, on, order, sel.Pos), nil
}

// orderOutput sorts the result of a set operation or VALUES by output columns.
func (b *Binder) orderOutput(n logical.Node, items []sql.SortItem, outer *level, ctes *cteScope) (logical.Node, error) {
	n, err := b.settle(n)
	if err != nil {
		return nil, err
	}
	s := n.Schema()
	ts := make([]target, s.Len())
	for i, e := range logical.Identity(s) {
		ts[i] = target{e: e, name: s.Fields[i].Name}
	}
	terms, err := sortTerms(items, ts, "ORDER BY")
	if err != nil {
		return nil, err
	}
	var keys []plan.SortKey
	for _, t := range terms {
		k, err := sortKey(t.item)
		if err != nil {
			return nil, err
		}
		if t.at < 0 {
			if ref, ok := t.item.X.(*sql.ColumnRef); ok {
				l := b.newLevel(outer, ctes)
				return nil, l.undefined(ref)
			}
			return nil, sqlerr.Unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause").At(t.item.X.Position()).
				WithDetail("Only result column names can be used, not expressions or functions.").
				WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
		}
		k.Col = t.at
		keys = append(keys, k)
	}
	return logical.NewSort(n, keys, items[0].X.Position()), nil
}

// projectStar is SELECT * of the level's FROM.
func (l *level) projectStar() (logical.Node, error) {
	cols, err := l.star(&sql.Star{})
	if err != nil {
		return nil, err
	}
	var list []expr.Expr
	for _, c := range cols {
		list = append(list, c.e)
	}
	return logical.NewProject(l.node, list, names(cols)), nil
}

// columnName is the name that PostgreSQL gives an output column without alias.
func columnName(x sql.Expr) string {
	if name, _ := figureName(x); name != "" {
		return name
	}
	return "?column?"
}

// figureName returns a name and its strength: 2 for a name proper, 1 for a
// type's, 0 for none.
func figureName(x sql.Expr) (string, int) {
	switch x := x.(type) {
	case *sql.ColumnRef:
		return x.Parts[len(x.Parts)-1].Text, 2
	case *sql.Field:
		return x.Name.Text, 2
	case *sql.FuncCall:
		return x.Name.Text, 2
	case *sql.ValueFunc:
		return strings.ToLower(x.Name), 2
	case *sql.Subscript:
		return figureName(x.X)
	case *sql.Collate:
		return figureName(x.X)
	case *sql.AtTimeZone:
		return "timezone", 2
	case *sql.Cast:
		if name, s := figureName(x.X); s == 2 {
			return name, s
		}
		return x.Type.Name.Text, 1
	case *sql.TypedLit:
		return x.Type.Name.Text, 1
	case *sql.Case:
		if x.Else != nil {
			if name, s := figureName(x.Else); s == 2 {
				return name, s
			}
		}
		return "case", 1
	case *sql.ArrayLit:
		return "array", 2
	case *sql.Row:
		return "row", 2
	case *sql.Subquery:
		return subqueryName(x)
	}
	return "", 0
}

func subqueryName(x *sql.Subquery) (string, int) {
	switch x.Kind {
	case sql.ExistsSubquery:
		return "exists", 2
	case sql.ArraySubquery:
		return "array", 2
	}
	body := x.Query.Body
	for {
		switch b := body.(type) {
		case *sql.Query:
			body = b.Body
			continue
		case *sql.SetOp:
			body = b.Left
			continue
		case *sql.Select:
			if len(b.Targets) == 1 {
				if a := b.Targets[0].Alias.Text; a != "" {
					return a, 2
				}
				return figureName(b.Targets[0].X)
			}
		case *sql.Values:
			return "column1", 2
		}
		return "", 0
	}
}

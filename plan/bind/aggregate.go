package bind

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// aggArgs collects the columns that aggregates need below the aggregation.
type aggArgs struct {
	list  []expr.Expr
	names []string
}

func (a *aggArgs) add(e expr.Expr, name string) int {
	a.list, a.names = append(a.list, e), append(a.names, name)
	return len(a.list) - 1
}

// aggregate puts the aggregation on the plan; keys and calls become columns.
func (l *level) aggregate(g *grouping, calls []*sql.FuncCall, keyless bool, pos int) error {
	args := &aggArgs{}
	for _, k := range g.keys {
		name := "group"
		if k.ast != nil {
			name = columnName(k.ast)
		}
		args.add(k.e, name)
	}
	var aggs []plan.AggCall
	at := make([]int, len(calls))
	for i, c := range calls {
		a, err := l.aggCall(c, args)
		if err != nil {
			return err
		}
		at[i] = -1
		for j, o := range aggs {
			if sameAgg(a, o, args) {
				at[i] = j
			}
		}
		if at[i] < 0 {
			at[i] = len(aggs)
			aggs = append(aggs, a)
		}
	}
	g.below.node = l.node // subqueries among the arguments have added columns
	in, cols := logical.Extend(l.node, args.list, args.names)
	for i := range aggs {
		aggs[i] = aggs[i].Remap(func(c int) int { return cols[c] })
	}
	n := len(g.keys)
	if g.sets == nil {
		l.node = logical.NewAggregate(in, cols[:n:n], aggs, keyless, pos)
	} else {
		l.node = g.expand(in, cols[:n], aggs, pos)
	}
	s := l.node.Schema()
	column := func(i int) expr.Expr { return expr.NewColumn(i, s.Fields[i].Name, s.Fields[i].Type) }
	for i := range g.keys {
		g.keys[i].out = column(i)
	}
	if g.sets != nil {
		g.set = column(n)
		n++
	}
	for i, c := range calls {
		l.bound[c] = column(n + at[i])
	}
	return nil
}

// expand groups by several sets of keys at once. The empty set gives a row for
// an empty input too, so it is an aggregation of its own.
func (g *grouping) expand(in logical.Node, cols []int, aggs []plan.AggCall, pos int) logical.Node {
	// The keys are copied, for aggregates must see the columns as they are.
	s := in.Schema()
	list, names := logical.Identity(s), s.Names()
	copies := make([]int, len(cols))
	for i, c := range cols {
		copies[i] = len(list)
		list, names = append(list, list[c]), append(names, names[c])
	}
	var sets [][]int
	var ids []int
	var out []logical.Node
	for id, set := range g.sets {
		if len(set) == 0 {
			out = append(out, emptySet(in, cols, aggs, id, pos))
			continue
		}
		var c []int
		for _, k := range set {
			c = append(c, copies[k])
		}
		sets, ids = append(sets, c), append(ids, id)
	}
	if len(sets) > 0 {
		e := logical.NewExpand(logical.NewProject(in, list, names), copies, sets)
		set := e.Schema().Len() - 1
		var n logical.Node = logical.NewAggregate(e, append(slices.Clone(copies), set), aggs, false, pos)
		out = append([]logical.Node{renumber(n, len(cols), ids)}, out...)
	}
	if len(out) == 1 {
		return out[0]
	}
	return logical.NewUnion(out...)
}

// renumber makes the number of the set, which counts the sets that are not
// empty, the one that it has among all.
func renumber(n logical.Node, col int, ids []int) logical.Node {
	same := true
	for i, id := range ids {
		same = same && i == id
	}
	if same {
		return n
	}
	s := n.Schema()
	list := logical.Identity(s)
	var whens []expr.When
	for i, id := range ids {
		whens = append(whens, expr.When{Cond: expr.ConstInt(int64(i)), Result: expr.ConstInt(int64(id))})
	}
	e, err := expr.Case(list[col], whens, nil)
	if err != nil { // integers only
		panic(err)
	}
	list[col] = e
	return logical.NewProject(n, list, s.Names())
}

// emptySet aggregates all rows and adds NULL for each key and the set's number.
func emptySet(in logical.Node, cols []int, aggs []plan.AggCall, id, pos int) logical.Node {
	n := logical.NewAggregate(in, nil, aggs, true, pos)
	var list []expr.Expr
	var names []string
	for _, c := range cols {
		f := in.Schema().Fields[c]
		list, names = append(list, expr.ConstNull(f.Type)), append(names, f.Name)
	}
	list, names = append(list, expr.ConstInt(int64(id))), append(names, "grouping_set")
	s := n.Schema()
	return logical.NewProject(n, append(list, logical.Identity(s)...), append(names, s.Names()...))
}

// grouping binds GROUPING(a, b, …): a bit per argument, 1 where it is not part
// of the row's grouping set.
func (l *level) grouping(c *sql.FuncCall) (expr.Expr, error) {
	if l.group == nil {
		pos := c.Pos
		if len(c.Args) > 0 {
			pos = c.Args[0].Position()
		}
		return nil, sqlerr.New(sqlerr.GroupingError,
			"arguments to GROUPING must be grouping expressions of the associated query level").At(pos)
	}
	g := l.group
	if len(c.Args) > 31 {
		return nil, sqlerr.New(sqlerr.TooManyArguments, "GROUPING must have fewer than 32 arguments").At(c.Pos)
	}
	var keys []int
	for _, a := range c.Args {
		below := g.below
		below.closed = true
		e, err := below.scalar(a, "GROUPING")
		k := -1
		if err == nil {
			k = g.key(e)
		}
		if k < 0 {
			return nil, sqlerr.New(sqlerr.GroupingError,
				"arguments to GROUPING must be grouping expressions of the associated query level").At(a.Position())
		}
		keys = append(keys, k)
	}
	if g.sets == nil {
		return expr.ConstInt(0), nil
	}
	var whens []expr.When
	for id, set := range g.sets {
		bits := int64(0)
		for _, k := range keys {
			bits <<= 1
			if !slices.Contains(set, k) {
				bits |= 1
			}
		}
		whens = append(whens, expr.When{Cond: expr.ConstInt(int64(id)), Result: expr.ConstInt(bits)})
	}
	return expr.Case(g.set, whens, nil)
}

// aggCall binds an aggregate; its columns count in args.
func (l *level) aggCall(c *sql.FuncCall, args *aggArgs) (plan.AggCall, error) {
	a := plan.AggCall{Name: c.Name.Text, Distinct: c.Distinct, FilterCol: -1}
	if c.WithinGroup {
		return a, sqlerr.Unsupported("ordered-set aggregate %s is not supported", a.Name).At(c.Pos)
	}
	if c.Variadic || c.IgnoreNulls {
		return a, sqlerr.Unsupported("VARIADIC and IGNORE NULLS are not supported for aggregate functions").At(c.Pos)
	}
	es, sig, err := l.aggSignature(c, "aggregate functions")
	if err != nil {
		return a, err
	}
	if ofEnclosing(es) {
		return a, sqlerr.Unsupported("aggregate %s over columns of an enclosing query alone is not supported",
			a.Name).At(c.Pos).
			WithHint("SQL lets the enclosing query compute it: write it there.")
	}
	a.ArgTypes, a.Type = sig.Args, sig.Result
	for _, e := range es {
		a.Args = append(a.Args, args.add(e, argName(e)))
	}
	for _, o := range c.OrderBy {
		k, err := sortKey(o)
		if err != nil {
			return a, err
		}
		e, err := l.scalar(o.X, "aggregate functions")
		if err != nil {
			return a, err
		}
		if c.Distinct && !slices.ContainsFunc(es, func(x expr.Expr) bool { return expr.Equal(x, e) }) {
			return a, sqlerr.New(sqlerr.InvalidColumnReference,
				"in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").At(o.X.Position())
		}
		k.Col = args.add(e, argName(e))
		a.OrderBy = append(a.OrderBy, k)
	}
	if c.Filter != nil {
		e, err := l.scalar(c.Filter, "FILTER")
		if err == nil {
			e, err = expr.NeedBool("FILTER", e)
		}
		if err != nil {
			return a, at(err, c.Filter.Position())
		}
		a.FilterCol = args.add(e, argName(e))
	}
	return a, nil
}

// ofEnclosing tells whether an aggregate belongs to an enclosing query: its
// arguments have columns, and none of this query.
func ofEnclosing(args []expr.Expr) bool {
	outer := false
	for _, e := range args {
		if len(expr.Columns(e)) > 0 {
			return false
		}
		expr.Walk(e, func(x expr.Expr) bool {
			_, _, is := expr.AsOuter(x)
			outer = outer || is
			return !outer
		})
	}
	return outer
}

// argName names a computed argument by its text.
func argName(e expr.Expr) string {
	s := e.String()
	if len(s) > 40 {
		return "arg"
	}
	return s
}

// aggSignature binds an aggregate's arguments and casts them to what it takes.
func (l *level) aggSignature(c *sql.FuncCall, clause string) ([]expr.Expr, aggregate.Signature, error) {
	if c.Star {
		if c.Name.Text != "count" {
			return nil, aggregate.Signature{}, noFunction(c, nil)
		}
		sig, err := aggregate.Lookup("count", nil)
		return nil, sig, at(err, c.Pos)
	}
	if len(c.Args) == 0 && c.Name.Text == "count" {
		return nil, aggregate.Signature{}, sqlerr.New(sqlerr.WrongObjectType,
			"count(*) must be used to call a parameterless aggregate function").At(c.Pos)
	}
	es, err := l.args(c, clause)
	if err != nil {
		return nil, aggregate.Signature{}, err
	}
	ts := make([]types.Type, len(es))
	for i, e := range es {
		ts[i] = e.Type()
		if ts[i].ID == types.Unknown && c.Name.Text == "count" {
			ts[i] = types.TText
		}
	}
	sig, err := aggregate.Lookup(c.Name.Text, ts)
	if err != nil {
		return nil, sig, at(err, c.Pos)
	}
	for i, e := range es {
		if es[i], err = expr.Cast(e, sig.Args[i], expr.Implicit); err != nil {
			return nil, sig, at(err, c.Args[i].Position())
		}
	}
	return es, sig, nil
}

func sameAgg(a, b plan.AggCall, args *aggArgs) bool {
	if a.Name != b.Name || a.Distinct != b.Distinct || len(a.Args) != len(b.Args) || len(a.OrderBy) != len(b.OrderBy) ||
		(a.FilterCol < 0) != (b.FilterCol < 0) {
		return false
	}
	for i := range a.Args {
		if !expr.Equal(args.list[a.Args[i]], args.list[b.Args[i]]) {
			return false
		}
	}
	for i, k := range a.OrderBy {
		o := b.OrderBy[i]
		if k.Desc != o.Desc || k.NullsFirst != o.NullsFirst || !expr.Equal(args.list[k.Col], args.list[o.Col]) {
			return false
		}
	}
	return a.FilterCol < 0 || expr.Equal(args.list[a.FilterCol], args.list[b.FilterCol])
}

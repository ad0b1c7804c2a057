package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// PushFilters moves conditions as far down as they go, and into joins.
func PushFilters(n logical.Node) logical.Node { return push(n, nil) }

// push returns n with the conditions, which count in n's columns, applied.
func push(n logical.Node, conds []expr.Expr) logical.Node {
	switch n := n.(type) {
	case *logical.Filter:
		return push(n.Input(), append(plan.Conjuncts(n.Pred), conds...))
	case *logical.Project:
		return pushProject(n, conds)
	case *logical.Join:
		return pushJoin(n, conds)
	case *logical.Apply:
		width := n.Input().Schema().Len()
		below, rest := split(conds, func(c int) bool { return c < width })
		return filter(n.WithChildren([]logical.Node{push(n.Input(), below), push(n.Children()[1], nil)}), rest)
	case *logical.Union:
		return pushUnion(n, conds)
	case *logical.Aggregate:
		return pushAggregate(n, conds)
	case *logical.Window:
		width := n.Input().Schema().Len()
		return pushThrough(n, conds, func(c int) bool {
			// A session consists of rows: dropping some would change it.
			return c < width && (n.Kind != plan.Session || slices.Contains(n.PartitionBy, c))
		})
	case *logical.ProjectSet:
		width := n.Input().Schema().Len()
		return pushThrough(n, conds, func(c int) bool { return c < width })
	case *logical.Sort:
		return pushThrough(n, conds, func(int) bool { return true })
	case *logical.DistinctOn:
		return pushThrough(n, conds, func(c int) bool { return slices.Contains(n.Keys, c) })
	case *logical.OverWindow:
		return pushThrough(n, conds, func(c int) bool { return slices.Contains(n.PartitionBy, c) })
	case *logical.SetOp:
		conds, rest := split(conds, func(int) bool { return true })
		in := n.Children()
		return filter(n.WithChildren([]logical.Node{push(in[0], conds), push(in[1], conds)}), rest)
	}
	in := n.Children()
	if len(in) > 0 {
		out := make([]logical.Node, len(in))
		for i, c := range in {
			out[i] = push(c, nil)
		}
		n = n.WithChildren(out)
	}
	return filter(n, conds)
}

// filter puts conditions on a plan.
func filter(n logical.Node, conds []expr.Expr) logical.Node {
	if len(conds) == 0 {
		return n
	}
	if f, ok := n.(*logical.Filter); ok {
		return logical.NewFilter(f.Input(), plan.Conjunction(append(plan.Conjuncts(f.Pred), conds...)))
	}
	return logical.NewFilter(n, plan.Conjunction(conds))
}

// split parts conditions into those that read only columns that pass, and the
// rest. A volatile condition never passes.
func split(conds []expr.Expr, pass func(col int) bool) (below, rest []expr.Expr) {
	for _, c := range conds {
		ok := expr.VolatilityOf(c) != expr.Volatile
		for _, col := range expr.Columns(c) {
			ok = ok && pass(col)
		}
		if ok {
			below = append(below, c)
		} else {
			rest = append(rest, c)
		}
	}
	return below, rest
}

// pushThrough pushes conditions on columns that pass below a node whose first
// columns are its input's.
func pushThrough(n logical.Node, conds []expr.Expr, pass func(int) bool) logical.Node {
	below, rest := split(conds, pass)
	return filter(n.WithChildren([]logical.Node{push(n.Children()[0], below)}), rest)
}

func pushProject(n *logical.Project, conds []expr.Expr) logical.Node {
	below, rest := split(conds, func(c int) bool { return expr.VolatilityOf(n.List[c]) != expr.Volatile })
	for i, c := range below {
		below[i] = plan.Simplify(expr.Substitute(c, func(k int) expr.Expr { return n.List[k] }))
	}
	return filter(n.WithChildren([]logical.Node{push(n.Input(), below)}), rest)
}

func pushUnion(n *logical.Union, conds []expr.Expr) logical.Node {
	conds, rest := split(conds, func(int) bool { return true })
	out := make([]logical.Node, len(n.Children()))
	for i, c := range n.Children() {
		out[i] = push(c, conds)
	}
	return filter(n.WithChildren(out), rest)
}

func pushAggregate(n *logical.Aggregate, conds []expr.Expr) logical.Node {
	groups := len(n.GroupBy)
	below, rest := split(conds, func(c int) bool { return c < groups })
	if n.Keyless || groups == 0 {
		below, rest = nil, conds
	}
	for i, c := range below {
		below[i] = expr.Remap(c, func(k int) int { return n.GroupBy[k] })
	}
	return filter(n.WithChildren([]logical.Node{push(n.Input(), below)}), rest)
}

// pushJoin sends conditions to the side that they are about. Those about both
// become the join's where it is an inner one.
func pushJoin(n *logical.Join, conds []expr.Expr) logical.Node {
	width := n.Input().Schema().Len()
	isLeft := func(c int) bool { return c < width }
	isRight := func(c int) bool { return c >= width }
	on := plan.Conjuncts(n.On)
	kind := n.Kind
	var left, right, rest []expr.Expr
	switch kind {
	case plan.InnerJoin, plan.CrossJoin:
		left, on = split(append(on, conds...), isLeft)
		right, on = split(on, isRight)
		on, rest = split(on, func(int) bool { return true })
		kind = plan.CrossJoin
		if len(on) > 0 {
			kind = plan.InnerJoin
		}
	case plan.LeftJoin:
		left, rest = split(conds, isLeft)
		right, on = split(on, isRight)
	case plan.RightJoin:
		right, rest = split(conds, isRight)
		left, on = split(on, isLeft)
	case plan.FullJoin:
		rest = conds
	case plan.SemiJoin:
		left, rest = split(conds, isLeft)
		var l, r []expr.Expr
		l, on = split(on, isLeft)
		r, on = split(on, isRight)
		left, right = append(left, l...), r
	case plan.AntiJoin:
		left, rest = split(conds, isLeft)
		right, on = split(on, isRight)
	}
	for i, c := range right {
		right[i] = expr.Remap(c, func(k int) int { return k - width })
	}
	in := n.Children()
	j := logical.NewJoin(push(in[0], left), push(in[1], right), kind, plan.Conjunction(on), n.Pos)
	j.Regular = n.Regular
	return filter(j, rest)
}

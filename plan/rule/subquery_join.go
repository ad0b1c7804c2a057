package rule

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// SubqueryJoins turns conditions [NOT] EXISTS (query) and x IN (query) into semi
// and anti joins where the query refers to the outer row in conditions only.
func SubqueryJoins(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n
		}
		return joinConditions(f)
	})
}

// joinConditions rewrites the Apply nodes right below a filter, the last first,
// as long as the filter uses them as conditions and nothing else reads them.
func joinConditions(f *logical.Filter) logical.Node {
	a, ok := f.Input().(*logical.Apply)
	if !ok {
		return f
	}
	col := a.Schema().Len() - 1
	conds := plan.Conjuncts(f.Pred)
	at, negated := -1, false
	for i, c := range conds {
		uses := 0
		for _, k := range expr.Columns(c) {
			if k == col {
				uses++
			}
		}
		if uses == 0 {
			continue
		}
		k, isCol := plan.ColumnOf(c)
		x, isNot := expr.AsNot(c)
		if isNot {
			k, isCol = plan.ColumnOf(x)
		}
		if at >= 0 || !isCol || k != col {
			return f
		}
		at, negated = i, isNot
	}
	if at < 0 {
		return f
	}
	j := semiJoin(a, negated)
	if j == nil {
		return f
	}
	rest := append(conds[:at:at], conds[at+1:]...)
	s := a.Schema()
	list := logical.Identity(s)
	list[col] = expr.ConstBool(!negated)
	left := a.Input()
	if len(rest) > 0 {
		left = joinConditions(logical.NewFilter(left, plan.Conjunction(rest)))
	}
	in := j.WithChildren([]logical.Node{left, j.Children()[1]})
	return logical.NewProject(in, list, s.Names())
}

// semiJoin is the join that an Apply under a condition stands for, or nil.
func semiJoin(a *logical.Apply, negated bool) *logical.Join {
	sub := a.Children()[1]
	width := a.Input().Schema().Len()
	var conds []expr.Expr
	switch a.Kind {
	case plan.ApplyExists:
		if !logical.Correlated(sub, 1) {
			return nil // runs once as it is
		}
	case plan.ApplyAny:
		if negated {
			return nil // NOT IN: a NULL among the rows decides
		}
		conds = plan.Conjuncts(a.Test)
	default:
		return nil
	}
	sub, outer, ok := pullConditions(sub, a.Kind == plan.ApplyExists)
	if !ok || logical.Correlated(sub, 1) {
		return nil
	}
	sub = logical.ShiftOuter(sub, 2, -1)
	for _, c := range outer {
		conds = append(conds, liftOuter(c, width))
	}
	kind := plan.SemiJoin
	if negated {
		kind = plan.AntiJoin
	}
	return logical.NewJoin(a.Input(), sub, kind, plan.Conjunction(conds), a.Pos)
}

// pullConditions takes the conditions that refer to the outer row off the top
// of a subquery. free tells that the subquery's columns do not matter.
func pullConditions(n logical.Node, free bool) (logical.Node, []expr.Expr, bool) {
	switch n := n.(type) {
	case *logical.Project:
		in, conds, ok := pullConditions(n.Input(), free)
		if !ok {
			return nil, nil, false
		}
		if free {
			return in, conds, true
		}
		// The conditions' columns are added to the projection.
		var need []int
		need = append(need, plan.Columns(conds...)...)
		list, names := append([]expr.Expr(nil), n.List...), n.Schema().Names()
		at := map[int]int{}
		all := logical.Identity(in.Schema())
		for _, c := range need {
			at[c] = len(list)
			list, names = append(list, all[c]), append(names, in.Schema().Fields[c].Name)
		}
		for i, c := range conds {
			conds[i] = expr.Remap(c, func(k int) int { return at[k] })
		}
		return logical.NewProject(in, list, names), conds, true
	case *logical.Filter:
		var own, outer []expr.Expr
		for _, c := range plan.Conjuncts(n.Pred) {
			switch {
			case !plan.RefersOuter(c, 1):
				own = append(own, c)
			case expr.VolatilityOf(c) == expr.Volatile:
				return nil, nil, false
			default:
				outer = append(outer, c)
			}
		}
		return filter(n.Input(), own), outer, true
	case *logical.Join, *logical.Scan, *logical.Values, *logical.Union, *logical.Watermark:
		return n, nil, true
	}
	// Groups, limits and the like would change with conditions taken away.
	return n, nil, !logical.Correlated(n, 1)
}

// liftOuter turns a condition of a subquery into one over the outer row's
// columns followed by the subquery's.
func liftOuter(e expr.Expr, width int) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		if c, name, ok := expr.AsColumn(x); ok {
			return expr.NewColumn(width+c, name, x.Type())
		}
		if l, c, ok := expr.AsOuter(x); ok {
			if l == 1 {
				return expr.NewColumn(c, plan.Label(x), x.Type())
			}
			return expr.NewOuter(l-1, c, plan.Label(x), x.Type())
		}
		return x
	})
}

package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// LateralFunctions turns t CROSS JOIN LATERAL f(t.a) into a projection that makes
// rows of each row of t, where f gives one column per call.
func LateralFunctions(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		a, ok := n.(*logical.Apply)
		if !ok || a.Kind != plan.ApplyCross {
			return n
		}
		sub := a.Children()[1]
		var cols []int // of the function's columns, those that are wanted
		p, isProject := sub.(*logical.Project)
		if isProject {
			sub = p.Input()
			for _, e := range p.List {
				c, ok := plan.ColumnOf(e)
				if !ok {
					return n
				}
				cols = append(cols, c)
			}
		}
		f, ok := sub.(*logical.TableFunc)
		if !ok || f.WithOrdinality || len(f.Calls) == 0 {
			return n
		}
		calls := slices.Clone(f.Calls)
		for i, c := range calls {
			if len(c.Types) != 1 {
				return n
			}
			args := make([]expr.Expr, len(c.Args))
			for k, e := range c.Args {
				args[k] = liftOuter(e, 0)
			}
			calls[i].Args = args
		}
		return overCalls(a, calls, cols, isProject)
	})
}

// overCalls makes the projection with the columns that a has.
func overCalls(a *logical.Apply, calls []plan.SetFunc, cols []int, chosen bool) logical.Node {
	width := a.Input().Schema().Len()
	set := logical.NewProjectSet(a.Input(), calls)
	all := logical.Identity(set.Schema())
	list := all
	if chosen {
		list = slices.Clone(all[:width])
		for _, c := range cols {
			list = append(list, all[width+c])
		}
	}
	return filter(logical.NewProject(set, list, a.Schema().Names()), plan.Conjuncts(a.Test))
}

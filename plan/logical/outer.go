package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Correlated tells whether a subquery's plan refers to the row that is depth
// Apply nodes around it; 1 is the nearest.
func Correlated(n Node, depth int) bool {
	found := false
	walkDepth(n, depth, func(e expr.Expr, d int) {
		found = found || plan.RefersOuter(e, d)
	})
	return found
}

// OuterColumns returns the columns of the row depth Apply nodes around that the
// subquery's plan refers to.
func OuterColumns(n Node, depth int) []int {
	var cols []int
	walkDepth(n, depth, func(e expr.Expr, d int) {
		cols = append(cols, plan.OuterColumns(e, d)...)
	})
	return cols
}

func walkDepth(n Node, depth int, f func(e expr.Expr, depth int)) {
	for _, e := range n.Exprs() {
		f(e, depth)
	}
	for i, c := range n.Children() {
		if _, ok := n.(*Apply); ok && i == 1 {
			walkDepth(c, depth+1, f)
		} else {
			walkDepth(c, depth, f)
		}
	}
}

// RemapOuter moves a subquery's references to the row depth Apply nodes around
// to other columns.
func RemapOuter(n Node, depth int, at func(int) int) Node {
	return mapDepth(n, depth, func(e expr.Expr, d int) expr.Expr {
		return plan.MapOuter(e, func(level, i int) (int, int) {
			if level == d {
				return level, at(i)
			}
			return level, i
		})
	})
}

// ShiftOuter adds by to the level of references that leave the plan n, whose
// nearest enclosing row is level depth.
func ShiftOuter(n Node, depth, by int) Node {
	if by == 0 {
		return n
	}
	return mapDepth(n, depth, func(e expr.Expr, d int) expr.Expr {
		return plan.MapOuter(e, func(level, i int) (int, int) {
			if level >= d {
				return level + by, i
			}
			return level, i
		})
	})
}

func mapDepth(n Node, depth int, f func(e expr.Expr, depth int) expr.Expr) Node {
	in := n.Children()
	if len(in) > 0 {
		out := make([]Node, len(in))
		changed := false
		for i, c := range in {
			d := depth
			if _, ok := n.(*Apply); ok && i == 1 {
				d++
			}
			out[i] = mapDepth(c, d, f)
			changed = changed || out[i] != c
		}
		if changed {
			n = n.WithChildren(out)
		}
	}
	return MapExprs(n, func(e expr.Expr) expr.Expr { return f(e, depth) })
}

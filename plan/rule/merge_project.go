package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// MergeProjects makes one projection of two and drops those that change nothing.
func MergeProjects(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		p, ok := n.(*logical.Project)
		if !ok {
			return n
		}
		if in, ok := p.Input().(*logical.Project); ok && mergeable(p, in) {
			list := make([]expr.Expr, len(p.List))
			for i, e := range p.List {
				list[i] = plan.Simplify(expr.Substitute(e, func(k int) expr.Expr { return in.List[k] }))
			}
			p = logical.NewProject(in.Input(), list, p.Schema().Names())
		}
		if identity(p) {
			return p.Input()
		}
		return p
	})
}

// mergeable tells whether the inner projection's work would not be done twice.
func mergeable(outer, inner *logical.Project) bool {
	uses := map[int]int{}
	for _, e := range outer.List {
		expr.Walk(e, func(x expr.Expr) bool {
			if c, _, ok := expr.AsColumn(x); ok {
				uses[c]++
			}
			return true
		})
	}
	for c, n := range uses {
		if simple(inner.List[c]) {
			continue
		}
		if n > 1 || expr.VolatilityOf(inner.List[c]) == expr.Volatile {
			return false
		}
	}
	return true
}

func simple(e expr.Expr) bool {
	if _, _, ok := expr.AsColumn(e); ok {
		return true
	}
	if _, ok := expr.AsConst(e); ok {
		return true
	}
	if parts, ok := expr.RowFields(e); ok { // its fields are taken out again
		return !slices.ContainsFunc(parts, func(p expr.Expr) bool { return !simple(p) })
	}
	_, _, outer := expr.AsOuter(e)
	_, param := expr.AsParam(e)
	return outer || param
}

// identity tells whether a projection gives its input's columns as they are.
func identity(p *logical.Project) bool {
	if len(p.List) != p.Input().Schema().Len() {
		return false
	}
	for i, e := range p.List {
		if c, ok := plan.ColumnOf(e); !ok || c != i {
			return false
		}
	}
	return true
}

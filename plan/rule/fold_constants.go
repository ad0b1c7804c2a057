package rule

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// FoldConstants computes the immutable parts of expressions and drops conditions
// that are always true.
func FoldConstants(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		n = logical.MapExprs(n, func(e expr.Expr) expr.Expr { return expr.Fold(nil, plan.Simplify(e)) })
		if f, ok := n.(*logical.Filter); ok && isTrue(f.Pred) {
			return f.Input()
		}
		return n
	})
}

func isTrue(e expr.Expr) bool {
	v, ok := expr.AsConst(e)
	return ok && !v.IsNull(0) && v.Bits.Get(0)
}

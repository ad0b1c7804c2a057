package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Filter passes the rows for which Pred is true.
type Filter struct {
	Base
	Pred expr.Expr
}

// Describe shows the node.
func (n *Filter) Describe() plan.Desc {
	return plan.Desc{Op: "Filter"}.With("where", n.Pred.String())
}

package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Project computes one column per expression.
type Project struct {
	Base
	Exprs []expr.Expr
}

// Describe shows the node.
func (n *Project) Describe() plan.Desc {
	return plan.Desc{Op: "Project"}.With("columns", plan.NamedExprs(n.Exprs, n.Out))
}

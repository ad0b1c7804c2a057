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
	s := ""
	for i, e := range n.Exprs {
		if i > 0 {
			s += ", "
		}
		t := e.String()
		s += t
		if name := n.Out.Fields[i].Name; name != "" && name != t {
			s += " AS " + name
		}
	}
	return plan.Desc{Op: "Project"}.With("columns", s)
}

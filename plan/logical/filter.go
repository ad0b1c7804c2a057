package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Filter passes the rows for which Pred is true.
type Filter struct {
	base
	Pred expr.Expr
}

// NewFilter returns the node.
func NewFilter(in Node, pred expr.Expr) *Filter {
	return &Filter{base{[]Node{in}, in.Schema()}, pred}
}

// WithChildren returns a copy with another input.
func (n *Filter) WithChildren(c []Node) Node { return NewFilter(c[0], n.Pred) }

// Exprs returns the condition.
func (n *Filter) Exprs() []expr.Expr { return []expr.Expr{n.Pred} }

// WithExprs returns a copy with another condition.
func (n *Filter) WithExprs(e []expr.Expr) Node { return NewFilter(n.in[0], e[0]) }

// Describe shows the node.
func (n *Filter) Describe() plan.Desc {
	return plan.Desc{Op: "Filter"}.With("where", n.Pred.String())
}

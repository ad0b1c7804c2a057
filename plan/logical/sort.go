package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Sort orders all rows; equal rows keep their order.
type Sort struct {
	base
	Keys []plan.SortKey
	Pos  int
}

// NewSort returns the node.
func NewSort(in Node, keys []plan.SortKey, pos int) *Sort {
	return &Sort{base{[]Node{in}, in.Schema()}, keys, pos}
}

// WithChildren returns a copy with another input.
func (n *Sort) WithChildren(c []Node) Node { return NewSort(c[0], n.Keys, n.Pos) }

// Exprs returns nil.
func (n *Sort) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Sort) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Sort) Describe() plan.Desc {
	return plan.Desc{Op: "Sort"}.With("by", plan.DescribeKeys(n.schema, n.Keys))
}

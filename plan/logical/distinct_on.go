package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// DistinctOn keeps the first row of each group of equal Keys, first by OrderBy
// (which begins with the keys) and then by arrival.
type DistinctOn struct {
	base
	Keys    []int
	OrderBy []plan.SortKey
	Pos     int
}

// NewDistinctOn returns the node.
func NewDistinctOn(in Node, keys []int, order []plan.SortKey, pos int) *DistinctOn {
	return &DistinctOn{base{[]Node{in}, in.Schema()}, keys, order, pos}
}

// WithChildren returns a copy with another input.
func (n *DistinctOn) WithChildren(c []Node) Node {
	return NewDistinctOn(c[0], n.Keys, n.OrderBy, n.Pos)
}

// Exprs returns nil.
func (n *DistinctOn) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *DistinctOn) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *DistinctOn) Describe() plan.Desc {
	return plan.Desc{Op: "DistinctOn"}.With("keys", n.schema.ColumnNames(n.Keys)).
		With("order", plan.DescribeKeys(n.schema, n.OrderBy))
}

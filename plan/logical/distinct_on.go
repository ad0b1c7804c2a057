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
	// Time is the event-time column, if it must be kept for the node; -1: none.
	Time int
	// Within says when a continuous query forgets a key; Span is for WithinSpan.
	Within plan.Within
	Span   int64
	// Late are as those of Aggregate.
	Late []int
	Pos  int
}

// NewDistinctOn returns the node.
func NewDistinctOn(in Node, keys []int, order []plan.SortKey, pos int) *DistinctOn {
	return &DistinctOn{base: base{[]Node{in}, in.Schema()}, Keys: keys, OrderBy: order, Time: -1, Pos: pos}
}

// WithChildren returns a copy with another input.
func (n *DistinctOn) WithChildren(c []Node) Node {
	d := *n
	d.base = base{[]Node{c[0]}, c[0].Schema()}
	return &d
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

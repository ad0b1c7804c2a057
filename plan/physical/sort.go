package physical

import "github.com/streamsql/streamsql/plan"

// SortKey is one column of an order.
type SortKey = plan.SortKey

// Sort orders all rows; equal rows keep their order.
type Sort struct {
	Base
	Keys []SortKey
}

// Describe shows the node.
func (n *Sort) Describe() plan.Desc {
	return plan.Desc{Op: "Sort"}.With("by", plan.DescribeKeys(n.Out, n.Keys))
}

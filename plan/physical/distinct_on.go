package physical

import "github.com/streamsql/streamsql/plan"

// DistinctOn keeps the first row of each group of equal Keys, first by OrderBy
// and then by arrival. In a SELECT the input is sorted already.
type DistinctOn struct {
	Base
	Keys    []int
	OrderBy []SortKey
}

// Describe shows the node.
func (n *DistinctOn) Describe() plan.Desc {
	return plan.Desc{Op: "DistinctOn"}.With("keys", n.Out.ColumnNames(n.Keys)).
		With("order", plan.DescribeKeys(n.Out, n.OrderBy))
}

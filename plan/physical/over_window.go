package physical

import (
	"strings"

	"github.com/streamsql/streamsql/plan"
)

// Frame is a window frame; WindowCall is a window function with its frame.
type (
	Frame      = plan.Frame
	WindowCall = plan.WindowCall
)

// OverWindow computes window functions that share partitions and order. The
// output is the input's columns followed by one column per call.
type OverWindow struct {
	Base
	PartitionBy []int
	OrderBy     []SortKey
	Calls       []WindowCall
}

// Describe shows the node.
func (n *OverWindow) Describe() plan.Desc {
	in := n.Input[0].Schema()
	s := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		s[i] = c.Describe(in)
	}
	return plan.Desc{Op: "OverWindow"}.With("calls", strings.Join(s, ", ")).
		With("partition", in.ColumnNames(n.PartitionBy)).With("order", plan.DescribeKeys(in, n.OrderBy))
}

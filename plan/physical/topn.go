package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// TopN is Limit of Sort: only the first rows are kept. Limit is never nil; see
// Limit for the meaning of its fields.
type TopN struct {
	Base
	Keys          []SortKey
	Limit, Offset expr.Expr
	WithTies      bool
}

// Describe shows the node.
func (n *TopN) Describe() plan.Desc {
	return describeLimit(plan.Desc{Op: "TopN"}.With("by", plan.DescribeKeys(n.Out, n.Keys)), n.Limit, n.Offset, n.WithTies)
}

package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// TopN keeps, of the rows of each group of equal PartitionBy columns, those whose
// rank by OrderBy is in the range. The output is the input's columns followed, with
// Rank, by the rank.
type TopN struct {
	base
	PartitionBy []int
	OrderBy     []plan.SortKey
	plan.RankRange
	Rank bool
	Pos  int
	// Late are input columns that rows dropped as late must have, until columns are
	// pruned.
	Late []int
}

// NewTopN returns the node; rank is the rank's column, nil for none.
func NewTopN(in Node, by []int, order []plan.SortKey, r plan.RankRange, rank *plan.Field, pos int) *TopN {
	s := in.Schema()
	if rank != nil {
		s = s.Concat(plan.NewSchema(*rank))
	}
	return &TopN{base: base{[]Node{in}, s}, PartitionBy: by, OrderBy: order, RankRange: r, Rank: rank != nil, Pos: pos}
}

// RankField is the rank's column; nil for none.
func (n *TopN) RankField() *plan.Field {
	if !n.Rank {
		return nil
	}
	f := n.schema.Fields[n.schema.Len()-1]
	return &f
}

// WithChildren returns a copy with another input.
func (n *TopN) WithChildren(c []Node) Node {
	t := NewTopN(c[0], n.PartitionBy, n.OrderBy, n.RankRange, n.RankField(), n.Pos)
	t.Late = n.Late
	return t
}

// Exprs returns nil.
func (n *TopN) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *TopN) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *TopN) Describe() plan.Desc {
	in := n.in[0].Schema()
	return plan.Desc{Op: "TopN"}.With(n.Func.String(), n.RankRange.String()).
		With("partition", in.ColumnNames(n.PartitionBy)).With("order", plan.DescribeKeys(in, n.OrderBy))
}

package physical

import "github.com/streamsql/streamsql/plan"

// GroupTopN keeps, while rows come and go, those of each group of equal PartitionBy
// columns whose rank by OrderBy is in the range. Rows that are equal in OrderBy stand
// in an order of their own. The output is the input's columns followed, with Rank, by
// the rank. It is of continuous queries.
type GroupTopN struct {
	Base
	PartitionBy []int
	OrderBy     []SortKey
	plan.RankRange
	Rank bool
	// CloseBy is a column of PartitionBy, or -1: a group is closed, and a row for it is
	// late, when value + CloseLag <= watermark. Closed groups leave the state.
	CloseBy  int
	CloseLag int64
	// TTL, if not 0, is how many microseconds of processing time a group stays that no
	// row comes for.
	TTL int64
	// FinalOnly: a group leaves once, when it is closed.
	FinalOnly bool
}

// InputAppendOnly tells whether no deletes come in.
func (n *GroupTopN) InputAppendOnly() bool { return n.Input[0].Props().AppendOnly }

// Describe shows the node.
func (n *GroupTopN) Describe() plan.Desc {
	d := plan.Desc{Op: "TopN"}
	if len(n.PartitionBy) > 0 {
		d.Op = "GroupTopN"
	}
	d = d.With("partition", n.Out.ColumnNames(n.PartitionBy)).With("by", plan.DescribeKeys(n.Out, n.OrderBy))
	switch n.Func {
	case plan.WithTies:
		d = d.With("rows", n.RankRange.String()).With("ties", "yes")
	case plan.RowNumber:
		d = d.With("rows", n.RankRange.String())
	default:
		d = d.With(n.Func.String(), n.RankRange.String())
	}
	if n.Rank {
		d = d.With("rank", n.Out.ColumnName(n.Out.Len()-1))
	}
	if n.FinalOnly {
		d = d.With("emit", "on close")
	}
	if n.TTL > 0 {
		d = d.With("ttl", plan.Micros(n.TTL))
	}
	return d
}

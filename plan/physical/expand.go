package physical

import "github.com/streamsql/streamsql/plan"

// Expand gives each row once per grouping set. The output is the input's columns
// followed by an integer, the position of the set; in the row for a set those of
// Cols that are not in the set are NULL.
type Expand struct {
	Base
	// Cols are the input columns that grouping sets speak of.
	Cols []int
	// Sets are subsets of Cols.
	Sets [][]int
}

// Describe shows the node.
func (n *Expand) Describe() plan.Desc {
	s := ""
	for i, set := range n.Sets {
		if i > 0 {
			s += ", "
		}
		s += "(" + n.Input[0].Schema().ColumnNames(set) + ")"
	}
	return plan.Desc{Op: "Expand"}.With("sets", s)
}

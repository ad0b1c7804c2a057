package physical

import (
	"strconv"

	"github.com/streamsql/streamsql/plan"
)

// RecursiveCTE runs its first input, then its second again and again, with
// WorkTable nodes of the same Table giving the rows of the previous run, until a
// run gives no rows. The output is all rows. Without All (UNION), rows that were
// given before are dropped, also from what the next run sees.
type RecursiveCTE struct {
	Base
	Table int
	Name  string
	All   bool
}

// Describe shows the node.
func (n *RecursiveCTE) Describe() plan.Desc {
	d := plan.Desc{Op: "RecursiveCTE"}.With("name", n.Name).With("table", strconv.Itoa(n.Table))
	if n.All {
		d = d.With("all", "yes")
	}
	return d
}

// WorkTable gives the rows of the previous run of a RecursiveCTE.
type WorkTable struct {
	Base
	Table int
	Name  string
}

// Describe shows the node.
func (n *WorkTable) Describe() plan.Desc {
	return plan.Desc{Op: "WorkTable"}.With("name", n.Name).With("table", strconv.Itoa(n.Table))
}

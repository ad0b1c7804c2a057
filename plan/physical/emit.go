package physical

import "github.com/streamsql/streamsql/plan"

// OutputMode says which rows leave a continuous query, and when.
type OutputMode uint8

// The output modes.
const (
	// Update: changed keys, always the newest result.
	Update OutputMode = iota
	// Append: a row leaves when it can no longer change.
	Append
	// Complete: the whole result each trigger.
	Complete
	// Changelog: inserts and deletes as they come.
	Changelog
)

func (m OutputMode) String() string {
	return [...]string{"update", "append", "complete", "changelog"}[m]
}

// ParseOutputMode returns the mode of that name.
func ParseOutputMode(s string) (OutputMode, bool) {
	for m := Update; m <= Changelog; m++ {
		if m.String() == s {
			return m, true
		}
	}
	return 0, false
}

// Emit turns the changes of its input into what the output mode shows. In append
// mode the input has inserts only. In the others, Key holds the columns by which
// changes of one row are recognised; nil: the whole row.
type Emit struct {
	Base
	Mode OutputMode
	Key  []int
	// Order is the order of the rows in complete mode; nil: none.
	Order []SortKey
	// Stored: the receiver is a view, which keeps the result. In complete mode it
	// gets the changes that bring it to the whole result of the epoch.
	Stored bool
}

// Describe shows the node.
func (n *Emit) Describe() plan.Desc {
	d := plan.Desc{Op: "Emit"}.With("mode", n.Mode.String()).With("by", plan.DescribeKeys(n.Out, n.Order))
	if n.Mode != Append {
		if n.Key == nil {
			return d.With("key", "whole row")
		}
		d = d.With("key", n.Out.ColumnNames(n.Key))
	}
	return d
}

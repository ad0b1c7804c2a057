package physical

import (
	"strings"

	"github.com/streamsql/streamsql/plan"
)

// SetFunc is a call of a function that returns rows.
type SetFunc = plan.SetFunc

// TableFunc calls functions in FROM: the rows of each side by side, the shorter
// ones filled with NULL. The arguments refer to no input columns, only to those
// of enclosing queries. With WithOrdinality the last column is the row's number,
// a bigint from 1.
type TableFunc struct {
	Base
	Calls          []SetFunc
	WithOrdinality bool
}

// Describe shows the node.
func (n *TableFunc) Describe() plan.Desc {
	s := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		s[i] = c.String()
	}
	d := plan.Desc{Op: "TableFunc"}.With("calls", strings.Join(s, ", "))
	if n.WithOrdinality {
		d = d.With("ordinality", "yes")
	}
	return d
}

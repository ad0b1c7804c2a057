package physical

import (
	"strings"

	"github.com/streamsql/streamsql/plan"
)

// ProjectSet calls functions of a select list that return rows. For each input
// row it makes as many rows as the longest call, shorter ones filled with NULL,
// none if no call returns a row. The output is the input's columns followed by
// one column per call.
type ProjectSet struct {
	Base
	Calls []SetFunc
}

// Describe shows the node.
func (n *ProjectSet) Describe() plan.Desc {
	s := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		s[i] = c.String()
	}
	return plan.Desc{Op: "ProjectSet"}.With("calls", strings.Join(s, ", "))
}

package physical

import "github.com/streamsql/streamsql/plan"

// Result is the root of a SELECT: its rows go to the client. Only the first
// Visible columns are shown; the others were needed to sort.
type Result struct {
	Base
	Visible int
}

// Describe shows the node.
func (n *Result) Describe() plan.Desc { return plan.Desc{Op: "Result"} }

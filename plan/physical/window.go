package physical

import "github.com/streamsql/streamsql/plan"

// WindowKind is a kind of time window; WindowSpec says which windows a row
// belongs to.
type (
	WindowKind = plan.WindowKind
	WindowSpec = plan.WindowSpec
)

// The kinds of windows.
const (
	Tumble   = plan.Tumble
	Hop      = plan.Hop
	Cumulate = plan.Cumulate
	Session  = plan.Session
)

// Window gives each row once per window that it belongs to, with the columns
// window_start and window_end (of the time column's type) added at the end.
type Window struct {
	Base
	WindowSpec
}

// Describe shows the node.
func (n *Window) Describe() plan.Desc {
	return n.WindowSpec.Describe(plan.Desc{Op: "Window"}, n.Input[0].Schema())
}

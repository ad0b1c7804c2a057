package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Window gives each row once per window that it belongs to, with window_start
// and window_end added at the end.
type Window struct {
	base
	plan.WindowSpec
	Pos int
}

// NewWindow returns the node.
func NewWindow(in Node, spec plan.WindowSpec, pos int) *Window {
	s := in.Schema().Concat(plan.NewSchema(spec.Fields(in.Schema())...))
	return &Window{base{[]Node{in}, s}, spec, pos}
}

// WithChildren returns a copy with another input.
func (n *Window) WithChildren(c []Node) Node { return NewWindow(c[0], n.WindowSpec, n.Pos) }

// Exprs returns a session's gap.
func (n *Window) Exprs() []expr.Expr { return optional(n.Gap) }

// WithExprs returns a copy with another gap.
func (n *Window) WithExprs(e []expr.Expr) Node {
	spec := n.WindowSpec
	spec.Gap = take(n.Gap, &e)
	return NewWindow(n.in[0], spec, n.Pos)
}

// Describe shows the node.
func (n *Window) Describe() plan.Desc {
	return n.WindowSpec.Describe(plan.Desc{Op: "Window"}, n.in[0].Schema())
}

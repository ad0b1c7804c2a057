package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// ProjectSet calls functions that return rows for each input row; the output is
// the input's columns followed by one column per call.
type ProjectSet struct {
	base
	Calls []plan.SetFunc
}

// NewProjectSet returns the node. Each call has one column.
func NewProjectSet(in Node, calls []plan.SetFunc) *ProjectSet {
	f := append([]plan.Field(nil), in.Schema().Fields...)
	for _, c := range calls {
		f = append(f, plan.Field{Name: c.Name, Type: c.Types[0]})
	}
	return &ProjectSet{base{[]Node{in}, plan.NewSchema(f...)}, calls}
}

// WithChildren returns a copy with another input.
func (n *ProjectSet) WithChildren(c []Node) Node { return NewProjectSet(c[0], n.Calls) }

// Exprs returns the arguments of all calls.
func (n *ProjectSet) Exprs() []expr.Expr { return callArgs(n.Calls) }

// WithExprs returns a copy with other arguments.
func (n *ProjectSet) WithExprs(e []expr.Expr) Node {
	return NewProjectSet(n.in[0], withArgs(n.Calls, e))
}

// Describe shows the node.
func (n *ProjectSet) Describe() plan.Desc {
	return plan.Desc{Op: "ProjectSet"}.With("calls", callList(n.Calls))
}

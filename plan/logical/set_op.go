package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// SetOp is INTERSECT or EXCEPT of two inputs of the same types.
type SetOp struct {
	base
	Except, All bool
	Pos         int
}

// NewSetOp returns the node.
func NewSetOp(l, r Node, except, all bool, pos int) *SetOp {
	f := append([]plan.Field(nil), l.Schema().Fields...)
	for i := range f {
		f[i].Table, f[i].Attr = 0, 0
	}
	return &SetOp{base{[]Node{l, r}, plan.NewSchema(f...)}, except, all, pos}
}

// Name is EXCEPT or INTERSECT.
func (n *SetOp) Name() string {
	if n.Except {
		return "EXCEPT"
	}
	return "INTERSECT"
}

// WithChildren returns a copy with other inputs.
func (n *SetOp) WithChildren(c []Node) Node { return NewSetOp(c[0], c[1], n.Except, n.All, n.Pos) }

// Exprs returns nil.
func (n *SetOp) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *SetOp) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *SetOp) Describe() plan.Desc {
	op := n.Name()
	if n.All {
		op += " ALL"
	}
	return plan.Desc{Op: "SetOp"}.With("op", op)
}

package physical

import "github.com/streamsql/streamsql/plan"

// SetOp is INTERSECT or EXCEPT of two inputs with the same types; NULLs are
// equal. Without All the result has no duplicates.
type SetOp struct {
	Base
	Except bool
	All    bool
}

// Describe shows the node.
func (n *SetOp) Describe() plan.Desc {
	d := plan.Desc{Op: "SetOp"}
	op := "intersect"
	if n.Except {
		op = "except"
	}
	if n.All {
		op += " all"
	}
	return d.With("op", op)
}

package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// ApplyKind says what becomes of a subquery's rows; package plan tells each.
type ApplyKind = plan.ApplyKind

// The kinds of Apply.
const (
	ApplyScalar = plan.ApplyScalar
	ApplyExists = plan.ApplyExists
	ApplyAny    = plan.ApplyAny
	ApplyAll    = plan.ApplyAll
	ApplyArray  = plan.ApplyArray
	ApplyRow    = plan.ApplyRow
	ApplyCross  = plan.ApplyCross
	ApplyLeft   = plan.ApplyLeft
)

// Apply runs its second input, the subquery, for the rows of its first, and adds
// the result's columns to the row. The subquery's expressions reach the left row
// with expr.Outer: level 1 is this node's left row, level 2 that of the Apply
// around it, and so on.
type Apply struct {
	Base
	Kind ApplyKind
	// Test is the comparison of ApplyAny and ApplyAll, or the join condition of
	// ApplyCross and ApplyLeft (nil: none), over left and subquery columns.
	Test expr.Expr
	// Correlated: the subquery refers to the left row. If it does not, it need run
	// only once.
	Correlated bool
}

// Describe shows the node.
func (n *Apply) Describe() plan.Desc {
	d := plan.Desc{Op: "Apply"}.With("kind", n.Kind.String())
	if n.Test != nil {
		d = d.With("test", n.Test.String())
	}
	if n.Correlated {
		d = d.With("correlated", "yes")
	}
	return d
}

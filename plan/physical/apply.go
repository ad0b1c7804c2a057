package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// ApplyKind says what becomes of a subquery's rows.
type ApplyKind uint8

// The kinds of Apply. The first six add one column to each left row, the last
// two join.
const (
	// ApplyScalar: the one column of the one row, NULL for no row; more than one
	// row is 21000.
	ApplyScalar ApplyKind = iota
	// ApplyExists: whether there is a row.
	ApplyExists
	// ApplyAny: OR of Test over the rows, with three-valued logic (IN, op ANY).
	ApplyAny
	// ApplyAll: AND of Test over the rows.
	ApplyAll
	// ApplyArray: the one column of all rows as an array, empty for no rows.
	ApplyArray
	// ApplyRow: the columns of the one row as added columns, NULLs for no row; more
	// than one row is 21000. (UPDATE … SET (a, b) = (SELECT …))
	ApplyRow
	// ApplyCross: the left row with each of the rows (CROSS JOIN LATERAL).
	ApplyCross
	// ApplyLeft: the same; a left row without rows gets NULLs (LEFT JOIN LATERAL).
	ApplyLeft
)

func (k ApplyKind) String() string {
	return [...]string{"scalar", "exists", "any", "all", "array", "row", "cross", "left"}[k]
}

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

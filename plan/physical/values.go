package physical

import (
	"strconv"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Values is a list of rows. The expressions refer to no input columns. A SELECT
// without FROM has one row of no columns.
type Values struct {
	Base
	Rows [][]expr.Expr
}

// Describe shows the node.
func (n *Values) Describe() plan.Desc {
	d := plan.Desc{Op: "Values"}.With("rows", strconv.Itoa(len(n.Rows)))
	if len(n.Rows) == 1 && len(n.Rows[0]) > 0 {
		d = d.With("row", plan.ExprList(n.Rows[0]))
	}
	return d
}

package logical

import (
	"strconv"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Values is a list of rows; the expressions refer to no input columns.
type Values struct {
	base
	Rows [][]expr.Expr
}

// NewValues returns the rows, whose columns are fields.
func NewValues(rows [][]expr.Expr, fields ...plan.Field) *Values {
	return &Values{base{nil, plan.NewSchema(fields...)}, rows}
}

// OneRow is the input of a SELECT without FROM.
func OneRow() *Values { return NewValues([][]expr.Expr{{}}) }

// WithChildren returns n, which has no inputs.
func (n *Values) WithChildren([]Node) Node { return n }

// Exprs returns all rows' expressions.
func (n *Values) Exprs() []expr.Expr {
	var out []expr.Expr
	for _, r := range n.Rows {
		out = append(out, r...)
	}
	return out
}

// WithExprs returns a copy with other expressions.
func (n *Values) WithExprs(e []expr.Expr) Node {
	rows := make([][]expr.Expr, len(n.Rows))
	for i, r := range n.Rows {
		rows[i], e = e[:len(r):len(r)], e[len(r):]
	}
	return NewValues(rows, n.schema.Fields...)
}

// Describe shows the node.
func (n *Values) Describe() plan.Desc {
	d := plan.Desc{Op: "Values"}.With("rows", strconv.Itoa(len(n.Rows)))
	if len(n.Rows) == 1 {
		d = d.With("row", plan.ExprList(n.Rows[0]))
	}
	return d
}

package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql/types"
)

// Expand gives each row once per grouping set: see the physical node of the same
// name.
type Expand struct {
	base
	Cols []int
	Sets [][]int
}

// NewExpand returns the node.
func NewExpand(in Node, cols []int, sets [][]int) *Expand {
	f := append([]plan.Field(nil), in.Schema().Fields...)
	for _, c := range cols {
		f[c].NotNull = false
	}
	f = append(f, plan.Field{Name: "grouping_set", Type: types.TInt4, NotNull: true})
	return &Expand{base{[]Node{in}, plan.NewSchema(f...)}, cols, sets}
}

// WithChildren returns a copy with another input.
func (n *Expand) WithChildren(c []Node) Node { return NewExpand(c[0], n.Cols, n.Sets) }

// Exprs returns nil.
func (n *Expand) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Expand) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Expand) Describe() plan.Desc {
	s := ""
	for i, set := range n.Sets {
		if i > 0 {
			s += ", "
		}
		s += "(" + n.in[0].Schema().ColumnNames(set) + ")"
	}
	return plan.Desc{Op: "Expand"}.With("sets", s)
}

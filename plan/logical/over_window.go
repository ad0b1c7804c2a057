package logical

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// OverWindow computes window functions that share partitions and order; the
// output is the input's columns followed by one column per call.
type OverWindow struct {
	base
	PartitionBy []int
	OrderBy     []plan.SortKey
	Calls       []plan.WindowCall
	Pos         int
}

// NewOverWindow returns the node.
func NewOverWindow(in Node, by []int, order []plan.SortKey, calls []plan.WindowCall, pos int) *OverWindow {
	f := append([]plan.Field(nil), in.Schema().Fields...)
	for _, c := range calls {
		f = append(f, plan.Field{Name: c.Name, Type: c.Type})
	}
	return &OverWindow{base{[]Node{in}, plan.NewSchema(f...)}, by, order, calls, pos}
}

// WithChildren returns a copy with another input.
func (n *OverWindow) WithChildren(c []Node) Node {
	return NewOverWindow(c[0], n.PartitionBy, n.OrderBy, n.Calls, n.Pos)
}

// Exprs returns the offsets of the frames.
func (n *OverWindow) Exprs() []expr.Expr {
	var out []expr.Expr
	for _, c := range n.Calls {
		out = append(out, optional(c.Frame.StartOffset, c.Frame.EndOffset)...)
	}
	return out
}

// WithExprs returns a copy with other offsets.
func (n *OverWindow) WithExprs(e []expr.Expr) Node {
	calls := append([]plan.WindowCall(nil), n.Calls...)
	for i := range calls {
		f := &calls[i].Frame
		f.StartOffset = take(f.StartOffset, &e)
		f.EndOffset = take(f.EndOffset, &e)
	}
	return NewOverWindow(n.in[0], n.PartitionBy, n.OrderBy, calls, n.Pos)
}

// Describe shows the node.
func (n *OverWindow) Describe() plan.Desc {
	in := n.in[0].Schema()
	s := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		s[i] = c.Describe(in)
	}
	return plan.Desc{Op: "OverWindow"}.With("calls", strings.Join(s, ", ")).
		With("partition", in.ColumnNames(n.PartitionBy)).With("order", plan.DescribeKeys(in, n.OrderBy))
}

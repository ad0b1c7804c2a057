package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Limit passes Count rows after skipping Offset; both may be nil. With Ties the
// input is a Sort, and rows that tie with the last one pass too.
type Limit struct {
	base
	Count, Offset expr.Expr
	Ties          bool
	Pos           int
}

// NewLimit returns the node.
func NewLimit(in Node, count, offset expr.Expr, ties bool, pos int) *Limit {
	return &Limit{base{[]Node{in}, in.Schema()}, count, offset, ties, pos}
}

// WithChildren returns a copy with another input.
func (n *Limit) WithChildren(c []Node) Node { return NewLimit(c[0], n.Count, n.Offset, n.Ties, n.Pos) }

// Exprs returns the two counts.
func (n *Limit) Exprs() []expr.Expr { return optional(n.Count, n.Offset) }

// WithExprs returns a copy with other counts.
func (n *Limit) WithExprs(e []expr.Expr) Node {
	count := take(n.Count, &e)
	return NewLimit(n.in[0], count, take(n.Offset, &e), n.Ties, n.Pos)
}

// Describe shows the node.
func (n *Limit) Describe() plan.Desc {
	d := plan.Desc{Op: "Limit"}
	if n.Count != nil {
		d = d.With("limit", n.Count.String())
	}
	if n.Offset != nil {
		d = d.With("offset", n.Offset.String())
	}
	if n.Ties {
		d = d.With("ties", "yes")
	}
	return d
}

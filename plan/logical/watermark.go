package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Watermark declares the event time of its input: column Column with the
// watermark Expr, or Column minus Delay microseconds when Expr is nil. In a
// bounded read it has no effect.
type Watermark struct {
	base
	Column int
	Expr   expr.Expr
	Delay  int64
}

// NewWatermark returns the node.
func NewWatermark(in Node, column int, e expr.Expr, delay int64) *Watermark {
	return &Watermark{base{[]Node{in}, in.Schema()}, column, e, delay}
}

// WithChildren returns a copy with another input.
func (n *Watermark) WithChildren(c []Node) Node {
	return NewWatermark(c[0], n.Column, n.Expr, n.Delay)
}

// Exprs returns the watermark's expression.
func (n *Watermark) Exprs() []expr.Expr { return optional(n.Expr) }

// WithExprs returns a copy with another expression.
func (n *Watermark) WithExprs(e []expr.Expr) Node {
	return NewWatermark(n.in[0], n.Column, take(n.Expr, &e), n.Delay)
}

// Describe shows the node.
func (n *Watermark) Describe() plan.Desc {
	d := plan.Desc{Op: "Watermark"}.With("column", n.schema.ColumnName(n.Column))
	if n.Expr != nil {
		return d.With("expr", n.Expr.String())
	}
	return d.With("delay", plan.Micros(n.Delay))
}

// optional lists the expressions that are there.
func optional(es ...expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// take returns the next of rest in place of old, or nil where old is.
func take(old expr.Expr, rest *[]expr.Expr) expr.Expr {
	if old == nil {
		return nil
	}
	e := (*rest)[0]
	*rest = (*rest)[1:]
	return e
}

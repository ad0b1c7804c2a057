package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Watermark raises the watermark from the rows that pass: per split, the
// greatest value of the expression so far. Rows pass unchanged.
type Watermark struct {
	Base
	// Column is the event-time column: timestamp or timestamptz.
	Column int
	// Expr is the watermark that a row stands for, a timestamp; nil when it is
	// Column minus Delay microseconds.
	Expr  expr.Expr
	Delay int64
	// Clock: the column is the epoch's time, which goes on without rows.
	Clock bool
}

// Describe shows the node.
func (n *Watermark) Describe() plan.Desc {
	d := plan.Desc{Op: "Watermark"}.With("column", n.Out.ColumnName(n.Column))
	if n.Expr != nil {
		return d.With("expr", n.Expr.String())
	}
	if n.Clock {
		d = d.With("time", "of processing")
	}
	return d.With("delay", plan.Micros(n.Delay))
}

package physical

import (
	"strconv"

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
}

// Describe shows the node.
func (n *Watermark) Describe() plan.Desc {
	d := plan.Desc{Op: "Watermark"}.With("column", colName(n.Out, n.Column))
	if n.Expr != nil {
		return d.With("expr", n.Expr.String())
	}
	return d.With("delay", micros(n.Delay))
}

// micros prints a span of time in its largest whole unit.
func micros(us int64) string {
	for _, u := range []struct {
		n    int64
		name string
	}{{86400e6, "d"}, {3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}} {
		if us != 0 && us%u.n == 0 {
			return strconv.FormatInt(us/u.n, 10) + " " + u.name
		}
	}
	if us == 0 {
		return "0 s"
	}
	return strconv.FormatInt(us, 10) + " us"
}

package physical

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// TemporalFilter passes the rows for which all Bounds hold at the epoch's time. A row
// enters the output and leaves it again as time passes.
type TemporalFilter struct {
	Base
	Bounds []TemporalBound
	// InputAppendOnly: no deletes come in.
	InputAppendOnly bool
}

// TemporalBound is the condition that an expression of now() compares so with one of
// the row. Both are timestamps, or dates.
type TemporalBound struct {
	// Pred is the condition as it was written.
	Pred expr.Expr
	// Op compares the expression of now(), on the left, with that of the row.
	Op TemporalOp
	// Row is the row's side; Clock leads from now() to the other.
	Row   expr.Expr
	Clock []plan.ClockStep
	// Unless, if not nil, is a condition on the row alone: where it is true, the bound
	// holds at all times.
	Unless expr.Expr
}

// TemporalOp is a comparison.
type TemporalOp uint8

// The comparisons.
const (
	ClockLess TemporalOp = iota
	ClockAtMost
	ClockAtLeast
	ClockGreater
	ClockEqual
)

// Enters tells whether the bound keeps rows out until a time.
func (o TemporalOp) Enters() bool { return o >= ClockAtLeast }

// Leaves tells whether the bound ends a row's stay.
func (o TemporalOp) Leaves() bool { return o <= ClockAtMost || o == ClockEqual }

// Describe shows the node: what lets rows in, and what sends them off.
func (n *TemporalFilter) Describe() plan.Desc {
	var enter, leave []string
	for _, b := range n.Bounds {
		if b.Op.Enters() {
			enter = append(enter, b.Pred.String())
		}
		if b.Op.Leaves() {
			leave = append(leave, b.Pred.String())
		}
	}
	return plan.Desc{Op: "TemporalFilter"}.With("from", strings.Join(enter, " AND ")).
		With("while", strings.Join(leave, " AND "))
}

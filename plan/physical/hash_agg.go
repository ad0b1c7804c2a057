package physical

import (
	"strings"

	"github.com/streamsql/streamsql/plan"
)

// AggCall is an aggregate over input columns.
type AggCall = plan.AggCall

// HashAgg groups rows. Its output is one column per GroupBy entry, then one per
// aggregate. Without aggregates it is DISTINCT.
//
// With Window set, the node assigns windows itself and GroupBy counts two more
// input columns, n = window_start and n+1 = window_end, n being the number of
// the input's columns; at least one of the two is grouped by (both for a
// session).
type HashAgg struct {
	Base
	GroupBy []int
	Aggs    []AggCall
	Window  *WindowSpec
	// WindowStart and WindowEnd are the output positions of the window's columns,
	// -1 where they are not grouped by or there is no window.
	WindowStart, WindowEnd int
	// CloseBy is the output position of a group column that the watermark bounds,
	// or -1: a group is closed, and a row for it is late, when
	// value + CloseLag <= watermark. Closed groups leave the state.
	CloseBy  int
	CloseLag int64
	// FinalOnly: a group is given once, when it is closed, and only inserts leave.
	FinalOnly bool
	// Keyless: no GROUP BY, so there is one row also for an empty input.
	Keyless bool
	// TTL, if not 0, is how many microseconds of processing time a group stays that no
	// row touches. Quiet: its row stays in the output then.
	TTL   int64
	Quiet bool
	// InputAppendOnly: no deletes come in, so aggregates need not keep what they
	// would need to take a row back.
	InputAppendOnly bool
}

// InputSchema is what GroupBy counts in: the input's columns and, with Window,
// window_start and window_end.
func (n *HashAgg) InputSchema() *plan.Schema {
	in := n.Input[0].Schema()
	if n.Window == nil {
		return in
	}
	return in.Concat(plan.NewSchema(n.Window.Fields(in)...))
}

// Describe shows the node.
func (n *HashAgg) Describe() plan.Desc {
	in := n.InputSchema()
	d := plan.Desc{Op: "HashAgg"}
	if n.Window != nil {
		d = n.Window.Describe(d, in)
	}
	d = d.With("group", in.ColumnNames(n.GroupBy))
	s := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		s[i] = a.Describe(in)
	}
	d = d.With("aggregates", strings.Join(s, ", "))
	if n.FinalOnly {
		d = d.With("emit", "on close")
	}
	if n.TTL > 0 {
		d = d.With("ttl", plan.Micros(n.TTL))
	}
	return d
}

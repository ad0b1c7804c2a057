package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// WindowKind is a kind of time window.
type WindowKind uint8

// The kinds of windows.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
	Session
)

func (k WindowKind) String() string { return [...]string{"tumble", "hop", "cumulate", "session"}[k] }

// WindowSpec says which windows a row belongs to. All spans are in microseconds.
type WindowSpec struct {
	Kind WindowKind
	// TimeCol is the input column that holds the time, timestamp or timestamptz.
	// Rows where it is NULL are dropped and counted.
	TimeCol int
	// Size is the window's length, for cumulate the longest one's. Slide is the
	// distance of starts for hop (it equals Size for tumble) and the step for
	// cumulate. Windows start at multiples of Slide (cumulate: of Size) plus Offset.
	Size, Slide, Offset int64
	// Gap ends a session; it is computed per row and is an interval without months.
	Gap expr.Expr
	// PartitionBy are the input columns by which sessions are kept apart.
	PartitionBy []int
}

func (w *WindowSpec) describe(d plan.Desc, in *plan.Schema) plan.Desc {
	d = d.With("window", w.Kind.String()).With("time", colName(in, w.TimeCol))
	switch w.Kind {
	case Session:
		d = d.With("gap", w.Gap.String())
		if len(w.PartitionBy) > 0 {
			d = d.With("partition", names(in, w.PartitionBy))
		}
	case Tumble:
		d = d.With("size", micros(w.Size))
	default:
		d = d.With("slide", micros(w.Slide)).With("size", micros(w.Size))
	}
	if w.Offset != 0 {
		d = d.With("offset", micros(w.Offset))
	}
	return d
}

// Window gives each row once per window that it belongs to, with the columns
// window_start and window_end (of the time column's type) added at the end.
type Window struct {
	Base
	WindowSpec
}

// Describe shows the node.
func (n *Window) Describe() plan.Desc {
	return n.WindowSpec.describe(plan.Desc{Op: "Window"}, n.Input[0].Schema())
}

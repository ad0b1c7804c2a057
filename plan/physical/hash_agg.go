package physical

import (
	"strings"

	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql/types"
)

// AggPhase tells the parts of a two-phase aggregation apart.
type AggPhase uint8

// The phases.
const (
	// AggSingle does all.
	AggSingle AggPhase = iota
	// AggPartial aggregates what one task has of a batch or epoch and gives the
	// group columns followed by one state column per aggregate (type bytea).
	AggPartial
	// AggFinal merges the state columns of partial aggregations.
	AggFinal
)

func (p AggPhase) String() string { return [...]string{"single", "partial", "final"}[p] }

// AggCall is an aggregate. Its columns are the node's input columns.
type AggCall struct {
	// Name is the aggregate's name in lower case; count without Args is count(*).
	Name string
	Args []int
	// ArgTypes are the types that the aggregate wants; the columns have them.
	ArgTypes []types.Type
	Type     types.Type
	Distinct bool
	// FilterCol is a boolean column: only rows where it is true count. -1: all.
	FilterCol int
	// OrderBy is the order in which rows are taken in (array_agg, string_agg).
	OrderBy []SortKey
}

func (a AggCall) describe(in *plan.Schema) string {
	s := a.Name + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	if a.Name == "count" && len(a.Args) == 0 {
		s += "*"
	}
	s += names(in, a.Args)
	if len(a.OrderBy) > 0 {
		s += " ORDER BY " + sortKeys(in, a.OrderBy)
	}
	s += ")"
	if a.FilterCol >= 0 {
		s += " FILTER " + colName(in, a.FilterCol)
	}
	return s
}

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
	// InputAppendOnly: no deletes come in, so aggregates need not keep what they
	// would need to take a row back.
	InputAppendOnly bool
	Phase           AggPhase
}

// InputSchema is what GroupBy counts in: the input's columns and, with Window,
// window_start and window_end.
func (n *HashAgg) InputSchema() *plan.Schema {
	in := n.Input[0].Schema()
	if n.Window == nil {
		return in
	}
	t := in.Fields[n.Window.TimeCol].Type
	return in.Concat(plan.NewSchema(plan.Field{Name: "window_start", Type: t, NotNull: true},
		plan.Field{Name: "window_end", Type: t, NotNull: true}))
}

// Describe shows the node.
func (n *HashAgg) Describe() plan.Desc {
	in := n.InputSchema()
	d := plan.Desc{Op: "HashAgg"}
	if n.Window != nil {
		d = n.Window.describe(d, in)
	}
	d = d.With("group", names(in, n.GroupBy))
	s := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		s[i] = a.describe(in)
	}
	d = d.With("aggregates", strings.Join(s, ", "))
	if n.Phase != AggSingle {
		d = d.With("phase", n.Phase.String())
	}
	if n.FinalOnly {
		d = d.With("emit", "on close")
	}
	return d
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// aggregate lowers GROUP BY and DISTINCT.
func (lw *lowerer) aggregate(n *logical.Aggregate) (physical.Node, error) {
	a := &physical.HashAgg{GroupBy: n.GroupBy, Aggs: n.Aggs, Keyless: n.Keyless,
		WindowStart: -1, WindowEnd: -1, CloseBy: -1}
	in, err := lw.aggInput(n, a)
	if err != nil {
		return nil, err
	}
	if err := lw.steadyFilters(n.Pos, a.Aggs, in); err != nil {
		return nil, err
	}
	a.Base = base(n.Schema(), in)
	ip := in.Props()
	times, twins := ip.Times, ip.Twins
	if a.Window != nil {
		width := in.Schema().Len()
		twins = append(slices.Clone(twins), windowTwins(a.Window, width)...)
		times = append(slices.Clone(times), windowTimes(a.Window, ip, width)...)
		a.WindowStart, a.WindowEnd = slices.Index(a.GroupBy, width), slices.Index(a.GroupBy, width+1)
	}
	a.InputAppendOnly = ip.AppendOnly
	a.Prop.Key = positions(len(n.GroupBy))
	for _, t := range twins {
		i, j := slices.Index(a.GroupBy, t[0]), slices.Index(a.GroupBy, t[1])
		if i >= 0 && j >= 0 {
			a.Prop.Twins = append(a.Prop.Twins, [2]int{i, j})
		}
	}
	a.Prop.Bounded = ip.Bounded
	if lw.batch {
		a.Prop.AppendOnly = true
		return a, nil
	}
	lw.closing(a, times)
	if err := lw.checkAggregate(n, a); err != nil {
		return nil, err
	}
	lw.aggregateState(n, a)
	return a, nil
}

// aggInput lowers an aggregation's input. It absorbs a window below it unless the
// watermark is one of another time than the window's: then windows must not be
// closed by it.
func (lw *lowerer) aggInput(n *logical.Aggregate, a *physical.HashAgg) (physical.Node, error) {
	w, ok := absorbWindow(n)
	if !ok {
		return lw.node(n.Input())
	}
	in, err := lw.node(w.input)
	if err != nil {
		return nil, err
	}
	ip := in.Props()
	if lw.ttl > 0 && w.spec.Kind != plan.Session && (len(ip.Times) == 0 || lw.mode == physical.Complete) {
		return lw.node(n.Input()) // nothing closes windows, so their groups are forgotten one by one
	}
	if t, ok := ip.Time(w.spec.TimeCol); lw.batch || len(ip.Times) == 0 || ok && t.Lag <= 1 {
		a.GroupBy, a.Aggs, a.Window = w.groupBy, w.aggs, w.spec
		return in, nil
	}
	return lw.node(n.Input())
}

func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// closing finds the group column by which the watermark closes groups: the one
// with the least lag. In complete mode groups stay for ever.
func (lw *lowerer) closing(a *physical.HashAgg, times []physical.TimeColumn) {
	for i, c := range a.GroupBy {
		for _, t := range times {
			if t.Col != c {
				continue
			}
			a.Prop.Times = append(a.Prop.Times, physical.TimeColumn{Col: i, Lag: t.Lag})
			if lw.mode != physical.Complete && (a.CloseBy < 0 || t.Lag < a.CloseLag) {
				a.CloseBy, a.CloseLag = i, t.Lag
			}
		}
	}
	for _, t := range a.Prop.Times {
		if e, ok := a.Prop.Time(a.Prop.EventTime); !ok || t.Lag < e.Lag {
			a.Prop.EventTime = t.Col
		}
	}
}

// checkAggregate decides what the node emits and refuses what the mode forbids.
func (lw *lowerer) checkAggregate(n *logical.Aggregate, a *physical.HashAgg) error {
	what := "GROUP BY"
	if len(n.Aggs) == 0 && !n.Keyless {
		what = "DISTINCT"
	}
	if !a.InputAppendOnly {
		for _, c := range a.Aggs {
			sig, err := aggregate.Lookup(c.Name, c.ArgTypes)
			if err != nil {
				return err
			}
			if !sig.Retractable {
				return sqlerr.Unsupported("aggregate %s cannot follow rows that change", c.Name).At(n.Pos).
					WithHint("Aggregate append-only input, or use an aggregate that can take rows back.")
			}
		}
	}
	switch {
	case what == "DISTINCT" && a.InputAppendOnly:
		a.Prop.AppendOnly = true // the first row of each group is final
	case lw.mode == physical.Append && a.CloseBy >= 0:
		a.FinalOnly, a.Prop.AppendOnly = true, true
	case lw.mode == physical.Append && n.Keyless:
		return sqlerr.Unsupported(
			"an aggregate without GROUP BY never becomes final and cannot run in output mode append").At(n.Pos).
			WithHint("Group by a window, or use output_mode = 'update'.")
	case lw.mode == physical.Append && a.Window != nil:
		return sqlerr.Unsupported(
			"%s of windows without a watermark never becomes final and cannot run in output mode append", what).At(n.Pos).
			WithHint("%s", unlessTimed(a, "Declare WATERMARK FOR the time column, or use output_mode = 'update'."))
	case lw.mode == physical.Append:
		return sqlerr.Unsupported(
			"%s without an event-time window or column never becomes final and cannot run in output mode append", what).
			At(n.Pos).
			WithHint("Group by a window over a time with a watermark, or use output_mode = 'update'.")
	}
	return nil
}

// absorbed is an aggregation that assigns its windows itself.
type absorbed struct {
	input   logical.Node
	groupBy []int
	aggs    []plan.AggCall
	spec    *plan.WindowSpec
}

// absorbWindow recognises an aggregation by the columns of a window right below
// it, perhaps with a projection between, that uses these columns for nothing
// else.
func absorbWindow(n *logical.Aggregate) (*absorbed, bool) {
	below := n.Input()
	p, _ := below.(*logical.Project)
	if p != nil {
		below = p.Input()
	}
	w, ok := below.(*logical.Window)
	if !ok {
		return nil, false
	}
	m, ok := belowWindow(p, w)
	if !ok {
		return nil, false
	}
	width := m.node.Schema().Len()
	out := &absorbed{input: m.node, spec: m.spec}
	start, end := false, false
	var others []int
	for _, c := range n.GroupBy {
		k := m.at[c]
		out.groupBy = append(out.groupBy, k)
		start, end = start || k == width, end || k == width+1
		if k < width {
			others = append(others, k)
		}
	}
	for _, a := range n.Aggs {
		for _, c := range a.Columns() {
			if m.at[c] >= width {
				return nil, false
			}
		}
		out.aggs = append(out.aggs, a.Remap(func(c int) int { return m.at[c] }))
	}
	if w.Kind == plan.Session {
		return out, start && end && sameSet(others, m.spec.PartitionBy)
	}
	// Of cumulating windows several have one start.
	return out, end || start && w.Kind != plan.Cumulate
}

func sameSet(a, b []int) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			return false
		}
	}
	return true
}

// underWindow is what a window's input becomes when the window is absorbed: at
// tells where the aggregation's input columns are, the window's own being just
// past the end.
type underWindow struct {
	node logical.Node
	at   []int
	spec *plan.WindowSpec
}

func belowWindow(p *logical.Project, w *logical.Window) (*underWindow, bool) {
	in := w.Input()
	width := in.Schema().Len()
	spec := w.WindowSpec
	if p == nil {
		return &underWindow{in, positions(width + 2), &spec}, true
	}
	var list []expr.Expr
	var names []string
	at := make([]int, len(p.List))
	for i, e := range p.List {
		c, isCol := plan.ColumnOf(e)
		if isCol && c >= width {
			at[i] = c - width - 2 // -2 and -1, settled below
			continue
		}
		for _, k := range expr.Columns(e) {
			if k >= width {
				return nil, false
			}
		}
		at[i] = len(list)
		list, names = append(list, e), append(names, p.Schema().Fields[i].Name)
	}
	all := logical.Identity(in.Schema())
	place := func(c int) int { // where column c of the input is, added if need be
		for i, e := range list {
			if k, ok := plan.ColumnOf(e); ok && k == c {
				return i
			}
		}
		list, names = append(list, all[c]), append(names, in.Schema().Fields[c].Name)
		return len(list) - 1
	}
	spec.TimeCol = place(spec.TimeCol)
	spec.PartitionBy = slices.Clone(spec.PartitionBy)
	for i, c := range spec.PartitionBy {
		spec.PartitionBy[i] = place(c)
	}
	if spec.Gap != nil {
		spec.Gap = expr.Remap(spec.Gap, place)
	}
	for i := range at {
		if at[i] < 0 {
			at[i] += len(list) + 2
		}
	}
	var node logical.Node = in
	if !isIdentity(list, width) {
		node = logical.NewProject(in, list, names)
	}
	return &underWindow{node, at, &spec}, true
}

func isIdentity(list []expr.Expr, width int) bool {
	if len(list) != width {
		return false
	}
	for i, e := range list {
		if c, ok := plan.ColumnOf(e); !ok || c != i {
			return false
		}
	}
	return true
}

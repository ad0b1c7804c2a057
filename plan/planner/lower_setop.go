package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// setOp lowers INTERSECT and EXCEPT of a continuous query. A row is counted on both
// sides for ever: what the one side lacks may come later.
func (lw *lowerer) setOp(n *logical.SetOp) (physical.Node, error) {
	in, err := lw.nodes(n.Children())
	if err != nil {
		return nil, err
	}
	s := &physical.SetOp{Base: base(n.Schema(), in...), Except: n.Except, All: n.All}
	l, r := in[0].Props(), in[1].Props()
	s.Prop.AppendOnly = !n.Except && l.AppendOnly && r.AppendOnly
	s.Prop.Bounded = l.Bounded && r.Bounded
	s.Prop.Times, s.Prop.EventTime = commonTimes(in, n.Schema().Len())
	if !n.All {
		s.Prop.Key = positions(n.Schema().Len())
	}
	var bounds []string
	for _, c := range in {
		b := lw.rowsBound(c)
		if b == "" {
			b = byKeys
		}
		if !slices.Contains(bounds, b) {
			bounds = append(bounds, b)
		}
	}
	s.Prop.State, s.Prop.Bound = "rows of both sides", strings.Join(bounds, ", ")
	// There are no more rows than on the left side, for INTERSECT neither than on the
	// right one.
	rows := lw.rowsBound(in[0])
	if rows == "" && !n.Except {
		rows = lw.rowsBound(in[1])
	}
	lw.setRows(s, rows)
	return s, nil
}

// commonTimes are the columns that the watermarks of all inputs bound.
func commonTimes(in []physical.Node, width int) (times []physical.TimeColumn, eventTime int) {
	eventTime = -1
	for col := range width {
		t, all := physical.TimeColumn{Col: col}, true
		for _, c := range in {
			x, ok := c.Props().Time(col)
			all = all && ok
			t.Lag = max(t.Lag, x.Lag)
		}
		if all {
			times = append(times, t)
		}
	}
	if len(times) > 0 {
		eventTime = times[0].Col
	}
	return times, eventTime
}

package planner

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// lifted joins inputs of which one may be what a TemporalFilter leaves: where a join
// looks at a row once, when it comes, the filter goes above it. Above it goes, too,
// what an inner join's condition says of the present time.
func (lw *lowerer) lifted(n *logical.Join, l, r physical.Node) (physical.Node, error) {
	ls, rs := streamSides(l, r)
	inner := n.Kind == plan.InnerJoin || n.Kind == plan.CrossJoin
	var above []physical.TemporalBound
	width := l.Schema().Len()
	if t, ok := l.(*physical.TemporalFilter); ok && ls != rs && (inner || ls && n.Kind != plan.RightJoin) {
		above, l = append(above, t.Bounds...), t.Input[0]
	}
	if t, ok := r.(*physical.TemporalFilter); ok && ls != rs && (inner || rs && n.Kind == plan.RightJoin) {
		above, r = append(above, moved(t.Bounds, width)...), t.Input[0]
	}
	var on, timed []expr.Expr
	for _, c := range plan.Conjuncts(n.On) {
		if plan.ReadsClock(c) {
			timed = append(timed, c)
		} else {
			on = append(on, c)
		}
	}
	if len(timed) > 0 {
		if !inner {
			return nil, sqlerr.Unsupported("the condition %s on the present time is not supported in an outer join", timed[0]).
				At(n.Pos).WithHint("Write it into WHERE, or use an inner join.")
		}
		m := *n
		m.On = plan.Conjunction(on)
		n = &m
	}
	j, err := lw.joined(n, l, r)
	if err != nil {
		return nil, err
	}
	if len(above) > 0 {
		j = temporalFilter(j, above)
	}
	return lw.where(j, timed)
}

// moved are bounds on columns that stand by further to the right.
func moved(bounds []physical.TemporalBound, by int) []physical.TemporalBound {
	out := make([]physical.TemporalBound, len(bounds))
	for i, b := range bounds {
		shift := func(e expr.Expr) expr.Expr {
			if e == nil {
				return nil
			}
			return expr.Remap(e, func(c int) int { return c + by })
		}
		b.Pred, b.Row, b.Unless = shift(b.Pred), shift(b.Row), shift(b.Unless)
		out[i] = b
	}
	return out
}

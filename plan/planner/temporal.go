package planner

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
)

// where puts conditions on a node. In a continuous query those on now() are no
// property of the row: they go into a TemporalFilter above the others.
func (lw *lowerer) where(in physical.Node, conds []expr.Expr) (physical.Node, error) {
	var rest, timed []expr.Expr
	for _, c := range conds {
		if !lw.batch && plan.ReadsClock(c) {
			timed = append(timed, c)
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) > 0 {
		pred := plan.Conjunction(rest)
		if err := lw.stable(in, "a condition", pred); err != nil {
			return nil, err
		}
		in = &physical.Filter{Base: same(in), Pred: pred}
	}
	if len(timed) == 0 {
		return in, nil
	}
	bounds := make([]physical.TemporalBound, len(timed))
	for i, c := range timed {
		b, err := temporalBound(c)
		if err != nil {
			return nil, err
		}
		bounds[i] = b
	}
	return temporalFilter(in, bounds), nil
}

// temporalFilter makes the node. Rows leave it at times that no watermark tells of.
func temporalFilter(in physical.Node, bounds []physical.TemporalBound) physical.Node {
	ip := in.Props()
	n := &physical.TemporalFilter{Base: same(in), Bounds: bounds, InputAppendOnly: ip.AppendOnly}
	n.Prop.EventTime, n.Prop.Times = -1, nil
	n.Prop.State, n.Prop.Bound = "rows that are yet to enter", "rows whose time is to come"
	enters, leaves := false, false
	span := int64(0)
	for _, b := range bounds {
		enters, leaves = enters || b.Op.Enters(), leaves || b.Op.Leaves()
		if len(b.Clock) == 1 && b.Clock[0].Shift < 0 && b.Op.Leaves() && b.Row.Type().IsTimestamp() {
			span = -b.Clock[0].Shift
		}
	}
	if !leaves {
		return n
	}
	n.Prop.AppendOnly = false
	n.Prop.State, n.Prop.Bound = "rows that are yet to leave", "rows that have not left"
	switch {
	case enters:
		n.Prop.State = "rows that are yet to enter or leave"
	case span > 0:
		n.Prop.Bound = "rows of the last " + plan.Micros(span)
	}
	return n
}

// temporalBound recognises a comparison of now(), as it may be moved or cut by
// constants, with an expression of the row.
func temporalBound(c expr.Expr) (physical.TemporalBound, error) {
	b, hint, ok := comparison(c)
	if ok {
		b.Pred = c
		return b, nil
	}
	if b, hint2, ok := alternative(c); ok {
		b.Pred = c
		return b, nil
	} else if hint == "" {
		hint = hint2
	}
	if hint == "" {
		hint = "Compare now(), plus or minus an interval, with an expression of the row: ts > now() - INTERVAL '1 hour', " +
			"valid_from <= now() AND now() < valid_to."
	}
	return b, sqlerr.Unsupported("the condition %s on the present time is not supported in a continuous query", c).
		WithHint("%s", hint)
}

// alternative recognises a comparison that does not matter to some rows:
// valid_to IS NULL OR now() < valid_to.
func alternative(c expr.Expr) (b physical.TemporalBound, hint string, ok bool) {
	terms := expr.OrTerms(c)
	if len(terms) < 2 {
		return b, "", false
	}
	var unless []expr.Expr
	found := false
	for _, t := range terms {
		if !plan.ReadsClock(t) {
			unless = append(unless, t)
			continue
		}
		if found {
			return b, "Of the conditions of an OR only one may be on the present time.", false
		}
		if b, hint, found = comparison(t); !found {
			return b, hint, false
		}
	}
	u, err := expr.Or(unless...)
	if err != nil || expr.VolatilityOf(u) == expr.Volatile {
		return b, "", false
	}
	b.Unless = u
	return b, "", true
}

var clockOps = map[string]physical.TemporalOp{"<": physical.ClockLess, "<=": physical.ClockAtMost,
	">=": physical.ClockAtLeast, ">": physical.ClockGreater, "=": physical.ClockEqual}

// turned are the comparisons with their sides exchanged, and negated.
var (
	turned  = map[string]string{"<": ">", "<=": ">=", ">=": "<=", ">": "<", "=": "="}
	negated = map[string]string{"<": ">=", "<=": ">", ">=": "<", ">": "<="}
)

func comparison(c expr.Expr) (b physical.TemporalBound, hint string, ok bool) {
	not := false
	if x, isNot := expr.AsNot(c); isNot {
		c, not = x, true
	}
	op, args, isCall := expr.AsCall(c)
	if !isCall || len(args) != 2 {
		return b, "", false
	}
	if not {
		op = negated[op]
	}
	l, r := args[0], args[1]
	if plan.ReadsClock(r) {
		l, r, op = r, l, turned[op]
	}
	if _, known := clockOps[op]; !known || plan.ReadsClock(r) || expr.VolatilityOf(r) == expr.Volatile {
		return b, "", false
	}
	if l.Type().ID == types.Interval || l.Type().ID == types.Int4 {
		return ageComparison(l, op, r)
	}
	if l.Type().ID != r.Type().ID {
		x, err := expr.Cast(r, l.Type().Base(), expr.Implicit)
		if err != nil || r.Type().ID == types.Unknown {
			return b, "", false
		}
		r = x
	}
	steps, hint, ok := plan.ClockSteps(l)
	if !ok || !l.Type().IsTimestamp() && l.Type().ID != types.Date {
		return b, hint, false
	}
	return physical.TemporalBound{Op: clockOps[op], Row: r, Clock: steps}, "", true
}

// ageComparison recognises now() - ts < span, and ts - now(), of timestamps and of
// dates.
func ageComparison(diff expr.Expr, op string, span expr.Expr) (b physical.TemporalBound, hint string, ok bool) {
	const useSides = "Compare times instead of a difference: ts > now() - INTERVAL '1 hour'."
	name, args, isCall := expr.AsCall(diff)
	if !isCall || name != "-" || len(args) != 2 || args[0].Type().ID != args[1].Type().ID {
		return b, useSides, false
	}
	by, isConst := length(span)
	if !isConst {
		return b, useSides, false
	}
	clock, row := args[0], args[1]
	by = -by
	if plan.ReadsClock(row) { // ts - now() < span is now() + span > ts
		clock, row, op, by = row, clock, turned[op], -by
	}
	steps, hint, ok := plan.ClockSteps(clock)
	t := clock.Type()
	if !ok || plan.ReadsClock(row) || expr.VolatilityOf(row) == expr.Volatile || !t.IsTimestamp() && t.ID != types.Date {
		return b, hint, false
	}
	return physical.TemporalBound{Op: clockOps[op], Row: row, Clock: append(steps, plan.ClockStep{Shift: by})}, "", true
}

// length is a constant difference of times, as long as PostgreSQL compares it, or of
// dates.
func length(e expr.Expr) (int64, bool) {
	c, ok := plan.ConstOf(e)
	switch {
	case !ok:
		return 0, false
	case c.Type == types.Int4:
		return c.Int, true
	case c.Type != types.Interval:
		return 0, false
	}
	days, us := c.Interval.Total()
	return plan.SpanOf(arrowbatch.IntervalValue{Days: int32(days), Micros: us})
}

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

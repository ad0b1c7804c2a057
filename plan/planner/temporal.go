package planner

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
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
	last := int64(0)
	for _, b := range bounds {
		enters, leaves = enters || b.Op.Enters(), leaves || b.Op.Leaves()
		if stay := stayOf(b); stay > 0 && (last == 0 || stay < last) {
			last = stay
		}
	}
	if !leaves {
		return n
	}
	n.Prop.AppendOnly = false
	n.Prop.State, n.Prop.Bound = "rows that are yet to leave", "rows that have not left"
	if last > 0 {
		n.Prop.Bound = "rows of the last " + plan.Micros(last)
	}
	if enters {
		n.Prop.State = "rows that are yet to enter or leave"
		if last > 0 {
			n.Prop.Bound += " and to come"
		}
	}
	return n
}

// stayOf is how long after its time a row leaves by the bound, in microseconds; 0
// where that is not the same for all.
func stayOf(b physical.TemporalBound) int64 {
	if !b.Op.Leaves() || b.Unless != nil {
		return 0
	}
	shift, unit := int64(0), int64(1)
	for i, s := range b.Clock {
		switch {
		case i == 0 && s.ToDays:
			unit = types.MicrosPerDay
		case s.ToDays || s.FromDays || s.Every != 0 || s.Unit != types.NoUnit:
			return 0
		}
		shift += s.Shift
	}
	return -shift * unit
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

// temporalBelow finds the filter on now() that a node's rows have come through; nil
// for none.
func temporalBelow(n physical.Node) *physical.TemporalFilter {
	for len(n.Children()) == 1 {
		n = n.Children()[0]
		if t, ok := n.(*physical.TemporalFilter); ok {
			return t
		}
	}
	return nil
}

// unlessTimed is a hint for a node whose input lacks a watermark, or has lost it to a
// filter on now().
func unlessTimed(n physical.Node, hint string) string {
	if temporalBelow(n) == nil {
		return hint
	}
	return "The condition on now() below lets rows enter and leave at times that no watermark tells of: " +
		"filter above, or use output_mode = 'update'."
}

// steadyFilters refuses aggregates of the rows for which a condition on now() is
// true: it would not be looked at again.
func (lw *lowerer) steadyFilters(pos int, aggs []physical.AggCall, in physical.Node) error {
	p, ok := in.(*physical.Project)
	if !ok || lw.batch {
		return nil
	}
	for _, a := range aggs {
		if a.FilterCol >= 0 && plan.ReadsClock(p.Exprs[a.FilterCol]) {
			return sqlerr.Unsupported("FILTER with a condition on the present time is not supported in a continuous query").
				At(pos).WithHint("Put the condition into WHERE.")
		}
	}
	return nil
}

package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
)

// join lowers a join: its equalities become keys, the rest stays a condition.
func (lw *lowerer) join(n *logical.Join) (physical.Node, error) {
	in, err := lw.nodes(n.Children())
	if err != nil {
		return nil, err
	}
	if lw.batch {
		return joinNode(in[0], in[1], n.Kind, n.On, n.Schema())
	}
	return lw.lifted(n, in[0], in[1])
}

// joined joins the inputs in a continuous query.
func (lw *lowerer) joined(n *logical.Join, l, r physical.Node) (physical.Node, error) {
	ls, rs := streamSides(l, r)
	kind, err := lw.checkJoin(n, l, r, ls, rs)
	if err != nil {
		return nil, err
	}
	if rs { // the static side goes to the right
		return lw.swapped(n, l, r, kind)
	}
	j, err := joinNode(l, r, kind, n.On, n.Schema())
	if err != nil {
		return nil, err
	}
	return broadcast(j), nil
}

// streamSides tells which inputs of a join are streams. Beside a stored relation a
// finite source is one too; of two finite sources the left is.
func streamSides(l, r physical.Node) (ls, rs bool) {
	ls, rs = !l.Props().Bounded, !r.Props().Bounded
	if !ls && !rs {
		ls = flows(l)
		rs = !ls && flows(r)
	}
	return ls, rs
}

// flows tells whether rows of sources alone pass through n, without being kept.
func flows(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.SourceScan:
		return true
	case *physical.Join:
		return n.Broadcast && flows(n.Input[0])
	case *physical.Filter, *physical.Project, *physical.Watermark, *physical.Window, *physical.Union:
	default:
		return false
	}
	for _, c := range n.Children() {
		if !flows(c) {
			return false
		}
	}
	return true
}

// checkJoin admits joins of a stream with a static side, the stream being the
// preserved one; kind is as seen from the stream. ls and rs tell the streams.
func (lw *lowerer) checkJoin(n *logical.Join, l, r physical.Node, ls, rs bool) (plan.JoinKind, error) {
	refuse := func(hint, format string, args ...any) (plan.JoinKind, error) {
		return 0, sqlerr.Unsupported(format, args...).At(n.Pos).WithHint("%s", hint)
	}
	switch {
	case ls && rs:
		return refuse("Join a stream with a table or materialized view.",
			"a join of two streams is not supported yet in a continuous query")
	case !ls && !rs:
		return refuse("Read one side as a stream (STREAM r, of an append-only relation), or join in a CREATE VIEW over both.",
			"a join of two tables is not supported yet in a continuous query")
	case n.Regular:
		return refuse("Leave out the hint: the stream is joined with the table as it is when the row arrives.",
			"a regular join of a stream with a table is not supported yet")
	}
	kind, stream, outer := n.Kind, l, "left"
	if rs {
		stream, outer = r, "right"
		switch kind {
		case plan.LeftJoin:
			kind = plan.RightJoin
		case plan.RightJoin:
			kind = plan.LeftJoin
		case plan.SemiJoin, plan.AntiJoin:
			return refuse("Turn the condition round so that the stream's rows are kept.",
				"a condition on a stream cannot select rows of a table in a continuous query")
		}
	}
	if kind == plan.RightJoin || kind == plan.FullJoin {
		return refuse("Use an inner join, or one that keeps the rows of the stream ("+outer+" join).",
			"a %s join that keeps unmatched rows of a table is not supported with a stream", n.Kind)
	}
	if !stream.Props().AppendOnly {
		return refuse("Join first and aggregate then.",
			"a join of a result that changes with a table is not supported yet in a continuous query")
	}
	return kind, nil
}

// swapped joins with the stream, the right input, on the left and puts the
// columns back in order.
func (lw *lowerer) swapped(n *logical.Join, l, r physical.Node, kind plan.JoinKind) (physical.Node, error) {
	lw2, rw := l.Schema().Len(), r.Schema().Len()
	on := n.On
	if on != nil {
		on = expr.Remap(on, func(c int) int {
			if c < lw2 {
				return c + rw
			}
			return c - lw2
		})
	}
	rs, ls := r.Schema(), l.Schema()
	if kind == plan.LeftJoin {
		ls = ls.Nullable()
	}
	j, err := joinNode(r, l, kind, on, rs.Concat(ls))
	if err != nil {
		return nil, err
	}
	b := broadcast(j)
	order := make([]int, 0, lw2+rw)
	for i := range lw2 {
		order = append(order, rw+i)
	}
	return reorder(b, append(order, positions(rw)...), n.Schema()), nil
}

// reorder projects columns of a node; its properties move with them.
func reorder(n physical.Node, cols []int, s *plan.Schema) physical.Node {
	in := n.Schema()
	p := &physical.Project{Base: base(s, n)}
	at := map[int]int{}
	for i, c := range cols {
		p.Exprs = append(p.Exprs, expr.NewColumn(c, in.Fields[c].Name, in.Fields[c].Type))
		at[c] = i
	}
	ip := n.Props()
	p.Prop.AppendOnly, p.Prop.Bounded = ip.AppendOnly, ip.Bounded
	for _, t := range ip.Times {
		if i, ok := at[t.Col]; ok {
			p.Prop.Times = append(p.Prop.Times, physical.TimeColumn{Col: i, Lag: t.Lag})
		}
	}
	if i, ok := at[ip.EventTime]; ok {
		p.Prop.EventTime = i
	}
	p.Prop.Key, p.Prop.Twins = movedKey(ip, at)
	return p
}

// broadcast marks the join inside n, which may be under a projection, as one
// with a static right side, and gives its properties.
func broadcast(n physical.Node) physical.Node {
	if p, ok := n.(*physical.Project); ok {
		cols := make([]int, len(p.Exprs))
		for i, e := range p.Exprs {
			cols[i], _ = plan.ColumnOf(e)
		}
		return reorder(broadcast(p.Children()[0]), cols, p.Schema())
	}
	j := n.(*physical.Join)
	j.Broadcast, j.StaticRight = true, true
	stream, static := j.Input[0], j.Input[1]
	sp := stream.Props()
	j.Prop = physical.Props{EventTime: sp.EventTime, Times: sp.Times, Twins: sp.Twins, AppendOnly: true,
		Bounded: sp.Bounded,
		State:   "rows of the static side", Bound: "rows of " + relations(static)}
	one := j.Kind == plan.SemiJoin || j.Kind == plan.AntiJoin || uniqueBy(static.Props().Key, j.RightKeys)
	if one {
		j.Prop.Key = sp.Key
	}
	return j
}

// uniqueBy tells whether a key lies within the columns.
func uniqueBy(key, cols []int) bool {
	if key == nil {
		return false
	}
	for _, k := range key {
		if !slices.Contains(cols, k) {
			return false
		}
	}
	return true
}

// relations names what a plan reads.
func relations(n physical.Node) string {
	var out []string
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		switch n := n.(type) {
		case *physical.RelationScan:
			out = append(out, n.Object.Name.String())
		case *physical.SourceScan:
			out = append(out, n.Object.Name.String())
		}
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(n)
	if len(out) == 0 {
		return "a list of values"
	}
	return strings.Join(out, ", ")
}

// joinNode makes a join. Keys that are no plain columns are computed below it,
// and a projection above drops them again.
func joinNode(l, r physical.Node, kind plan.JoinKind, on expr.Expr, out *plan.Schema) (physical.Node, error) {
	lw := l.Schema().Len()
	var keys [2][]expr.Expr // over the left and the right input
	var rest []expr.Expr
	for _, c := range plan.Conjuncts(on) {
		a, b, ok := equality(c, lw)
		if !ok {
			rest = append(rest, c)
			continue
		}
		keys[0] = append(keys[0], a)
		keys[1] = append(keys[1], expr.Remap(b, func(k int) int { return k - lw }))
	}
	l2, lk := extendNode(l, keys[0])
	r2, rk := extendNode(r, keys[1])
	width := l2.Schema().Len()
	residual := plan.Conjunction(rest)
	if residual != nil && width != lw {
		residual = expr.Remap(residual, func(c int) int {
			if c >= lw {
				return c + width - lw
			}
			return c
		})
	}
	if kind == plan.CrossJoin && on != nil {
		kind = plan.InnerJoin
	}
	schema := joinedSchema(l2, r2, kind)
	j := &physical.Join{Base: base(schema, l2, r2), Kind: kind, LeftKeys: lk, RightKeys: rk,
		NullSafe: make([]bool, len(lk)), Residual: residual}
	j.Prop.AppendOnly, j.Prop.Bounded = true, true
	if schema.Len() == out.Len() {
		j.Out = out
		return j, nil
	}
	cols := positions(lw)
	if out.Len() > lw {
		for i := range r.Schema().Len() {
			cols = append(cols, width+i)
		}
	}
	return reorder(j, cols, out), nil
}

func joinedSchema(l, r physical.Node, kind plan.JoinKind) *plan.Schema {
	switch kind {
	case plan.SemiJoin, plan.AntiJoin:
		return l.Schema()
	case plan.LeftJoin:
		return l.Schema().Concat(r.Schema().Nullable())
	case plan.RightJoin:
		return l.Schema().Nullable().Concat(r.Schema())
	case plan.FullJoin:
		return l.Schema().Nullable().Concat(r.Schema().Nullable())
	}
	return l.Schema().Concat(r.Schema())
}

// equality recognises an equality between the two sides of a join whose values
// have, or can be given, one type.
func equality(c expr.Expr, width int) (l, r expr.Expr, ok bool) {
	name, args, ok := expr.AsCall(c)
	if !ok || name != "=" || len(args) != 2 {
		return nil, nil, false
	}
	l, r = args[0], args[1]
	ls, rs := sideOf(l, width), sideOf(r, width)
	if ls == 2 && rs == 1 {
		l, r = r, l
	} else if ls != 1 || rs != 2 {
		return nil, nil, false
	}
	if expr.VolatilityOf(l) == expr.Volatile || expr.VolatilityOf(r) == expr.Volatile {
		return nil, nil, false
	}
	if lt, rt := l.Type(), r.Type(); !lt.Base().Equal(rt.Base()) {
		t, err := types.Common("", lt.Base(), rt.Base())
		if err != nil {
			return nil, nil, false
		}
		// A lossy common type would make different values equal.
		if (t.ID == types.Float8 || t.ID == types.Float4) && (lt.ID != types.Float4 && lt.ID != types.Float8 ||
			rt.ID != types.Float4 && rt.ID != types.Float8) {
			return nil, nil, false
		}
		var e1, e2 error
		l, e1 = expr.Cast(l, t, expr.Implicit)
		r, e2 = expr.Cast(r, t, expr.Implicit)
		if e1 != nil || e2 != nil {
			return nil, nil, false
		}
	}
	return l, r, true
}

// sideOf is 1 for an expression over left columns, 2 for one over right columns,
// 0 for both or none.
func sideOf(e expr.Expr, width int) int {
	side := 0
	for _, c := range expr.Columns(e) {
		s := 1
		if c >= width {
			s = 2
		}
		if side != 0 && side != s {
			return 0
		}
		side = s
	}
	return side
}

// extendNode adds computed columns to a node and returns where the expressions
// are.
func extendNode(n physical.Node, list []expr.Expr) (physical.Node, []int) {
	s := n.Schema()
	at := make([]int, len(list))
	exprs := logical.Identity(s)
	fields := slices.Clone(s.Fields)
	for i, e := range list {
		if c, ok := plan.ColumnOf(e); ok {
			at[i] = c
			continue
		}
		at[i] = len(exprs)
		exprs = append(exprs, e)
		fields = append(fields, plan.Field{Name: e.String(), Type: e.Type()})
	}
	if len(exprs) == s.Len() {
		return n, at
	}
	p := &physical.Project{Base: same(n), Exprs: exprs}
	p.Out = plan.NewSchema(fields...)
	return p, at
}

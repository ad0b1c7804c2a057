package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// topN lowers the first rows of groups. One row per group is what a deduplication
// keeps, if rows do not change and leave at once.
func (lw *lowerer) topN(n *logical.TopN) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	g := &physical.GroupTopN{PartitionBy: n.PartitionBy, OrderBy: n.OrderBy, RankRange: n.RankRange, Rank: n.Rank}
	g.Base = same(in)
	g.Out = n.Schema()
	lw.closeTopN(g, in.Props())
	if d := lw.firstRow(g, in); d != nil {
		if err := lw.checkTopN(unclosed(n), d, n.Pos); err != nil {
			return nil, err
		}
		return withRank(d, n), nil
	}
	return g, lw.finishTopN(g, in, unclosed(n), n.Pos)
}

// unclosed says what does not become final.
func unclosed(n *logical.TopN) string {
	what := n.Func.String() + "()"
	if len(n.PartitionBy) > 0 {
		what += " of groups that no watermark closes"
	}
	return what
}

// closeTopN finds the partition column by which the watermark closes groups: the one
// with the least lag. In complete mode groups stay for ever.
func (lw *lowerer) closeTopN(g *physical.GroupTopN, ip *physical.Props) {
	g.CloseBy = -1
	if lw.mode == physical.Complete {
		return
	}
	for _, c := range g.PartitionBy {
		if t, ok := ip.Time(c); ok && (g.CloseBy < 0 || t.Lag < g.CloseLag) {
			g.CloseBy, g.CloseLag = c, t.Lag
		}
	}
}

// topNTimes are the times of the output: a row may come into the first ones long
// after it came, so only what closes groups is bounded.
func topNTimes(ip *physical.Props, closeBy int, lag int64) []physical.TimeColumn {
	if closeBy < 0 {
		return nil
	}
	out := []physical.TimeColumn{{Col: closeBy, Lag: lag}}
	for _, w := range ip.Twins {
		for i, c := range w {
			if t, ok := ip.Time(w[1-i]); ok && c == closeBy {
				out = append(out, physical.TimeColumn{Col: w[1-i], Lag: t.Lag})
			}
		}
	}
	return out
}

// firstRow makes a deduplication of a top 1; nil where it would not be the same.
func (lw *lowerer) firstRow(g *physical.GroupTopN, in physical.Node) *physical.DistinctOn {
	ip := in.Props()
	if g.Func != plan.RowNumber || g.From != 1 || g.To != 1 || !ip.AppendOnly || len(g.PartitionBy) == 0 ||
		g.CloseBy >= 0 && (g.CloseLag > 0 || lw.mode == physical.Append) {
		return nil
	}
	for _, k := range g.OrderBy {
		if !plan.KeyOrders(in.Schema().Fields[k.Col].Type) {
			return nil
		}
	}
	d := &physical.DistinctOn{Base: same(in), Keys: g.PartitionBy, Time: g.CloseBy, Forget: g.CloseBy}
	for _, k := range g.PartitionBy {
		d.OrderBy = append(d.OrderBy, plan.SortKey{Col: k})
	}
	d.OrderBy = append(d.OrderBy, g.OrderBy...)
	d.Replace = len(g.OrderBy) > 0
	d.Prop.AppendOnly, d.Prop.Key, d.Prop.EventTime = !d.Replace, d.Keys, g.CloseBy
	d.Prop.Times = topNTimes(ip, g.CloseBy, 0)
	d.Prop.State, d.Prop.Bound = "one row per key", byKeys
	if d.Forget < 0 {
		lw.distinctState(d)
	} else {
		d.Prop.Bound = lw.byWatermark()
		lw.setRows(d, "")
	}
	return d
}

// newestRows makes a top 1 of a deduplication of rows that change, and of one that
// leaves when the watermark closes its keys; nil for others.
func (lw *lowerer) newestRows(n *logical.DistinctOn, in physical.Node) *physical.GroupTopN {
	g := &physical.GroupTopN{Base: same(in), PartitionBy: n.Keys, OrderBy: n.OrderBy[len(n.Keys):],
		RankRange: plan.RankRange{From: 1, To: 1}}
	lw.closeTopN(g, in.Props())
	final := lw.mode == physical.Append && g.CloseBy >= 0 && len(g.OrderBy) > 0
	if n.Within != plan.WithinForever || in.Props().AppendOnly && !final {
		return nil
	}
	return g
}

// withRank adds the rank, which is 1, to the rows of a deduplication.
func withRank(d *physical.DistinctOn, n *logical.TopN) physical.Node {
	if !n.Rank {
		return d
	}
	p := &physical.Project{Base: same(d), Exprs: append(logical.Identity(d.Schema()), expr.ConstInt8(1))}
	p.Out = n.Schema()
	return p
}

// checkTopN refuses first rows in append mode where they do not become final.
func (lw *lowerer) checkTopN(what string, n physical.Node, pos int) error {
	if lw.mode != physical.Append || n.Props().AppendOnly {
		return nil
	}
	return sqlerr.Unsupported("%s never becomes final and cannot run in output mode append", what).At(pos).
		WithHint("Use output_mode = 'update', or take the first rows of each window of a time with a watermark: " +
			"row_number() OVER (PARTITION BY window_start, window_end ORDER BY …).")
}

// finishTopN derives what the node gives and keeps.
func (lw *lowerer) finishTopN(g *physical.GroupTopN, in physical.Node, what string, pos int) error {
	for _, k := range g.OrderBy {
		if t := in.Schema().Fields[k.Col].Type; !plan.KeyOrders(t) {
			return sqlerr.Unsupported("the first rows in the order of type %s are not supported in a continuous query", t).
				At(pos).WithHint("Order by the value cast to another type, text for example.")
		}
	}
	ip := in.Props()
	g.FinalOnly = lw.mode == physical.Append && g.CloseBy >= 0
	g.Prop.AppendOnly = g.FinalOnly
	g.Prop.Times, g.Prop.EventTime = topNTimes(ip, g.CloseBy, g.CloseLag), g.CloseBy
	switch one := g.From == g.To || g.To == 0; {
	case g.Func == plan.RowNumber && one:
		g.Prop.Key = append([]int{}, g.PartitionBy...)
	case g.Func == plan.RowNumber && g.Rank:
		g.Prop.Key = append(slices.Clone(g.PartitionBy), in.Schema().Len())
	}
	g.Prop.State, g.Prop.Bound = lw.topNState(g, in)
	return lw.checkTopN(what, g, pos)
}

// numberOfRows bounds the first rows of all rows where none is taken back.
const numberOfRows = "number of rows"

// topNState says what first rows keep, and what bounds it.
func (lw *lowerer) topNState(g *physical.GroupTopN, in physical.Node) (kept, bound string) {
	kept, bound = "all input rows", cmp.Or(lw.rowsBound(in), keysBelow(in), byNothing)
	if in.Props().AppendOnly {
		kept, bound = fmt.Sprintf("first %d rows", g.To), numberOfRows
		if g.Func == plan.WithTies || g.Func == plan.Rank {
			kept += " and their peers"
		} else if g.Func == plan.DenseRank {
			kept = fmt.Sprintf("rows of the first %d ranks", g.To)
		}
		if len(g.PartitionBy) > 0 {
			kept, bound = kept+" per group", byKeys
		}
		rows := lw.rowsBound(in)
		if rows == "" && bound == byKeys && lw.ttl > 0 && g.CloseBy < 0 {
			g.TTL, bound = lw.ttl, lw.byTTL()
		}
		if g.Func != plan.RowNumber {
			bound += ", " + byPeers
		}
		bound = cmp.Or(rows, bound)
	}
	switch {
	case g.CloseBy >= 0:
		bound = lw.byWatermark()
		lw.setRows(g, "")
	case strings.Contains(bound, byPeers):
		lw.setRows(g, "")
	default:
		lw.setRows(g, bound)
	}
	return kept, bound
}

// keysBelow tells whether the rows of a changing input are one a key or group.
func keysBelow(n physical.Node) string {
	for {
		switch n.(type) {
		case *physical.HashAgg, *physical.DistinctOn, *physical.GroupTopN, *physical.LatestByKey:
			if first, _, _ := strings.Cut(n.Props().Bound, ", "); first == byKeys {
				return byKeys
			}
			return ""
		}
		if len(n.Children()) != 1 {
			return ""
		}
		n = n.Children()[0]
	}
}

// firstRows lowers LIMIT and OFFSET of a continuous query. Over sorted rows, or rows
// that change, they are a TopN; else what comes first counts, for ever.
func (lw *lowerer) firstRows(n *logical.Limit) (physical.Node, error) {
	count, err := constCount(n.Count, plan.NoEnd, n.Pos, "LIMIT", sqlerr.InvalidLimitValue)
	if err != nil {
		return nil, err
	}
	skip, err := constCount(n.Offset, 0, n.Pos, "OFFSET", sqlerr.InvalidOffsetValue)
	if err != nil {
		return nil, err
	}
	below, order := n.Input(), []plan.SortKey(nil)
	if s, ok := below.(*logical.Sort); ok {
		below, order = s.Input(), s.Keys
	}
	in, err := lw.node(below)
	if err != nil || count == plan.NoEnd && skip == 0 {
		return in, err
	}
	if len(order) == 0 && in.Props().AppendOnly {
		l := &physical.Limit{Base: same(in), Limit: n.Count, Offset: n.Offset}
		l.Prop.State, l.Prop.Bound = "number of rows", "one row"
		return l, nil
	}
	if count == plan.NoEnd {
		return nil, sqlerr.Unsupported("OFFSET without LIMIT over sorted or changing rows is not supported " +
			"in a continuous query").At(n.Pos).WithHint("Add LIMIT.")
	}
	g := &physical.GroupTopN{OrderBy: order, CloseBy: -1,
		RankRange: plan.RankRange{From: skip + 1, To: skip + min(count, plan.NoEnd-1-skip)}}
	if n.Ties {
		g.Func = plan.WithTies
	}
	if count == 0 {
		g.From, g.To = 1, 0
	}
	g.Base = same(in)
	what := "ORDER BY … LIMIT"
	if len(order) == 0 {
		what = "LIMIT over rows that change"
	}
	return g, lw.finishTopN(g, in, what, n.Pos)
}

// constCount returns a number of rows that must be known when the query is created;
// null is what NULL stands for.
func constCount(e expr.Expr, null int64, pos int, what string, code sqlerr.Code) (int64, error) {
	if e == nil {
		return null, nil
	}
	v, ok := expr.AsConst(e)
	switch {
	case !ok:
		return 0, sqlerr.Unsupported("%s of a continuous query must be a constant", what).At(pos).
			WithHint("Write the number of rows.")
	case v.IsNull(0):
		return null, nil
	case v.I64[0] < 0:
		return 0, sqlerr.New(code, "%s must not be negative", what).At(pos)
	}
	return v.I64[0], nil
}

package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// OptimizeContinuous runs the rules for a continuous query: conditions on ranks become
// TopNs, and operators which drop late rows still have the columns named, as far as
// the relations that they read have them: what they drop must be as it came.
func OptimizeContinuous(n logical.Node, late []string) logical.Node {
	for _, r := range Rules {
		if r.Name == pruneName {
			n = TopNs(n)
			if len(late) > 0 {
				n = keepRows(n, late)
			}
		}
		n = r.Apply(n)
	}
	return n
}

const pruneName = "prune columns"

// keepRows marks the columns of the inputs of aggregations, DISTINCT ON and TopNs
// over a watermark, and makes the projections below pass them on.
func keepRows(n logical.Node, names []string) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		if len(n.Children()) != 1 || !timed(n) {
			return n
		}
		switch n := n.(type) {
		case *logical.Aggregate:
			in, m := widen(n.Input(), names)
			aggs := slices.Clone(n.Aggs)
			for i := range aggs {
				aggs[i] = aggs[i].Remap(m.at)
			}
			out := logical.NewAggregate(in, moveAll(n.GroupBy, m), aggs, n.Keyless, n.Pos)
			out.Late = named(in, names)
			return out
		case *logical.DistinctOn:
			in, m := widen(n.Input(), names)
			out := n.WithChildren([]logical.Node{in}).(*logical.DistinctOn)
			out.Keys, out.OrderBy = moveAll(n.Keys, m), plan.RemapKeys(n.OrderBy, m.at)
			if n.Time >= 0 {
				out.Time = m[n.Time]
			}
			out.Late = named(in, names)
			if in.Schema().Len() == n.Schema().Len() {
				return out
			}
			return project(out, m)
		case *logical.TopN:
			in, m := widen(n.Input(), names)
			if n.Rank {
				m = extended(m, in.Schema().Len(), 1)
			}
			out := logical.NewTopN(in, moveAll(n.PartitionBy, m), plan.RemapKeys(n.OrderBy, m.at), n.RankRange,
				n.RankField(), n.Pos)
			out.Late = named(in, names)
			if out.Schema().Len() == n.Schema().Len() {
				return out
			}
			return project(out, m)
		}
		return n
	})
}

// timed tells whether rows of n have an event time.
func timed(n logical.Node) bool {
	if _, ok := n.(*logical.Watermark); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), timed)
}

// named returns the columns of n with the names, the first of each.
func named(n logical.Node, names []string) []int {
	var out []int
	for _, name := range names {
		if i := fieldOf(n, name); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

func fieldOf(n logical.Node, name string) int {
	for i, f := range n.Schema().Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// widen makes the projections of n pass the named columns on, and tells where n's
// own are then.
func widen(n logical.Node, names []string) (logical.Node, moved) {
	switch n := n.(type) {
	case *logical.Filter:
		in, m := widen(n.Input(), names)
		return logical.NewFilter(in, m.expr(n.Pred)), m
	case *logical.Watermark:
		in, m := widen(n.Input(), names)
		e := n.Expr
		if e != nil {
			e = m.expr(e)
		}
		return logical.NewWatermark(in, m[n.Column], e, n.Delay), m
	case *logical.Window:
		in, m := widen(n.Input(), names)
		spec := n.WindowSpec
		spec.TimeCol, spec.PartitionBy = m[n.TimeCol], moveAll(n.PartitionBy, m)
		if spec.Gap != nil {
			spec.Gap = m.expr(spec.Gap)
		}
		return logical.NewWindow(in, spec, n.Pos), extended(m, in.Schema().Len(), 2)
	case *logical.Project:
		in, m := widen(n.Input(), names)
		list, titles := make([]expr.Expr, len(n.List)), make([]string, len(n.List))
		for i, e := range n.List {
			list[i], titles[i] = m.expr(e), n.Schema().Fields[i].Name
		}
		all := logical.Identity(in.Schema())
		for _, c := range named(in, names) {
			if name := in.Schema().Fields[c].Name; !slices.Contains(titles, name) {
				list, titles = append(list, all[c]), append(titles, name)
			}
		}
		return logical.NewProject(in, list, titles), same(len(n.List))
	}
	return n, same(n.Schema().Len())
}

package rule

import (
	"math"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// TopNs makes a TopN of a row_number, rank or dense_rank that a condition right above
// it holds to a range with an end. It is for continuous queries: a TopN follows its
// input at a cost that goes with the range, where the window function could not.
func TopNs(n logical.Node) logical.Node {
	return logical.Transform(n, func(n logical.Node) logical.Node {
		if f, ok := n.(*logical.Filter); ok {
			if t := topN(f); t != nil {
				return t
			}
		}
		return n
	})
}

// topN returns what a filter over a window function becomes; nil where it is none of
// this kind.
func topN(f *logical.Filter) logical.Node {
	w, ok := f.Input().(*logical.OverWindow)
	if !ok || len(w.Calls) != 1 || w.Calls[0].Aggregate {
		return nil
	}
	fn, ok := plan.RankFuncOf(w.Calls[0].Name)
	if !ok {
		return nil
	}
	rank := w.Input().Schema().Len()
	r := plan.RankRange{Func: fn, From: 1, To: plan.NoEnd}
	conds := plan.Conjuncts(f.Pred)
	rest := slices.DeleteFunc(slices.Clone(conds), func(c expr.Expr) bool {
		from, to, ok := rankBounds(c, rank)
		if ok {
			r = r.Both(from, to)
		}
		return ok
	})
	if r.To == plan.NoEnd {
		return nil
	}
	field := w.Schema().Fields[rank]
	return filter(logical.NewTopN(w.Input(), w.PartitionBy, w.OrderBy, r, &field, w.Pos), rest)
}

// mirrored are the comparisons with their sides changed.
var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// rankBounds reads a comparison of the column rank with an integer.
func rankBounds(c expr.Expr, rank int) (from, to int64, ok bool) {
	name, args, ok := expr.AsCall(c)
	if !ok || len(args) != 2 {
		return 0, 0, false
	}
	if mirrored[name] == "" {
		return 0, 0, false
	}
	if _, isCol := plan.ColumnOf(args[1]); isCol {
		name, args = mirrored[name], []expr.Expr{args[1], args[0]}
	}
	v, ok := integer(args[1])
	if col, isCol := plan.ColumnOf(args[0]); !ok || !isCol || col != rank {
		return 0, 0, false
	}
	from, to = 1, plan.NoEnd
	switch name {
	case "=":
		from, to = v, v
	case "<=":
		to = v
	case "<":
		if v == math.MinInt64 {
			return 1, 0, true
		}
		to = v - 1
	case ">=":
		from = v
	default:
		if v == math.MaxInt64 {
			return 1, 0, true
		}
		from = v + 1
	}
	return from, to, true
}

// integer returns the value of an integer constant that is not NULL.
func integer(e expr.Expr) (int64, bool) {
	if in, ok := expr.AsCast(e); ok && e.Type().IsInteger() {
		return integer(in)
	}
	v, ok := expr.AsConst(e)
	if !ok || !e.Type().IsInteger() || v.IsNull(0) {
		return 0, false
	}
	switch v.Layout {
	case arrowbatch.Int16:
		return int64(v.I16[0]), true
	case arrowbatch.Int32:
		return int64(v.I32[0]), true
	case arrowbatch.Int64:
		return v.I64[0], true
	}
	return 0, false
}

func pruneTopN(n *logical.TopN, need columns) (logical.Node, moved) {
	width := n.Input().Schema().Len()
	below := slices.Clone(need[:width])
	below.add(n.PartitionBy...)
	below.addKeys(n.OrderBy)
	below.add(n.Late...)
	in, m := prune(n.Input(), below)
	rank := n.RankField()
	if rank != nil && !need[width] {
		rank = nil
	}
	m = slices.Clone(m)
	switch {
	case rank != nil:
		m = append(m, in.Schema().Len())
	case n.Rank:
		m = append(m, -1)
	}
	return logical.NewTopN(in, moveAll(n.PartitionBy, m), plan.RemapKeys(n.OrderBy, m.at), n.RankRange, rank, n.Pos), m
}

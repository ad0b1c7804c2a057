package planner

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

func (lw *lowerer) union(n *logical.Union) (physical.Node, error) {
	in, err := lw.nodes(n.Children())
	if err != nil {
		return nil, err
	}
	u := &physical.Union{Base: base(n.Schema(), in...)}
	u.Prop.AppendOnly, u.Prop.Bounded = true, true
	for _, c := range in {
		u.Prop.AppendOnly = u.Prop.AppendOnly && c.Props().AppendOnly
		u.Prop.Bounded = u.Prop.Bounded && c.Props().Bounded
	}
	u.Prop.Times, u.Prop.EventTime = commonTimes(in, n.Schema().Len())
	u.Prop.Key = unionKey(in, n.Schema().Len())
	return u, nil
}

// unionKey is the key of a union: a column that holds another constant in each
// input, with the keys of all inputs. Without such a column, or with an input
// without a key, there is none.
func unionKey(in []physical.Node, width int) []int {
	var key []int
	for _, c := range in {
		if c.Props().Key == nil {
			return nil
		}
		key = append(key, c.Props().Key...)
	}
	for col := range width {
		if apart(in, col) {
			key = append(key, col)
			slices.Sort(key)
			return slices.Compact(key)
		}
	}
	return nil
}

// apart tells whether a column holds constants that no two inputs share.
func apart(in []physical.Node, col int) bool {
	seen := map[string]bool{}
	for _, c := range in {
		vals := constants(c, col)
		if len(vals) == 0 {
			return false
		}
		for _, v := range vals {
			if seen[v] {
				return false
			}
			seen[v] = true
		}
	}
	return true
}

// constants are the key codes of all values that a column can have, nil where they
// are not known.
func constants(n physical.Node, col int) []string {
	switch n := n.(type) {
	case *physical.Project:
		if v, ok := expr.AsConst(n.Exprs[col]); ok {
			return []string{string(v.AppendKey(nil, 0))}
		}
	case *physical.Filter:
		return constants(n.Children()[0], col)
	case *physical.Union:
		var out []string
		for _, c := range n.Children() {
			vals := constants(c, col)
			if vals == nil {
				return nil
			}
			out = append(out, vals...)
		}
		return out
	}
	return nil
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// takeOrder takes ORDER BY off the top of a query in output mode complete, whose
// rows leave all at once, and returns it as an order of the result. The order of a
// LIMIT at the top is the result's too, as far as the result has its columns.
func takeOrder(n logical.Node) (logical.Node, []plan.SortKey, error) {
	switch n := n.(type) {
	case *logical.Sort:
		return n.Input(), n.Keys, nil
	case *logical.Limit:
		if s, ok := n.Input().(*logical.Sort); ok {
			return n, s.Keys, nil
		}
	case *logical.Project:
		in, keys, err := takeOrder(n.Input())
		if err != nil || keys == nil {
			return n, nil, err
		}
		keys, ok := shownKeys(n, keys)
		s, sorted := n.Input().(*logical.Sort)
		switch {
		case ok:
			return n.WithChildren([]logical.Node{in}), keys, nil
		case sorted:
			return nil, nil, sqlerr.Unsupported(
				"ORDER BY of what is not in the result is not supported in output mode complete").At(s.Pos).
				WithHint("Select what the result is to be ordered by, or add LIMIT.")
		}
	}
	return n, nil, nil
}

// shownKeys moves an order to the columns of a projection; false where one is gone.
func shownKeys(p *logical.Project, keys []plan.SortKey) ([]plan.SortKey, bool) {
	keys = slices.Clone(keys)
	for i, k := range keys {
		keys[i].Col = slices.IndexFunc(p.List, func(e expr.Expr) bool {
			c, ok := plan.ColumnOf(e)
			return ok && c == k.Col
		})
		if keys[i].Col < 0 {
			return nil, false
		}
	}
	return keys, true
}

package bind

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// recursionRules are what the recursive term of a query must keep to, so that
// running it on the rows of the last run alone gives what running it on all rows
// would.
type recursionRules struct {
	cte  *sql.CTE
	work *logical.WorkTable
}

func (r *recursionRules) bad(format string) error {
	return sqlerr.New(sqlerr.InvalidRecursion, format, r.cte.Name.Text).At(r.cte.Name.Pos)
}

// check walks the recursive term; where says inside of what, "" at the top.
func (r *recursionRules) check(n logical.Node, where string) error {
	if n == logical.Node(r.work) {
		switch where {
		case "":
			return nil
		case "aggregate":
			return sqlerr.New(sqlerr.InvalidRecursion,
				"aggregate functions are not allowed in a recursive query's recursive term").At(r.cte.Name.Pos)
		}
		return r.bad("recursive reference to query %q must not appear within " + where)
	}
	for i, c := range n.Children() {
		if err := r.check(c, r.inside(n, i, where)); err != nil {
			return err
		}
	}
	return nil
}

// inside tells what input i of n is inside of.
func (r *recursionRules) inside(n logical.Node, i int, where string) string {
	if where != "" {
		return where
	}
	switch n := n.(type) {
	case *logical.Aggregate:
		if len(n.Aggs) > 0 || n.Keyless {
			return "aggregate"
		}
	case *logical.Join:
		if n.Kind == plan.FullJoin || n.Kind == plan.LeftJoin && i == 1 || n.Kind == plan.RightJoin && i == 0 {
			return "an outer join"
		}
	case *logical.SetOp:
		if n.Except && i == 1 {
			return "EXCEPT"
		}
	case *logical.Apply:
		switch {
		case i == 0 || n.Kind == plan.ApplyCross:
		case n.Kind == plan.ApplyLeft:
			return "an outer join"
		default:
			return "a subquery"
		}
	}
	return ""
}

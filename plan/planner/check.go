package planner

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// refuseNode is the error for an operation that a continuous query cannot have.
func refuseNode(n logical.Node) error {
	refuse := func(pos int, hint, format string, args ...any) error {
		e := sqlerr.Unsupported(format, args...).At(pos)
		e.Hint = hint
		return e
	}
	switch n := n.(type) {
	case *logical.Apply:
		return refuse(n.Pos, "Write it as a join of the stream with a table, "+
			"or compute it in a materialized view of its own.",
			"a subquery in an expression is not supported yet in a continuous query")
	case *logical.SetOp:
		return refuse(n.Pos, "Use UNION ALL, or a join.", "%s is not supported in a continuous query", n.Name())
	case *logical.OverWindow:
		return refuse(n.Pos, "Aggregate with GROUP BY, or use SELECT DISTINCT ON for the first row of a group.",
			"window functions (OVER) are not supported yet in a continuous query")
	case *logical.Expand:
		return refuse(-1, "Create one query per grouping set.", "grouping sets are not supported in a continuous query")
	case *logical.Sort:
		return refuse(n.Pos, "Sort when the result is read: SELECT … FROM the view ORDER BY …",
			"ORDER BY is not supported in a continuous query")
	case *logical.Limit:
		return refuse(n.Pos, "Limit when the result is read: SELECT … FROM the view LIMIT …",
			"LIMIT and OFFSET are not supported yet in a continuous query")
	case *logical.Recursive:
		return refuse(n.Pos, "Run it when the result is read: WITH RECURSIVE … over a view.",
			"WITH RECURSIVE is not supported in a continuous query")
	}
	return sqlerr.Internal("no continuous form of %T", n)
}

// clockFunctions give another value at each evaluation or epoch.
var clockFunctions = map[string]bool{"now": true, "transaction_timestamp": true, "statement_timestamp": true,
	"clock_timestamp": true, "timeofday": true}

// stable refuses expressions that would have another value when a row is taken
// back than they had when it came.
func (lw *lowerer) stable(in physical.Node, what string, es ...expr.Expr) error {
	if lw.batch || in.Props().AppendOnly {
		return nil
	}
	for _, e := range es {
		name := ""
		expr.Walk(e, func(x expr.Expr) bool {
			if f, args, ok := expr.AsCall(x); ok && (clockFunctions[f] || expr.VolatilityOf(x) == expr.Volatile &&
				len(args) == 0) {
				name = f
			}
			return name == ""
		})
		if name == "" && expr.VolatilityOf(e) == expr.Volatile {
			name = e.String()
		}
		if name != "" {
			return sqlerr.Unsupported("%s computed with %s is not supported over rows that change in a continuous query", what,
				name).
				WithHint("Its value would differ when a row is taken back. Use it over append-only input.")
		}
	}
	return nil
}

// checkMode holds the finished plan against the output mode.
func checkMode(root physical.Node, mode physical.OutputMode, sink bool, pos int) error {
	p := root.Props()
	switch {
	case mode == physical.Append && !p.AppendOnly:
		return sqlerr.Unsupported("output mode append needs rows that never change, but %s", changing(root)).At(pos).
			WithHint("Use output_mode = 'update'.")
	case mode == physical.Complete && !aggregates(root):
		return sqlerr.Unsupported("output mode complete needs an aggregation").At(pos).
			WithHint("Use output_mode = 'append' or 'update'.")
	case mode == physical.Update && sink && !p.AppendOnly && p.Key == nil:
		return sqlerr.Unsupported("output mode update needs columns that identify a row, and the result has none").At(pos).
			WithHint("Select all columns of GROUP BY, or use output_mode = 'changelog'.")
	}
	return nil
}

// changing says which operator makes a plan's rows change.
func changing(n physical.Node) string {
	for _, c := range n.Children() {
		if !c.Props().AppendOnly {
			return changing(c)
		}
	}
	switch n := n.(type) {
	case *physical.RelationScan:
		return n.Object.Kind.String() + " " + n.Object.Name.String() + " changes"
	case *physical.HashAgg:
		return "the groups of GROUP BY change"
	}
	return n.Describe().Op + " changes rows"
}

func aggregates(n physical.Node) bool {
	if _, ok := n.(*physical.HashAgg); ok {
		return true
	}
	for _, c := range n.Children() {
		if aggregates(c) {
			return true
		}
	}
	return false
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
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
	case *logical.OverWindow:
		return refuseOver(n)
	case *logical.Sort:
		return refuse(n.Pos, "Sort when the result is read (SELECT … FROM the view ORDER BY …), add LIMIT, "+
			"or use output_mode = 'complete', which sends the whole result in order.",
			"ORDER BY without LIMIT is not supported in a continuous query: its result has no order")
	case *logical.Recursive:
		return refuse(n.Pos, "Run it when the result is read: WITH RECURSIVE … over a view.",
			"WITH RECURSIVE is not supported in a continuous query")
	}
	return sqlerr.Internal("no continuous form of %T", n)
}

// refuseOver says why a window function cannot be followed.
func refuseOver(n *logical.OverWindow) error {
	c := n.Calls[0]
	for _, o := range n.Calls { // of several, one that no bound would help
		if _, ok := plan.RankFuncOf(o.Name); !ok || o.Aggregate {
			c = o
			break
		}
	}
	what := "window function " + c.Name
	if c.Aggregate {
		what = "aggregate " + c.Name + " with OVER"
	}
	e := sqlerr.Unsupported("%s is not supported in a continuous query: a row that comes may change its value in all "+
		"rows of the partition", what).At(n.Pos)
	if _, ok := plan.RankFuncOf(c.Name); ok && !c.Aggregate && len(n.Calls) == 1 {
		return e.WithHint("Bound it, so that only the first rows of each partition are kept: "+
			"SELECT … FROM (SELECT …, %s() OVER (…) AS rn FROM …) AS t WHERE rn <= 10.", c.Name)
	}
	return e.WithHint("Aggregate with GROUP BY; the first rows of each partition are " +
		"SELECT … FROM (SELECT …, row_number() OVER (…) AS rn FROM …) AS t WHERE rn <= 10.")
}

// clockFunctions give another value at each evaluation or epoch.
var clockFunctions = map[string]bool{"now": true, "transaction_timestamp": true, "statement_timestamp": true,
	"clock_timestamp": true, "timeofday": true, "proctime": true}

// tellsTime tells whether a plan's rows depend on when they are computed.
func tellsTime(n logical.Node) bool {
	return slices.ContainsFunc(n.Exprs(), plan.ReadsClock) || slices.ContainsFunc(n.Children(), tellsTime)
}

// clocked tells whether a node's column is the epoch's time.
func clocked(n physical.Node, col int) bool {
	switch n := n.(type) {
	case *physical.Project:
		if c, ok := plan.ColumnOf(n.Exprs[col]); ok {
			return clocked(n.Input[0], c)
		}
		return plan.IsClock(n.Exprs[col])
	case *physical.Filter:
		return clocked(n.Input[0], col)
	}
	return false
}

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
	case mode == physical.Complete && !collected(root):
		return sqlerr.Unsupported(
			"output mode complete needs a result that it can hold, but every row of a stream is in this one").At(pos).
			WithHint("Aggregate, or use SELECT DISTINCT, DISTINCT ON or ORDER BY … LIMIT; or use output_mode = 'append'.")
	case mode == physical.Update && sink && !p.AppendOnly && p.Key == nil:
		return sqlerr.Unsupported("output mode update needs columns that identify a row, and the result has none").At(pos).
			WithHint("%s, or use output_mode = 'changelog'.", keyHint(root))
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
	case *physical.LatestByKey:
		return "the records of " + relations(n) + " change rows"
	case *physical.TemporalFilter:
		return "rows leave the result as time passes"
	case *physical.HashAgg:
		return "the groups of GROUP BY change"
	case *physical.SetOp:
		return "EXCEPT takes rows back that come on its other side"
	}
	return n.Describe().Op + " changes rows"
}

// collected tells whether a result is that of groups, keys, first rows or tables,
// and not each row of a stream: only such a one can be sent whole again and again.
func collected(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.HashAgg, *physical.GroupTopN, *physical.Limit, *physical.LatestByKey:
		return true
	case *physical.SetOp:
		if !n.All {
			return true
		}
	case *physical.TemporalFilter:
		if lasting(n) {
			return true
		}
	case *physical.DistinctOn:
		if n.Prop.Key != nil { // else a key may come again
			return true
		}
	}
	if len(n.Children()) == 0 {
		return n.Props().Bounded
	}
	for _, c := range n.Children() {
		if !collected(c) {
			return false
		}
	}
	return true
}

// expands tells whether a plan has grouping sets.
func expands(n physical.Node) bool {
	if _, ok := n.(*physical.Expand); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), expands)
}

// keyHint says what would give a result a key.
func keyHint(n physical.Node) string {
	if expands(n) {
		return "Group by one set of columns"
	}
	for {
		switch x := n.(type) {
		case *physical.HashAgg:
			return "Select all columns of GROUP BY"
		case *physical.RelationScan:
			return "Select the key of " + x.Object.Name.String()
		case *physical.GroupTopN:
			if len(x.PartitionBy) > 0 {
				return "Select all columns of PARTITION BY and row_number()"
			}
			return "Number the rows: SELECT … FROM (SELECT …, row_number() OVER (ORDER BY …) AS rn FROM …) AS t WHERE rn <= 10"
		case *physical.Union:
			return "Select a constant that is another one in each part, and the keys of the parts"
		}
		if len(n.Children()) == 0 {
			return "Aggregate by a key"
		}
		n = n.Children()[0]
	}
}

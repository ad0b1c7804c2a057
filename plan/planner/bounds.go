package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// Bounds that are none: Unbounded finds nodes by them.
const (
	byNothing = "nothing"
	byKeys    = "key domain"
	byValues  = "value domain"
	byPeers   = "number of peers"
)

// Unbounded returns the operators of a plan with state that nothing bounds but the
// number of different keys or values that may come.
func Unbounded(n physical.Node) []physical.Node {
	var out []physical.Node
	for _, b := range strings.Split(n.Props().Bound, ", ") {
		if b == byNothing || b == byKeys || b == byValues || b == byPeers {
			out = append(out, n)
			break
		}
	}
	for _, c := range n.Children() {
		out = append(out, Unbounded(c)...)
	}
	return out
}

// RefuseUnbounded is the error for a plan with state that nothing bounds, nil where
// there is none.
func RefuseUnbounded(root physical.Node) error {
	un := Unbounded(root)
	if len(un) == 0 {
		return nil
	}
	n := un[len(un)-1] // the lowest: what is above it may be bounded with it
	d, p := n.Describe(), n.Props()
	what := d.Op
	for _, a := range d.Attrs {
		if a.Key == "group" || a.Key == "keys" {
			what += " by " + a.Value
		}
	}
	hint := "Use a window over a time with a watermark"
	if holdsAll(root) {
		return unboundedError(what, p, "Use output_mode = 'update', for complete keeps all of the result")
	}
	switch n := n.(type) {
	case *physical.HashAgg:
		hint = "Group by a window over a time with a watermark"
		switch {
		case n.TTL == 0 && n.InputAppendOnly && !n.Keyless && !strings.Contains(p.Bound, byValues):
			hint += ", or set the option state_ttl"
		case strings.Contains(p.State, "values"):
			hint += ", or use an aggregate that does not keep the values"
		}
	case *physical.DistinctOn:
		hint = "Write DEDUPLICATE BY … WITHIN INTERVAL '…', or set the option state_ttl"
	case *physical.LatestByKey:
		hint = "Make it a TABLE, whose rows are in the store, or set the option state_ttl"
	case *physical.SetOp:
		hint = "Let both sides be tables, or results that have a bound"
	case *physical.GroupTopN:
		hint = "Rank within a window over a time with a watermark"
		switch {
		case len(n.PartitionBy) == 0 && n.Func != plan.RowNumber && p.Bound != byNothing:
			hint = "Count rows with row_number() or LIMIT, or rank within a window over a time with a watermark"
		case n.InputAppendOnly() && n.TTL == 0:
			hint += ", or set the option state_ttl"
		}
	}
	return unboundedError(what, p, hint)
}

// holdsAll tells whether a plan is one of output mode complete.
func holdsAll(n physical.Node) bool {
	if e, ok := n.(*physical.Emit); ok {
		return e.Mode == physical.Complete
	}
	return slices.ContainsFunc(n.Children(), holdsAll)
}

func unboundedError(what string, p *physical.Props, hint string) error {
	return sqlerr.New(sqlerr.ProgramLimitExceeded, "the state of %s can grow without end", what).
		WithDetail("It keeps %s, bounded by %s, and require_bounded_state is on.", p.State, p.Bound).
		WithHint("%s, or SET require_bounded_state = off.", hint)
}

// rowsBound says what bounds the number of rows that a node's output has at any
// time, deletes taken into account; "": nothing.
func (lw *lowerer) rowsBound(n physical.Node) string {
	if b, ok := lw.bounds[n]; ok {
		return b
	}
	switch n := n.(type) {
	case *physical.RelationScan:
		if n.Stream {
			return ""
		}
		return "rows of " + n.Object.Name.String()
	case *physical.SourceScan:
		if n.Bounded {
			return "rows of " + n.Object.Name.String()
		}
		return ""
	case *physical.Values, *physical.TableFunc:
		return "a list of values"
	case *physical.TemporalFilter:
		if lasting(n) {
			return n.Prop.Bound
		}
	}
	var all []string
	for _, c := range n.Children() {
		b := lw.rowsBound(c)
		if b == "" {
			return ""
		}
		if !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	return strings.Join(all, " and ")
}

// lasting tells whether rows leave a temporal filter a fixed span after their time.
func lasting(n *physical.TemporalFilter) bool {
	return strings.HasPrefix(n.Prop.Bound, "rows of the last ")
}

// setRows notes what bounds the rows of an output that is not as its inputs'.
func (lw *lowerer) setRows(n physical.Node, bound string) {
	if lw.bounds == nil {
		lw.bounds = map[physical.Node]string{}
	}
	if bound == byNothing || bound == byKeys || bound == byValues {
		bound = ""
	}
	lw.bounds[n] = bound
}

// ttl is the bound of state that is forgotten after the query's state_ttl.
func (lw *lowerer) byTTL() string {
	lw.forgets = true
	return "ttl " + plan.Micros(lw.ttl)
}

// aggregateState says what an aggregation keeps and what bounds it.
func (lw *lowerer) aggregateState(n *logical.Aggregate, a *physical.HashAgg) {
	in := lw.rowsBound(a.Input[0])
	distinct := len(n.Aggs) == 0 && !n.Keyless
	groups := byKeys
	switch {
	case a.CloseBy >= 0:
		groups = lw.byWatermark()
	case n.Keyless:
		groups = "one row"
	case in != "":
		groups = in
	case lw.ttl > 0 && a.InputAppendOnly && a.Window == nil:
		groups = lw.byTTL()
		a.TTL = lw.ttl
		if distinct && lw.mode == physical.Append {
			a.Quiet, a.Prop.Key = true, nil // a row may come again
		} else {
			a.Prop.AppendOnly = false // rows are taken back
		}
	case a.Window != nil || lw.growsWithTime(a):
		groups = byNothing
	}
	a.Prop.State, a.Prop.Bound = "groups", groups
	if what, bound := lw.valuesState(a, in); bound != "" {
		a.Prop.State += ", " + what
		if bound != groups {
			a.Prop.Bound += ", " + bound
		}
	}
	if a.CloseBy >= 0 || a.Quiet {
		groups = "" // the rows of groups that are forgotten stay
	}
	lw.setRows(a, groups)
}

// valuesState says which values an aggregation keeps within its groups, and what
// bounds them; "" where its aggregates keep none.
func (lw *lowerer) valuesState(a *physical.HashAgg, in string) (what, bound string) {
	for _, c := range a.Aggs {
		w, b := "", ""
		switch extreme := c.Name == "min" || c.Name == "max"; {
		case c.Name == "array_agg" || c.Name == "string_agg":
			w, b = "values", byNothing
		case extreme && !a.InputAppendOnly:
			w, b = "values", byNothing
		case c.Distinct && !extreme:
			w, b = "distinct values", byValues
		}
		if w == "" || bound == byNothing {
			continue
		}
		what, bound = w, b
	}
	switch {
	case bound == "":
	case a.CloseBy >= 0:
		bound = lw.byWatermark()
	case in != "":
		bound = in
	}
	return what, bound
}

// growsWithTime tells whether the groups of a stream have a time in them, so
// that their number has no end.
func (lw *lowerer) growsWithTime(a *physical.HashAgg) bool {
	in := a.InputSchema()
	return slices.ContainsFunc(a.GroupBy, func(c int) bool { return in.Fields[c].Type.IsTimestamp() })
}

// distinctState says what bounds the keys that a deduplication remembers for ever.
func (lw *lowerer) distinctState(d *physical.DistinctOn) {
	in := lw.rowsBound(d.Input[0])
	switch {
	case in != "":
		d.Prop.Bound = in
	case lw.ttl > 0:
		d.TTL, d.Prop.Bound = lw.ttl, lw.byTTL()
		if !d.Replace {
			d.Prop.Key, d.Prop.Twins = nil, nil // a key may come again
			lw.setRows(d, "")
			return
		}
	}
	lw.setRows(d, d.Prop.Bound)
}

// checkTTL refuses a state_ttl that forgets nothing.
func (lw *lowerer) checkTTL(root physical.Node, pos int) error {
	if lw.ttl == 0 || lw.forgets {
		return nil
	}
	e := sqlerr.New(sqlerr.InvalidParameterValue, "option \"state_ttl\" would have no effect").At(pos)
	keeps := keepers(root)
	if len(keeps) == 0 {
		return e.WithDetail("The query keeps no state.").WithHint("Leave it out.")
	}
	return e.WithDetail("It is for groups and keys of an append-only stream that nothing else bounds; the query keeps %s.",
		strings.Join(keeps, "; ")).WithHint("Leave it out.")
}

// keepers lists what the operators of a plan keep and what bounds it.
func keepers(n physical.Node) []string {
	var out []string
	if p := n.Props(); p.State != "" {
		if _, mark := n.(*physical.Watermark); !mark {
			out = append(out, p.State+" ("+n.Describe().Op+", bounded by "+p.Bound+")")
		}
	}
	for _, c := range n.Children() {
		out = append(out, keepers(c)...)
	}
	return out
}

package rule

import (
	"slices"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
)

// PruneColumns drops columns that nobody reads, down to the scans.
func PruneColumns(n logical.Node) logical.Node {
	n, _ = prune(n, allColumns(n.Schema().Len()))
	return n
}

// columns is a set of columns.
type columns []bool

func allColumns(n int) columns {
	c := make(columns, n)
	for i := range c {
		c[i] = true
	}
	return c
}

func (c columns) add(cols ...int) {
	for _, k := range cols {
		c[k] = true
	}
}

func (c columns) addExprs(es ...expr.Expr) {
	for _, e := range es {
		c.add(expr.Columns(e)...)
	}
}

func (c columns) addKeys(keys []plan.SortKey) {
	for _, k := range keys {
		c[k.Col] = true
	}
}

func (c columns) list() []int {
	out := []int{}
	for i, x := range c {
		if x {
			out = append(out, i)
		}
	}
	return out
}

// moved tells where each old column is; -1 for those that are gone.
type moved []int

func (m moved) at(c int) int               { return m[c] }
func (m moved) expr(e expr.Expr) expr.Expr { return expr.Remap(e, m.at) }

func same(n int) moved {
	m := make(moved, n)
	for i := range m {
		m[i] = i
	}
	return m
}

// kept is the movement when only cols stay, in order.
func kept(n int, cols []int) moved {
	m := make(moved, n)
	for i := range m {
		m[i] = -1
	}
	for i, c := range cols {
		m[c] = i
	}
	return m
}

// exactly prunes n and makes its columns just those needed.
func exactly(n logical.Node, need columns) (logical.Node, moved) {
	n, m := prune(n, need)
	want := need.list()
	cols := make([]int, len(want))
	for i, c := range want {
		cols[i] = m[c]
	}
	if len(cols) != n.Schema().Len() {
		n = project(n, cols)
	}
	return n, kept(len(need), want)
}

// project keeps the columns cols.
func project(n logical.Node, cols []int) logical.Node {
	all := logical.Identity(n.Schema())
	list := make([]expr.Expr, len(cols))
	names := make([]string, len(cols))
	for i, c := range cols {
		list[i], names[i] = all[c], n.Schema().Fields[c].Name
	}
	return logical.NewProject(n, list, names)
}

// prune returns n with at least the needed columns, and where they are.
func prune(n logical.Node, need columns) (logical.Node, moved) {
	switch n := n.(type) {
	case *logical.Scan:
		cols := need.list()
		at := make([]int, len(cols))
		for i, c := range cols {
			at[i] = n.Columns[c]
		}
		return logical.NewScan(n.Object, at, n.Stream, n.Pos), kept(len(need), cols)
	case *logical.Values:
		return pruneValues(n, need)
	case *logical.Filter:
		below := slices.Clone(need)
		below.addExprs(n.Pred)
		in, m := prune(n.Input(), below)
		return logical.NewFilter(in, m.expr(n.Pred)), m
	case *logical.Project:
		return pruneProject(n, need)
	case *logical.Watermark:
		below := slices.Clone(need)
		below.add(n.Column)
		below.addExprs(n.Exprs()...)
		in, m := prune(n.Input(), below)
		e := n.Expr
		if e != nil {
			e = m.expr(e)
		}
		return logical.NewWatermark(in, m[n.Column], e, n.Delay), m
	case *logical.Window:
		return pruneWindow(n, need)
	case *logical.Aggregate:
		return pruneAggregate(n, need)
	case *logical.Join:
		return pruneJoin(n, need)
	case *logical.Apply:
		return pruneApply(n, need)
	case *logical.Union:
		return pruneUnion(n, need)
	}
	return pruneOrder(n, need)
}

// pruneOrder goes on with nodes that keep their input's columns.
func pruneOrder(n logical.Node, need columns) (logical.Node, moved) {
	switch n := n.(type) {
	case *logical.Sort:
		below := slices.Clone(need)
		below.addKeys(n.Keys)
		in, m := prune(n.Input(), below)
		return logical.NewSort(in, plan.RemapKeys(n.Keys, m.at), n.Pos), m
	case *logical.Limit:
		in, m := prune(n.Input(), need)
		return n.WithChildren([]logical.Node{in}), m
	case *logical.DistinctOn:
		below := slices.Clone(need)
		below.add(n.Keys...)
		below.add(n.Late...)
		below.addKeys(n.OrderBy)
		if n.Time >= 0 {
			below.add(n.Time)
		}
		in, m := prune(n.Input(), below)
		d := n.WithChildren([]logical.Node{in}).(*logical.DistinctOn)
		d.Keys, d.OrderBy, d.Late = moveAll(n.Keys, m), plan.RemapKeys(n.OrderBy, m.at), nil
		if n.Time >= 0 {
			d.Time = m.at(n.Time)
		}
		return d, m
	case *logical.OverWindow:
		return pruneOver(n, need)
	case *logical.TopN:
		return pruneTopN(n, need)
	case *logical.Expand:
		return pruneExpand(n, need)
	case *logical.ProjectSet:
		width := n.Input().Schema().Len()
		below := slices.Clone(need[:width])
		below.addExprs(n.Exprs()...)
		in, m := prune(n.Input(), below)
		out := logical.MapExprs(n.WithChildren([]logical.Node{in}), m.expr)
		return out, extended(m, in.Schema().Len(), len(n.Calls))
	}
	// SetOp, Recursive and what else compares or repeats whole rows.
	in := n.Children()
	if len(in) == 0 {
		return n, same(len(need))
	}
	out := make([]logical.Node, len(in))
	for i, c := range in {
		out[i], _ = exactly(c, allColumns(c.Schema().Len()))
	}
	return n.WithChildren(out), same(len(need))
}

// extended is the movement of an input's columns followed by add new ones.
func extended(m moved, width, add int) moved {
	out := slices.Clone(m)
	for i := range add {
		out = append(out, width+i)
	}
	return out
}

func moveAll(cols []int, m moved) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = m[c]
	}
	return out
}

func pruneValues(n *logical.Values, need columns) (logical.Node, moved) {
	cols := need.list()
	rows := make([][]expr.Expr, len(n.Rows))
	for r, row := range n.Rows {
		for _, e := range row {
			if expr.VolatilityOf(e) == expr.Volatile {
				return n, same(len(need))
			}
		}
		rows[r] = make([]expr.Expr, len(cols))
		for i, c := range cols {
			rows[r][i] = row[c]
		}
	}
	return logical.NewValues(rows, n.Schema().Select(cols).Fields...), kept(len(need), cols)
}

func pruneProject(n *logical.Project, need columns) (logical.Node, moved) {
	cols := need.list()
	below := make(columns, n.Input().Schema().Len())
	for _, c := range cols {
		below.addExprs(n.List[c])
	}
	in, m := prune(n.Input(), below)
	list := make([]expr.Expr, len(cols))
	names := make([]string, len(cols))
	for i, c := range cols {
		list[i], names[i] = m.expr(n.List[c]), n.Schema().Fields[c].Name
	}
	return logical.NewProject(in, list, names), kept(len(need), cols)
}

func pruneWindow(n *logical.Window, need columns) (logical.Node, moved) {
	width := n.Input().Schema().Len()
	below := slices.Clone(need[:width])
	below.add(n.TimeCol)
	below.add(n.PartitionBy...)
	below.addExprs(n.Exprs()...)
	in, m := prune(n.Input(), below)
	spec := n.WindowSpec
	spec.TimeCol, spec.PartitionBy = m[n.TimeCol], moveAll(n.PartitionBy, m)
	if spec.Gap != nil {
		spec.Gap = m.expr(spec.Gap)
	}
	return logical.NewWindow(in, spec, n.Pos), extended(m, in.Schema().Len(), 2)
}

func pruneAggregate(n *logical.Aggregate, need columns) (logical.Node, moved) {
	groups := len(n.GroupBy)
	below := make(columns, n.Input().Schema().Len())
	below.add(n.GroupBy...)
	below.add(n.Late...)
	var aggs []plan.AggCall
	m := kept(len(need), nil)
	for i := range groups {
		m[i] = i
	}
	for i, a := range n.Aggs {
		if need[groups+i] {
			m[groups+i] = groups + len(aggs)
			aggs = append(aggs, a)
			below.add(a.Columns()...)
		}
	}
	in, im := prune(n.Input(), below)
	for i, a := range aggs {
		aggs[i] = a.Remap(im.at)
	}
	return logical.NewAggregate(in, moveAll(n.GroupBy, im), aggs, n.Keyless, n.Pos), m
}

func pruneOver(n *logical.OverWindow, need columns) (logical.Node, moved) {
	width := n.Input().Schema().Len()
	below := slices.Clone(need[:width])
	var calls []plan.WindowCall
	m := kept(len(need), nil)
	for i, c := range n.Calls {
		if !need[width+i] {
			continue
		}
		m[width+i] = len(calls) // from the width of the new input, known below
		calls = append(calls, c)
		below.add(c.Args...)
		if c.FilterCol >= 0 {
			below.add(c.FilterCol)
		}
	}
	if len(calls) == 0 {
		in, im := prune(n.Input(), below)
		copy(m, im)
		return in, m
	}
	below.add(n.PartitionBy...)
	below.addKeys(n.OrderBy)
	in, im := prune(n.Input(), below)
	for i, c := range calls {
		calls[i] = c.Remap(im.at)
	}
	copy(m, im)
	for i := width; i < len(m); i++ {
		if m[i] >= 0 {
			m[i] += in.Schema().Len()
		}
	}
	return logical.NewOverWindow(in, moveAll(n.PartitionBy, im), plan.RemapKeys(n.OrderBy, im.at), calls, n.Pos), m
}

func pruneExpand(n *logical.Expand, need columns) (logical.Node, moved) {
	below := slices.Clone(need[:n.Input().Schema().Len()])
	below.add(n.Cols...)
	in, m := prune(n.Input(), below)
	sets := make([][]int, len(n.Sets))
	for i, s := range n.Sets {
		sets[i] = moveAll(s, m)
	}
	return logical.NewExpand(in, moveAll(n.Cols, m), sets), extended(m, in.Schema().Len(), 1)
}

func pruneJoin(n *logical.Join, need columns) (logical.Node, moved) {
	l, r := n.Children()[0], n.Children()[1]
	lw, rw := l.Schema().Len(), r.Schema().Len()
	all := make(columns, lw+rw)
	copy(all, need)
	all.addExprs(n.Exprs()...)
	ln, lm := prune(l, all[:lw:lw])
	rn, rm := prune(r, all[lw:])
	m := make(moved, 0, lw+rw)
	m = append(m, lm...)
	for _, c := range rm {
		if c >= 0 {
			c += ln.Schema().Len()
		}
		m = append(m, c)
	}
	j := logical.NewJoin(ln, rn, n.Kind, nil, n.Pos)
	j.Regular = n.Regular
	if n.On != nil {
		j.On = m.expr(n.On)
	}
	return j, m[:len(need)]
}

func pruneApply(n *logical.Apply, need columns) (logical.Node, moved) {
	l, sub := n.Children()[0], n.Children()[1]
	lw, sw := l.Schema().Len(), sub.Schema().Len()
	left, right := slices.Clone(need[:lw]), make(columns, sw)
	joins := n.Kind == plan.ApplyCross || n.Kind == plan.ApplyLeft || n.Kind == plan.ApplyRow
	if !joins && !need[lw] { // nobody looks at the answer
		ln, m := prune(l, left)
		return ln, append(slices.Clone(m), -1)
	}
	switch {
	case joins:
		copy(right, need[lw:])
	case n.Kind != plan.ApplyExists:
		right = allColumns(sw)
	}
	for _, e := range n.Exprs() {
		for _, c := range expr.Columns(e) {
			if c < lw {
				left[c] = true
			} else {
				right[c-lw] = true
			}
		}
	}
	left.add(logical.OuterColumns(sub, 1)...)
	ln, lm := prune(l, left)
	sub, sm := exactly(sub, right)
	sub = logical.RemapOuter(sub, 1, lm.at)
	m := slices.Clone(lm)
	for _, c := range sm {
		if c >= 0 {
			c += ln.Schema().Len()
		}
		m = append(m, c)
	}
	test := n.Test
	if test != nil {
		test = m.expr(test)
	}
	out := logical.NewApply(ln, sub, n.Kind, test, n.Pos)
	if !joins {
		m = extended(lm, ln.Schema().Len(), 1)
	}
	return out, m
}

func pruneUnion(n *logical.Union, need columns) (logical.Node, moved) {
	var m moved
	out := make([]logical.Node, len(n.Children()))
	for i, c := range n.Children() {
		out[i], m = exactly(c, need)
	}
	return logical.NewUnion(out...), m
}

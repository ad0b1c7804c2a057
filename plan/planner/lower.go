package planner

import (
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
)

// lowerer chooses physical nodes. Its methods are bottom up: a node is made when
// its inputs are, and gets its properties from theirs.
type lowerer struct {
	env   *Env
	batch bool
	raw   bool // see Options.Raw
	mode  physical.OutputMode
	// ttl is the query's state_ttl in microseconds, 0 for none; forgets: a node heeds
	// it.
	ttl     int64
	forgets bool
	// bounds are what setRows noted.
	bounds map[physical.Node]string
	// timeName names the event time that bounds state, for EXPLAIN.
	timeName string
}

// node lowers one logical node with all below it.
func (lw *lowerer) node(n logical.Node) (physical.Node, error) {
	switch n := n.(type) {
	case *logical.Scan:
		return lw.scan(n)
	case *logical.Values:
		v := &physical.Values{Base: base(n.Schema()), Rows: n.Rows}
		v.Prop.Bounded, v.Prop.AppendOnly = true, true
		if len(n.Rows) <= 1 {
			v.Prop.Key = []int{}
		}
		return v, nil
	case *logical.TableFunc:
		t := &physical.TableFunc{Base: base(n.Schema()), Calls: n.Calls, WithOrdinality: n.WithOrdinality}
		t.Prop.Bounded, t.Prop.AppendOnly = true, true
		return t, nil
	case *logical.Filter:
		return lw.filter(n)
	case *logical.Project:
		return lw.project(n)
	case *logical.Watermark:
		return lw.watermark(n)
	case *logical.Window:
		return lw.window(n)
	case *logical.Aggregate:
		return lw.aggregate(n)
	case *logical.Join:
		return lw.join(n)
	case *logical.Union:
		return lw.union(n)
	case *logical.DistinctOn:
		return lw.distinctOn(n)
	case *logical.TopN:
		return lw.topN(n)
	case *logical.ProjectSet:
		return lw.projectSet(n)
	case *logical.Expand:
		return lw.expand(n)
	case *logical.SetOp:
		if !lw.batch {
			return lw.setOp(n)
		}
	case *logical.Sort:
		if d, ok := n.Input().(*logical.DistinctOn); ok && !lw.batch && beginsWith(d.OrderBy, n.Keys) {
			return lw.node(d) // the order only says which row is the first
		}
	}
	return lw.batchNode(n)
}

// batchNode goes on with nodes that continuous queries do not have.
func (lw *lowerer) batchNode(n logical.Node) (physical.Node, error) {
	if l, ok := n.(*logical.Limit); ok && !lw.batch {
		return lw.firstRows(l)
	}
	if !lw.batch {
		return nil, refuseNode(n)
	}
	in, err := lw.nodes(n.Children())
	if err != nil {
		return nil, err
	}
	b := base(n.Schema(), in...)
	b.Prop.Bounded, b.Prop.AppendOnly = true, true
	switch n := n.(type) {
	case *logical.Apply:
		if len(n.Children()) == 2 && n.Kind < plan.ApplyCross {
			b.Prop.Key = in[0].Props().Key
		}
		return &physical.Apply{Base: b, Kind: n.Kind, Test: n.Test, Correlated: logical.Correlated(n.Children()[1], 1)}, nil
	case *logical.SetOp:
		return &physical.SetOp{Base: b, Except: n.Except, All: n.All}, nil
	case *logical.OverWindow:
		b.Prop.Key = in[0].Props().Key
		return &physical.OverWindow{Base: b, PartitionBy: n.PartitionBy, OrderBy: n.OrderBy, Calls: n.Calls}, nil
	case *logical.Sort:
		if d, ok := in[0].(*physical.DistinctOn); ok && beginsWith(d.OrderBy, n.Keys) {
			return d, nil
		}
		b.Prop.Key = in[0].Props().Key
		return &physical.Sort{Base: b, Keys: n.Keys}, nil
	case *logical.Limit:
		return lw.limit(n, in[0], b), nil
	case *logical.Recursive:
		return &physical.RecursiveCTE{Base: b, Table: n.Table, Name: n.Name, All: n.All}, nil
	case *logical.WorkTable:
		return &physical.WorkTable{Base: b, Table: n.Table, Name: n.Name}, nil
	}
	return nil, sqlerr.Internal("no physical form of %T", n)
}

func (lw *lowerer) nodes(ns []logical.Node) ([]physical.Node, error) {
	out := make([]physical.Node, len(ns))
	for i, n := range ns {
		p, err := lw.node(n)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func (lw *lowerer) scan(n *logical.Scan) (physical.Node, error) {
	o := n.Object
	b := base(n.Schema())
	b.Prop.AppendOnly = lw.batch || o.AppendOnly
	b.Prop.Bounded = true
	switch o.Kind {
	case catalog.KindSource:
		if o.Changing() && !lw.raw {
			return lw.changing(n)
		}
		s := sourceScan(n, b)
		s.Prop.AppendOnly = true
		s.Bounded = lw.batch || lw.env.Bounded != nil && lw.env.Bounded(o)
		s.Prop.Bounded = s.Bounded
		return s, nil
	case catalog.KindSystem:
		if !lw.batch {
			return nil, sqlerr.Unsupported("system relation %q cannot be read by a continuous query", o.Name).At(n.Pos)
		}
		return &physical.SystemScan{Base: b, Object: o, Columns: n.Columns}, nil
	}
	b.Prop.Key = keyOf(o, n.Columns)
	s := &physical.RelationScan{Base: b, Object: o, Columns: n.Columns, Feed: !lw.batch, Stream: !lw.batch && n.Stream}
	if s.Stream {
		s.Prop.Bounded = false
	}
	return s, nil
}

// sourceScan lists all declared columns with those that are read marked.
func sourceScan(n *logical.Scan, b physical.Base) *physical.SourceScan {
	s := &physical.SourceScan{Base: b, Object: n.Object}
	for i, c := range n.Object.Columns {
		if c.Generated != "" {
			continue
		}
		s.Columns, s.Attrs = append(s.Columns, c), append(s.Attrs, i)
		s.Used = append(s.Used, slices.Contains(n.Columns, i))
	}
	return s
}

// keyOf returns where an object's key is among the columns; nil if it is not.
func keyOf(o *catalog.Object, cols []int) []int {
	if o.Key == nil {
		return nil
	}
	key := make([]int, len(o.Key))
	for i, k := range o.Key {
		if key[i] = slices.Index(cols, k); key[i] < 0 {
			return nil
		}
	}
	return key
}

// keyLookup finds values for the first columns of an object's key among
// conditions column = value; rest are the other conditions.
func keyLookup(o *catalog.Object, cols []int, conds []expr.Expr) (key, rest []expr.Expr) {
	rest = conds
	for _, k := range o.Key {
		v, at := keyValue(slices.Index(cols, k), o.Columns[k].Type, rest)
		if v == nil {
			break
		}
		key = append(key, v)
		rest = slices.Delete(slices.Clone(rest), at, at+1)
	}
	return key, rest
}

// keyValue finds a condition that column col, of type t, equals a value of the
// same form, and where it is.
func keyValue(col int, t types.Type, conds []expr.Expr) (expr.Expr, int) {
	for i, c := range conds {
		name, args, ok := expr.AsCall(c)
		if !ok || name != "=" || len(args) != 2 {
			continue
		}
		for side, a := range args {
			k, isCol := plan.ColumnOf(a)
			v := args[1-side]
			if !isCol || k != col || !expr.IsConst(v) {
				continue
			}
			if v.Type().ID != t.ID && !(v.Type().IsInteger() && t.IsInteger()) {
				continue
			}
			if x, err := expr.Cast(v, t.Base(), expr.Implicit); err == nil {
				return x, i
			}
		}
	}
	return nil, 0
}

func (lw *lowerer) filter(n *logical.Filter) (physical.Node, error) {
	if s, ok := n.Input().(*logical.Scan); ok {
		return lw.filteredScan(s, plan.Conjuncts(n.Pred))
	}
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	return lw.where(in, plan.Conjuncts(n.Pred))
}

// filteredScan lowers a scan with conditions; those that a look-up by key
// answers are dropped.
func (lw *lowerer) filteredScan(s *logical.Scan, conds []expr.Expr) (physical.Node, error) {
	in, err := lw.scan(s)
	if err != nil {
		return nil, err
	}
	if r, ok := in.(*physical.RelationScan); ok && lw.batch {
		r.KeyEq, conds = keyLookup(r.Object, r.Columns, conds)
		if len(conds) == 0 {
			return r, nil
		}
	}
	return lw.where(in, conds)
}

// same is the common part of a node that passes its input's rows or drops them.
func same(in physical.Node) physical.Base {
	b := physical.Base{Out: in.Schema(), Input: []physical.Node{in}, Prop: *in.Props()}
	b.Prop.State, b.Prop.Bound = "", ""
	return b
}

func (lw *lowerer) project(n *logical.Project) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	if err := lw.stable(in, "a column", n.List...); err != nil {
		return nil, err
	}
	list := n.List
	if q, ok := in.(*physical.Project); ok && onlyColumns(q.Exprs) {
		in = q.Children()[0]
		list = make([]expr.Expr, len(n.List))
		for i, e := range n.List {
			list[i] = expr.Substitute(e, func(c int) expr.Expr { return q.Exprs[c] })
		}
	}
	p := &physical.Project{Base: base(n.Schema(), in), Exprs: list}
	ip := in.Props()
	p.Prop.AppendOnly, p.Prop.Bounded = ip.AppendOnly, ip.Bounded
	at := map[int]int{} // input column → first output column that copies it
	rows := map[int]int{}
	for i, e := range list {
		if parts, ok := expr.RowFields(e); ok { // holds its fields, as far as a key goes
			for _, f := range parts {
				if c, isCol := plan.ColumnOf(f); isCol {
					rows[c] = i
				}
			}
		}
		c, lag, ok := plan.TimeOf(e)
		if !ok {
			continue
		}
		if _, isCol := plan.ColumnOf(e); isCol {
			if _, dup := at[c]; !dup {
				at[c] = i
			}
		}
		if t, ok := ip.Time(c); ok {
			p.Prop.Times = append(p.Prop.Times, physical.TimeColumn{Col: i, Lag: max(0, t.Lag+lag)})
		}
	}
	p.Prop.EventTime = -1
	if i, ok := at[ip.EventTime]; ok {
		p.Prop.EventTime = i
	} else if len(p.Prop.Times) > 0 {
		p.Prop.EventTime = p.Prop.Times[0].Col
	}
	for c, i := range rows {
		if _, plain := at[c]; !plain {
			at[c] = i
		}
	}
	p.Prop.Key, p.Prop.Twins = movedKey(ip, at)
	return p, nil
}

// onlyColumns tells whether a projection but moves columns.
func onlyColumns(es []expr.Expr) bool {
	for _, e := range es {
		if _, ok := plan.ColumnOf(e); !ok {
			return false
		}
	}
	return true
}

// movedKey is where a node's key and twins are when its columns are at other
// places; the key is nil when a column of it is gone and has no twin.
func movedKey(p *physical.Props, at map[int]int) (key []int, twins [][2]int) {
	for _, t := range p.Twins {
		a, okA := at[t[0]]
		b, okB := at[t[1]]
		switch {
		case okA && okB && a != b:
			twins = append(twins, [2]int{a, b})
		case okA && !okB:
			at[t[1]] = a
		case okB && !okA:
			at[t[0]] = b
		}
	}
	if p.Key == nil {
		return nil, twins
	}
	key = make([]int, len(p.Key))
	for i, k := range p.Key {
		c, ok := at[k]
		if !ok {
			return nil, twins
		}
		key[i] = c
	}
	slices.Sort(key)
	return slices.Compact(key), twins
}

// watermark lowers a watermark. That of a union is one of each input, so that no
// input makes rows of another late.
func (lw *lowerer) watermark(n *logical.Watermark) (physical.Node, error) {
	if u, ok := n.Input().(*logical.Union); ok && !lw.batch {
		in := make([]logical.Node, len(u.Children()))
		for i, c := range u.Children() {
			in[i] = n.WithChildren([]logical.Node{c})
		}
		return lw.node(u.WithChildren(in))
	}
	in, err := lw.node(n.Input())
	if err != nil || lw.batch {
		return in, err
	}
	if !in.Props().AppendOnly {
		return nil, sqlerr.Unsupported("a watermark needs rows that are only added, but %s", changing(in)).
			WithHint("Read an append-only relation, or its inserts with FROM STREAM.")
	}
	w := &physical.Watermark{Base: same(in), Column: n.Column, Expr: n.Expr, Delay: n.Delay}
	w.Clock = n.Expr == nil && clocked(in, n.Column)
	w.Prop.EventTime = n.Column
	w.Prop.Times = []physical.TimeColumn{{Col: n.Column}}
	w.Prop.State, w.Prop.Bound = "greatest time", "one value per split"
	lw.timeName = n.Schema().ColumnName(n.Column)
	return w, nil
}

func (lw *lowerer) window(n *logical.Window) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	if n.Kind == plan.Session && !lw.batch {
		return nil, sqlerr.Unsupported("a session window is only supported with GROUP BY in a continuous query").At(n.Pos).
			WithHint("Group by the session's partition, window_start and window_end and by nothing else.")
	}
	w := &physical.Window{Base: same(in), WindowSpec: n.WindowSpec}
	w.Out = n.Schema()
	width := in.Schema().Len()
	if n.Kind != plan.Tumble && w.Prop.Key != nil {
		w.Prop.Key = append(slices.Clone(w.Prop.Key), width+1)
	}
	w.Prop.Times = append(slices.Clone(w.Prop.Times), windowTimes(&n.WindowSpec, in.Props(), width)...)
	w.Prop.Twins = append(slices.Clone(w.Prop.Twins), windowTwins(&n.WindowSpec, width)...)
	return w, nil
}

// windowTwins pairs the window columns at width where windows have one length.
func windowTwins(w *plan.WindowSpec, width int) [][2]int {
	if w.Kind == plan.Tumble || w.Kind == plan.Hop {
		return [][2]int{{width, width + 1}}
	}
	return nil
}

// windowTimes tells how the watermark bounds the window columns at width.
func windowTimes(w *plan.WindowSpec, in *physical.Props, width int) []physical.TimeColumn {
	t, ok := in.Time(w.TimeCol)
	if !ok {
		return nil
	}
	// Rows before the end are at most one microsecond less than it.
	lag := max(0, t.Lag-1)
	out := []physical.TimeColumn{{Col: width + 1, Lag: lag}}
	if w.Kind != plan.Session {
		out = append(out, physical.TimeColumn{Col: width, Lag: lag + w.Size})
	}
	return out
}

func (lw *lowerer) projectSet(n *logical.ProjectSet) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	if err := lw.stable(in, "a column", n.Exprs()...); err != nil {
		return nil, err
	}
	p := &physical.ProjectSet{Base: same(in), Calls: n.Calls}
	p.Out, p.Prop.Key = n.Schema(), nil
	return p, nil
}

// distinctOn keeps the first row per key: in a batch of sorted input, in a
// stream by arrival or by the order asked for.
func (lw *lowerer) distinctOn(n *logical.DistinctOn) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	if lw.batch {
		sort := &physical.Sort{Base: same(in), Keys: n.OrderBy}
		d := &physical.DistinctOn{Base: same(sort), Keys: n.Keys, OrderBy: n.OrderBy, Time: -1, Forget: -1}
		d.Prop.Key = n.Keys
		return d, nil
	}
	if g := lw.newestRows(n, in); g != nil {
		return g, lw.finishTopN(g, in, "DISTINCT ON", n.Pos)
	}
	d := &physical.DistinctOn{Base: same(in), Keys: n.Keys, OrderBy: n.OrderBy, Time: n.Time, Forget: -1}
	if !in.Props().AppendOnly {
		return nil, sqlerr.Unsupported("DEDUPLICATE BY … WITHIN over rows that change is not supported " +
			"in a continuous query").At(n.Pos).WithHint("Leave out WITHIN, or read append-only input.")
	}
	d.Prop.Key = n.Keys
	d.Replace = len(n.OrderBy) > len(n.Keys)
	d.Prop.AppendOnly = !d.Replace
	if d.Replace && lw.mode == physical.Append {
		return nil, sqlerr.Unsupported(
			"DISTINCT ON with ORDER BY replaces rows and cannot run in output mode append").At(n.Pos).
			WithHint("Use output_mode = 'update', or leave out ORDER BY to keep the first row that arrives.")
	}
	if _, bounded := in.Props().Time(d.Time); !bounded { // a TemporalFilter may have held rows back
		d.Time = in.Props().EventTime
	}
	return d, lw.forget(n, d, in)
}

// forget says when a deduplication forgets its keys.
func (lw *lowerer) forget(n *logical.DistinctOn, d *physical.DistinctOn, in physical.Node) error {
	d.Prop.State, d.Prop.Bound = "one row per key", byKeys
	if n.Within != plan.WithinForever && d.Time < 0 {
		return sqlerr.Unsupported("DEDUPLICATE BY … WITHIN needs a watermark on its input").At(n.Pos).
			WithHint("%s", unlessTimed(d,
				"Declare WATERMARK FOR on the source, or write FROM STREAM s WATERMARK ts DELAY OF INTERVAL '…' AS s."))
	}
	switch n.Within {
	case plan.WithinSpan:
		d.Forget, d.Lag = d.Time, n.Span
	case plan.WithinWatermark:
		w := watermarkBelow(in)
		if w == nil || w.Expr != nil {
			return sqlerr.Unsupported("DEDUPLICATE BY … WITHIN WATERMARK needs a watermark with a constant delay").At(n.Pos).
				WithHint("Write WITHIN INTERVAL '…'.")
		}
		d.Forget, d.Lag = d.Time, w.Delay
	default:
		if lw.mode == physical.Complete { // nothing is late, and nothing is closed
			d.Time = -1
			break
		}
		for _, k := range n.Keys {
			if t, ok := in.Props().Time(k); ok {
				d.Forget, d.Lag = k, t.Lag
			}
		}
	}
	if d.Forget < 0 {
		lw.distinctState(d)
	} else {
		d.Prop.Bound = lw.byWatermark()
		lw.setRows(d, "")
		if n.Within != plan.WithinForever {
			d.Prop.Key, d.Prop.Twins = nil, nil // a key may come again
		}
	}
	return nil
}

// watermarkBelow finds the watermark that a node's event time is of.
func watermarkBelow(n physical.Node) *physical.Watermark {
	for {
		if w, ok := n.(*physical.Watermark); ok {
			return w
		}
		if len(n.Children()) != 1 {
			return nil
		}
		n = n.Children()[0]
	}
}

// beginsWith tells whether rows in the order of keys are in that of prefix too.
func beginsWith(keys, prefix []plan.SortKey) bool {
	return len(prefix) <= len(keys) && slices.Equal(keys[:len(prefix)], prefix)
}

func (lw *lowerer) byWatermark() string { return "watermark of " + lw.timeName }

func (lw *lowerer) limit(n *logical.Limit, in physical.Node, b physical.Base) physical.Node {
	b.Prop.Key = in.Props().Key
	s, ok := in.(*physical.Sort)
	if ok && n.Count != nil {
		b.Input = s.Children()
		return &physical.TopN{Base: b, Keys: s.Keys, Limit: n.Count, Offset: n.Offset, WithTies: n.Ties}
	}
	l := &physical.Limit{Base: b, Limit: n.Count, Offset: n.Offset, WithTies: n.Ties}
	if ok {
		l.Ties = s.Keys
	}
	return l
}

package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/sql/types"
)

// operator makes the operator of a node that is the same in finite reads and in
// continuous queries; nil for other nodes.
func (b *builder) operator(n physical.Node) (exec.Operator, error) {
	switch n := n.(type) {
	case *physical.Filter:
		return &operator.Filter{Pred: n.Pred}, nil
	case *physical.Project:
		return &operator.Project{Exprs: n.Exprs}, nil
	case *physical.ProjectSet:
		return &operator.ProjectSet{Calls: setFuncs(n.Calls)}, nil
	case *physical.Union:
		return &operator.Union{}, nil
	case *physical.Expand:
		return &operator.Expand{Cols: n.Cols, Sets: n.Sets}, nil
	case *physical.Window:
		return b.window(n)
	case *physical.HashAgg:
		return b.hashAgg(n)
	case *physical.Join:
		return b.join(n)
	case *physical.LatestByKey:
		return latestByKey(n), nil
	case *physical.Watermark:
		return &operator.Watermark{Column: n.Column, Expr: n.Expr, Delay: n.Delay}, nil
	}
	return nil, nil
}

func windowing(w *plan.WindowSpec) *operator.Windowing {
	out := &operator.Windowing{TimeCol: w.TimeCol, Size: w.Size, Slide: w.Slide, Offset: w.Offset,
		Cumulate: w.Kind == plan.Cumulate}
	if w.Kind == plan.Tumble {
		out.Slide = w.Size
	}
	return out
}

func (b *builder) window(n *physical.Window) (exec.Operator, error) {
	if n.Kind == plan.Session {
		return &operator.SessionWindow{TimeCol: n.TimeCol, Gap: n.Gap, PartitionBy: n.PartitionBy,
			Shapes: shapes(n.Input[0].Schema())}, nil
	}
	return &operator.Window{Windowing: *windowing(&n.WindowSpec)}, nil
}

func (b *builder) hashAgg(n *physical.HashAgg) (exec.Operator, error) {
	o := &operator.HashAgg{FinalOnly: n.FinalOnly && !b.finite, Keyless: n.Keyless, AppendOnly: n.InputAppendOnly,
		TTL: n.TTL, Quiet: n.Quiet, CloseCol: -1, OutTypes: fieldTypes(n.Schema()), Keep: b.finite || b.complete}
	in := n.InputSchema()
	width := n.Input[0].Schema().Len()
	session := n.Window != nil && n.Window.Kind == plan.Session
	if n.Window != nil && !session {
		o.Window = windowing(n.Window)
	}
	for i, g := range n.GroupBy {
		switch {
		case n.Window != nil && g == width:
			o.Out = append(o.Out, operator.OutCol{Kind: operator.OutStart})
		case n.Window != nil && g == width+1:
			o.Out = append(o.Out, operator.OutCol{Kind: operator.OutEnd})
		case n.Window == nil && n.CloseBy == i && !b.finite && in.Fields[g].Type.IsTimestamp():
			o.CloseCol, o.CloseLag = g, n.CloseLag
			o.Out = append(o.Out, operator.OutCol{Kind: operator.OutStart})
		default:
			o.Out = append(o.Out, operator.OutCol{Kind: operator.OutKey, N: len(o.KeyCols)})
			o.KeyCols = append(o.KeyCols, g)
			o.KeyTypes = append(o.KeyTypes, in.Fields[g].Type)
		}
	}
	for _, a := range n.Aggs {
		o.Out = append(o.Out, operator.OutCol{Kind: operator.OutAgg, N: len(o.Aggs)})
		o.Aggs = append(o.Aggs, aggCall(a, in, n.InputAppendOnly))
	}
	addFirstImages(o, n.InputAppendOnly)
	if session {
		return sessionAgg(o, n)
	}
	return o, nil
}

// sessionAgg makes an aggregation by sessions of what o says of keys, aggregates and
// output.
func sessionAgg(o *operator.HashAgg, n *physical.HashAgg) (exec.Operator, error) {
	if !n.InputAppendOnly {
		return nil, sqlerr.Unsupported("session windows over rows that may be deleted are not supported").
			WithHint("Read an append-only relation, or its inserts with FROM STREAM.")
	}
	return &operator.SessionAgg{KeyCols: o.KeyCols, KeyTypes: o.KeyTypes, Aggs: o.Aggs, Out: o.Out, OutTypes: o.OutTypes,
		TimeCol: n.Window.TimeCol, Gap: n.Window.Gap, FinalOnly: o.FinalOnly, Keep: o.Keep}, nil
}

// addFirstImages lets the aggregation keep how the keys looked where the key code
// does not tell.
func addFirstImages(o *operator.HashAgg, appendOnly bool) {
	for i, c := range o.Out {
		if c.Kind != operator.OutKey || o.KeyTypes[c.N].Shape().ExactKey() {
			continue
		}
		t := o.KeyTypes[c.N]
		o.Out[i] = operator.OutCol{Kind: operator.OutAgg, N: len(o.Aggs)}
		o.Aggs = append(o.Aggs, operator.AggCall{Cols: []int{o.KeyCols[c.N]}, Filter: -1,
			Call: aggregate.Call{Name: aggregate.FirstImage, Args: []types.Type{t}, Result: t, AppendOnly: appendOnly}})
	}
}

// aggCall turns a plan's aggregate into the executor's.
func aggCall(a plan.AggCall, in *plan.Schema, appendOnly bool) operator.AggCall {
	c := operator.AggCall{Cols: append([]int(nil), a.Args...), Filter: a.FilterCol, Distinct: a.Distinct,
		Call: aggregate.Call{Name: a.Name, Args: a.ArgTypes, Result: a.Type, AppendOnly: appendOnly}}
	if (a.Name == "min" || a.Name == "max") && a.Distinct {
		c.Distinct = false
	}
	if c.Distinct {
		c.Call.AppendOnly = appendOnly
	}
	if a.Distinct && len(a.OrderBy) == 0 && aggregate.OrderMatters(a.Name) {
		// As in PostgreSQL, whose DISTINCT sorts; the result depends on no order then.
		for i, k := range a.Args {
			c.Cols = append(c.Cols, k)
			c.Order, c.OrderTypes = append(c.Order, aggregate.SortOrder{}), append(c.OrderTypes, a.ArgTypes[i])
		}
	}
	for _, k := range a.OrderBy {
		c.Cols = append(c.Cols, k.Col)
		c.Order = append(c.Order, aggregate.SortOrder{Desc: k.Desc, NullsFirst: k.NullsFirst})
		c.OrderTypes = append(c.OrderTypes, in.Fields[k.Col].Type)
	}
	return c
}

func (b *builder) join(n *physical.Join) (exec.Operator, error) {
	l, r := n.Input[0].Schema(), n.Input[1].Schema()
	return &operator.Join{Kind: operator.JoinKind(n.Kind), LeftKeys: n.LeftKeys, RightKeys: n.RightKeys,
		NullSafe: n.NullSafe, Residual: n.Residual, BuildLeft: n.Broadcast && !n.StaticRight,
		LeftShapes: shapes(l), RightShapes: shapes(r)}, nil
}

func sortKeys(keys []plan.SortKey) []operator.SortKey {
	out := make([]operator.SortKey, len(keys))
	for i, k := range keys {
		out[i] = operator.SortKey{Col: k.Col, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

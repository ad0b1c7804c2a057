package build

import (
	"maps"

	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
)

// workTable holds the rows between two runs of a recursive query.
type workTable = operator.WorkRows

// batchNode builds the nodes that only finite reads have.
func (b *builder) batchNode(n physical.Node) (*exec.Tree, bool, error) {
	t, err := b.batchLeaf(n)
	if t != nil || err != nil {
		return t, true, err
	}
	var op exec.Operator
	switch n := n.(type) {
	case *physical.DistinctOn:
		op = &operator.DistinctSorted{Keys: n.Keys}
	case *physical.SetOp:
		op = &operator.SetOp{Except: n.Except, All: n.All, Shapes: shapes(n.Schema())}
	case *physical.TopN:
		op = &operator.TopN{Keys: batchKeys(n.Schema(), n.Keys), Limit: n.Limit, Offset: n.Offset,
			WithTies: n.WithTies, Shapes: shapes(n.Schema())}
	case *physical.OverWindow:
		op = overWindow(n)
	case *physical.Apply:
		t, err := b.apply(n)
		return t, true, err
	default:
		return nil, false, nil
	}
	t, err = b.over(n, op)
	return t, true, err
}

// batchLeaf builds the leaves that only finite reads have; nil for other nodes.
func (b *builder) batchLeaf(n physical.Node) (*exec.Tree, error) {
	var l exec.Leaf
	switch n := n.(type) {
	case *physical.Values:
		l = &operator.Values{Rows: n.Rows, Shapes: shapes(n.Schema())}
	case *physical.TableFunc:
		l = &operator.TableFunc{Calls: setFuncs(n.Calls), Ordinality: n.WithOrdinality}
	case *physical.WorkTable:
		l = &operator.WorkTable{Rows: b.work[n.Table]}
	case *physical.RecursiveCTE:
		var err error
		if l, err = b.recursive(n); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	return &exec.Tree{Leaf: l, RT: b.runtime(n)}, nil
}

func setFuncs(fs []plan.SetFunc) []operator.SetFunc {
	out := make([]operator.SetFunc, len(fs))
	for i, f := range fs {
		out[i] = operator.SetFunc{Name: f.Name, Args: f.Args, Types: f.Types}
	}
	return out
}

// batchKeys are sort keys that also order the types whose key code does not.
func batchKeys(s *plan.Schema, keys []plan.SortKey) []operator.SortKey {
	out := sortKeys(keys)
	for i, k := range keys {
		if t := s.Fields[k.Col].Type; !plan.KeyOrders(t) {
			out[i].Compare = expr.Comparator(t)
		}
	}
	return out
}

// again returns a function that builds a node over and over, the first time with
// what is built now, so that what cannot be built is known before the read begins.
// many: it will be built more than once.
func (b *builder) again(n physical.Node, many bool) (func() (*exec.Tree, error), error) {
	c := *b
	if many && c.replay == nil {
		c.replay = map[physical.NodeID]*operator.KeptRows{}
	}
	first, err := c.tree(n)
	if err != nil {
		return nil, err
	}
	b.stats = c.stats
	return func() (*exec.Tree, error) {
		if t := first; t != nil {
			first = nil
			return t, nil
		}
		return c.tree(n)
	}, nil
}

// replayed lets a leaf that is built again and again, and gives the same rows each
// time, keep them.
func (b *builder) replayed(n physical.Node, t *exec.Tree) *exec.Tree {
	if b.replay == nil || t == nil {
		return t
	}
	switch n := n.(type) {
	case *physical.SystemScan:
	case *physical.RelationScan:
		for _, e := range n.KeyEq {
			if _, ok := expr.AsConst(e); !ok {
				return t
			}
		}
	default:
		return t
	}
	kept := b.replay[n.ID()]
	if kept == nil {
		kept = &operator.KeptRows{}
		b.replay[n.ID()] = kept
	}
	t.Leaf = &operator.Replay{Leaf: t.Leaf, Kept: kept}
	return t
}

// lookup builds a filter of a subquery that asks a leaf for rows equal to
// something of the enclosing row; nil for other nodes.
func (b *builder) lookup(n physical.Node) (*exec.Tree, error) {
	f, ok := n.(*physical.Filter)
	if !ok || b.replay == nil {
		return nil, nil
	}
	scan := f.Input[0]
	conds := plan.Conjuncts(f.Pred)
	for i, c := range conds {
		col, key, ok := equalsOuter(c)
		if !ok {
			continue
		}
		leaf, known, err := b.leaf(scan)
		if err != nil || !known {
			return nil, err
		}
		r, ok := b.replayed(scan, leaf).Leaf.(*operator.Replay)
		if !ok {
			return nil, nil
		}
		rest := append(conds[:i:i], conds[i+1:]...)
		return &exec.Tree{RT: b.runtime(n), Leaf: &operator.Lookup{Leaf: r.Leaf, LeafRT: leaf.RT, Kept: r.Kept, Col: col,
			Key: key, Rest: plan.Conjunction(rest), Shapes: shapes(scan.Schema())}}, nil
	}
	return nil, nil
}

// equalsOuter tells whether a condition is column = something without columns, of
// a type whose equal values have equal keys.
func equalsOuter(c expr.Expr) (col int, key expr.Expr, ok bool) {
	name, args, ok := expr.AsCall(c)
	if !ok || name != "=" || len(args) != 2 {
		return 0, nil, false
	}
	for i, a := range args {
		col, isCol := plan.ColumnOf(a)
		key := args[1-i]
		if isCol && len(expr.Columns(key)) == 0 && expr.VolatilityOf(key) < expr.Volatile &&
			a.Type().Equal(key.Type()) && operator.Hashable(a.Type()) {
			return col, key, true
		}
	}
	return 0, nil, false
}

func (b *builder) apply(n *physical.Apply) (*exec.Tree, error) {
	left, err := b.tree(n.Input[0])
	if err != nil {
		return nil, err
	}
	rt := b.runtime(n)
	sub, err := b.again(n.Input[1], n.Correlated)
	if err != nil {
		return nil, err
	}
	op := &operator.Apply{Kind: operator.ApplyKind(n.Kind), Test: n.Test, Correlated: n.Correlated, Make: sub,
		Sub: shapes(n.Input[1].Schema())}
	return &exec.Tree{Op: op, RT: rt, Children: []*exec.Tree{left}}, nil
}

// recursive builds a recursive query. What its steps read is theirs alone: the
// same query built again has rows of its own.
func (b *builder) recursive(n *physical.RecursiveCTE) (exec.Leaf, error) {
	first, err := b.tree(n.Input[0])
	if err != nil {
		return nil, err
	}
	c := *b
	c.work = maps.Clone(b.work)
	rows := &workTable{}
	c.work[n.Table] = rows
	step, err := c.again(n.Input[1], true)
	if err != nil {
		return nil, err
	}
	b.stats = c.stats
	return &operator.Recursive{All: n.All, First: first, Step: step, Rows: rows, Shapes: shapes(n.Schema())}, nil
}

func overWindow(n *physical.OverWindow) *operator.OverWindow {
	in := n.Input[0].Schema()
	o := &operator.OverWindow{OrderBy: batchKeys(in, n.OrderBy)}
	by := make([]plan.SortKey, len(n.PartitionBy))
	for i, c := range n.PartitionBy {
		by[i].Col = c
	}
	o.PartitionBy = batchKeys(in, by)
	for _, k := range n.OrderBy {
		o.OrderTypes = append(o.OrderTypes, in.Fields[k.Col].Type)
	}
	for _, c := range n.Calls {
		f := c.Frame
		o.Calls = append(o.Calls, operator.WindowCall{
			Call:      aggregate.Call{Name: c.Name, Args: c.ArgTypes, Result: c.Type},
			Aggregate: c.Aggregate, Cols: c.Args, Filter: c.FilterCol, IgnoreNulls: c.IgnoreNulls,
			Frame: operator.Frame{Unit: f.Unit, Start: f.Start, End: f.End, StartOffset: f.StartOffset,
				EndOffset: f.EndOffset, Exclude: f.Exclude}})
	}
	return o
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// expand gives each row once per grouping set. A column that a set leaves out is
// NULL in its rows, so the watermark bounds no more than what all sets have.
func (lw *lowerer) expand(n *logical.Expand) (physical.Node, error) {
	in, err := lw.node(n.Input())
	if err != nil {
		return nil, err
	}
	e := &physical.Expand{Base: same(in), Cols: n.Cols, Sets: n.Sets}
	e.Out = n.Schema()
	e.Prop.Key, e.Prop.Times, e.Prop.EventTime = nil, nil, -1
	if lw.batch {
		return e, nil
	}
	e.Prop.Twins = nil
	for _, t := range in.Props().Times {
		if !slices.Contains(n.Cols, t.Col) || inAll(n.Sets, t.Col) {
			e.Prop.Times = append(e.Prop.Times, t)
		}
	}
	if len(e.Prop.Times) > 0 {
		e.Prop.EventTime = e.Prop.Times[0].Col
	}
	return e, nil
}

func inAll(sets [][]int, col int) bool {
	for _, s := range sets {
		if !slices.Contains(s, col) {
			return false
		}
	}
	return true
}

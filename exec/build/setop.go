package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/plan/physical"
)

// setFragment routes the rows of both sides by all their columns, so that equal ones
// meet.
func (b *continuousBuilder) setFragment(n *physical.SetOp) (*exec.Fragment, error) {
	var in []exec.Input
	for _, c := range n.Children() {
		f, err := b.node(c)
		if err != nil {
			return nil, err
		}
		in = append(in, exec.Input{From: f, Keys: positions(n.Schema().Len()), Timed: timed(c)})
	}
	f := b.after(max(b.opt.Parallelism, 1), in...)
	b.push(f, n, func() exec.Operator {
		return &operator.SetChanges{Except: n.Except, All: n.All, Shapes: shapes(n.Schema()), Budget: b.budget()}
	})
	return f, nil
}

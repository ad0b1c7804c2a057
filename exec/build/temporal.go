package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/operator"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/physical"
)

// temporalFilter puts a filter on now() behind a hash exchange where its input has
// several tasks: the entries of equal rows are one task's.
func (b *continuousBuilder) temporalFilter(n *physical.TemporalFilter, f *exec.Fragment) *exec.Fragment {
	keys := n.Input[0].Props().Key
	if keys == nil {
		keys = positions(n.Schema().Len())
	}
	if f.Tasks > 1 {
		f = b.after(f.Tasks, exec.Input{From: f, Keys: keys, Timed: timed(n.Input[0])})
	}
	anew := b.static > 0
	b.push(f, n, func() exec.Operator {
		return &operator.TemporalFilter{Bounds: temporalBounds(n.Bounds), Keys: keys, Shapes: shapes(n.Schema()),
			Changing: !n.InputAppendOnly, Unique: !n.InputAppendOnly && n.Input[0].Props().Key != nil, Anew: anew}
	})
	return f
}

func temporalBounds(in []physical.TemporalBound) []operator.TemporalBound {
	out := make([]operator.TemporalBound, len(in))
	for i, b := range in {
		steps := b.Clock
		out[i] = operator.TemporalBound{Op: operator.TemporalOp(b.Op), Row: b.Row, Unless: b.Unless,
			Least: func(x int64) int64 { return plan.LeastClock(steps, x) }}
	}
	return out
}

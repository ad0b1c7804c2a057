package build

import (
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/plan/physical"
)

// timeBounds tells a node's runtime which columns the watermark bounds. A finite
// read has no watermark, in complete mode nothing is late, and behind the operator
// that makes the output nobody asks for the watermark any more: it may hold rows
// past it, to the barrier.
func (b *builder) timeBounds(rt *exec.Runtime, n physical.Node) {
	if b.finite || b.complete {
		return
	}
	switch n.(type) {
	case *physical.Emit, *physical.Materialize, *physical.SinkWrite:
		return
	}
	rt.Times = bounds(n)
	for _, c := range n.Children() {
		in := bounds(c)
		if _, ok := n.(*physical.Watermark); ok {
			in = rt.Times // what comes behind the watermark that it makes
		}
		rt.InTimes = append(rt.InTimes, in)
	}
}

func bounds(n physical.Node) []exec.TimeBound {
	var out []exec.TimeBound
	for _, t := range n.Props().Times {
		out = append(out, exec.TimeBound{Col: t.Col, Lag: t.Lag})
	}
	return out
}

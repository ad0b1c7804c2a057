package operator

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// overAgg computes an aggregate over the frames of a partition. Frames only ever
// move on, so rows are taken in and out as they do; where the aggregate cannot
// take rows out, or the frame has holes, each frame is aggregated anew.
type overAgg struct {
	o      *OverWindow
	c      *WindowCall
	fr     *framer
	out    *arrowbatch.Vec
	args   []*arrowbatch.Vec
	filter *arrowbatch.Vec
	grow   aggregate.Acc // takes rows in
	slide  aggregate.Acc // takes rows in and out; nil where none does

	ids, rows []int32
	deletes   []arrowbatch.Op
}

func newOverAgg(o *OverWindow, c *WindowCall, fr *framer, out *arrowbatch.Vec) (*overAgg, error) {
	a := &overAgg{o: o, c: c, fr: fr, out: out}
	for _, k := range c.Cols {
		a.args = append(a.args, o.rows.Cols[k])
	}
	if c.Filter >= 0 {
		a.filter = o.rows.Cols[c.Filter]
	}
	call := c.Call
	call.AppendOnly = true
	var err error
	if a.grow, err = aggregate.New(call); err != nil {
		return nil, err
	}
	sig, err := aggregate.Lookup(c.Name, c.Args)
	if err == nil && sig.Retractable {
		call.AppendOnly = false
		a.slide, err = aggregate.New(call)
	}
	return a, err
}

// partition appends the results of a partition.
func (a *overAgg) partition(p *partition) error {
	if err := a.fr.frames(p); err != nil {
		return err
	}
	n := p.hi - p.lo
	cost, moves := 0, false
	for k := range n {
		cost += a.fr.hi[k] - a.fr.lo[k]
		moves = moves || a.fr.lo[k] != a.fr.lo[0]
	}
	switch {
	case a.fr.f.Exclude != 0:
		return a.anew(p)
	case !moves:
		return a.moving(p, a.grow)
	case a.slide == nil || cost <= 16*n:
		return a.anew(p)
	}
	return a.moving(p, a.slide)
}

// update takes rows lo to hi-1 in, or out.
func (a *overAgg) update(acc aggregate.Acc, lo, hi int, out bool) {
	a.rows = a.rows[:0]
	for i := lo; i < hi; i++ {
		if a.filter == nil || !a.filter.IsNull(i) && a.filter.Bits.Get(i) {
			a.rows = append(a.rows, int32(i))
		}
	}
	for len(a.ids) < len(a.rows) {
		a.ids = append(a.ids, 0)
	}
	var ops []arrowbatch.Op
	if out {
		if a.deletes == nil {
			a.deletes = slices.Repeat([]arrowbatch.Op{arrowbatch.Delete}, a.o.rows.Len)
		}
		ops = a.deletes
	}
	acc.Update(a.ids[:len(a.rows)], a.rows, a.args, ops)
}

var firstGroup = []int32{0}

// result appends the accumulator's result.
func (a *overAgg) result(acc aggregate.Acc) (err error) {
	acc.Result(firstGroup, a.out, func(_ int, e *sqlerr.Error) { err = e })
	return err
}

func reset(acc aggregate.Acc) {
	acc.Reset()
	acc.Grow(1)
}

// moving takes rows in and out as the frame moves.
func (a *overAgg) moving(p *partition, acc aggregate.Acc) error {
	reset(acc)
	lo, hi := a.fr.lo[0], a.fr.lo[0]
	for i := p.lo; i < p.hi; i++ {
		k := i - p.lo
		l, h := a.fr.lo[k], max(a.fr.hi[k], hi)
		if k > 0 && l == lo && h == hi {
			a.out.AppendFrom(a.out, a.out.N-1)
			continue
		}
		if k%64 == 0 {
			if err := a.o.rt.Ctx.Err(); err != nil {
				return err
			}
		}
		if l >= hi && l > lo {
			reset(acc)
			lo, hi = l, l
			h = max(h, l)
		} else if l > lo {
			a.update(acc, lo, l, true)
			lo = l
		}
		if h > hi {
			a.update(acc, hi, h, false)
			hi = h
		}
		if err := a.result(acc); err != nil {
			return err
		}
	}
	return nil
}

// anew aggregates each frame by itself.
func (a *overAgg) anew(p *partition) error {
	for i := p.lo; i < p.hi; i++ {
		if err := a.o.rt.Ctx.Err(); err != nil {
			return err
		}
		reset(a.grow)
		for _, s := range a.fr.segments(p, i) {
			a.update(a.grow, s.lo, s.hi, false)
		}
		if err := a.result(a.grow); err != nil {
			return err
		}
	}
	return nil
}

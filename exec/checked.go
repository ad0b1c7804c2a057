package exec

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/invariants"
)

// TimeBound says that a watermark bounds a column: once it is at v + Lag, no row
// with the value v is added any more. Lag is in microseconds.
type TimeBound struct {
	Col int
	Lag int64
}

// checked watches an operator in checked builds: it is what the chain calls in the
// operator's place. It tells of
//
//   - a watermark that falls, at the input or at the output,
//   - a row that is added behind the watermark that the operator has forwarded,
//   - barriers out of order, and
//   - anything that comes or leaves after the last barrier.
//
// A row that came in late may leave late: only operators that judge rows by the
// watermark (Resumer) drop such rows, the others pass them on.
type checked struct {
	op     Operator
	rt     *Runtime
	out    Output
	broken func(format string, args ...any)

	made    bool                 // the operator makes watermarks
	judge   bool                 // and this one drops late rows
	in      arrowbatch.EventTime // watermark told
	fwd     arrowbatch.EventTime // watermark forwarded
	epoch   uint64
	stopped bool
	passing bool // the batch that is being processed has a late row
}

// watched returns op, in checked builds with a watch on it.
func watched(op Operator, rt *Runtime) Operator {
	if !invariants.Enabled {
		return op
	}
	return newChecked(op, rt, invariants.Broken)
}

func newChecked(op Operator, rt *Runtime, broken func(string, ...any)) *checked {
	c := &checked{op: op, rt: rt, broken: broken, in: arrowbatch.NoTime, fwd: arrowbatch.NoTime}
	_, c.made = op.(WatermarkSource)
	_, c.judge = op.(Resumer)
	return c
}

func (c *checked) fail(format string, args ...any) {
	c.broken("operator %s (%d, part %d): %s", c.rt.Stats.Name, c.rt.Stats.ID, c.rt.Part, fmt.Sprintf(format, args...))
}

func (c *checked) alive(what string) {
	if c.stopped {
		c.fail("%s after the last barrier, of epoch %d", what, c.epoch)
	}
}

// Open stands between the operator and its output.
func (c *checked) Open(rt *Runtime, out Output) error {
	c.out = out
	return c.op.Open(rt, emitted{c})
}

// Resume notes the checkpoint's watermark: it was forwarded in another life.
func (c *checked) Resume(w arrowbatch.EventTime) {
	c.in, c.fwd = w, w
	c.op.(Resumer).Resume(w)
}

func (c *checked) ProcessBatch(input int, b *arrowbatch.Batch) error {
	c.alive("rows come")
	if !c.judge && input < len(c.rt.InTimes) { // none in a finite read
		c.passing = behind(b, c.rt.InTimes[input], c.in) >= 0
	}
	err := c.op.ProcessBatch(input, b)
	c.passing = false
	return err
}

func (c *checked) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	c.alive("a watermark comes")
	if !c.made {
		if w < c.in {
			c.fail("its watermark falls from %d to %d", c.in, w)
		}
		c.in = w
	}
	fwd, err := c.op.ProcessWatermark(w)
	switch {
	case err != nil:
	case fwd < c.fwd:
		c.fail("it forwards the watermark %d after %d", fwd, c.fwd)
	case !c.made && fwd > w:
		c.fail("it forwards the watermark %d and was told %d", fwd, w)
	default:
		c.fwd = fwd
		if c.made {
			c.in = fwd
		}
	}
	return fwd, err
}

func (c *checked) ProcessBarrier(b Barrier) error {
	c.alive("a barrier comes")
	if b.Epoch <= c.epoch {
		c.fail("the barrier of epoch %d comes after that of epoch %d", b.Epoch, c.epoch)
	}
	c.epoch = b.Epoch
	err := c.op.ProcessBarrier(b)
	c.stopped = b.Stop
	return err
}

func (c *checked) Close() { c.op.Close() }

// emitted is the Output of a checked operator.
type emitted struct{ c *checked }

func (e emitted) Emit(b *arrowbatch.Batch) error {
	c := e.c
	c.alive("rows leave")
	if !c.passing {
		if i := behind(b, c.rt.Times, c.fwd); i >= 0 {
			c.fail("it has forwarded the watermark %d and adds the row %s, times %v", c.fwd, rowText(b, i), c.rt.Times)
		}
	}
	return c.out.Emit(b)
}

// behind returns the first row that is added with a time at or behind w, -1: none.
// The infinities are no times.
func behind(b *arrowbatch.Batch, times []TimeBound, w arrowbatch.EventTime) int {
	if w == arrowbatch.NoTime {
		return -1
	}
	for _, t := range times {
		if w < arrowbatch.NoTime+t.Lag {
			continue
		}
		v := b.Cols[t.Col]
		for i := range b.Len {
			if b.OpAt(i) == arrowbatch.Delete || v.IsNull(i) {
				continue
			}
			x := v.I64[i]
			if x != arrowbatch.MaxTime && x != arrowbatch.NoTime && x <= w-t.Lag {
				return i
			}
		}
	}
	return -1
}

// rowText shows a row, whatever its types.
func rowText(b *arrowbatch.Batch, i int) string {
	one := b.Take([]int32{int32(i)})
	defer one.Release()
	return strings.TrimSpace(arrowbatch.Pretty(one))
}

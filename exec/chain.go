package exec

import (
	"fmt"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
)

// link is one operator of a chain with its runtime.
type link struct {
	op   Operator
	run  Operator // op, in checked builds with a watch on it
	rt   *Runtime
	last arrowbatch.EventTime // watermark last told
	end  *chain               // set in the last operator of the plan
}

// chain is a line of operators fused into one goroutine: each one's output is
// the next one's input, by a plain call.
type chain struct {
	links []*link
	out   Output
	// outW and outBar carry what has passed the last operator.
	outW   func(w, floor arrowbatch.EventTime, idle bool) error
	outBar func(Barrier) error
	w      arrowbatch.EventTime // that left the last operator
	sentW  arrowbatch.EventTime
	// stand tells where the chain stands; nil: where its watermark is.
	stand func() arrowbatch.EventTime
	// floor is what had left the chain before a restart.
	floor, sentFloor arrowbatch.EventTime
	// idle: the input holds nothing back, which the output is told with the watermark.
	idle, sentIdle bool
	now            int64 // what now() is
	makes          int   // where the last operator is that makes watermarks
	// stamp are the times of the rows in work, oldest the earliest of the epoch.
	stamp, oldest stamps
	// took are the latencies of the epoch; nil where the plan does not end here.
	took  *Latencies
	clock clock.Clock
}

// next is the Output that calls the following operator.
type next struct{ l *link }

func (n next) Emit(b *arrowbatch.Batch) error {
	if b.Len == 0 {
		b.Release()
		return nil
	}
	n.l.rt.Stats.RowsIn(b.Len)
	if n.l.end != nil {
		n.l.end.arrived(b)
	}
	return n.l.run.ProcessBatch(0, b)
}

// counted counts the rows that leave an operator.
type counted struct {
	stats *OpStats
	out   Output
}

func (c counted) Emit(b *arrowbatch.Batch) error {
	c.stats.RowsOut(b.Len)
	return c.out.Emit(b)
}

func (c *chain) open() error {
	c.w, c.sentW, c.floor, c.sentFloor = arrowbatch.NoTime, arrowbatch.NoTime, arrowbatch.NoTime, arrowbatch.NoTime
	for i, l := range c.links {
		if _, gen := l.op.(WatermarkSource); gen {
			c.makes = i
		}
		l.last = arrowbatch.NoTime
		out := c.out
		if i+1 < len(c.links) {
			out = next{c.links[i+1]}
		}
		if err := l.run.Open(l.rt, counted{l.rt.Stats, out}); err != nil {
			return fmt.Errorf("%s: %w", l.rt.Stats.Name, err)
		}
	}
	return nil
}

// Resumer is an operator that judges rows by the watermark. Before it sees a row
// it is told the watermark that it knew at the checkpoint: what was late or closed
// then stays so.
type Resumer interface {
	Resume(w arrowbatch.EventTime)
}

// save puts the counters and the watermarks of resumers into the checkpoint.
func (c *chain) save(a *Ack) {
	for _, l := range c.links {
		a.addCounts(l.rt.Stats)
		if _, ok := l.op.(Resumer); ok && l.last != arrowbatch.NoTime {
			a.Watermarks[l.rt.Stats.Key()] = map[string]int64{"": l.last}
		}
	}
}

// resume gives resumers the checkpoint's watermarks, by operator and split.
func (c *chain) resume(saved map[string]map[string]int64) {
	for _, l := range c.links {
		if _, ok := l.op.(Resumer); !ok {
			continue
		}
		if w, ok := saved[l.rt.Stats.Key()][""]; ok {
			l.last = w
			c.rest(w)
			l.run.(Resumer).Resume(w)
		}
	}
}

// rest notes a watermark that the chain had passed on before a restart.
func (c *chain) rest(w arrowbatch.EventTime) {
	if w != arrowbatch.MaxTime {
		c.floor = max(c.floor, w)
	}
}

// batch gives rows to the first operator, or straight to the output of an empty
// chain.
func (c *chain) batch(input int, b *arrowbatch.Batch) error {
	if b.Len == 0 {
		b.Release()
		return nil
	}
	c.stamped(b)
	if len(c.links) == 0 {
		return c.out.Emit(b)
	}
	l := c.links[0]
	l.rt.Stats.RowsIn(b.Len)
	if l.end != nil {
		c.arrived(b)
	}
	err := l.run.ProcessBatch(input, b)
	c.stamp = c.oldest
	return err
}

// watermark tells the operators in turn, as far as it rises, and then the output,
// which gets the standing: see Meeting.
func (c *chain) watermark(w arrowbatch.EventTime) error {
	w, err := c.raise(w)
	if err != nil {
		return err
	}
	c.w = max(w, c.w)
	stand := c.w
	if c.stand != nil && c.w != arrowbatch.MaxTime {
		stand = c.stand()
	}
	if stand == c.sentW && c.idle == c.sentIdle && c.floor == c.sentFloor {
		return nil
	}
	c.sentW, c.sentIdle, c.sentFloor = stand, c.idle, c.floor
	return c.outW(stand, c.floor, c.idle)
}

// raise tells the operators and returns what leaves the last one; NoTime when it
// has not risen for one of them. Below an operator that makes watermarks, those that
// come from the input need not rise.
func (c *chain) raise(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	for i, l := range c.links {
		if _, gen := l.op.(WatermarkSource); !gen {
			if w <= l.last {
				if i < c.makes {
					continue
				}
				return arrowbatch.NoTime, nil
			}
			l.last = w
		}
		var err error
		if w, err = l.run.ProcessWatermark(w); err != nil {
			return w, fmt.Errorf("%s: %w", l.rt.Stats.Name, err)
		}
	}
	return w, nil
}

// barrier ends the epoch in each operator in turn.
func (c *chain) barrier(b Barrier) error {
	for _, l := range c.links {
		if err := l.run.ProcessBarrier(b); err != nil {
			return fmt.Errorf("%s: %w", l.rt.Stats.Name, err)
		}
		l.rt.Eager = b.Eager
	}
	c.stamp, c.oldest = stamps{}, stamps{}
	return c.outBar(b)
}

// at sets what now() is.
func (c *chain) at(now int64) {
	if now == c.now {
		return
	}
	c.now = now
	for _, l := range c.links {
		l.rt.Eval.Now = now
	}
}

func (c *chain) close() {
	for _, l := range c.links {
		l.run.Close()
	}
}

// WatermarkSource is an operator that makes watermarks from rows. Its
// ProcessWatermark is called at each chance, with NoTime or, when the input has
// ended, MaxTime, and returns the watermark so far.
type WatermarkSource interface {
	// Splits names the splits that rows come from; Batch.Split counts in it.
	// restored has their watermarks from the checkpoint.
	Splits(ids []string, restored map[string]int64)
	// Idle notes that a split holds the watermark back (or again).
	Idle(split int, idle bool)
	// Steady: the watermark rises without rows, so it is never idle.
	Steady() bool
	// Reading returns each split's watermark and the standing of all; see Meeting.
	Reading() (bySplit map[string]int64, standing arrowbatch.EventTime)
	// Standing returns the latter.
	Standing() arrowbatch.EventTime
}

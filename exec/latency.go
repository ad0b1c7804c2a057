package exec

import (
	"math/bits"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/clock"
)

// Latencies are how long the rows of an epoch took, in microseconds.
type Latencies struct {
	// Queuing is from when a record was put where it was read until it was read.
	Queuing Latency
	// Processing is from when the oldest row of a batch came into the engine until
	// what came of it reached the end of the plan.
	Processing Latency
	// EndToEnd is from when its oldest record was put where it was read until then.
	EndToEnd Latency
}

// Merge adds others.
func (l *Latencies) Merge(o *Latencies) {
	if o == nil {
		return
	}
	l.Queuing.merge(&o.Queuing)
	l.Processing.merge(&o.Processing)
	l.EndToEnd.merge(&o.EndToEnd)
}

// A Latency counts rows by classes of time: up to 16 µs each has its own, beyond that there
// are eight between a power of two and the next.
type Latency struct {
	counts [latencyClasses]int64
	Rows   int64
}

const (
	exactLatencies = 16 // the powers of two are split from here on
	perPower       = 8
	latencyClasses = exactLatencies + perPower*(63-4)
)

// Add counts rows that took so long; a clock that went back makes it no time.
func (l *Latency) Add(micros int64, rows int) {
	l.counts[latencyClass(max(micros, 0))] += int64(rows)
	l.Rows += int64(rows)
}

func latencyClass(v int64) int {
	if v < exactLatencies {
		return int(v)
	}
	power := bits.Len64(uint64(v)) - 1
	return exactLatencies + perPower*(power-4) + int(v>>(power-3))&(perPower-1)
}

// leastOf is the least time of a class.
func leastOf(class int) int64 {
	if class < exactLatencies {
		return int64(class)
	}
	k := class - exactLatencies
	return int64(perPower+k%perPower) << (k/perPower + 1)
}

func (l *Latency) merge(o *Latency) {
	if o.Rows == 0 {
		return
	}
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.Rows += o.Rows
}

// Quantile is the time that a share of the rows, from 0 to 1, did not exceed, to an
// eighth: the middle of its class. It is 0 where no row was counted.
func (l *Latency) Quantile(share float64) int64 {
	before, class := int64(0), 0
	for i, n := range l.counts {
		if n == 0 {
			continue
		}
		class = i
		if before += n; float64(before) >= share*float64(l.Rows) {
			break
		}
	}
	least := leastOf(class)
	if class < exactLatencies || class == latencyClasses-1 {
		return least
	}
	return least + (leastOf(class+1)-least)/2
}

// Shares are the quantiles of a LatencyQuantiles.
var Shares = [5]float64{0, 0.5, 0.9, 0.95, 0.99}

// LatencyQuantiles are those of the rows counted, in microseconds.
type LatencyQuantiles struct {
	Rows int64
	At   [len(Shares)]int64
}

// LatencySummary is what is kept of Latencies.
type LatencySummary struct{ Queuing, Processing, EndToEnd LatencyQuantiles }

// Summary returns the quantiles.
func (l *Latencies) Summary() LatencySummary {
	return LatencySummary{l.Queuing.quantiles(), l.Processing.quantiles(), l.EndToEnd.quantiles()}
}

func (l *Latency) quantiles() LatencyQuantiles {
	q := LatencyQuantiles{Rows: l.Rows}
	for i, share := range Shares {
		q.At[i] = l.Quantile(share)
	}
	return q
}

// stamps are the times that rows carry: see Batch.Entered and Batch.Appended.
type stamps struct{ entered, appended int64 }

func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// stamped notes what a chain works on; rows that leave it outside of a batch are as old as
// the oldest of the epoch.
func (c *chain) stamped(b *arrowbatch.Batch) {
	c.stamp = stamps{b.Entered, b.Appended}
	c.oldest = stamps{earlier(c.oldest.entered, b.Entered), earlier(c.oldest.appended, b.Appended)}
}

// carry gives a batch that leaves the chain the times of what it came of.
func (c *chain) carry(b *arrowbatch.Batch) {
	if b.Entered == 0 {
		b.Entered = c.stamp.entered
	}
	if b.Appended == 0 {
		b.Appended = c.stamp.appended
	}
}

// arrived counts rows that reach the end of the plan.
func (c *chain) arrived(b *arrowbatch.Batch) {
	entered, appended := b.Entered, b.Appended
	if entered == 0 {
		entered = c.stamp.entered
	}
	if appended == 0 {
		appended = c.stamp.appended
	}
	if entered == 0 {
		return
	}
	now := clock.Micros(c.clock)
	c.took.Processing.Add(now-entered, b.Len)
	if appended != 0 {
		c.took.EndToEnd.Add(now-appended, b.Len)
	}
}

// ends makes the chain count latencies if the plan ends in it.
func (c *chain) ends() {
	if _, last := c.out.(discard); last && len(c.links) > 0 {
		c.took = &Latencies{}
		c.links[len(c.links)-1].end = c
	}
}

package stream

import (
	"math"

	"github.com/streamsql/streamsql/exec"
)

// leastState is what every query may hold of its state, however many there are.
const leastState = 1 << 20

// stateMemory is how many bytes of its state the query may hold in memory: what its
// option says, or an equal share of what the server has for all that run.
func (q *Query) stateMemory() int64 {
	_, opt := q.options()
	if opt.stateMemory > 0 {
		return opt.stateMemory
	}
	all := q.m.cfg.StateMemory
	if all <= 0 {
		return math.MaxInt64
	}
	return max(all/max(q.m.running.Load(), 1), leastState)
}

// firstEpochRows is what the first epoch of a run reads of a split where the memory for
// state is bounded: how much an epoch's rows take is not known yet.
const firstEpochRows = 1 << 12

// firstRows is how many rows of a split the first epoch of a run reads.
func (q *Query) firstRows() int64 {
	limit := int64(q.m.cfg.MaxEpochRows)
	if q.stateMemory() == math.MaxInt64 {
		return limit
	}
	return min(limit, firstEpochRows)
}

// leastEpochRows is what an epoch may always read of a split.
const leastEpochRows = 1 << 10

// fit bounds the next epoch's rows so that what it changes takes no more than a quarter of
// the query's memory for state, going by the last epoch.
func (r *run) fit(acks []*exec.Ack) {
	rows, bytes := int64(0), int64(0)
	for _, a := range acks {
		rows += a.Rows
		if a.Delta != nil {
			bytes += int64(a.Delta.Bytes())
		}
	}
	limit := int64(r.q.m.cfg.MaxEpochRows)
	target := r.q.stateMemory() / 4
	switch {
	case bytes > target && rows > 0:
		r.maxRows = min(max(int64(float64(rows)*float64(target)/float64(bytes)), leastEpochRows), limit)
	case r.maxRows < limit:
		r.maxRows = min(2*r.maxRows, limit)
	}
}

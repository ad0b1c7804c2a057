package exec

import (
	"time"

	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/state"
)

// Ack is a task's part of a checkpoint: what one epoch left in it.
type Ack struct {
	Task  int
	Epoch uint64
	// Name and Part tell which task of which fragment it is, Busy how long it did not wait
	// for rows in the epoch; what it waited for those who take its own is in it.
	Name string
	Part int
	Busy time.Duration
	// Latencies are of tasks at the ends of the plan: reading, or taking the result.
	Latencies *Latencies
	Delta     *state.Delta
	// Offsets are the offsets reached, by source and split; source tasks only.
	Offsets map[string]map[string]connector.Offset
	// Splits tell of the task's splits; source tasks only.
	Splits []SplitReading
	// Watermarks are by watermark operator and split.
	Watermarks map[string]map[string]int64
	// Own are the watermarks that source tasks have made, by watermark operator.
	Own map[string]OwnWatermark
	// Prepared is by sink operator.
	Prepared map[string][][]byte
	// Rows read from sources in the epoch.
	Rows int64
	// Now is what now() was in the task at last.
	Now int64
	// Ended: the task's sources have ended for good.
	Ended bool
	// Counts are the operators' counters at the barrier, by operator.
	Counts map[string][]int64
	// Late are rows that operators dropped as late in the epoch, as far as they are
	// to be kept.
	Late []LateRows
	// Failed are the last rows whose expressions failed.
	Failed []FailedRow
	// Source names the task's source, BadRows counts its records that could not be
	// decoded and the gaps in it, DeadLetters those records that were sent on, Lost the
	// offsets in the gaps, and Bad are those to be kept.
	Source      string
	BadRows     int64
	DeadLetters int64
	Lost        int64
	Bad         []connector.BadRow
	// Cut: a split was stopped by the pace's row limit before its bound.
	Cut bool
	// Wake is when the task's operators have something to do though no row comes, in
	// microseconds since the Unix epoch; NoWake: never.
	Wake int64
	// Chore is the same for what changes no result, and is no reason to go on.
	Chore int64

	lateRows int // in Late
	badBytes int // in Bad
	done     []func()
}

// NoWake is a time that does not come.
const NoWake = math.MaxInt64

// SplitReading tells how a split fares.
type SplitReading struct {
	ID string
	// LastRow is the end of the last epoch that had rows of it; zero: none had since
	// the query began to run.
	LastRow time.Time
	// Idle: it holds no watermark back. Ended: it has no more rows ever.
	Idle, Ended bool
}

// OwnWatermark is what a task has come to with its splits of a source.
type OwnWatermark struct {
	At   arrowbatch.EventTime
	Idle bool // it holds nothing back
}

// NewAck returns the empty acknowledgement of an epoch of a task, with a delta of s,
// which may be nil.
func NewAck(task int, s *state.Store) *Ack {
	a := &Ack{Task: task, Watermarks: map[string]map[string]int64{}, Own: map[string]OwnWatermark{},
		Prepared: map[string][][]byte{}, Counts: map[string][]int64{}, Wake: NoWake, Chore: NoWake}
	if s != nil {
		a.Delta = s.NewDelta()
	}
	return a
}

// Done must be called once, when the epoch's commit has ended, well or not.
func (a *Ack) Done() {
	for _, f := range a.done {
		f()
	}
	a.done = nil
	for _, l := range a.Late {
		l.Rows.Release()
	}
	a.Late = nil
}

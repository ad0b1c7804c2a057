package exec

import (
	"strconv"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
)

type counter struct{ atomic.Int64 }

// RowsIn adds rows that came in.
func (s *OpStats) RowsIn(n int) {
	if !s.Second {
		s.rowsIn.Add(int64(n))
	}
}

// RowsOut adds rows that left.
func (s *OpStats) RowsOut(n int) {
	if !s.First {
		s.rowsOut.Add(int64(n))
	}
}

// Late adds rows dropped whole as late.
func (s *OpStats) Late(n int) { s.late.Add(int64(n)) }

// Partial adds rows that were late for some of their windows only.
func (s *OpStats) Partial(n int) { s.partial.Add(int64(n)) }

// NullTime adds rows left out for want of an event time.
func (s *OpStats) NullTime(n int) { s.nullTime.Add(int64(n)) }

// Dups adds rows dropped as duplicates.
func (s *OpStats) Dups(n int) { s.dups.Add(int64(n)) }

// Failed adds rows whose expressions failed.
func (s *OpStats) Failed(n int) { s.failed.Add(int64(n)) }

// DeadLetters adds rows that a sink sent elsewhere, for the other end does not take them.
func (s *OpStats) DeadLetters(n int64) { s.deadLetters.Add(n) }

// State sets the size of the state.
func (s *OpStats) State(groups, bytes int) {
	s.groups.Store(int64(groups))
	s.bytes.Store(int64(bytes))
}

// Counts returns what was counted since the query was created, as a checkpoint
// keeps it: see Restore.
func (s *OpStats) Counts() []int64 {
	return []int64{s.rowsIn.Load(), s.rowsOut.Load(), s.late.Load(), s.partial.Load(), s.nullTime.Load(),
		s.dups.Load(), s.failed.Load(), s.deadLetters.Load()}
}

// Restore sets the counters to what a checkpoint has.
func (s *OpStats) Restore(counts []int64) {
	for i, c := range []*counter{&s.rowsIn, &s.rowsOut, &s.late, &s.partial, &s.nullTime, &s.dups, &s.failed,
		&s.deadLetters} {
		if i < len(counts) {
			c.Store(counts[i])
		}
	}
}

// Due sets the watermark at which the next window closes; MaxTime: none is open.
func (s *OpStats) Due(w arrowbatch.EventTime) { s.due.Store(w ^ arrowbatch.MaxTime) } // 0 is none

// StatsValues is a reading of OpStats.
type StatsValues struct {
	ID                                    int
	Name                                  string
	RowsIn, RowsOut, Late, Partial        int64
	NullTime, Dups, Failed, Groups, Bytes int64
	DeadLetters                           int64
	// Due is the watermark at which the next window closes, MaxTime for none.
	Due arrowbatch.EventTime
}

// Since sets the counters to what was counted between two checkpoints, as Counts gives
// them.
func (v *StatsValues) Since(now, before []int64) {
	for i, c := range []*int64{&v.RowsIn, &v.RowsOut, &v.Late, &v.Partial, &v.NullTime, &v.Dups, &v.Failed,
		&v.DeadLetters} {
		*c = 0
		if i < len(now) {
			*c = now[i]
		}
		if i < len(before) {
			*c -= before[i]
		}
	}
}

// Key is the operator's name in checkpoints.
func (v *StatsValues) Key() string { return strconv.Itoa(v.ID) }

// Read returns the present values.
func (s *OpStats) Read() StatsValues {
	return StatsValues{s.ID, s.Name, s.rowsIn.Load(), s.rowsOut.Load(), s.late.Load(), s.partial.Load(),
		s.nullTime.Load(), s.dups.Load(), s.failed.Load(), s.groups.Load(), s.bytes.Load(), s.deadLetters.Load(),
		s.due.Load() ^ arrowbatch.MaxTime}
}

// Key is the operator's name in checkpoints: its number in the plan.
func (s *OpStats) Key() string { return strconv.Itoa(s.ID) }

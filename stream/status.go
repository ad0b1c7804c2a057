package stream

import (
	"time"

	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// State is where a query is in its life.
type State uint8

// The states.
const (
	Creating State = iota
	Running
	Waiting // has failed or cannot reach an end, and tries again
	Failed
	Paused
	Finished
)

func (s State) String() string {
	return [...]string{"creating", "running", "waiting", "failed", "paused", "finished"}[s]
}

// Status is what is known of a query.
type Status struct {
	ID           uint32
	Schema, Name string
	Kind         string
	State        State
	Trigger      string
	OutputMode   string
	Pool         string
	// Err is why the query waits or has failed.
	Err      *sqlerr.Error
	Epoch    uint64
	Started  time.Time
	Restarts int
	// RowsIn and BadRows count rows and records that could not be decoded, read from
	// sources since the query was created, and Sources does by source.
	RowsIn  int64
	BadRows int64
	// DeadLetters are the bad ones of them that were sent on, Lost offsets that the
	// sources no longer had.
	DeadLetters int64
	Lost        int64
	Sources     []SourceStatus
	Watermark   int64 // least of the query's watermark operators, NoTime for none
	// Marks are the watermark operators; MaxOverSources: the greatest of them counts.
	Marks          []MarkStatus
	MaxOverSources bool
	Operators      []exec.StatsValues
	// Offsets are the committed ones by source name and split.
	Offsets map[string]map[string]string
	// Duration and Commit are those of the last epoch.
	Duration, Commit time.Duration
	lag              *lagging
}

// SourceStatus is what a query has read of a source. A static side counts from the
// query's start.
type SourceStatus struct {
	// Operator is the source's place in the plan.
	Operator string
	Name     string
	Rows     int64
	Bad      int64
	// DeadLetters are those of the bad ones that were sent on, Lost offsets that were no
	// longer there.
	DeadLetters int64
	Lost        int64
}

// read sets what was read of the sources.
func (s *Status) read(sources []SourceStatus) {
	s.Sources, s.RowsIn, s.BadRows, s.DeadLetters, s.Lost = sources, 0, 0, 0, 0
	for _, x := range sources {
		s.DeadLetters, s.Lost = s.DeadLetters+x.DeadLetters, s.Lost+x.Lost
		s.RowsIn, s.BadRows = s.RowsIn+x.Rows, s.BadRows+x.Bad
	}
}

// failure is the error that a failed query gives to those who depend on it.
func (s *Status) failure() error {
	e := *s.Err
	e.Pos = 0
	return e.WithDetail("%s %s is %s%s", s.Kind, s.Name, s.State, detail(s.Err))
}

func detail(e *sqlerr.Error) string {
	if e.Detail == "" {
		return "."
	}
	return ". " + e.Detail
}

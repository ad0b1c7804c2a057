package stream

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// MarkStatus is where a watermark operator stands, as of the last committed epoch.
type MarkStatus struct {
	Operator int
	// Source is the relation that is read, with its place in the plan; both "" where
	// the rows come from several or from none.
	Source, SourceID string
	// Column is the event time; Zoned: it is a timestamp with time zone.
	Column string
	Zoned  bool
	// Delay is what the column is ahead of the watermark by, in microseconds; with
	// Expr, its text, the watermark is that instead.
	Delay int64
	Expr  string
	// Clock: the watermark follows processing time.
	Clock bool
	// Greatest: that of the furthest split counts, not of the last.
	Greatest bool
	// Watermark is NoTime for none and MaxTime once the source has ended.
	Watermark arrowbatch.EventTime
	// IdleTimeout is the source's; 0: never.
	IdleTimeout time.Duration
	Splits      []SplitStatus
}

// SplitStatus is how a split fares.
type SplitStatus struct {
	exec.SplitReading
	Watermark arrowbatch.EventTime
}

// Delayed tells the watermark's definition: the column, less the delay.
func (m *MarkStatus) Delayed() string {
	switch {
	case m.Expr != "":
		return m.Expr
	case m.Delay == 0:
		return m.Column
	}
	return m.Column + " - " + plan.Micros(m.Delay)
}

// split keeps what the tasks tell of their splits.
func (r *run) split(a *exec.Ack) {
	if a.Source == "" {
		return
	}
	if r.splits == nil {
		r.splits = map[string]map[string]exec.SplitReading{}
	}
	if r.splits[a.Source] == nil {
		r.splits[a.Source] = map[string]exec.SplitReading{}
	}
	for _, s := range a.Splits {
		r.splits[a.Source][s.ID] = s
	}
}

// markStatus is where the watermark operators stand after an epoch, in the order of
// the plan.
func (r *run) markStatus(cp *state.Checkpoint) []MarkStatus {
	var out []MarkStatus
	for op, m := range r.c.Marks {
		if m.Static {
			continue
		}
		f := m.Node.Out.Fields[m.Node.Column]
		id, _ := strconv.Atoi(op)
		s := MarkStatus{Operator: id, SourceID: m.Source, Column: f.Name, Zoned: f.Type.ID == types.Timestamptz,
			Delay: m.Node.Delay, Clock: m.Node.Clock, Greatest: m.Greatest, Watermark: arrowbatch.NoTime}
		if m.Node.Expr != nil {
			s.Expr = m.Node.Expr.String()
		}
		if w, ok := cp.Watermarks[op][""]; ok {
			s.Watermark = w
		}
		if src := r.c.Sources[m.Source]; src != nil {
			s.Source, s.IdleTimeout = src.Object.Name.Name, src.Splits.IdleTimeout
		}
		for split, reading := range r.splits[m.Source] {
			x := SplitStatus{SplitReading: reading, Watermark: arrowbatch.NoTime}
			if w, ok := cp.Watermarks[op][split]; ok {
				x.Watermark = w
			}
			s.Splits = append(s.Splits, x)
		}
		slices.SortFunc(s.Splits, func(a, b SplitStatus) int { return cmp.Compare(a.ID, b.ID) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b MarkStatus) int { return cmp.Compare(a.Operator, b.Operator) })
	return out
}

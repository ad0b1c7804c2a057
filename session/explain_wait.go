package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/stream"
)

func (s *Session) prepareExplainWait(t *sql.ExplainWait) (*statement, error) {
	o, err := s.resolve(t.Name)
	if err != nil {
		return nil, err
	}
	if !o.Runs() {
		return nil, notAQuery(o, t.Name)
	}
	cols := textColumns("QUERY WAIT")
	st := &statement{s: s, cols: cols}
	st.start = func(context.Context, *arrowbatch.Batch) (run, error) {
		return &listing{tag: "EXPLAIN", do: func(context.Context) (*arrowbatch.Batch, error) {
			var lines []string
			if q, ok := s.srv.Queries.(interface{ Status() []stream.Status }); ok {
				for _, x := range q.Status() {
					if x.ID == uint32(o.ID) {
						w := waiting{Status: x, env: s.Env(), now: clock.Micros(s.srv.Clock)}
						lines = w.explain()
					}
				}
			}
			return textRows(cols, lines), nil
		}}, nil
	}
	return st, nil
}

// waiting tells what a continuous query waits for.
type waiting struct {
	stream.Status
	env *types.Env
	now int64
	out []string
}

func (w *waiting) line(format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf(format, args...))
}

func (w *waiting) explain() []string {
	state := "state: " + w.State.String()
	if w.Err != nil {
		state += " (" + w.Err.Error() + ")"
	}
	w.line("%s, trigger %s, epoch %d", state, w.Trigger, w.Epoch)
	for _, src := range slices.Sorted(maps.Keys(w.Offsets)) {
		for _, split := range slices.Sorted(maps.Keys(w.Offsets[src])) {
			w.line("read: source %s, split %s, up to offset %s%s", w.sourceName(src), split, w.Offsets[src][split],
				w.lag(src, split))
		}
	}
	w.watermarks()
	op, due := w.due()
	switch {
	case op != "" && w.Watermark == arrowbatch.NoTime:
		w.line("next: %s closes a window at watermark %s", op, w.time(due))
	case op != "":
		w.line("next: %s closes a window at watermark %s, which is %s away", op, w.time(due), span(due-w.Watermark))
	case len(w.Marks) > 0:
		w.line("next: no window is open")
	}
	w.unblock(due)
	return w.out
}

// lag tells how far a split is behind, "" where that is not known.
func (w *waiting) lag(src, split string) string {
	for _, l := range w.Splits() {
		switch {
		case l.Operator != src || l.Split != split || !l.Counted:
		case l.Held > 0:
			return fmt.Sprintf(", %d behind, %d held back by an open transaction", l.Lag, l.Held)
		default:
			return fmt.Sprintf(", %d behind", l.Lag)
		}
	}
	return ""
}

// sourceName is what a source of the plan reads.
func (w *waiting) sourceName(id string) string {
	for _, s := range w.Sources {
		if s.Operator == id {
			return s.Name
		}
	}
	return id
}

// time prints an event time.
func (w *waiting) time(us arrowbatch.EventTime) string {
	if len(w.Marks) > 0 && !w.Marks[0].Zoned {
		return string(types.AppendTimestamp(nil, us))
	}
	return string(types.AppendTimestamptz(nil, us, w.env))
}

// mark prints a watermark.
func (w *waiting) mark(us arrowbatch.EventTime) string {
	switch us {
	case arrowbatch.NoTime:
		return "none yet"
	case arrowbatch.MaxTime:
		return "ended"
	}
	return w.time(us)
}

func span(us int64) string { return (time.Duration(us) * time.Microsecond).String() }

// ago prints how long ago a moment was.
func (w *waiting) ago(t time.Time) string {
	return (time.Duration(max(w.now-t.UnixMicro(), 0)) * time.Microsecond).Round(time.Second).String() + " ago"
}

// watermarks tells where the sources and their splits stand and which of them
// holds the watermark.
func (w *waiting) watermarks() {
	if len(w.Marks) == 0 {
		w.line("watermark: the query has none")
		return
	}
	policy := ""
	if len(w.Marks) > 1 {
		policy = ", the least of its inputs'"
		if w.MaxOverSources {
			policy = ", the greatest of its inputs'"
		}
	}
	w.line("watermark: %s%s", w.mark(w.Watermark), policy)
	holder := w.holder()
	for i := range w.Marks {
		m := &w.Marks[i]
		held := ""
		if i == holder && len(w.Marks) > 1 {
			held = ", holds the query's"
		}
		w.line("  input %s (%s, operator %d): %s%s", m.Source, m.Delayed(), m.Operator, w.mark(m.Watermark), held)
		w.splits(m)
	}
}

// holder is the input that the query's watermark comes from, -1 for none.
func (w *waiting) holder() int {
	at := -1
	for i, m := range w.Marks {
		switch {
		case m.Watermark == arrowbatch.MaxTime:
		case at < 0 || !w.MaxOverSources && m.Watermark < w.Marks[at].Watermark ||
			w.MaxOverSources && m.Watermark > w.Marks[at].Watermark:
			at = i
		}
	}
	return at
}

func (w *waiting) splits(m *stream.MarkStatus) {
	if m.Clock {
		w.line("    follows the clock, whatever its splits bring")
		return
	}
	holder := splitHolder(m)
	for i, s := range m.Splits {
		text := "no row since the query started, " + w.ago(w.Started)
		if !s.LastRow.IsZero() {
			text = "last row " + w.ago(s.LastRow)
		}
		switch {
		case s.Ended:
			text += ", ended"
		case s.Idle:
			text += ", idle: holds nothing back"
		}
		if i == holder {
			text += ", holds the input's"
		}
		w.line("    split %s: %s, %s", s.ID, w.mark(s.Watermark), text)
	}
}

// splitHolder is the split that an input's watermark comes from, -1 for none.
func splitHolder(m *stream.MarkStatus) int {
	at := -1
	for i, s := range m.Splits {
		switch {
		case !m.Greatest && (s.Idle || s.Ended):
		case at < 0 || !m.Greatest && s.Watermark < m.Splits[at].Watermark ||
			m.Greatest && s.Watermark > m.Splits[at].Watermark:
			at = i
		}
	}
	return at
}

// due is the operator that closes the next window, and when; "" for none.
func (w *waiting) due() (op string, at arrowbatch.EventTime) {
	at = arrowbatch.MaxTime
	var first exec.StatsValues
	for _, o := range w.Operators {
		if o.Due < at {
			first, at = o, o.Due
		}
	}
	if at == arrowbatch.MaxTime {
		return "", at
	}
	return fmt.Sprintf("%s (operator %d)", first.Name, first.ID), at
}

// unblock tells what would make the query go on: out of its state, or for its next
// window to close.
func (w *waiting) unblock(due arrowbatch.EventTime) {
	switch w.State {
	case stream.Failed:
		w.line("unblocks: RESTART, once the cause is gone")
		return
	case stream.Paused:
		w.line("unblocks: RESUME")
		return
	case stream.Waiting:
		w.line("unblocks: by itself, as soon as what it waits for is back")
		return
	case stream.Finished:
		w.line("unblocks: nothing, it has read all there was")
		return
	}
	if due == arrowbatch.MaxTime {
		w.line("unblocks: rows")
		return
	}
	behind := w.behind(due)
	for _, i := range behind {
		w.unblockInput(&w.Marks[i], due)
	}
	if len(w.Marks) > 1 && !w.MaxOverSources && len(behind) < len(w.Marks) {
		w.line("unblocks: or the query again with watermark_policy = 'max'")
	}
}

// behind are the inputs that must move for the watermark to come to a time; with the
// greatest it is any of them.
func (w *waiting) behind(due arrowbatch.EventTime) []int {
	var out []int
	for i, m := range w.Marks {
		if m.Watermark < due {
			out = append(out, i)
		}
	}
	return out
}

// maxNamed is how many splits a line names.
const maxNamed = 8

func (w *waiting) unblockInput(m *stream.MarkStatus, due arrowbatch.EventTime) {
	if m.Clock {
		w.line("unblocks: the clock, just past %s", w.time(due+m.Delay))
		return
	}
	what := fmt.Sprintf("a row with %s at %s or later", m.Column, w.time(due+m.Delay))
	if m.Expr != "" {
		what = fmt.Sprintf("a row with %s at %s or later", m.Expr, w.time(due))
	}
	var last []string
	ahead := false // others would let the window close if these fell idle
	for _, s := range m.Splits {
		switch {
		case m.Greatest || s.Idle || s.Ended:
		case s.Watermark < due:
			last = append(last, s.ID)
		default:
			ahead = true
		}
	}
	switch {
	case len(last) == 0:
		w.line("unblocks: %s from input %s, any split", what, m.Source)
		return
	case len(last) == 1:
		w.line("unblocks: %s from input %s, split %s", what, m.Source, last[0])
	case len(last) > maxNamed:
		w.line("unblocks: %s from input %s, from each of splits %s and %d more", what, m.Source,
			strings.Join(last[:maxNamed], ", "), len(last)-maxNamed)
	default:
		w.line("unblocks: %s from input %s, from each of splits %s", what, m.Source, strings.Join(last, ", "))
	}
	switch {
	case !ahead:
	case m.IdleTimeout > 0:
		w.line("unblocks: or %s without such rows (idle_timeout)", plan.Micros(m.IdleTimeout.Microseconds()))
	default:
		w.line("unblocks: or an idle_timeout, which is off")
	}
}

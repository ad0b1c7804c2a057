package stream

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/state"
)

// Progress tells what one epoch of a query did or, if Idle, that there was none for a
// while. What it counts is of that epoch alone.
type Progress struct {
	Query   uint32
	Name    string
	Run     string // a name for the run that the epoch belongs to
	Idle    bool
	Epoch   uint64 // when Idle, the last one
	Begun   int64  // microseconds since the Unix epoch
	Before  int64  // when the epoch before began; 0: the run has none
	RowsIn  int64
	BadRows int64
	RowsOut int64
	// DeadLetters are records that could not be read, and rows that could not be
	// written, that were sent elsewhere.
	DeadLetters int64
	// Err is why a run ended.
	Err error
	// Took is the whole epoch. In it the sources were asked how far they reach (Look),
	// the rows went through the plan (Work), the epoch was stored (Store) and the sinks
	// committed (Deliver).
	Took, Look, Work, Store, Deliver time.Duration
	// Watermark is NoTime for none, MaxTime for one that has ended.
	Watermark arrowbatch.EventTime
	Sources   []SourceProgress
	// Operators tell what was counted in the epoch, and their state at its end.
	Operators []exec.StatsValues
	Tasks     []TaskProgress
	// Latencies are those of the rows; see exec.Latencies.
	Latencies exec.LatencySummary
}

// TaskProgress tells how busy a task was in an epoch.
type TaskProgress struct {
	Name string
	Part int
	Busy time.Duration
}

// SourceProgress is what an epoch read of a source.
type SourceProgress struct {
	SourceStatus
	// From and Until are the offsets before and after the epoch, Latest those that the
	// source reached when it began, by split. Nil: there are more than maxOffsets.
	From, Until, Latest map[string]string
}

const (
	// recentProgress is how many epochs of a query are remembered.
	recentProgress = 100
	// idleProgress is after what time without an epoch a query is said to be idle.
	idleProgress = 10 * time.Second
	// maxOffsets is how many splits of a source have their offsets in its progress.
	maxOffsets = 64
)

// newRunName returns a random UUID.
func newRunName() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// recorder makes the progress of a run's epochs. commit is called by one commit after
// the other, all else by the loop.
type recorder struct {
	run    string
	look   time.Duration // in the present epoch
	told   time.Time     // when something was told last
	before int64
	last   *state.Checkpoint // of the epoch before
}

func newRecorder(run string, last *state.Checkpoint, now time.Time) *recorder {
	if last == nil {
		last = &state.Checkpoint{}
	}
	return &recorder{run: run, told: now, last: last}
}

// begun is what is known of an epoch before its commit.
type begun struct {
	at     time.Time
	look   time.Duration
	work   time.Duration
	latest map[string]map[string]string
	tasks  []TaskProgress
	took   exec.Latencies
}

// gathered takes what the tasks tell at the end of the epoch.
func (b *begun) gathered(now time.Time, acks []*exec.Ack) {
	b.work = now.Sub(b.at)
	for _, a := range acks {
		b.tasks = append(b.tasks, TaskProgress{a.Name, a.Part, a.Busy})
		b.took.Merge(a.Latencies)
	}
	slices.SortFunc(b.tasks, func(x, y TaskProgress) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), cmp.Compare(x.Part, y.Part))
	})
}

// begin notes that the work of an epoch begins; latest is how far the sources that it
// limits reach.
func (p *recorder) begin(now time.Time, pace *exec.Pace, latest bounds) begun {
	b := begun{at: now, look: p.look, latest: map[string]map[string]string{}}
	p.look, p.told = 0, now
	for source, by := range pace.Until {
		if pace.Limited[source] && latest[source] != nil {
			by = latest[source]
		}
		if len(by) > maxOffsets {
			continue
		}
		b.latest[source] = make(map[string]string, len(by))
		for split, off := range by {
			b.latest[source][split] = string(off)
		}
	}
	return b
}

// epoch makes the progress of a committed epoch. All of its duration but that of the
// commit is known.
func (p *recorder) epoch(q *Query, cp *state.Checkpoint, b begun, sources []SourceStatus,
	ops []exec.StatsValues) *Progress {
	out := &Progress{Query: uint32(q.id), Run: p.run, Epoch: cp.Epoch, Begun: b.at.UnixMicro(), Before: p.before,
		Look: b.look, Work: b.work, Tasks: b.tasks, Latencies: b.took.Summary()}
	p.before = out.Begun
	for _, s := range sources {
		n := p.last.Reads[s.Operator]
		s.Rows, s.Bad, s.DeadLetters = s.Rows-n.Rows, s.Bad-n.Bad, s.DeadLetters-n.DeadLetters
		out.RowsIn, out.BadRows, out.DeadLetters = out.RowsIn+s.Rows, out.BadRows+s.Bad, out.DeadLetters+s.DeadLetters
		s.Lost -= n.Lost
		src := SourceProgress{SourceStatus: s}
		if until := cp.Offsets[s.Operator]; len(until) <= maxOffsets {
			src.From, src.Until, src.Latest = p.last.Offsets[s.Operator], until, b.latest[s.Operator]
		}
		out.Sources = append(out.Sources, src)
	}
	for _, op := range ops {
		op.Since(cp.Counts[op.Key()], p.last.Counts[op.Key()])
		out.Operators = append(out.Operators, op)
		out.DeadLetters += op.DeadLetters
		if op.ID == 1 { // the end of the plan: what comes in there is the result
			out.RowsOut += op.RowsIn
		}
	}
	p.last = cp
	return out
}

// rest tells that the run has nothing to do, once each idleProgress.
func (p *recorder) rest(q *Query) {
	now := q.m.cfg.Clock.Now()
	if now.Sub(p.told) < idleProgress {
		return
	}
	p.told = now
	q.mu.Lock()
	out := &Progress{Query: uint32(q.id), Name: q.status.Name, Run: p.run, Idle: true, Epoch: q.status.Epoch,
		Begun: clock.Micros(q.m.cfg.Clock), Watermark: q.status.Watermark}
	q.keepProgress(out)
	q.mu.Unlock()
	q.m.tell(QueryIdle, out)
}

// remember keeps the progress of an epoch and tells it.
func (q *Query) remember(p *Progress) {
	q.mu.Lock()
	p.Name, p.Watermark = q.status.Name, q.status.Watermark
	q.keepProgress(p)
	q.mu.Unlock()
	q.m.tell(QueryProgress, p)
}

// keepProgress adds to what is remembered. q.mu is held.
func (q *Query) keepProgress(p *Progress) {
	if len(q.recent) == recentProgress {
		copy(q.recent, q.recent[1:])
		q.recent = q.recent[:recentProgress-1]
	}
	q.recent = append(q.recent, p)
}

// Progress returns the recent progress of all queries by id, the oldest first.
func (m *Manager) Progress() []*Progress {
	var out []*Progress
	for _, q := range m.all() {
		q.mu.Lock()
		out = append(out, q.recent...)
		q.mu.Unlock()
	}
	return out
}

package stream

import (
	"context"
	"reflect"
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// pacer decides when an epoch ends and how far sources read. It is the only place
// that knows triggers.
type pacer struct {
	r     *run
	first bool
	// goal is the bound of an available_now or once run.
	goal     bounds
	later    map[string][]connector.Split // splits that have appeared in it
	lastTick time.Time
	// sinceData is when rows last came. One epoch without rows is run for each timeout
	// after which splits fall idle, so that they no longer hold windows open.
	sinceData time.Time
	// idle are the sources' idle timeouts, idleNext the next one to pass.
	idle     []time.Duration
	idleNext int
	finished bool
	moves    int64 // of the graph, when the last epoch began
	limits   limits
}

func newPacer(r *run) *pacer {
	idle := r.c.IdleTimeouts()
	return &pacer{r: r, first: true, idle: idle, idleNext: len(idle), limits: limits{r: r}}
}

// Pauses of a query that has nothing to do, between looks for data.
const (
	minPoll = 5 * time.Millisecond
	maxPoll = 200 * time.Millisecond
)

// next waits for the next epoch and returns its pace.
func (p *pacer) next(ctx context.Context) (exec.Pace, error) {
	poll := minPoll
	for {
		if p.r.q.isStopping() {
			return exec.Pace{Barrier: exec.Barrier{Stop: true}}, nil
		}
		_, opt := p.r.q.options()
		pace, ok, err := p.try(ctx, opt)
		if err != nil || ok {
			return pace, err
		}
		p.r.record.rest(p.r.q)
		// Data makes an epoch due only once its time has come.
		wait, watch := p.untilWake(poll), len(p.limits.waits) == 0
		if due := p.due(opt).Sub(p.r.q.m.cfg.Clock.Now()); due > 0 {
			wait, watch = due, false
		}
		if err := p.sleep(ctx, wait, watch); err != nil {
			return pace, err
		}
		poll = min(2*poll, maxPoll)
	}
}

// due is before when no epoch begins unless something asks for one.
func (p *pacer) due(opt options) time.Time {
	if opt.trigger.Kind == RealTime && p.r.eager {
		return p.lastTick.Add(opt.checkpoint)
	}
	return p.lastTick.Add(opt.trigger.Interval)
}

// sleep waits for time to pass, a wake-up or, with watch, a change of a relation
// that is read.
func (p *pacer) sleep(ctx context.Context, d time.Duration, watch bool) error {
	after, giveUp := p.r.q.m.cfg.Clock.After(d)
	defer giveUp()
	waits := []reflect.SelectCase{recv(ctx.Done()), recv(p.r.graph.Done()), recv(after), recv(p.r.q.wake)}
	if watch && !p.r.eager {
		changes, now, err := p.changes(ctx)
		if err != nil || now {
			return err
		}
		waits = append(waits, changes...)
	}
	switch i, _, _ := reflect.Select(waits); i {
	case 0:
		return context.Cause(ctx)
	case 1:
		return p.r.graph.Pace(ctx, exec.Pace{})
	}
	return nil
}

func recv[T any](ch <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}
}

// changes returns what ends when a relation that is read changes; now: one has
// changed already.
func (p *pacer) changes(ctx context.Context) (waits []reflect.SelectCase, now bool, err error) {
	for name, s := range p.r.c.Sources {
		f, ok := connector.As[interface{ Changed() <-chan struct{} }](s.Source)
		if !ok {
			continue
		}
		waits = append(waits, recv(f.Changed()))
		latest, err := s.Source.Latest(ctx, nil)
		if err != nil {
			return nil, false, err
		}
		for split, off := range latest {
			if p.r.at[name][split] != off {
				return nil, true, nil
			}
		}
	}
	return waits, false, nil
}

// try returns a pace if an epoch is due.
func (p *pacer) try(ctx context.Context, opt options) (exec.Pace, bool, error) {
	now := p.r.q.m.cfg.Clock.Now()
	flushing := p.flushing() // before the look
	splits, latest, err := p.r.look(ctx)
	p.r.record.look = p.r.q.m.cfg.Clock.Now().Sub(now)
	if err != nil {
		return exec.Pace{}, false, err
	}
	pace := exec.Pace{Splits: splits, Until: map[string]map[string]connector.Offset(latest),
		MaxRows: int(p.r.maxRows)}
	switch opt.trigger.Kind {
	case AvailableNow, Once:
		return p.bounded(ctx, pace, latest, opt, flushing)
	case RealTime:
		if err := refuseLimits(p.r.c.Sources); err != nil {
			return pace, false, err
		}
		return p.realTime(pace, opt, flushing, now)
	}
	if err := p.limits.set(ctx, &pace, now.Sub(p.lastTick)); err != nil {
		return pace, false, err
	}
	until := bounds(pace.Until)
	if p.over() && !flushing {
		p.finished = true
		pace.Barrier.Stop = true
		return pace, true, nil
	}
	due := p.first || flushing || len(splits) > 0 || p.r.cut
	if !due && now.Sub(p.lastTick) >= opt.trigger.Interval {
		due = p.hasData(until) || len(p.limits.waits) == 0 && p.fellIdle(now) ||
			now.UnixMicro() >= min(p.r.wake, p.r.chore) || p.r.windowDue(now)
	}
	if due {
		p.limits.took()
		p.mark(now, until)
	}
	return pace, due, nil
}

// over tells whether nothing more will come, from the sources or with time.
func (p *pacer) over() bool { return p.r.ended && p.r.wake == exec.NoWake }

// untilWake is how long to wait, d at most, for what comes with time alone.
func (p *pacer) untilWake(d time.Duration) time.Duration {
	left := min(p.r.wake, p.r.chore) - p.r.q.m.cfg.Clock.Now().UnixMicro()
	if left > 0 && left < d.Microseconds() {
		return time.Duration(left) * time.Microsecond
	}
	return d
}

// mark notes that an epoch begins.
func (p *pacer) mark(now time.Time, latest bounds) {
	if p.hasData(latest) {
		p.sinceData, p.idleNext = now, 0
	}
	p.first, p.lastTick = false, now
}

// fellIdle tells, once each, that an idle timeout has passed since rows came.
func (p *pacer) fellIdle(now time.Time) bool {
	fell := false
	for p.idleNext < len(p.idle) && now.Sub(p.sinceData) >= p.idle[p.idleNext] {
		p.idleNext++
		fell = true
	}
	return fell
}

// bounded paces a run that ends at what was there at its start.
func (p *pacer) bounded(ctx context.Context, pace exec.Pace, latest bounds, opt options, flushing bool) (
	exec.Pace, bool, error) {
	if name := p.r.endless(latest); name != "" {
		return pace, false, sqlerr.Unsupported("source %s has no end, so trigger %s would never be done", name, opt.trigger).
			WithHint("Bound the source (number_of_rows, number_of_events) or use another trigger.").AsPermanent()
	}
	switch {
	case p.first || flushing:
		p.goal = latest
		pace.Splits, p.later = join(p.later, pace.Splits), nil
	case !p.r.cut && !p.limits.less || opt.trigger.Kind == Once:
		p.finished = true
		pace.Barrier.Stop = true
	}
	if !p.first && !flushing { // a split that appeared since is beyond the goal
		pace.Splits, p.later = nil, join(p.later, pace.Splits)
	}
	pace.Until, pace.Drained = p.goal, true
	if opt.trigger.Kind == Once {
		pace.MaxRows = 0
	} else {
		if err := p.limits.set(ctx, &pace, never); err != nil {
			return pace, false, err
		}
		p.limits.took()
	}
	p.first = false
	return pace, true, nil
}

// realTime paces a run whose rows leave at once: after a first epoch with a bound,
// barriers come by time alone.
func (p *pacer) realTime(pace exec.Pace, opt options, flushing bool, now time.Time) (exec.Pace, bool, error) {
	switch {
	case p.over() && !p.r.eager && !flushing && !p.first:
		p.finished = true
		pace.Barrier.Stop = true
	case p.r.filling && !p.r.eager: // to its end; then barriers come by time
	case p.first:
		pace.Barrier.Eager = true
	case flushing && p.r.eager: // one epoch with a bound, between two without
		pace.Until = nil
	case flushing:
		pace.Barrier.Eager = true
	case p.over():
		pace.Until = nil
	case len(pace.Splits) == 0 && (now.Sub(p.lastTick) < opt.checkpoint || !p.moved(now)):
		return pace, false, nil
	default:
		pace.Until, pace.Barrier.Eager = nil, true
	}
	p.first, p.lastTick, p.moves = false, now, p.r.graph.Moves()
	return pace, true, nil
}

// moved tells whether anything has come since the last epoch of a run without bounds, or
// has become due.
func (p *pacer) moved(now time.Time) bool {
	return p.moves != p.r.graph.Moves() || now.UnixMicro() >= p.r.wake || p.r.windowDue(now)
}

// hasData tells whether a split has more than was read.
func (p *pacer) hasData(latest bounds) bool {
	for name := range p.r.c.Sources {
		if p.limits.waits[name] {
			continue
		}
		for split := range p.r.known[name] {
			off, bounded := latest[name][split]
			if !bounded && !p.r.over[name] {
				return true
			}
			if bounded && off != p.r.at[name][split] {
				return true
			}
		}
	}
	return false
}

// flushing tells whether somebody waits for everything to be absorbed. What an
// eager epoch reads has no bound, so it does not count.
func (p *pacer) flushing() bool {
	p.r.q.mu.Lock()
	defer p.r.q.mu.Unlock()
	for _, f := range p.r.q.flushes {
		f.seen = f.seen || !p.r.eager
	}
	return len(p.r.q.flushes) > 0
}

// look asks the sources for new splits and for how far they reach. Splits of
// bounded sources have no bound: they end by themselves.
func (r *run) look(ctx context.Context) (splits map[string][]connector.Split, latest bounds, err error) {
	splits, latest = map[string][]connector.Split{}, bounds{}
	for name, s := range r.c.Sources {
		all, err := s.Source.Splits(ctx)
		if err != nil {
			return nil, nil, err
		}
		if r.known[name] == nil {
			r.known[name] = map[string]bool{}
		}
		for _, sp := range all {
			if !r.known[name][sp.ID] {
				r.known[name][sp.ID] = true
				splits[name] = append(splits[name], sp)
			}
		}
		if s.Source.Bounded() {
			continue
		}
		off, err := s.Source.Latest(ctx, all)
		if err != nil {
			return nil, nil, err
		}
		latest[name] = off
	}
	r.q.looked(r, latest)
	return splits, latest, nil
}

// endless returns the name of a source with a split that has no bound and does
// not end, "" when there is none.
func (r *run) endless(latest bounds) string {
	for name, s := range r.c.Sources {
		if s.Source.Bounded() {
			continue
		}
		for split := range r.known[name] {
			if _, ok := latest[name][split]; !ok {
				return s.Object.Name.String()
			}
		}
	}
	return ""
}

package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/state"
)

type statsReader func() []exec.StatsValues

// bounds are offsets by source and split.
type bounds map[string]map[string]connector.Offset

// maxEpochRows is Config.MaxEpochRows where it is not given.
const maxEpochRows = 1 << 20

// run is one run of a query: from a checkpoint to a stop.
type run struct {
	q     *Query
	c     *build.Continuous
	graph *exec.Graph
	plan  string
	// change is the last change that the state has been brought to.
	change uint32
	epoch  uint64
	time   epochTime
	// at are the offsets that the last gathered epoch reached.
	at    bounds
	known map[string]map[string]bool // splits that the tasks have
	// marks put together what the tasks of a source have come to, by watermark
	// operator; parts are the tasks, in the order of taskOf.
	marks  map[string]*exec.Meeting
	taskOf map[string]map[int]int
	splits map[string]map[string]exec.SplitReading // by source
	marked map[string]map[string]int64             // watermarks before the start
	eager  bool
	over   map[string]bool // bounded sources that have ended for good
	ended  bool            // all have
	cut    bool            // the last epoch left rows behind that it could have read
	// committing is the outstanding commit's result, nil for none.
	committing chan error
	keep       *keeper
	reads      map[string]state.ReadCount // by source
	identities map[string]string          // of the sources, at the last epoch
	// wake is when an operator has something to do though no row comes.
	wake int64
	// chore is the same for what is no reason to go on.
	chore int64
	// frozen is what now() is throughout a run that is bound to what is there at its
	// start; 0: not yet known.
	frozen int64
	// maxRows is what the next epoch may read of a split.
	maxRows int64
	record  *recorder
	// filling: the result is not shown yet; fillMark: the store says so; short: the last
	// epoch did not come to a bound.
	filling, fillMark, short bool
}

// newRun begins a run at a checkpoint.
func newRun(q *Query, c *build.Continuous, last *state.Checkpoint) *run {
	r := &run{q: q, c: c, reads: map[string]state.ReadCount{}, at: bounds{}, known: map[string]map[string]bool{},
		marks: map[string]*exec.Meeting{}, taskOf: map[string]map[int]int{}, wake: exec.NoWake, chore: exec.NoWake,
		maxRows: q.firstRows(), record: newRecorder(q.runName, last, q.m.cfg.Clock.Now())}
	if last == nil {
		return r
	}
	r.epoch, r.marked, r.identities = last.Epoch, last.Watermarks, last.Identities
	for name, by := range last.Offsets {
		r.at[name] = map[string]connector.Offset{}
		for s, off := range by {
			r.at[name][s] = connector.Offset(off)
		}
	}
	for name, n := range last.Reads {
		if s := c.Sources[name]; s != nil && !s.Static {
			r.reads[name] = n
		}
	}
	return r
}

// run runs the query once. finished is true when a bounded run has ended.
func (q *Query) run(ctx context.Context) (finished bool, err error) {
	o, opt, err := q.prepare()
	if err != nil {
		return false, err
	}
	p, err := q.m.planObject(o, opt)
	if err != nil {
		return false, err
	}
	last, err := q.last()
	if err == nil && o.Origin != nil && (last == nil || last.Change != o.Origin.Change) {
		last, err = q.change(ctx, o, p, last)
	}
	if err != nil {
		return false, err
	}
	settings, err := settingsOf(o)
	if err != nil {
		return false, err
	}
	env := &build.Env{Store: q.m.cfg.Store, Registry: q.m.cfg.Registry, Clock: q.m.cfg.Clock,
		Report: q.report, Eval: expr.Ctx{Now: clock.Micros(q.m.cfg.Clock), Env: settings}, Fail: q.rowErrors}
	keep, err := newKeeper(q)
	if err == nil {
		err = keep.plan(o, p.Root)
	}
	if err != nil {
		return false, err
	}
	env.KeepLate, env.KeepBad = keep.keepLate, keep.keepBad
	_, isView := p.Root.(*physical.Materialize)
	q.m.running.Add(1)
	defer q.m.running.Add(-1)
	c, err := build.NewContinuous(ctx, p.Root, env, build.ContinuousOptions{Query: uint32(q.id), Name: o.Name.String(),
		Parallelism: opt.parallelism, IdleTimeout: opt.idle, Last: last, Upsert: !isView, StateMemory: q.stateMemory,
		MaxOverSources: opt.maxSources})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r := newRun(q, c, last)
	r.keep, r.plan, r.change = keep, fingerprint(p), changeOf(o)
	r.time = epochTime{store: q.m.cfg.Store, query: uint32(q.id), tells: p.TellsTime}
	if err := r.time.begin(last); err != nil {
		return false, err
	}
	if r.filling, err = q.filling(c, last); err != nil {
		return false, err
	}
	r.fillMark = r.filling && last != nil
	if err := settle(ctx, c, last, p); err != nil {
		return false, err
	}
	if last == nil || last.Fresh {
		if ok, err := q.awaitStatic(ctx, c); !ok || err != nil {
			return false, err
		}
	}
	r.graph = exec.NewGraph(ctx, c.Fragments, q.m.cfg.Store, q.m.cfg.Clock)
	q.started(r)
	r.graph.Start()
	finished, err = r.loop(ctx)
	stopErr := r.graph.Stop()
	if err == nil {
		err = stopErr
	}
	return finished && err == nil, errors.Join(err, r.awaitCommit())
}

// prepare reads the object's options for a run.
func (q *Query) prepare() (o *catalog.Object, opt options, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if opt, err = readOptions(q.object, q.m.cfg.Trigger); err != nil {
		return q.object, opt, err
	}
	q.opt = opt
	q.status.Trigger, q.status.OutputMode = opt.trigger.String(), opt.mode.String()
	clear(q.away)
	return q.object, opt, nil
}

func (q *Query) started(r *run) {
	q.mu.Lock()
	q.status.Started, q.status.Epoch = q.m.cfg.Clock.Now(), r.epoch
	q.status.read(r.sourceStatus(&state.Checkpoint{Reads: r.reads}))
	stats := r.c.Stats
	q.stats = func() []exec.StatsValues { return merge(stats) }
	q.mu.Unlock()
	q.set(Running, nil)
	q.m.tell(QueryStarted, &Progress{Query: uint32(q.id), Name: q.Status().Name, Run: r.record.run,
		Begun: clock.Micros(q.m.cfg.Clock)})
}

// merge adds up the figures of an operator's tasks.
func merge(stats []*exec.OpStats) []exec.StatsValues {
	var out []exec.StatsValues
	at := map[int]int{}
	for _, s := range stats {
		v := s.Read()
		i, ok := at[v.ID]
		if !ok {
			at[v.ID] = len(out)
			out = append(out, v)
			continue
		}
		o := &out[i]
		o.RowsIn, o.RowsOut, o.Late, o.Partial = o.RowsIn+v.RowsIn, o.RowsOut+v.RowsOut, o.Late+v.Late, o.Partial+v.Partial
		o.NullTime, o.Dups, o.Failed = o.NullTime+v.NullTime, o.Dups+v.Dups, o.Failed+v.Failed
		o.DeadLetters += v.DeadLetters
		o.Groups, o.Bytes, o.Due = o.Groups+v.Groups, o.Bytes+v.Bytes, min(o.Due, v.Due)
	}
	return out
}

// loop paces epochs until the run ends.
func (r *run) loop(ctx context.Context) (finished bool, err error) {
	pacer := newPacer(r)
	for {
		next, err := pacer.next(ctx)
		if err != nil {
			return false, err
		}
		if next.Barrier.Stop && pacer.first {
			return false, nil // no task has its splits: their offsets must stay as they are
		}
		if err := r.runEpoch(ctx, next); err != nil {
			return false, err
		}
		if next.Barrier.Stop {
			return pacer.finished, r.awaitCommit()
		}
		if err := r.settleFlushes(next); err != nil {
			return false, err
		}
	}
}

// runEpoch carries out one pace: to the barrier's last acknowledgement, and the
// commit begun.
func (r *run) runEpoch(ctx context.Context, p exec.Pace) error {
	began := r.q.m.cfg.Clock.Now()
	r.epoch++
	p.Barrier.Epoch = r.epoch
	b := r.record.begin(began, &p, r.q.lastLook())
	partly, err := r.time.set(&p, r.clock(p), r.c.Sources)
	if err != nil {
		return err
	}
	if err := r.graph.Pace(ctx, p); err != nil {
		return err
	}
	acks, err := r.graph.Gather(ctx)
	if err != nil {
		return err
	}
	b.gathered(r.q.m.cfg.Clock.Now(), acks)
	r.eager = p.Barrier.Eager
	cp := r.checkpoint(acks)
	r.cut = r.cut || partly
	r.short = r.cut || p.Until == nil || len(p.Limited) > 0
	if err := r.awaitCommit(); err != nil {
		for _, a := range acks {
			a.Done()
		}
		return err
	}
	r.fit(acks)
	r.commit(ctx, cp, acks, b)
	if p.Barrier.Stop || !r.eager && len(r.q.pendingFlushes()) > 0 {
		return r.awaitCommit()
	}
	return nil
}

// clock is the time that an epoch begins at: of all epochs of a bounded run, the
// first's.
func (r *run) clock(p exec.Pace) int64 {
	now := clock.Micros(r.q.m.cfg.Clock)
	if !p.Drained {
		return now
	}
	if r.frozen == 0 {
		r.frozen = now
	}
	return r.frozen
}

// checkpoint puts the tasks' parts together.
func (r *run) checkpoint(acks []*exec.Ack) *state.Checkpoint {
	cp := &state.Checkpoint{Query: uint32(r.q.id), Epoch: r.epoch, Plan: r.plan, Change: r.change,
		Offsets: map[string]map[string]string{}, Watermarks: map[string]map[string]int64{},
		Prepared: map[string][][]byte{}, Feeds: map[string]uint32{}, Counts: map[string][]int64{}}
	for name, s := range r.c.Sources {
		if s.Relation != nil && !s.Static {
			cp.Feeds[name] = s.Relation.ID
		}
	}
	r.cut, r.over, r.wake, r.chore = false, map[string]bool{}, exec.NoWake, exec.NoWake
	for name, s := range r.c.Sources {
		r.over[name] = s.Source.Bounded()
	}
	for _, a := range acks {
		r.time.last = max(r.time.last, a.Now)
		r.cut = r.cut || a.Cut
		r.count(cp, a)
		r.wake, r.chore = min(r.wake, a.Wake), min(r.chore, a.Chore)
		for name, by := range a.Offsets {
			r.over[name] = r.over[name] && a.Ended
			if r.at[name] == nil {
				r.at[name] = map[string]connector.Offset{}
			}
			for split, off := range by {
				r.at[name][split] = off
			}
			if r.c.Sources[name].Static {
				continue
			}
			if cp.Offsets[name] == nil {
				cp.Offsets[name] = map[string]string{}
			}
			for split, off := range by {
				cp.Offsets[name][split] = string(off)
			}
		}
		for op, by := range a.Watermarks {
			if cp.Watermarks[op] == nil {
				cp.Watermarks[op] = map[string]int64{}
			}
			for split, w := range by {
				if have, ok := cp.Watermarks[op][split]; !ok || split != "" || w < have {
					cp.Watermarks[op][split] = w
				}
			}
		}
		for op, p := range a.Prepared {
			cp.Prepared[op] = append(cp.Prepared[op], p...)
		}
		r.meet(a)
		r.split(a)
	}
	for op, m := range r.marks {
		if w := m.Look(); w != arrowbatch.NoTime {
			cp.Watermarks[op][""] = w
		}
	}
	cp.Now = r.time.last
	r.identities = identities(r.c.Sources, r.identities)
	cp.Identities = r.identities
	r.ended = len(r.over) > 0
	for _, over := range r.over {
		r.ended = r.ended && over
	}
	return cp
}

// count takes in what a task has counted.
func (r *run) count(cp *state.Checkpoint, a *exec.Ack) {
	for op, c := range a.Counts {
		sum := cp.Counts[op]
		if sum == nil {
			cp.Counts[op] = c
			continue
		}
		for i, n := range c {
			sum[i] += n
		}
	}
	if a.Source != "" {
		n := r.reads[a.Source]
		r.reads[a.Source] = state.ReadCount{Rows: n.Rows + a.Rows, Bad: n.Bad + a.BadRows,
			DeadLetters: n.DeadLetters + a.DeadLetters, Lost: n.Lost + a.Lost}
	}
	cp.Reads = maps.Clone(r.reads)
}

// meet takes in what a source task has come to.
func (r *run) meet(a *exec.Ack) {
	for op, own := range a.Own {
		if r.marks[op] == nil {
			r.marks[op], r.taskOf[op] = exec.NewMeeting(0), map[int]int{}
			r.marks[op].Greatest = r.c.Marks[op].Greatest
			if w, ok := r.marked[op][""]; ok {
				r.marks[op].Rest(w)
			}
		}
		i, known := r.taskOf[op][a.Task]
		if !known {
			i = r.marks[op].Len()
			r.taskOf[op][a.Task] = i
			r.marks[op].Add(arrowbatch.NoTime)
		}
		r.marks[op].Stand(i, own.At)
		r.marks[op].SetIdle(i, own.Idle)
	}
}

// commit makes the epoch durable in the background and then tells sinks and
// readers.
func (r *run) commit(ctx context.Context, cp *state.Checkpoint, acks []*exec.Ack, b begun) {
	done := make(chan error, 1)
	r.committing = done
	marks := r.markStatus(cp)
	fill := r.filled()
	spawn.Go("commit", func() error {
		begin := r.q.m.cfg.Clock.Now()
		err := r.store(cp, acks, fill)
		for _, a := range acks {
			a.Done()
		}
		if err != nil {
			return err
		}
		stored := r.q.m.cfg.Clock.Now()
		for name, s := range r.c.Sinks {
			if err := s.Commit(ctx, connector.Epoch(cp.Epoch), cp.Prepared[name]); err != nil {
				return fmt.Errorf("sink: %w", err)
			}
		}
		r.moved(cp)
		now := r.q.m.cfg.Clock.Now()
		p := r.record.epoch(r.q, cp, b, r.sourceStatus(cp), merge(r.c.Stats))
		p.Took, p.Store, p.Deliver = now.Sub(b.at), stored.Sub(begin), now.Sub(stored)
		r.q.committed(r, cp, marks, p)
		return nil
	}, func(err error) { done <- err })
}

// store makes the epoch durable, with the rows that were left out in it.
func (r *run) store(cp *state.Checkpoint, acks []*exec.Ack, fill *state.Delta) error {
	objects := map[string]*catalog.Object{}
	for name, s := range r.c.Sources {
		objects[name] = s.Object
	}
	kept, done, err := r.keep.write(acks, objects)
	if err != nil {
		if fill != nil {
			fill.Discard()
		}
		return err
	}
	defer done()
	all := append(deltas(acks), kept)
	if fill != nil {
		all = append(all, fill)
	}
	return r.q.m.cfg.Store.Commit(cp, all...)
}

// sourceStatus tells what was read of each source by the end of an epoch.
func (r *run) sourceStatus(cp *state.Checkpoint) []SourceStatus {
	var out []SourceStatus
	for _, name := range slices.Sorted(maps.Keys(cp.Reads)) {
		if s := r.c.Sources[name]; s != nil {
			out = append(out, SourceStatus{Operator: name, Name: s.Object.Name.String(), Rows: cp.Reads[name].Rows,
				Bad: cp.Reads[name].Bad, DeadLetters: cp.Reads[name].DeadLetters, Lost: cp.Reads[name].Lost})
		}
	}
	return out
}

func deltas(acks []*exec.Ack) []*state.Delta {
	var out []*state.Delta
	for _, a := range acks {
		if a.Delta != nil {
			out = append(out, a.Delta)
		}
	}
	return out
}

// moved tells the relations that their changes up to the committed offsets have
// been read.
func (r *run) moved(cp *state.Checkpoint) {
	for name, s := range r.c.Sources {
		if m, ok := s.Source.(interface{ Moved(connector.Offset) }); ok {
			for _, off := range r.offsetsOf(cp, name) {
				m.Moved(off)
			}
		}
	}
}

func (r *run) offsetsOf(cp *state.Checkpoint, name string) map[string]connector.Offset {
	out := map[string]connector.Offset{}
	for split, off := range cp.Offsets[name] {
		out[split] = connector.Offset(off)
	}
	return out
}

// awaitCommit waits for the outstanding commit.
func (r *run) awaitCommit() error {
	if r.committing == nil {
		return nil
	}
	err := <-r.committing
	r.committing = nil
	return err
}

// committed updates the status after an epoch.
func (q *Query) committed(r *run, cp *state.Checkpoint, marks []MarkStatus, p *Progress) {
	q.mu.Lock()
	q.status.Epoch, q.status.Offsets = cp.Epoch, cp.Offsets
	q.status.read(r.sourceStatus(cp))
	q.status.Duration, q.status.Commit = p.Took, p.Store+p.Deliver
	q.status.Watermark = q.opt.watermark(cp, r.c)
	q.status.Marks, q.status.MaxOverSources = marks, q.opt.maxSources
	q.mu.Unlock()
	q.remember(p)
}

// watermark is that of the whole query: the least of its watermark operators', or
// the greatest. One that has ended does not count beside others. NoTime: none.
func (o *options) watermark(cp *state.Checkpoint, c *build.Continuous) arrowbatch.EventTime {
	m := exec.NewMeeting(0)
	m.Greatest = o.maxSources
	for op, mark := range c.Marks {
		if mark.Static {
			continue
		}
		by := cp.Watermarks[op]
		if w, ok := by[""]; ok && w != arrowbatch.MaxTime {
			m.Add(w)
			continue
		} else if !ok {
			m.Add(arrowbatch.NoTime)
			continue
		}
		m.Add(reached(by, mark.Greatest))
		m.Raise(m.Len()-1, arrowbatch.MaxTime)
	}
	return m.Look()
}

// reached is how far the splits of a source had come.
func reached(by map[string]int64, greatest bool) arrowbatch.EventTime {
	m := exec.NewMeeting(0)
	m.Greatest = greatest
	for split, w := range by {
		if split != "" {
			m.Add(w)
		}
	}
	return m.Look()
}

func (q *Query) pendingFlushes() []*flush {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.flushes)
}

// settleFlushes ends the flushes that the epoch with pace p has fulfilled, once it
// is committed.
func (r *run) settleFlushes(p exec.Pace) error {
	if p.Until == nil || r.cut || len(p.Limited) > 0 {
		return nil
	}
	q := r.q
	for _, f := range q.pendingFlushes() {
		if !f.seen {
			continue
		}
		if err := r.awaitCommit(); err != nil {
			return err
		}
		q.mu.Lock()
		q.flushes = slices.DeleteFunc(q.flushes, func(g *flush) bool { return g == f })
		q.mu.Unlock()
		close(f.done)
	}
	return nil
}

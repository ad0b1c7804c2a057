package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/state"
)

// Assessment says what a query takes over of a state that is there.
type Assessment struct {
	*planner.Replacement
	// Plan is the query's plan, numbered as the state is.
	Plan *planner.Plan
	// Why tells in words why nothing can be taken over at all; "" where that is up to the
	// plans.
	Why string
}

// Assess compares the query of o, as it is to be, with the query whose state it is to
// go on with: that of old, or of a savepoint, which may be another query's. It fills in
// o.Origin; nothing is changed. Names are looked up in snap.
func (m *Manager) Assess(snap *catalog.Snapshot, o, old *catalog.Object, sp *state.Savepoint) (*Assessment, error) {
	opt, err := readOptions(o, m.cfg.Trigger)
	if err != nil {
		return nil, err
	}
	fresh := *o
	fresh.Origin = nil
	p, err := m.planIn(snap, &fresh, opt)
	if err != nil {
		return nil, err
	}
	a := &Assessment{Plan: p}
	was, from := old, uint32(0)
	if sp != nil {
		from = sp.ID
		if was, err = catalog.DecodeObject(sp.Object); err != nil {
			return nil, err
		}
	}
	before, why, err := m.stateOf(snap, was, from)
	if err != nil {
		return nil, err
	}
	if a.Why = why; why == "" {
		a.Replacement = planner.Replace(before, p)
	} else {
		a.Replacement = planner.Anew(p)
	}
	id, err := m.cfg.Catalog.NewID()
	if err != nil {
		return nil, err
	}
	o.Origin = &catalog.Origin{Change: uint32(id), Savepoint: from, Nodes: a.Nodes, Keep: a.Keep, Replay: a.Replay,
		Whole: a.Whole}
	planner.Renumber(p, a.Nodes)
	return a, nil
}

// stateOf plans the query whose state there is: of a savepoint if from is its number,
// else of o itself. why tells that the state is of no use.
func (m *Manager) stateOf(snap *catalog.Snapshot, o *catalog.Object, from uint32) (
	p *planner.Plan, why string, err error,
) {
	id := from
	if from == 0 {
		id = uint32(o.ID)
	}
	cp, err := m.cfg.Store.Last(id)
	if err != nil {
		return nil, "", err
	}
	switch {
	case cp == nil:
		return nil, "the query has no state yet", nil
	case from == 0 && cp.Change != changeOf(o):
		return nil, "the query has not been brought to its last change yet", nil
	}
	opt, err := readOptions(o, m.cfg.Trigger)
	if err == nil {
		p, err = m.planIn(snap, o, opt)
	}
	if err != nil {
		return nil, "the query that the state belongs to cannot be planned any more: " + sqlerr.From(err).Message, nil
	}
	if !readsSame(p, o) {
		return nil, "what the query read has been dropped since", nil
	}
	if !fits(cp.Plan, p) {
		return nil, "the state was written under another plan of the same query", nil
	}
	return p, "", nil
}

// readsSame tells whether the names in a query still stand for what it read.
func readsSame(p *planner.Plan, o *catalog.Object) bool {
	if o.Kind == catalog.KindTable { // which reads what its options say
		return true
	}
	for _, r := range p.Reads {
		if !slices.Contains(o.DependsOn, r.ID) {
			return false
		}
	}
	return true
}

func changeOf(o *catalog.Object) uint32 {
	if o.Origin == nil {
		return 0
	}
	return o.Origin.Change
}

// change brings the query's state to its object's Origin and returns the checkpoint to
// go on from. The catalog has the object already: from then on there is no way back, and
// a crash makes the change again.
func (q *Query) change(ctx context.Context, o *catalog.Object, p *planner.Plan, last *state.Checkpoint,
) (*state.Checkpoint, error) {
	s, from := o.Origin, last
	id := uint32(q.id)
	c := &state.Change{Query: id, From: id, Keep: map[uint16]bool{}}
	if s.Savepoint != 0 {
		c.From = s.Savepoint
		var err error
		if from, err = q.m.cfg.Store.Last(s.Savepoint); err != nil {
			return nil, err
		}
		if from == nil {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "the savepoint that %s begins with is gone", o.Name)
		}
	}
	for _, n := range s.Keep {
		c.Keep[uint16(n)] = true
	}
	cp := &state.Checkpoint{Query: id, Change: s.Change, Plan: fingerprint(p), Replay: s.Replay}
	if last != nil {
		cp.Epoch, cp.Now = last.Epoch, last.Now
		if s.Savepoint == 0 && s.Whole && !s.Settled {
			cp.Prepared = last.Prepared
		}
	}
	if from != nil {
		cp.Now = max(cp.Now, from.Now)
		keeps := func(source string) bool {
			n, err := strconv.Atoi(source)
			return err == nil && slices.Contains(s.Keep, n)
		}
		cp.Offsets, cp.Watermarks = picked(from.Offsets, keeps), picked(from.Watermarks, keeps)
		cp.Feeds, cp.Counts, cp.Reads = picked(from.Feeds, keeps), picked(from.Counts, keeps), picked(from.Reads, keeps)
	}
	cp.Fresh = len(cp.Offsets) == 0
	c.Checkpoint = cp
	q.changeRows(o, c, last)
	if err := q.m.cfg.Store.Change(ctx, c); err != nil {
		return nil, err
	}
	q.unfollow(last, cp)
	q.m.cfg.Log("%s %s: %d operators go on with their state", o.Kind, o.Name, len(s.Keep))
	return cp, nil
}

// changeRows says what becomes of the rows of a view.
func (q *Query) changeRows(o *catalog.Object, c *state.Change, last *state.Checkpoint) {
	if !o.Stored() {
		return
	}
	spec := build.RelationSpec(o)
	c.Relation = &spec
	c.Empty = o.Layout != 0 && o.Layout == o.Origin.Change
	c.Restore = o.Origin.Whole && c.From != c.Query
	c.Checkpoint.Refill = !o.Origin.Whole && !c.Empty && last != nil
}

// unfollow ends the registrations of sources that are not read any more, or anew.
func (q *Query) unfollow(last, cp *state.Checkpoint) {
	if last == nil {
		return
	}
	snap := q.m.cfg.Catalog.Snapshot()
	for source, id := range last.Feeds {
		if cp.Feeds[source] == id {
			continue
		}
		if o := snap.ByID(catalog.ObjectID(id)); o != nil {
			if rel, err := build.Relation(q.m.cfg.Store, o); err == nil {
				rel.Unfollow(build.ReaderName(uint32(q.id), source))
			}
		}
	}
}

func picked[V any](from map[string]V, want func(string) bool) map[string]V {
	out := maps.Clone(from)
	maps.DeleteFunc(out, func(k string, _ V) bool { return !want(k) })
	return out
}

// Hold stops the query of an object that is about to be replaced by next, and keeps it
// from beginning. Who holds it must call done once, with true if next is in force: then
// the query goes on with it, else as it was. What a sink has prepared for another end
// than next writes to is brought there first.
func (m *Manager) Hold(ctx context.Context, o, next *catalog.Object) (done func(replaced bool), err error) {
	q := m.query(o.ID)
	if q == nil {
		return func(bool) {}, nil
	}
	q.life.Lock()
	before := q.Status().State
	running := q.runs()
	q.stop()
	done = func(replaced bool) {
		defer q.life.Unlock()
		if replaced {
			q.replaceBy(next)
		}
		if before == Paused || !running && !replaced {
			return
		}
		q.set(Creating, nil)
		q.begin()
	}
	if !sameEnd(o, next) {
		if err := q.settleNow(ctx, o); err != nil {
			done(false)
			return nil, err
		}
		next.Origin.Settled = true
	}
	return done, nil
}

// sameEnd tells whether two versions of a sink or flow write to the same end.
func sameEnd(a, b *catalog.Object) bool {
	if a.Kind != catalog.KindSink && a.Kind != catalog.KindFlow {
		return true
	}
	return a.Into == b.Into && a.Format == b.Format && a.Encode == b.Encode &&
		maps.Equal(a.Options, b.Options) && maps.Equal(a.FormatOptions, b.FormatOptions)
}

// settleNow commits what the query's last epoch had prepared.
func (q *Query) settleNow(ctx context.Context, o *catalog.Object) error {
	last, err := q.last()
	if err != nil || last == nil || len(last.Prepared) == 0 || last.Change != changeOf(o) {
		return err
	}
	opt, err := readOptions(o, q.m.cfg.Trigger)
	if err != nil {
		return err
	}
	p, err := q.m.planObject(o, opt)
	if err != nil {
		return err
	}
	env := &build.Env{Store: q.m.cfg.Store, Registry: q.m.cfg.Registry, Clock: q.m.cfg.Clock, Report: q.report,
		Eval: expr.Ctx{Now: clock.Micros(q.m.cfg.Clock)}, Fail: q.rowErrors}
	_, isView := p.Root.(*physical.Materialize)
	c, err := build.NewContinuous(ctx, p.Root, env, build.ContinuousOptions{Query: uint32(q.id), Parallelism: 1,
		Last: last, Upsert: !isView})
	if err != nil {
		return err
	}
	return errors.Join(settle(ctx, c, last, p), c.Close())
}

// replaceBy takes the new version of the object.
func (q *Query) replaceBy(o *catalog.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.object = o
	q.status.Name, q.status.Pool = o.Name.Name, o.Options["pool"]
	q.stats = nil
}

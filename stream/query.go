package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// Query is a continuous query: one loop that runs it and runs it again.
type Query struct {
	m  *Manager
	id catalog.ObjectID

	// life is held while the query is stopped and begun again, so that one such
	// change does not undo another.
	life sync.Mutex

	mu     sync.Mutex
	object *catalog.Object
	opt    options
	status Status
	cancel context.CancelFunc
	done   chan struct{} // closed when the loop has ended
	// stopping asks the run for an orderly stop at the next barrier.
	stopping bool
	gone     bool          // dropped, or the server stops: it never begins again
	wake     chan struct{} // holds a token when the pacer should look up
	flushes  []*flush
	away     map[string]error // ends that are away, by object
	stats    statsReader
	recent   []*Progress // the oldest first
	runName  string      // of the present run; the loop's own
	lag      *lagging
}

// flush is a wish that everything there is now be absorbed.
type flush struct {
	done chan struct{}
	err  error
	// seen: a run has looked at the sources since; the next epoch that reads all it
	// saw fulfils the wish.
	seen bool
}

func newQuery(m *Manager, o *catalog.Object) *Query {
	q := &Query{m: m, id: o.ID, object: o, wake: make(chan struct{}, 1), away: map[string]error{}}
	q.status = Status{ID: uint32(o.ID), Schema: o.Name.Schema, Name: o.Name.Name, Kind: o.Kind.String(),
		Watermark: arrowbatch.NoTime, Pool: o.Options["pool"]}
	return q
}

// begin starts the loop; nothing happens when it runs already or the query is gone.
func (q *Query) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.beginLocked()
}

// beginLocked is begin with q.mu held.
func (q *Query) beginLocked() {
	if q.cancel != nil || q.gone {
		return
	}
	ctx, cancel := context.WithCancel(q.m.ctx)
	q.cancel, q.done, q.stopping = cancel, make(chan struct{}), false
	done, finished := q.done, false
	spawn.Go("query "+q.object.Name.String(), func() (err error) {
		finished, err = q.loop(ctx)
		return err
	}, func(err error) {
		q.ended(finished, err)
		cancel()
		close(done)
		q.m.notify()
	})
}

// ended notes the end of the loop, in one step with the state it leaves: whoever
// sees a query finished can begin it again.
func (q *Query) ended(finished bool, err error) {
	q.mu.Lock()
	q.cancel = nil
	told := func() {}
	switch {
	case err != nil:
		told = q.become(Failed, err)
	case finished && len(q.flushes) > 0 && !q.stopping: // wished for after the last look
		q.beginLocked()
	case finished:
		told = q.become(Finished, nil)
	}
	q.mu.Unlock()
	told()
}

// stopGrace is how long an orderly stop may take before the query is cancelled;
// what was not committed is done again at the next start.
const stopGrace = 5 * time.Second

// stop ends the loop: at the next barrier, or by cancelling.
func (q *Query) stop() {
	q.mu.Lock()
	cancel, done := q.cancel, q.done
	q.stopping = true
	q.mu.Unlock()
	if cancel == nil {
		return
	}
	q.poke()
	grace := stopGrace
	if q.Status().State == Waiting {
		grace = 0 // no barrier passes an end that is away
	}
	after, giveUp := q.m.cfg.Clock.After(grace)
	defer giveUp()
	select {
	case <-done:
	case <-after:
	}
	cancel()
	<-done
}

// poke wakes the pacer.
func (q *Query) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Query) isStopping() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopping
}

// alter takes changed options. A new trigger comes into force at the next epoch;
// anything else restarts the query from its checkpoint.
func (q *Query) alter(o *catalog.Object, opt options) {
	q.mu.Lock()
	old := q.opt
	q.object, q.opt = o, opt
	q.status.Trigger, q.status.Name, q.status.Pool = opt.trigger.String(), o.Name.Name, o.Options["pool"]
	if q.status.State == Finished {
		told := q.become(Creating, nil) // who flushes from now on waits for it
		q.beginLocked()
		q.mu.Unlock()
		told()
		return
	}
	q.mu.Unlock()
	old.trigger, old.checkpoint = opt.trigger, opt.checkpoint
	if old == opt {
		q.poke()
		return
	}
	if !q.runs() {
		return // whoever starts it reads its options then
	}
	spawn.Go("restart query", func() error {
		q.life.Lock()
		defer q.life.Unlock()
		if q.runs() {
			q.stop()
			q.begin()
		}
		return nil
	}, nil)
}

// runs tells whether the loop runs.
func (q *Query) runs() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cancel != nil
}

// end stops the query for good; who waits for it gets reason.
func (q *Query) end(reason error) {
	q.life.Lock()
	defer q.life.Unlock()
	q.mu.Lock()
	q.gone = true
	q.mu.Unlock()
	q.stop()
	q.mu.Lock()
	waiting := q.flushes
	q.flushes = nil
	q.mu.Unlock()
	for _, f := range waiting {
		f.err = reason
		close(f.done)
	}
}

// options returns the object and its options now.
func (q *Query) options() (*catalog.Object, options) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.object, q.opt
}

func (q *Query) set(s State, err error) {
	q.mu.Lock()
	told := q.become(s, err)
	q.mu.Unlock()
	told()
}

// become sets the state and returns what tells others of it, to be called without
// q.mu, which is held here.
func (q *Query) become(s State, err error) (told func()) {
	changed := q.status.State != s
	q.status.State = s
	q.status.Err = sqlerr.From(err)
	var waiting []*flush
	if s == Failed || s == Finished || s == Paused {
		waiting, q.flushes = q.flushes, nil
	}
	st := q.status
	return func() {
		for _, f := range waiting {
			if s == Failed {
				f.err = st.failure()
			}
			close(f.done)
		}
		if !changed {
			return
		}
		if err != nil {
			q.m.cfg.Log("%s %s is %s: %s: %s", st.Kind, st.Name, s, st.Err.Code, st.Err)
		} else {
			q.m.cfg.Log("%s %s is %s", st.Kind, st.Name, s)
		}
		q.m.notify()
	}
}

// Status returns what is known of the query now.
func (q *Query) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.status
	if s.State == Running || s.State == Creating { // a sink may have an epoch to settle first
		for _, err := range q.away {
			s.State, s.Err = Waiting, sqlerr.From(err)
		}
	}
	if q.stats != nil {
		s.Operators = q.stats()
	}
	s.lag = q.lag
	return s
}

// report notes that an end is away, or back.
func (q *Query) report(object string, err error) {
	q.mu.Lock()
	was, name, kind := q.away[object] != nil, q.status.Name, q.status.Kind
	if err == nil {
		delete(q.away, object)
	} else {
		q.away[object] = err
	}
	q.mu.Unlock()
	switch {
	case err != nil && !was:
		q.m.cfg.Log("%s %s waits for %s: %s", kind, name, object, err)
	case err == nil && was:
		q.m.cfg.Log("%s %s goes on: %s is back", kind, name, object)
	}
}

// Pauses between tries: they double from the first to the last.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
	// healthy is how long a run must have gone well for the pauses to begin anew.
	healthy = time.Minute
)

// loop runs the query until it is stopped, has finished or has failed.
func (q *Query) loop(ctx context.Context) (finished bool, err error) {
	pause := firstPause
	for {
		began := q.m.cfg.Clock.Now()
		q.runName = newRunName()
		finished, err := q.run(ctx)
		end := &Progress{Query: uint32(q.id), Name: q.Status().Name, Run: q.runName, Begun: clock.Micros(q.m.cfg.Clock)}
		if ctx.Err() == nil && !q.dropped() {
			end.Err = err
		}
		q.m.tell(QueryTerminated, end)
		switch {
		case ctx.Err() != nil || err == nil && !finished || err != nil && q.dropped():
			return false, nil
		case finished:
			return true, nil
		case permanent(err):
			return false, err
		}
		if q.m.cfg.Clock.Now().Sub(began) > healthy {
			pause = firstPause
		}
		q.set(Waiting, err)
		q.mu.Lock()
		q.status.Restarts++
		q.mu.Unlock()
		after, giveUp := q.m.cfg.Clock.After(pause/2 + rand.N(pause/2))
		select {
		case <-after:
		case <-ctx.Done():
		case <-q.wake:
			giveUp()
			if q.isStopping() {
				return false, nil
			}
		}
		giveUp()
		pause = min(2*pause, lastPause)
	}
}

// dropped tells whether the object is gone from the catalog: what it reads may be
// gone with it, and its query is about to be ended.
func (q *Query) dropped() bool { return q.m.cfg.Catalog.Snapshot().ByID(q.id) == nil }

// permanent tells whether another try would end the same way.
func permanent(err error) bool {
	e := sqlerr.From(err)
	if e.Permanent {
		return true
	}
	if len(e.Code) < 2 {
		return false
	}
	if e.Code == sqlerr.UndefinedFile { // a wrong path, as a rule: whoever waits for the query must learn of it
		return true
	}
	switch e.Code[:2] {
	case "08", "53", "57", "58":
		return false
	}
	return true
}

// flush asks for everything there is now to be absorbed and waits for it.
func (q *Query) flush(ctx context.Context) error {
	f, err := q.wish()
	if f == nil || err != nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wish asks for everything there is now to be absorbed; nil: nothing is to be
// waited for.
func (q *Query) wish() (*flush, error) {
	q.mu.Lock()
	switch q.status.State {
	case Finished, Paused:
		if q.status.State == Paused || !q.hasFeeds() {
			q.mu.Unlock()
			return nil, nil
		}
	case Failed:
		st := q.status
		q.mu.Unlock()
		return nil, st.failure()
	}
	if q.gone {
		q.mu.Unlock()
		return nil, nil
	}
	f := &flush{done: make(chan struct{})}
	q.flushes = append(q.flushes, f)
	q.beginLocked() // a finished run over tables begins again
	q.mu.Unlock()
	q.poke()
	return f, nil
}

// hasFeeds tells whether the query reads stored relations, which may have grown
// since a bounded run finished. q.mu is held.
func (q *Query) hasFeeds() bool {
	snap := q.m.cfg.Catalog.Snapshot()
	for _, id := range q.object.DependsOn {
		if o := snap.ByID(id); o != nil && (o.Stored() || o.Kind == catalog.KindView) {
			return true
		}
	}
	return false
}

// last reads the checkpoint to go on from.
func (q *Query) last() (*state.Checkpoint, error) {
	c, err := q.m.cfg.Store.Last(uint32(q.id))
	if err != nil {
		return nil, errors.Join(err)
	}
	return c, nil
}

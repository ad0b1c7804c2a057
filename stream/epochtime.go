package stream

import (
	"maps"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/state"
)

// epochTime is what now() is in a run's epochs. It never falls, also when the clock
// goes back, so that a row of processing time is never late.
// Where rows depend on it, it is written down before the epoch begins: an epoch that
// a crash has undone reads the same rows at the same time when it comes again.
type epochTime struct {
	store *state.Store
	query uint32
	last  int64
	// tells: rows depend on the time.
	tells bool
	// again is the epoch that a crash has undone; nil: none.
	again *state.Planned
}

// begin reads what the run before has left.
func (t *epochTime) begin(last *state.Checkpoint) error {
	next := uint64(1)
	if last != nil {
		t.last, next = last.Now, last.Epoch+1
	}
	if !t.tells {
		return nil
	}
	var err error
	t.again, err = t.store.PlannedEpoch(t.query, next)
	return err
}

// set gives an epoch its time. less tells that it reads less than there is, since it
// comes again.
func (t *epochTime) set(p *exec.Pace, now int64, sources map[string]*build.Source) (less bool, err error) {
	again := t.again
	t.again = nil
	p.Barrier.Now = max(now, t.last)
	switch {
	case !t.tells || p.Until == nil || p.Barrier.Stop:
		return false, nil
	case again != nil:
		p.Barrier.Now = max(again.Now, t.last)
		return readAgain(p, again, sources), nil
	}
	until := map[string]map[string]string{}
	for source, by := range p.Until {
		until[source] = map[string]string{}
		for split, off := range by {
			until[source][split] = string(off)
		}
	}
	return false, t.store.Plan(t.query, state.Planned{Epoch: p.Barrier.Epoch, Now: p.Barrier.Now, Until: until,
		Identities: identities(sources, nil)})
}

// readAgain bounds a pace as that of the undone epoch was, where there is more now.
// Stored relations are not bound: what they have become is a snapshot. Nor is what is
// read to the bound of a whole run, which all has one time.
func readAgain(p *exec.Pace, again *state.Planned, sources map[string]*build.Source) bool {
	less := false
	for source, by := range again.Until {
		s := sources[source]
		if s == nil || s.Relation != nil || p.Drained && !p.Limited[source] || !sameIdentity(s, again.Identities[source]) {
			continue
		}
		copied := false
		for split, off := range by {
			if have, ok := p.Until[source][split]; ok && string(have) != off {
				if !copied { // others read what was looked up
					p.Until[source], copied = maps.Clone(p.Until[source]), true
				}
				p.Until[source][split], less = connector.Offset(off), true
			}
		}
	}
	return less
}

// windowDue tells whether processing time has come to the end of an open window: an
// epoch without rows closes it.
func (r *run) windowDue(now time.Time) bool {
	delay, clocked := int64(0), false
	for _, m := range r.c.Marks {
		if m.Node.Clock && !m.Static {
			delay, clocked = max(delay, m.Node.Delay), true
		}
	}
	if !clocked {
		return false
	}
	next := arrowbatch.MaxTime
	for _, s := range r.c.Stats {
		next = min(next, s.Read().Due)
	}
	return next != arrowbatch.MaxTime && next+delay < now.UnixMicro()
}

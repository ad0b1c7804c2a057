package stream

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/state"
)

// A view or table over records that change rows shows nothing until they have been read
// to where they reached at its beginning: the rows of a part of them may be a state that
// never was, if the topic is compacted. Until then the relation is marked in the store,
// over restarts, and queries that would read it wait.

// filling tells whether the query's result is in this state at its start.
func (q *Query) filling(c *build.Continuous, last *state.Checkpoint) (bool, error) {
	if c.Target == nil {
		return false, nil
	}
	if last != nil {
		return q.m.marked(c.Target.ID)
	}
	for _, s := range c.Sources {
		if s.Object.Changing() && s.Relation == nil && !s.Static {
			return true, nil
		}
	}
	return false, nil
}

// marked tells whether a relation is marked as being filled.
func (m *Manager) marked(id uint32) (bool, error) {
	snap := m.cfg.Store.Snapshot()
	on, err := m.cfg.Store.Filling(snap, id)
	if cerr := snap.Close(); err == nil {
		err = cerr
	}
	return on, err
}

// filled takes note of an epoch. The delta, if there is one, goes with it.
func (r *run) filled() *state.Delta {
	if r.filling = r.filling && r.short; r.filling == r.fillMark {
		return nil
	}
	r.fillMark = r.filling
	d := r.q.m.cfg.Store.NewDelta()
	d.SetFilling(r.c.Target.ID, r.filling)
	return d
}

// unfilled tells whether an object is filled by a query that reads records which change
// rows, and that has not come to their end yet.
func (m *Manager) unfilled(o *catalog.Object) (bool, error) {
	if !m.readsChanges(o, map[catalog.ObjectID]bool{}) {
		return false, nil
	}
	last, err := m.cfg.Store.Last(uint32(o.ID))
	if err != nil || last == nil {
		return err == nil, err
	}
	return m.marked(uint32(o.ID))
}

// readsChanges tells whether an object is made of such records, maybe through others.
func (m *Manager) readsChanges(o *catalog.Object, seen map[catalog.ObjectID]bool) bool {
	if o == nil || seen[o.ID] {
		return false
	}
	seen[o.ID] = true
	if o.Changing() {
		return true
	}
	snap := m.cfg.Catalog.Snapshot()
	for _, id := range o.DependsOn {
		if m.readsChanges(snap.ByID(id), seen) {
			return true
		}
	}
	return false
}

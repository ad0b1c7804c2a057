package stream

import (
	"context"
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// Save makes a savepoint of a query: of all that it has made durable, as of the end of
// an epoch. The query goes on meanwhile. It fails with 42710 where the name is taken.
func (m *Manager) Save(ctx context.Context, name string, o *catalog.Object) error {
	if err := m.saves.lock(ctx); err != nil {
		return err
	}
	defer m.saves.unlock()
	if sp, err := m.Savepoint(name); err != nil || sp != nil {
		if err == nil {
			err = sqlerr.New(sqlerr.DuplicateObject, "savepoint %q already exists", name)
		}
		return err
	}
	id, err := m.cfg.Catalog.NewID()
	if err != nil {
		return err
	}
	object, err := catalog.EncodeObject(o)
	if err != nil {
		return err
	}
	if err := m.settled(ctx, o); err != nil {
		return err
	}
	snap, err := m.followed(uint32(id), o)
	if err != nil {
		return err
	}
	defer snap.Close()
	sp := &state.Savepoint{ID: uint32(id), Name: name, Query: uint32(o.ID), Kind: o.Kind.String(), Of: o.Name.String(),
		Object: object, Created: clock.Micros(m.cfg.Clock)}
	if err := m.cfg.Store.Save(ctx, sp, snap); err != nil {
		m.cfg.Store.Leave(build.ReaderPrefix(uint32(id)))
		return err
	}
	m.cfg.Log("savepoint %s of %s %s has %d bytes", name, o.Kind, o.Name, sp.Bytes)
	return nil
}

// settled waits until a query has state that is of its definition, as long as it runs.
func (m *Manager) settled(ctx context.Context, o *catalog.Object) error {
	cp, err := m.cfg.Store.Last(uint32(o.ID))
	if err != nil || cp != nil && cp.Change == changeOf(o) {
		return err
	}
	if q := m.query(o.ID); q != nil {
		return q.flush(ctx)
	}
	return nil
}

// followTries is how often a query may move on while a savepoint of it begins.
const followTries = 100

// followed returns a snapshot of the store from which on the relations that the query
// reads keep their changes for the savepoint id.
func (m *Manager) followed(id uint32, o *catalog.Object) (*state.Snapshot, error) {
	for try := 0; ; try++ {
		snap := m.cfg.Store.Snapshot()
		cp, err := m.cfg.Store.LastIn(snap, uint32(o.ID))
		switch {
		case err == nil && cp != nil && cp.Change != changeOf(o):
			err = sqlerr.New(sqlerr.ObjectNotInState, "%s %s is being replaced", o.Kind, o.Name).
				WithHint("Its query carries that out when it runs.")
		case err == nil && cp != nil:
			cp.Query = id
			err = build.Register(m.cfg.Store, cp, m.byID())
			if err != nil && try < followTries {
				m.cfg.Store.Leave(build.ReaderPrefix(id))
				_ = snap.Close() // the next one is newer
				continue
			}
		}
		if err == nil {
			return snap, nil
		}
		m.cfg.Store.Leave(build.ReaderPrefix(id))
		_ = snap.Close() // the error that made it useless is told
		return nil, err
	}
}

// byID finds objects for build.Register.
func (m *Manager) byID() func(id uint32) *catalog.Object {
	snap := m.cfg.Catalog.Snapshot()
	return func(id uint32) *catalog.Object { return snap.ByID(catalog.ObjectID(id)) }
}

// Savepoints returns the savepoints by id.
func (m *Manager) Savepoints() ([]state.Savepoint, error) { return m.cfg.Store.Savepoints() }

// Savepoint returns the savepoint of a name, nil if there is none.
func (m *Manager) Savepoint(name string) (*state.Savepoint, error) {
	all, err := m.cfg.Store.Savepoints()
	for i := range all {
		if all[i].Name == name {
			return &all[i], err
		}
	}
	return nil, err
}

// DropSavepoint removes a savepoint. It fails with 55006 while a query has yet to take
// its state from it.
func (m *Manager) DropSavepoint(ctx context.Context, sp *state.Savepoint) error {
	if err := m.saves.lock(ctx); err != nil {
		return err
	}
	defer m.saves.unlock()
	for _, o := range m.cfg.Catalog.Snapshot().Objects() {
		if o.Origin == nil || o.Origin.Savepoint != sp.ID {
			continue
		}
		cp, err := m.cfg.Store.Last(uint32(o.ID))
		if err != nil {
			return err
		}
		if cp == nil || cp.Change != o.Origin.Change {
			return sqlerr.New(sqlerr.ObjectInUse, "savepoint %q is in use", sp.Name).
				WithDetail("%s %s has yet to take its state from it.", o.Kind, o.Name)
		}
	}
	err := m.cfg.Store.DropSavepoint(sp.ID)
	m.cfg.Store.Leave(build.ReaderPrefix(sp.ID))
	return err
}

// Pin keeps savepoints from being dropped until release is called; 42704 if one is
// gone.
func (m *Manager) Pin(ctx context.Context, ids []uint32) (release func(), err error) {
	if len(ids) == 0 {
		return func() {}, nil
	}
	if err := m.saves.lock(ctx); err != nil {
		return nil, err
	}
	all, err := m.cfg.Store.Savepoints()
	for _, id := range ids {
		if err == nil && !slices.ContainsFunc(all, func(sp state.Savepoint) bool { return sp.ID == id }) {
			err = sqlerr.New(sqlerr.UndefinedObject, "the savepoint has been dropped by another session")
		}
	}
	if err != nil {
		m.saves.unlock()
		return nil, err
	}
	return m.saves.unlock, nil
}

// followSaved makes the relations that savepoints read from keep their changes, before
// anything is written to them.
func (m *Manager) followSaved() {
	all, err := m.cfg.Store.Savepoints()
	for _, sp := range all {
		cp, e := m.cfg.Store.Last(sp.ID)
		if e == nil && cp != nil {
			e = build.Register(m.cfg.Store, cp, m.byID())
		}
		if e != nil {
			m.cfg.Log("savepoint %s: %s", sp.Name, e)
		}
	}
	if err != nil {
		m.cfg.Log("savepoints: %s", err)
	}
}

// Reads tells which stored relations a savepoint goes on reading from.
func (m *Manager) Reads(sp *state.Savepoint) (map[catalog.ObjectID]bool, error) {
	cp, err := m.cfg.Store.Last(sp.ID)
	if err != nil || cp == nil {
		return nil, err
	}
	out := map[catalog.ObjectID]bool{}
	for _, id := range cp.Feeds {
		out[catalog.ObjectID(id)] = true
	}
	return out, nil
}

// turn is a lock that can be waited for with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) unlock() { <-t }

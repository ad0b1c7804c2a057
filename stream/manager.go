package stream

import (
	"context"
	"errors"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/state"
)

// Config is what queries run with.
type Config struct {
	Store    *state.Store
	Catalog  *catalog.Catalog
	Registry connector.Registry
	Clock    clock.Clock
	// Trigger is the default trigger.
	Trigger Trigger
	// MaxEpochRows is how many rows of one split an epoch reads at most, where it is
	// not cut by time: it bounds what a crash makes the query do again. 0: 1 << 20.
	MaxEpochRows int
	// StateMemory is how many bytes of state all queries together may hold in memory, as
	// far as their operators can leave the rest to the store; 0: any number.
	StateMemory int64
	// Events takes what befalls queries: the event's channel and what makes its text,
	// to be called only if somebody wants it. It must not block; nil: nobody does.
	Events func(channel string, text func() string)
	// Log receives one line an event: started, stopped, failed.
	Log func(format string, args ...any)
}

// Manager keeps all continuous queries of a server. Safe for concurrent use.
type Manager struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	queries map[catalog.ObjectID]*Query
	closed  bool
	// changed is closed and renewed whenever a query changes its state.
	changed chan struct{}

	// stopping are rows that stopped sinks.
	stopping ring[FailedRow]
	// saves is held while a savepoint is made or dropped.
	saves turn
	// running is the number of runs.
	running atomic.Int64
}

// NewManager returns a manager without queries.
func NewManager(cfg Config) *Manager {
	m := &Manager{cfg: cfg, queries: map[catalog.ObjectID]*Query{}, changed: make(chan struct{}),
		saves: newTurn()}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if m.cfg.MaxEpochRows == 0 {
		m.cfg.MaxEpochRows = maxEpochRows
	}
	if m.cfg.Log == nil {
		m.cfg.Log = func(string, ...any) {}
	}
	return m
}

// Start starts the queries of all objects, those first that others read. A query
// that cannot be started is failed and does not stop the others.
func (m *Manager) Start() {
	objects := m.cfg.Catalog.Snapshot().InOrder()
	byID := m.byID()
	m.followSaved()
	// Readers register first: no change may be lost to a query that starts later, or
	// not at all.
	for _, o := range objects {
		if !o.Runs() {
			continue
		}
		c, err := m.cfg.Store.Last(uint32(o.ID))
		if err == nil && c != nil {
			err = build.Register(m.cfg.Store, c, byID)
		}
		if err != nil {
			m.cfg.Log("%s %s: %s", o.Kind, o.Name, err)
		}
	}
	for _, o := range objects {
		if o.Runs() {
			_ = m.start(o)
		}
	}
}

// Create starts the query of a new object.
func (m *Manager) Create(_ context.Context, o *catalog.Object) error {
	if !o.Runs() {
		return nil
	}
	if err := m.checkLimits(o); err != nil {
		return err
	}
	return m.start(o)
}

func (m *Manager) start(o *catalog.Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosing()
	}
	if m.queries[o.ID] != nil {
		return nil
	}
	q := newQuery(m, o)
	m.queries[o.ID] = q
	q.begin()
	return nil
}

func errClosing() error { return sqlerr.New(sqlerr.AdminShutdown, "the server is shutting down") }

// Drop stops an object's query, if it has one, and removes state and rows.
func (m *Manager) Drop(_ context.Context, o *catalog.Object) error {
	m.mu.Lock()
	q := m.queries[o.ID]
	delete(m.queries, o.ID)
	m.mu.Unlock()
	var err error
	if q != nil {
		q.end(nil)
		err = m.cfg.Store.DropQuery(uint32(o.ID))
		m.cfg.Store.Leave(build.ReaderPrefix(uint32(o.ID)))
	}
	if o.Stored() {
		err = errors.Join(err, m.cfg.Store.DropRelation(uint32(o.ID)))
	}
	m.notify()
	return err
}

// Alter puts an object's changed options into force: the trigger at the next
// epoch, others by a restart of the query.
func (m *Manager) Alter(_ context.Context, o *catalog.Object) error {
	opt, err := readOptions(o, m.cfg.Trigger)
	if err != nil {
		return err
	}
	if err := m.checkLimits(o); err != nil {
		return err
	}
	if q := m.query(o.ID); q != nil {
		q.alter(o, opt)
	}
	return nil
}

// Control pauses, resumes or restarts a query.
func (m *Manager) Control(_ context.Context, o *catalog.Object, a sql.ControlAction) error {
	q := m.query(o.ID)
	if q == nil {
		return sqlerr.New(sqlerr.WrongObjectType, "%s %s has no running query", o.Kind, o.Name)
	}
	q.life.Lock()
	defer q.life.Unlock()
	switch a {
	case sql.Pause:
		q.stop()
		q.set(Paused, nil)
	case sql.Resume:
		if s := q.Status().State; s != Paused && s != Failed {
			return sqlerr.New(sqlerr.ObjectNotInState, "%s is not paused, it is %s", o.Name, s)
		}
		q.set(Creating, nil) // who flushes from now on waits for it
		q.begin()
	case sql.Restart:
		q.stop()
		q.set(Creating, nil)
		q.begin()
	}
	return nil
}

func (m *Manager) query(id catalog.ObjectID) *Query {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queries[id]
}

// all returns the queries by id: those that others read come first.
func (m *Manager) all() []*Query {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Query, 0, len(m.queries))
	for _, q := range m.queries {
		out = append(out, q)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// Status returns the status of all queries by id.
func (m *Manager) Status() []Status {
	qs := m.all()
	out := make([]Status, len(qs))
	for i, q := range qs {
		out[i] = q.Status()
	}
	return out
}

// Flush waits until every query has absorbed every row that is there now. A
// query that has failed is an error.
func (m *Manager) Flush(ctx context.Context) error {
	for _, q := range m.all() {
		if err := q.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Await waits until the query has finished, or failed, which is an error; o nil:
// until any query has.
func (m *Manager) Await(ctx context.Context, o *catalog.Object) error {
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		for _, q := range m.all() {
			if o != nil && q.id != o.ID {
				continue
			}
			switch s := q.Status(); s.State {
			case Finished:
				return nil
			case Failed:
				return s.failure()
			}
		}
		if o != nil && m.query(o.ID) == nil {
			return sqlerr.New(sqlerr.UndefinedObject, "%s %s has no running query", o.Kind, o.Name)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (m *Manager) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// Bounded tells whether a source ends by itself.
func (m *Manager) Bounded(o *catalog.Object) (bounded bool) {
	m.look(o, func(s connector.Source) { bounded = s.Bounded() })
	return bounded
}

// Close stops all queries, each in order, and waits for them.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	var stopping sync.WaitGroup
	for _, q := range m.all() {
		stopping.Add(1)
		spawn.Go("stop query", func() error { q.end(errClosing()); return nil }, func(error) { stopping.Done() })
	}
	stopping.Wait()
	m.cancel()
}

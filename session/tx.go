package session

import (
	"context"
	"maps"
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/state"
)

// tx is a session's transaction.
type tx struct {
	s      *Session
	block  bool // begun by BEGIN; else implicit
	failed bool
	now    int64 // what now() returns, in microseconds since the Unix epoch
	// cat, writes and snap are made when first needed.
	cat        *catalog.Tx
	writes     *state.Txn
	snap       *state.Snapshot
	log        []write // all changes of writes in a block, for savepoints
	kept       []keptBatch
	saved      *savedVars
	savepoints []savepoint
	notify     []pgwire.Notification // sent at commit
	listens    []func()              // LISTEN and UNLISTEN, at commit
	held       map[string]bool       // WITH HOLD portals that were there before
	wrote      bool                  // rows were changed
	queried    bool                  // a query or write has run
}

// savepoint is what ROLLBACK TO goes back to.
type savepoint struct {
	name    string
	vars    *savedVars
	cat     *catalog.TxMark
	log     int
	notify  int
	listens int
	portals map[string]bool
}

// TxStatus returns the state that ReadyForQuery carries.
func (s *Session) TxStatus() pgwire.TxStatus {
	switch {
	case s.tx == nil || !s.tx.block:
		return pgwire.TxIdle
	case s.tx.failed:
		return pgwire.TxFailed
	}
	return pgwire.TxBlock
}

// begin makes sure that there is a transaction.
func (s *Session) begin() *tx {
	if s.tx == nil {
		t := &tx{s: s, now: clock.Micros(s.srv.Clock), saved: s.vars.save()}
		for _, p := range s.names.Portals() {
			if p.Hold {
				if t.held == nil {
					t.held = map[string]bool{}
				}
				t.held[p.Name] = true
			}
		}
		s.tx = t
		for _, m := range modeNames {
			i, _ := s.vars.reg.find("transaction_" + m)
			s.vars.put(i, s.vars.get("default_transaction_"+m), "default")
		}
	}
	return s.tx
}

// Sync commits the implicit transaction.
func (s *Session) Sync(ctx context.Context) error {
	s.activity.set(s.state(), "", clock.Micros(s.srv.Clock))
	if s.tx == nil || s.tx.block {
		return nil
	}
	return s.commit(ctx)
}

func (s *Session) state() string {
	switch s.TxStatus() {
	case pgwire.TxBlock:
		return "idle in transaction"
	case pgwire.TxFailed:
		return "idle in transaction (aborted)"
	}
	return "idle"
}

// Abort tells that a statement failed.
func (s *Session) Abort(error) {
	if s.tx != nil {
		if s.tx.block {
			s.tx.failed = true
			s.endPortals(false)
		} else {
			s.rollback()
		}
	}
	s.activity.set(s.state(), "", clock.Micros(s.srv.Clock))
}

// endPortals closes the portals that end with their transaction; at a commit
// those WITH HOLD stay.
func (s *Session) endPortals(committed bool) {
	t := s.tx
	s.names.EndTransaction(func(p *pgwire.NamedPortal) bool { return committed || t.held[p.Name] })
}

// commit ends the transaction; after an error it has been rolled back.
func (s *Session) commit(ctx context.Context) error {
	t := s.tx
	if err := s.holdPortals(ctx); err != nil {
		s.rollback()
		return err
	}
	if err := t.apply(ctx); err != nil {
		s.rollback()
		return err
	}
	s.endPortals(true)
	t.release()
	s.tx = nil
	s.vars.commit()
	for _, fn := range t.listens {
		fn()
	}
	for _, n := range t.notify {
		s.srv.Notify(n.PID, n.Channel, n.Payload)
	}
	if t.wrote && s.vars.on("implicit_flush") {
		return s.srv.Queries.Flush(ctx)
	}
	return nil
}

// holdPortals reads the rest of the WITH HOLD cursors that see the
// transaction's own rows.
func (s *Session) holdPortals(ctx context.Context) error {
	for _, p := range s.names.Portals() {
		if sp, ok := p.Portal.(interface{ hold(context.Context) error }); ok && p.Hold && !s.tx.held[p.Name] {
			if err := sp.hold(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) rollback() {
	s.endPortals(false)
	s.tx.rollback()
	s.tx = nil
}

func (t *tx) rollback() {
	t.s.vars.restore(t.saved)
	t.release()
}

func (t *tx) release() {
	if t.writes != nil {
		t.writes.Rollback()
		t.writes = nil
	}
	if t.snap != nil {
		_ = t.snap.Close() // nothing can be done about a view that cannot be closed
		t.snap = nil
	}
	t.dropLog()
}

// catalogTx returns the transaction's change of the catalog.
func (t *tx) catalogTx() *catalog.Tx {
	if t.cat == nil {
		t.cat = t.s.srv.Catalog.Begin()
	}
	return t.cat
}

// apply makes the changes durable: the catalog's, then the rows, with queries
// started in between (they see the rows as they see any later ones). What was
// done is undone when a step fails; drops come last, since they cannot be. Queries that
// are replaced stand still until all is done.
func (t *tx) apply(ctx context.Context) error {
	changed := t.cat != nil && t.cat.Changed()
	if changed {
		done, err := t.hold(ctx)
		if err != nil {
			return err
		}
		applied := false
		defer func() { done(applied) }()
		if err := t.commitAll(ctx); err != nil {
			return err
		}
		applied = true
		t.dropData(ctx)
		return nil
	}
	if t.writes == nil {
		return nil
	}
	err := t.writes.Commit()
	t.writes = nil
	return err
}

// commitAll commits the change of the catalog and then the rows.
func (t *tx) commitAll(ctx context.Context) error {
	if err := t.cat.Commit(); err != nil {
		return err
	}
	if err := t.startQueries(ctx); err != nil {
		return err
	}
	if t.writes == nil {
		return nil
	}
	err := t.writes.Commit()
	t.writes = nil
	if err != nil {
		t.undo(ctx, t.cat.Created(), t.cat.Replaced())
	}
	return err
}

func (t *tx) startQueries(ctx context.Context) error {
	var done []*catalog.Object
	for _, o := range t.cat.Created() {
		if !o.Runs() {
			continue
		}
		if err := t.s.srv.Queries.Create(ctx, o); err != nil {
			t.undo(ctx, done, nil)
			return err
		}
		done = append(done, o)
	}
	var altered []*catalog.Object
	for _, o := range t.cat.Replaced() {
		old := t.cat.Before(o.ID)
		if !o.Runs() || changeOf(old) != changeOf(o) || old.Name == o.Name && maps.Equal(old.Options, o.Options) {
			continue
		}
		if err := t.s.srv.Queries.Alter(ctx, o); err != nil {
			t.undo(ctx, done, altered)
			return err
		}
		altered = append(altered, o)
	}
	return nil
}

// undo takes back a committed change of the catalog with the queries started or
// altered for it. The caller reports the error that made it necessary; one from
// here could only hide it.
func (t *tx) undo(ctx context.Context, started, altered []*catalog.Object) {
	ctx = context.WithoutCancel(ctx)
	for _, o := range slices.Backward(started) {
		if o.Runs() {
			_ = t.s.srv.Queries.Drop(ctx, o)
		}
	}
	inv := t.cat.Inverse()
	if inv.Commit() != nil {
		return
	}
	for _, o := range altered {
		if old := t.s.srv.Catalog.Snapshot().ByID(o.ID); old != nil && old.Runs() {
			_ = t.s.srv.Queries.Alter(ctx, old)
		}
	}
}

// dropData removes what belonged to dropped objects. The objects are gone
// already, so a failure is only told: the space is found again at the next start.
func (t *tx) dropData(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, o := range t.cat.Dropped() {
		var err error
		if o.Runs() {
			err = t.s.srv.Queries.Drop(ctx, o)
		}
		if err == nil && o.Stored() {
			err = t.s.srv.Store.DropRelation(uint32(o.ID))
		}
		if err != nil {
			t.s.warning(sqlerr.Warning, "%s %q is dropped, but not all of its data: %v", o.Kind, o.Name, err)
		}
	}
}

// reader is what a SELECT reads from: nil stands for what is committed now.
func (t *tx) reader() state.Reader {
	if t.writes != nil {
		return t.writes
	}
	switch t.s.vars.get("transaction_isolation") {
	case "repeatable read", "serializable":
		if t.block {
			if t.snap == nil {
				t.snap = t.s.srv.Store.Snapshot()
			}
			return t.snap
		}
	}
	return nil
}

// writable returns the transaction's table writes; 25006 in a read-only one.
func (t *tx) txn() *state.Txn {
	if t.writes == nil {
		t.writes = t.s.srv.Store.Begin()
	}
	t.wrote = true
	return t.writes
}

// checkWrite refuses what changes anything in a read-only transaction.
func (t *tx) checkWrite(what string) error {
	if t.s.vars.on("transaction_read_only") {
		return sqlerr.New(sqlerr.ReadOnlyTransaction, "cannot execute %s in a read-only transaction", what)
	}
	return nil
}

// outsideBlock refuses a statement in a block; an implicit transaction before it
// is committed.
func (s *Session) outsideBlock(ctx context.Context, what string) error {
	if s.tx != nil && s.tx.block {
		return sqlerr.New(sqlerr.ActiveTransaction, "%s cannot run inside a transaction block", what)
	}
	return s.commitImplicit(ctx)
}

// commitImplicit commits what an implicit transaction has done so far and goes
// on in a new one.
func (s *Session) commitImplicit(ctx context.Context) error {
	if s.tx != nil && !s.tx.block && (s.tx.wrote || s.tx.cat != nil && s.tx.cat.Changed()) {
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	s.begin()
	return nil
}

// populated makes sure that a query sees the rows of the views that it reads: a
// view made in this transaction has none before the commit.
// With implicit_flush it also waits until running queries have absorbed all that
// there is.
func (s *Session) populated(ctx context.Context, reads []catalog.ObjectID) error {
	if s.vars.on("implicit_flush") && (s.tx == nil || !s.tx.block) && s.readsStored(reads) {
		if err := s.commitImplicit(ctx); err != nil {
			return err
		}
		return s.srv.Queries.Flush(ctx)
	}
	if s.tx == nil || s.tx.cat == nil || !s.tx.cat.Changed() {
		return nil
	}
	for _, o := range s.tx.cat.Created() {
		if !o.Runs() || !slices.Contains(reads, o.ID) {
			continue
		}
		if s.tx.block {
			return sqlerr.New(sqlerr.ObjectNotInState, "%s %q has not been populated", o.Kind, o.Name).
				WithHint("It is filled after COMMIT of the transaction that creates it.")
		}
		return s.commitImplicit(ctx)
	}
	return nil
}

// readsStored tells whether one of the objects is kept up to date by a query, or
// shows what one does.
func (s *Session) readsStored(reads []catalog.ObjectID) bool {
	snap := s.snapshot()
	return slices.ContainsFunc(reads, func(id catalog.ObjectID) bool {
		o := snap.ByID(id)
		return o != nil && (o.Runs() || o.Kind == catalog.KindSystem && o.Name.Schema == catalog.SchemaStreamsql)
	})
}

// aborted is the error of every statement in a failed block.
func aborted() *sqlerr.Error {
	return sqlerr.New(sqlerr.InFailedTransaction,
		"current transaction is aborted, commands ignored until end of transaction block")
}

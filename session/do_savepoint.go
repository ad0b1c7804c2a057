package session

import (
	"context"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// States is what becomes of the state of continuous queries whose definitions change.
// A Queries may implement it; *stream.Manager does.
type States interface {
	// Assess fills in the Origin of o, which takes the place of old, or goes on from a
	// savepoint; either may be nil.
	Assess(snap *catalog.Snapshot, o, old *catalog.Object, sp *state.Savepoint) (*stream.Assessment, error)
	// Hold stops the query of an object that is about to be replaced until done is called.
	Hold(ctx context.Context, o, next *catalog.Object) (done func(replaced bool), err error)
	// Pin keeps savepoints from being dropped until release is called.
	Pin(ctx context.Context, ids []uint32) (release func(), err error)
	// Save makes a savepoint, Savepoint returns one by name, nil for none.
	Save(ctx context.Context, name string, o *catalog.Object) error
	Savepoint(name string) (*state.Savepoint, error)
	DropSavepoint(ctx context.Context, sp *state.Savepoint) error
}

func (s *Session) states() (States, error) {
	if st, ok := s.srv.Queries.(States); ok {
		return st, nil
	}
	return nil, sqlerr.Unsupported("savepoints of queries are not supported here")
}

func (s *Session) prepareSavepoint(tree sql.Statement) *statement {
	return s.command(func(ctx context.Context) (string, error) {
		st, err := s.states()
		if err != nil {
			return "", err
		}
		switch t := tree.(type) {
		case *sql.CreateSavepoint:
			return "CREATE SAVEPOINT", s.createSavepoint(ctx, st, t)
		case *sql.DropSavepoint:
			return "DROP SAVEPOINT", s.dropSavepoints(ctx, st, t)
		}
		return "", sqlerr.Internal("not a statement about savepoints")
	})
}

func (s *Session) createSavepoint(ctx context.Context, st States, t *sql.CreateSavepoint) error {
	if err := s.begin().checkWrite("CREATE SAVEPOINT"); err != nil {
		return err
	}
	if err := s.outsideBlock(ctx, "CREATE SAVEPOINT"); err != nil {
		return err
	}
	o, err := s.target(t.Query)
	if err != nil {
		return err
	}
	have, err := st.Savepoint(t.Name.Text)
	if err != nil {
		return err
	}
	if have != nil && t.IfNotExists {
		s.notice(sqlerr.DuplicateObject, "savepoint %q already exists, skipping", t.Name.Text)
		return nil
	}
	if err := st.Save(ctx, t.Name.Text, o); err != nil {
		e := sqlerr.From(err)
		if e.Code == sqlerr.DuplicateObject {
			e = e.At(t.Name.Pos)
		}
		return e
	}
	return nil
}

func (s *Session) dropSavepoints(ctx context.Context, st States, t *sql.DropSavepoint) error {
	if err := s.begin().checkWrite("DROP SAVEPOINT"); err != nil {
		return err
	}
	if err := s.outsideBlock(ctx, "DROP SAVEPOINT"); err != nil {
		return err
	}
	var all []*state.Savepoint
	for _, n := range t.Names {
		sp, err := s.savepointNamed(st, n)
		if err != nil {
			if sqlerr.From(err).Code == sqlerr.UndefinedObject && t.IfExists {
				s.notice(sqlerr.SuccessfulCompletion, "savepoint %q does not exist, skipping", n.Text)
				continue
			}
			return err
		}
		all = append(all, sp)
	}
	for _, sp := range all {
		if err := st.DropSavepoint(ctx, sp); err != nil {
			return err
		}
	}
	return nil
}

// savepointNamed finds a savepoint: 42704 if there is none.
func (s *Session) savepointNamed(st States, n sql.Name) (*state.Savepoint, error) {
	sp, err := st.Savepoint(n.Text)
	if err == nil && sp == nil {
		err = sqlerr.New(sqlerr.UndefinedObject, "savepoint %q does not exist", n.Text).At(n.Pos).
			WithHint("streamsql.savepoints has those of queries.")
	}
	return sp, err
}

// restartFrom takes a query back to where it was at a savepoint.
func (s *Session) restartFrom(ctx context.Context, t *sql.Control, o *catalog.Object) error {
	st, err := s.states()
	if err != nil {
		return err
	}
	if err := s.begin().checkWrite("RESTART FROM SAVEPOINT"); err != nil {
		return err
	}
	sp, err := s.savepointNamed(st, t.Savepoint)
	if err != nil {
		return err
	}
	if err := sentAlready(o, t.Name); err != nil {
		return err
	}
	next := *o
	a, err := st.Assess(s.snapshot(), &next, o, sp)
	if err != nil {
		return err
	}
	if !a.Whole {
		e := sqlerr.New(sqlerr.ObjectNotInState, "savepoint %q is of another definition than %s %q has now", sp.Name,
			o.Kind, o.Name).At(t.Savepoint.Pos).
			WithHint("Use CREATE OR REPLACE ... FROM SAVEPOINT to give it the definition too.")
		if a.Why != "" {
			e.Detail = a.Why + "."
		}
		return e
	}
	if err := s.takesBack(o, &next, a); err != nil {
		return err
	}
	if err := s.tx.catalogTx().Replace(&next); err != nil {
		return err
	}
	return s.commitImplicit(ctx)
}

// sentAlready refuses to take a sink back: its rows are out.
func sentAlready(o *catalog.Object, n sql.QualifiedName) error {
	if o.Kind != catalog.KindSink && o.Kind != catalog.KindFlow {
		return nil
	}
	return sqlerr.New(sqlerr.ObjectNotInState, "%s %q cannot go back to a savepoint: its rows have been sent since",
		o.Kind, o.Name).At(n.Pos()).
		WithHint("CREATE another %s FROM SAVEPOINT; it sends again what came after the savepoint.", o.Kind)
}

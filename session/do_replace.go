package session

import (
	"context"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// replaces tells whether a CREATE statement has OR REPLACE, and the savepoint that it
// begins with.
func replaces(tree sql.Statement) (orReplace bool, savepoint sql.Name) {
	switch t := tree.(type) {
	case *sql.CreateView:
		return t.OrReplace, t.Savepoint
	case *sql.CreateSink:
		return t.OrReplace, t.Savepoint
	case *sql.CreateFlow:
		return t.OrReplace, t.Savepoint
	}
	return false, sql.Name{}
}

// createQuery makes a materialized view, a sink or a flow, or replaces one.
func (s *Session) createQuery(ctx context.Context, in *input, tree sql.Statement) error {
	d, err := s.defined(ctx, in.text, tree)
	if err != nil {
		return err
	}
	if d.plan != nil {
		for _, w := range d.plan.Warnings {
			s.client.Notice(w)
		}
	}
	if d.Assessment != nil {
		s.tellReplaced(d)
	}
	if d.old == nil {
		return s.begin().catalogTx().Create(d.o)
	}
	return s.begin().catalogTx().Replace(d.o)
}

// defined is a planned definition, with what it takes over of a state that is there.
type defined struct {
	o, old *catalog.Object // old: what o takes the place of; nil: nothing
	plan   *ContinuousPlan
	sp     *state.Savepoint // nil: none is named
	// Assessment is nil where there is no state to take over.
	*stream.Assessment
}

// defined plans a CREATE statement, and checks whether it may replace what it replaces.
func (s *Session) defined(ctx context.Context, text string, tree sql.Statement) (*defined, error) {
	d := &defined{}
	orReplace, named := replaces(tree)
	name, kind, _ := created(tree)
	full, err := s.newName(name)
	if err != nil {
		return nil, err
	}
	if have := s.snapshot().Get(full.Schema, full.Name); have != nil && orReplace {
		if d.old = have; have.Kind != kind {
			return nil, sqlerr.New(sqlerr.WrongObjectType, "%q is not a %s", full.Name, kind).At(name.Pos())
		}
	}
	if d.o, d.plan, err = s.define(ctx, text, tree, d.old); err != nil {
		return nil, err
	}
	if d.old == nil && named.Text == "" {
		return d, nil
	}
	st, err := s.states()
	if err != nil {
		return nil, err
	}
	if named.Text != "" {
		if d.sp, err = s.savepointNamed(st, named); err != nil {
			return nil, err
		}
	}
	if err := s.mayReplace(d, name); err != nil {
		return nil, err
	}
	if d.plan == nil { // a sink that flows write to
		return d, nil
	}
	if d.Assessment, err = st.Assess(s.snapshot(), d.o, d.old, d.sp); err != nil {
		return nil, err
	}
	if d.sp != nil && len(d.Keep) == 0 {
		e := sqlerr.New(sqlerr.ObjectNotInState, "%s %q can keep nothing of savepoint %q", d.o.Kind, d.o.Name, d.sp.Name).
			At(named.Pos)
		if e.Detail = "Their operators differ down to what they read."; d.Why != "" {
			e.Detail = d.Why + "."
		}
		return nil, e
	}
	if d.old == nil {
		return d, nil
	}
	d.o.Layout = d.old.Layout
	if d.o.Stored() && !sameLayout(d.old, d.o) {
		d.o.Layout = d.o.Origin.Change
	}
	return d, s.takesBack(d.old, d.o, d.Assessment)
}

// sameLayout tells whether two versions of a view store their rows the same way.
func sameLayout(a, b *catalog.Object) bool {
	x, y := build.RelationSpec(a), build.RelationSpec(b)
	return x.Mode == y.Mode && slices.Equal(x.Key, y.Key) &&
		slices.EqualFunc(a.Columns, b.Columns, func(c, d catalog.Column) bool { return c.Type.Equal(d.Type) })
}

// mayReplace tells whether d.o may take the place of d.old, for all that others have of
// it.
func (s *Session) mayReplace(d *defined, name sql.QualifiedName) error {
	if d.old == nil {
		return nil
	}
	if d.sp != nil {
		if err := sentAlready(d.old, name); err != nil {
			return err
		}
	}
	snap := s.snapshot()
	for todo := []catalog.ObjectID{d.old.ID}; len(todo) > 0; todo = todo[1:] {
		for _, dep := range snap.Dependents(todo[0]) {
			if slices.Contains(d.o.DependsOn, dep.ID) || slices.Contains(d.o.DependsOn, d.old.ID) {
				return sqlerr.New(sqlerr.InvalidRecursion, "%s %q would depend on itself", d.o.Kind, d.o.Name.Name)
			}
			todo = append(todo, dep.ID)
		}
	}
	if slices.Contains(d.o.DependsOn, d.old.ID) {
		return sqlerr.New(sqlerr.InvalidRecursion, "%s %q would depend on itself", d.o.Kind, d.o.Name.Name)
	}
	deps := snap.Dependents(d.old.ID)
	if len(deps) == 0 {
		return nil
	}
	if d.o.Kind != catalog.KindMaterializedView {
		return dependsOn(d.old, deps[0], "cannot replace %s %s because other objects depend on it")
	}
	if err := keepsColumns(d.old, d.o); err != nil {
		return err.WithDetail("%s %s depends on %s %s.", deps[0].Kind, deps[0].Name, d.old.Kind, d.old.Name)
	}
	if d.old.AppendOnly != d.o.AppendOnly || (d.old.Key == nil) != (d.o.Key == nil) || !slices.Equal(d.old.Key, d.o.Key) {
		return dependsOn(d.old, deps[0],
			"cannot replace %s %s by one whose rows have another key or change in another way")
	}
	return nil
}

func dependsOn(o, dep *catalog.Object, format string) *sqlerr.Error {
	return sqlerr.New(sqlerr.DependentObjects, format, o.Kind, o.Name).
		WithDetail("%s %s depends on %s %s.", dep.Kind, dep.Name, o.Kind, o.Name).
		WithHint("Drop the dependent objects first, or create another %s.", o.Kind)
}

// keepsColumns is what PostgreSQL asks of a view that is replaced, and that there are no
// more columns: a dependent query that reads * would get them.
func keepsColumns(old, o *catalog.Object) *sqlerr.Error {
	const hint = "Drop the dependent objects first, or create another materialized view."
	if len(o.Columns) < len(old.Columns) {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "cannot drop columns from materialized view").WithHint(hint)
	}
	for i, c := range old.Columns {
		switch n := o.Columns[i]; {
		case c.Name != n.Name:
			return sqlerr.New(sqlerr.InvalidTableDefinition,
				"cannot change name of materialized view column %q to %q", c.Name, n.Name).WithHint(hint)
		case !c.Type.Equal(n.Type):
			return sqlerr.New(sqlerr.InvalidTableDefinition,
				"cannot change data type of materialized view column %q from %s to %s", c.Name, c.Type, n.Type).WithHint(hint)
		}
	}
	if len(o.Columns) > len(old.Columns) {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "cannot add column %q to materialized view that others depend on",
			o.Columns[len(old.Columns)].Name).WithHint(hint)
	}
	return nil
}

// takesBack refuses a change that takes rows back which others count on to stay.
func (s *Session) takesBack(old, o *catalog.Object, a *stream.Assessment) error {
	if !old.AppendOnly || !old.Stored() || a.Whole && o.Origin.Savepoint == 0 {
		return nil
	}
	if deps := s.snapshot().Dependents(old.ID); len(deps) > 0 {
		return dependsOn(old, deps[0], "cannot take rows of %s %s back, which has only inserts")
	}
	return nil
}

// tellReplaced says what becomes of the state.
func (s *Session) tellReplaced(d *defined) {
	name := d.o.Kind.String() + " " + sql.QuoteIdent(d.o.Name.Name)
	anew := d.ReadAnew(d.Plan)
	switch {
	case d.Whole:
		s.notice(sqlerr.SuccessfulCompletion, "%s goes on with all its state", name)
	case len(anew) == 0:
		s.notice(sqlerr.SuccessfulCompletion, "%s goes on with the state of %d operators; nothing is read again", name,
			len(d.Keep))
	default:
		why := ""
		if d.Why != "" {
			why = ": " + d.Why
		}
		s.notice(sqlerr.SuccessfulCompletion, "%s is built anew from %s%s", name, strings.Join(anew, ", "), why)
	}
}

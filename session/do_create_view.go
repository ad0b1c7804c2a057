package session

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// definitionInput is what the query of an object is planned with. Names are
// looked up along the default path, whatever the session's: the stored text must
// mean the same at every start.
func (s *Session) definitionInput(text string) *PlanInput {
	in := s.planInput(text, nil)
	in.Catalog = s.snapshot().WithPath(catalog.DefaultPath)
	return in
}

// userReads are the objects among reads that a definition depends on.
func userReads(snap *catalog.Snapshot, reads []catalog.ObjectID) ([]catalog.ObjectID, error) {
	var out []catalog.ObjectID
	for _, id := range reads {
		o := snap.ByID(id)
		if o == nil || slices.Contains(out, id) {
			continue
		}
		if o.Kind != catalog.KindSystem {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// columnsOf makes catalog columns of a query's, renamed by names.
func columnsOf(cols []pgwire.Column, names []sql.Name) ([]catalog.Column, error) {
	if len(names) > len(cols) {
		return nil, sqlerr.New(sqlerr.SyntaxError, "too many column names were specified").At(names[len(cols)].Pos)
	}
	out := make([]catalog.Column, len(cols))
	seen := map[string]bool{}
	for i, c := range cols {
		out[i] = catalog.Column{Name: c.Name, Type: c.Type}
		if i < len(names) {
			out[i].Name = names[i].Text
		}
		if c.Type.ID == types.Unknown {
			out[i].Type = types.TText
		}
		if seen[out[i].Name] {
			return nil, sqlerr.New(sqlerr.DuplicateColumn, "column %q specified more than once", out[i].Name)
		}
		seen[out[i].Name] = true
	}
	return out, nil
}

func noParams(ts []types.Type) error {
	if len(ts) > 0 {
		return sqlerr.New(sqlerr.UndefinedParameter, "there is no parameter $1")
	}
	return nil
}

func (s *Session) createView(in *input, t *sql.CreateView, n catalog.Name) error {
	if t.Temporary {
		return sqlerr.Unsupported("temporary views are not supported").At(t.Start)
	}
	if len(t.Options) > 0 {
		return unknownOption(t.Options[0].Name, nil)
	}
	if t.Emit != sql.EmitDefault {
		return sqlerr.New(sqlerr.SyntaxErrorOrRule, "EMIT belongs to materialized views, sinks and flows").At(t.Start)
	}
	plan, err := s.srv.Planner.Query(s.definitionInput(in.text), t.Query)
	if err == nil {
		err = noParams(plan.Params)
	}
	if err != nil {
		return err
	}
	cols, err := columnsOf(plan.Columns, t.Columns)
	if err != nil {
		return err
	}
	o := &catalog.Object{Name: n, Kind: catalog.KindView, Columns: cols, Query: t.QuerySpan.Of(in.text),
		SQL: statementSQL(in.text, t)}
	if o.DependsOn, err = userReads(s.snapshot(), plan.Reads); err != nil {
		return err
	}
	cat := s.begin().catalogTx()
	if old := s.snapshot().Get(n.Schema, n.Name); old != nil && t.OrReplace {
		if err := replaceable(s.snapshot(), old, o); err != nil {
			return err
		}
		o.ID, o.Comment = old.ID, old.Comment
		return cat.Replace(o)
	}
	if err := cat.Free(n); err != nil {
		return sqlerr.From(err).At(t.Name.Pos())
	}
	if o.ID, err = s.srv.Catalog.NewID(); err != nil {
		return err
	}
	return cat.Create(o)
}

// replaceable tells whether CREATE OR REPLACE may put o in the place of old.
func replaceable(snap *catalog.Snapshot, old, o *catalog.Object) error {
	if old.Kind != catalog.KindView {
		return sqlerr.New(sqlerr.WrongObjectType, "%q is not a view", old.Name.Name)
	}
	if len(o.Columns) < len(old.Columns) {
		return sqlerr.New(sqlerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i, c := range old.Columns {
		switch n := o.Columns[i]; {
		case c.Name != n.Name:
			return sqlerr.New(sqlerr.InvalidTableDefinition, "cannot change name of view column %q to %q", c.Name, n.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		case !c.Type.Equal(n.Type):
			return sqlerr.New(sqlerr.InvalidTableDefinition, "cannot change data type of view column %q from %s to %s",
				c.Name, c.Type, n.Type)
		}
	}
	for todo := []catalog.ObjectID{old.ID}; len(todo) > 0; todo = todo[1:] {
		for _, d := range snap.Dependents(todo[0]) {
			if d.ID == old.ID || slices.Contains(o.DependsOn, d.ID) {
				return sqlerr.New(sqlerr.InvalidRecursion, "view %q would depend on itself", old.Name.Name)
			}
			if d.Runs() {
				return sqlerr.New(sqlerr.DependentObjects,
					"cannot replace view %s because a running query depends on it", old.Name).
					WithDetail("%s %s depends on view %s.", d.Kind, d.Name, old.Name)
			}
			todo = append(todo, d.ID)
		}
	}
	return nil
}

// define plans the query of a materialized view, a sink or a flow and returns
// the object to be created, or the new version of old; the plan is nil for a sink
// without a query.
func (s *Session) define(ctx context.Context, text string, tree sql.Statement, old *catalog.Object) (
	*catalog.Object, *ContinuousPlan, error,
) {
	name, kind, _ := created(tree)
	o := &catalog.Object{Kind: kind}
	if old != nil {
		o.ID, o.Name, o.Comment = old.ID, old.Name, old.Comment
	} else {
		full, err := s.newName(name)
		if err == nil {
			o, err = s.newObject(full, kind, name.Pos())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	o.SQL = statementSQL(text, tree)
	d := &Definition{Object: o}
	switch t := tree.(type) {
	case *sql.CreateView:
		return s.defineView(text, t, d)
	case *sql.CreateSink:
		return s.defineSink(ctx, text, t, d)
	case *sql.CreateFlow:
		return s.defineFlow(ctx, text, t, d)
	}
	return nil, nil, sqlerr.Internal("not a continuous query")
}

func (s *Session) defineView(text string, t *sql.CreateView, d *Definition) (*catalog.Object, *ContinuousPlan, error) {
	var err error
	if d.Object.Options, err = takeOptions(d.Object.Kind, t.Options, false); err != nil {
		return nil, nil, err
	}
	d.Query, d.Columns, d.Emit = t.Query, t.Columns, t.Emit
	return s.plan(text, t.QuerySpan.Of(text), d)
}

// plan plans a definition and fills in its object.
func (s *Session) plan(text, query string, d *Definition) (*catalog.Object, *ContinuousPlan, error) {
	o := d.Object
	if err := emitOption(o, d.Emit); err != nil {
		return nil, nil, err
	}
	o.Query = query
	if zone := s.vars.get("TimeZone"); zone != "UTC" {
		o.TimeZone = zone
	}
	s.defaultParallelism(o)
	plan, err := s.srv.Planner.Continuous(s.definitionInput(text), d)
	if err != nil {
		return nil, nil, err
	}
	o.Columns, o.Key, o.AppendOnly, o.Diverts = plan.Columns, plan.Key, plan.AppendOnly, plan.Diverts
	o.DependsOn, err = userReads(s.snapshot(), plan.Reads)
	return o, plan, err
}

// defaultParallelism gives an object the session's setting where it has none.
func (s *Session) defaultParallelism(o *catalog.Object) {
	n := s.vars.get("parallelism")
	if _, given := o.Options["parallelism"]; !given && n != "0" {
		o.Options["parallelism"] = n
	}
}

// emitOption turns EMIT into the output mode that it stands for.
func emitOption(o *catalog.Object, e sql.Emit) error {
	mode := map[sql.Emit]string{sql.EmitOnWindowClose: "append", sql.EmitChanges: "update"}[e]
	if mode == "" {
		return nil
	}
	if given := o.Options["output_mode"]; given != "" && given != mode {
		return sqlerr.New(sqlerr.InvalidParameterValue, "EMIT contradicts output_mode %q", given)
	}
	o.Options["output_mode"] = mode
	return nil
}

func (s *Session) defineSink(ctx context.Context, text string, t *sql.CreateSink, d *Definition) (*catalog.Object,
	*ContinuousPlan, error) {
	o := d.Object
	var err error
	if o.Options, err = takeOptions(o.Kind, t.Options, true); err != nil {
		return nil, nil, err
	}
	if o.Options["connector"] == "" {
		return nil, nil, sqlerr.New(sqlerr.InvalidParameterValue, "sink %q has no connector", o.Name.Name).
			WithHint("Name one by WITH (connector = '...').")
	}
	if err := setFormat(o, t.Format); err != nil {
		return nil, nil, err
	}
	var plan *ContinuousPlan
	d.Query, d.Emit = t.Query, t.Emit
	query := t.QuerySpan.Of(text)
	if t.From != nil {
		d.Query = &sql.Query{Body: &sql.Select{Targets: []sql.Target{{X: &sql.Star{}}}, From: []sql.TableRef{t.From}}}
		query = sql.FormatQuery(d.Query)
	}
	if d.Query == nil { // its rows are known when a flow is created, which checks again
		bare := *o
		bare.AppendOnly = true
		return o, nil, s.checkSink(ctx, &bare)
	}
	if o, plan, err = s.plan(text, query, d); err != nil {
		return nil, nil, err
	}
	return o, plan, s.checkSink(ctx, o)
}

func (s *Session) defineFlow(ctx context.Context, text string, t *sql.CreateFlow, d *Definition) (*catalog.Object,
	*ContinuousPlan, error) {
	sink, err := s.resolveKind(sql.KindSink, t.Sink)
	if err != nil {
		return nil, nil, err
	}
	if sink == nil {
		return nil, nil, s.missing(catalog.KindSink, t.Sink)
	}
	if sink.Query != "" {
		return nil, nil, sqlerr.New(sqlerr.ObjectNotInState, "sink %q has a query of its own", sink.Name).At(t.Sink.Pos()).
			WithHint("A sink that flows write to is created without AS and FROM.")
	}
	if d.Object.Options, err = takeOptions(d.Object.Kind, t.Options, false); err != nil {
		return nil, nil, err
	}
	d.Object.Into = sink.ID
	d.Query, d.Emit = t.Query, t.Emit
	o, plan, err := s.plan(text, t.QuerySpan.Of(text), d)
	if err != nil {
		return nil, nil, err
	}
	// The sink is checked with the rows that it is going to get.
	merged := *sink
	merged.Columns, merged.Key, merged.AppendOnly = o.Columns, o.Key, o.AppendOnly
	return o, plan, s.checkSink(ctx, &merged)
}

// createTableAs makes a table of a query's columns and fills it.
func (s *Session) createTableAs(ctx context.Context, in *input, t *sql.CreateTable, o *catalog.Object) (string, error) {
	plan, err := s.srv.Planner.Query(s.planInput(in.text, nil), t.As)
	if err == nil {
		err = noParams(plan.Params)
	}
	if err == nil {
		err = s.populated(ctx, plan.Reads)
	}
	if err != nil {
		return "", err
	}
	if o.Columns, err = columnsOf(plan.Columns, t.ColumnNames); err != nil {
		return "", err
	}
	addRowID(o)
	if err := s.begin().catalogTx().Create(o); err != nil {
		return "", err
	}
	if t.WithNoData {
		return "CREATE TABLE AS", nil
	}
	q, err := s.runQuery(plan, nil, "")
	if err != nil {
		return "", err
	}
	defer q.Close()
	w, err := s.newWriter(o)
	if err != nil {
		return "", err
	}
	for {
		b, err := q.Next(ctx, 0)
		if err == io.EOF {
			return "SELECT " + strconv.FormatInt(w.count, 10), nil
		}
		if err != nil {
			return "", err
		}
		err = w.insert(w.complete(b))
		if err != nil {
			return "", err
		}
	}
}

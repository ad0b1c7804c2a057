package planner

import (
	"slices"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/rule"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// Env is what planning depends on besides the text.
type Env struct {
	// Resolver is the version of the catalog.
	Resolver catalog.Resolver
	// Params are the types of the statement's parameters as far as they are given;
	// TUnknown, or a position past the end, leaves one to be inferred.
	Params []types.Type
	// Settings are the session's; nil: the defaults.
	Settings *types.Env
	// Bounded tells whether a source ends by itself, so that a continuous query may
	// read it completely first; nil: none does.
	Bounded func(o *catalog.Object) bool
}

func (e *Env) bind() *bind.Env {
	return &bind.Env{Resolver: e.Resolver, Params: e.Params, Settings: e.Settings}
}

// Column is a column of a statement's result.
type Column struct {
	Name    string
	Type    types.Type
	NotNull bool
	// Table and Attr name the catalog column that it is a plain copy of; Attr counts
	// from 1, and both are 0 for anything computed.
	Table catalog.ObjectID
	Attr  int16
}

// Plan is a planned statement.
type Plan struct {
	Root physical.Node
	// Logical is the bound plan after the rules.
	Logical logical.Node
	// Columns are the result's.
	Columns []Column
	// Params are the types of all parameters.
	Params []types.Type
	// Reads are the stored objects that the plan reads, views included, each once,
	// in the order of their names.
	Reads []*catalog.Object
	// TellsTime: rows depend on when they are computed, by now() or the like.
	TellsTime bool
	// Notices are messages for the user that do not stop the statement.
	Notices []string
	// Fate is what Explain says of each node, by its number, where the plan takes the place
	// of another one: see Replacement.Tell.
	Fate map[int]string

	// Of a continuous plan: how its result changes.

	Mode physical.OutputMode
	// Key are the columns that identify a row of the result; nil: none.
	Key []int
	// AppendOnly: the result's rows are never changed or deleted.
	AppendOnly bool
	// EventTime is the result column that a watermark speaks of, or -1.
	EventTime int
}

// recorder is a Resolver that notes what was resolved.
type recorder struct {
	catalog.Resolver
	seen []*catalog.Object
}

// Resolve finds a relation and notes it.
func (r *recorder) Resolve(schema, name string) (*catalog.Object, error) {
	o, err := r.Resolver.Resolve(schema, name)
	if err == nil && o.Kind != catalog.KindSystem && !slices.Contains(r.seen, o) {
		r.seen = append(r.seen, o)
	}
	return o, err
}

func (r *recorder) objects() []*catalog.Object {
	slices.SortFunc(r.seen, func(a, b *catalog.Object) int { return int(a.ID) - int(b.ID) })
	return r.seen
}

// Select plans a query as a batch read: sources are read from their start to
// what is there now.
func Select(env *Env, q *sql.Query) (*Plan, error) {
	rec := &recorder{Resolver: env.Resolver}
	n, params, err := bindInferred(env, rec, func(b *bind.Binder) (logical.Node, error) { return b.Query(q) })
	if err != nil {
		return nil, err
	}
	p := &Plan{Params: params, Reads: rec.objects(), Columns: columnsOf(n), EventTime: -1}
	p.Logical = rule.Optimize(rule.DropWatermarks(n))
	lw := &lowerer{env: env, batch: true}
	root, err := lw.node(p.Logical)
	if err != nil {
		return nil, err
	}
	r := &physical.Result{Base: base(named(root.Schema(), p.Columns), root)}
	r.Prop = *root.Props()
	p.Root = r
	number(p.Root)
	return p, nil
}

// bindInferred binds a statement; where parameters have no type yet it does so
// twice, the second time with the types that the first one found.
func bindInferred(env *Env, rec *recorder, f func(*bind.Binder) (logical.Node, error)) (logical.Node, []types.Type,
	error) {
	be := env.bind()
	be.Resolver = rec
	b := bind.New(be)
	n, err := f(b)
	if err != nil {
		return nil, nil, err
	}
	params := slices.Clone(b.ParamTypes())
	if !slices.ContainsFunc(params, func(t types.Type) bool { return t.ID == types.Unknown }) {
		return n, params, nil
	}
	infer(n, params)
	be.Params = params
	n, err = f(bind.New(be))
	return n, params, err
}

// infer gives parameters without a type the one that a use of them asks for, or
// text.
func infer(n logical.Node, params []types.Type) {
	inferNode(n, params)
	textForRest(params)
}

func inferNode(n logical.Node, params []types.Type) {
	for _, c := range n.Children() {
		inferNode(c, params)
	}
	for _, e := range n.Exprs() {
		inferExpr(e, params)
	}
}

func inferExpr(e expr.Expr, params []types.Type) {
	expr.Walk(e, func(x expr.Expr) bool {
		if i, ok := expr.AsParam(x); ok && params[i].ID == types.Unknown {
			params[i] = x.Type()
		}
		return true
	})
}

func textForRest(params []types.Type) {
	for i, t := range params {
		if t.ID == types.Unknown {
			params[i] = types.TText
		}
	}
}

// InferParams returns the types of a query's or change's parameters.
func InferParams(env *Env, s sql.Statement) ([]types.Type, error) {
	switch s := s.(type) {
	case *sql.QueryStmt:
		_, params, err := bindInferred(env, &recorder{Resolver: env.Resolver},
			func(b *bind.Binder) (logical.Node, error) { return b.Query(s.Query) })
		return params, err
	case *sql.Insert, *sql.Update, *sql.Delete:
		c, err := DML(env, s)
		if err != nil {
			return nil, err
		}
		return c.Params, nil
	}
	return nil, sqlerr.Internal("parameters of %T", s)
}

func columnsOf(n logical.Node) []Column {
	out := make([]Column, n.Schema().Len())
	for i, f := range n.Schema().Fields {
		out[i] = Column{Name: f.Name, Type: f.Type, NotNull: f.NotNull, Table: f.Table, Attr: f.Attr}
	}
	return out
}

// named gives the columns of s the names of the result.
func named(s *plan.Schema, cols []Column) *plan.Schema {
	f := slices.Clone(s.Fields)
	for i := range f {
		f[i].Name = cols[i].Name
	}
	return plan.NewSchema(f...)
}

// base makes the common part of a node without an event time.
func base(s *plan.Schema, in ...physical.Node) physical.Base {
	return physical.Base{Out: s, Input: in, Prop: physical.Props{EventTime: -1}}
}

// number gives the nodes their ids.
func number(n physical.Node) {
	next := physical.NodeID(1)
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		n.(interface{ SetID(physical.NodeID) }).SetID(next)
		next++
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(n)
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/bind"
	"github.com/streamsql/streamsql/plan/physical"
	"github.com/streamsql/streamsql/plan/rule"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// Change is a planned INSERT, UPDATE or DELETE. bind.Change tells the layout of
// the rows that Plan.Root gives and of the rows that Conflict and Returning see.
type Change struct {
	Plan
	bind.Change
}

// DML plans an INSERT, UPDATE or DELETE. Columns are RETURNING's.
func DML(env *Env, s sql.Statement) (*Change, error) {
	rec := &recorder{Resolver: env.Resolver}
	be := env.bind()
	be.Resolver = rec
	do := func(b *bind.Binder) (*bind.Change, error) {
		switch s := s.(type) {
		case *sql.Insert:
			return b.Insert(s)
		case *sql.Update:
			return b.Update(s)
		case *sql.Delete:
			return b.Delete(s)
		}
		return nil, sqlerr.Internal("%T changes no table", s)
	}
	b := bind.New(be)
	c, err := do(b)
	if err != nil {
		return nil, err
	}
	params := slices.Clone(b.ParamTypes())
	if slices.ContainsFunc(params, func(t types.Type) bool { return t.ID == types.Unknown }) {
		inferChange(c, params)
		be.Params = params
		if c, err = do(bind.New(be)); err != nil {
			return nil, err
		}
	}
	out := &Change{Change: *c}
	out.Params, out.Reads, out.EventTime = params, rec.objects(), -1
	for i, e := range c.Returning {
		out.Columns = append(out.Columns, Column{Name: c.Names[i], Type: e.Type()})
	}
	names := columnsOf(c.Source)
	out.Logical = rule.Optimize(rule.DropWatermarks(c.Source))
	lw := &lowerer{env: env, batch: true}
	root, err := lw.node(out.Logical)
	if err != nil {
		return nil, err
	}
	out.Root = &physical.Result{Base: base(named(root.Schema(), names), root)}
	number(out.Root)
	return out, nil
}

// inferChange is infer for all expressions of a change.
func inferChange(c *bind.Change, params []types.Type) {
	inferNode(c.Source, params)
	es := slices.Clone(c.Returning)
	if c.Conflict != nil {
		es = append(es, c.Conflict.Set...)
		if c.Conflict.Where != nil {
			es = append(es, c.Conflict.Where)
		}
	}
	for _, e := range es {
		inferExpr(e, params)
	}
	textForRest(params)
}

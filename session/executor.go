package session

import (
	"context"
	"errors"
	"io"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan/planner"
	"github.com/streamsql/streamsql/state"
)

// NewExecutor returns the Executor of package exec. env holds what all
// executions share: store, connectors, clock, bad rows. follow serves those
// subscriptions that keep state; nil: they are refused.
func NewExecutor(env build.Env, follow Follow) Executor { return &engineExecutor{env, follow} }

type engineExecutor struct {
	env    build.Env
	follow Follow
}

func (e *engineExecutor) build(x *ExecEnv) *build.Env {
	env := e.env
	env.Reader, env.System = x.Reader, x.System
	env.Eval = expr.Ctx{Now: x.Now, Clock: e.env.Clock, Env: x.Env, Session: x.Session}
	if x.Params != nil {
		env.Eval.Params = x.Params.Cols
	}
	return &env
}

func rootOf(p *QueryPlan) (*planner.Plan, error) {
	root, ok := p.Node.(*planner.Plan)
	if !ok {
		return nil, sqlerr.Internal("a plan of %T", p.Node)
	}
	return root, nil
}

// Select runs a query.
func (e *engineExecutor) Select(ctx context.Context, p *QueryPlan, x *ExecEnv) (Rows, error) {
	root, err := rootOf(p)
	if err != nil {
		return nil, err
	}
	return build.Select(ctx, root.Root, e.build(x))
}

// Analyze runs a query for its figures.
func (e *engineExecutor) Analyze(ctx context.Context, p *QueryPlan, x *ExecEnv) (map[int]NodeFigures, error) {
	root, err := rootOf(p)
	if err != nil {
		return nil, err
	}
	rows, err := build.Select(ctx, root.Root, e.build(x))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		b.Release()
	}
	out := map[int]NodeFigures{}
	for _, s := range rows.Stats() {
		out[s.ID] = NodeFigures{Rows: s.RowsOut}
	}
	return out, nil
}

// Relation opens a stored relation.
func (e *engineExecutor) Relation(o *catalog.Object) (*state.Relation, error) {
	return build.Relation(e.env.Store, o)
}

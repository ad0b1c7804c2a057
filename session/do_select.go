package session

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// planInput is what a statement is planned with now.
func (s *Session) planInput(text string, params []types.Type) *PlanInput {
	return &PlanInput{Catalog: s.snapshot(), Params: params, Env: s.Env(), Text: text,
		RequireBounded: s.vars.on("require_bounded_state")}
}

func (s *Session) prepareSelect(in *input, t *sql.QueryStmt) (*statement, error) {
	plan, err := s.srv.Planner.Query(s.planInput(in.text, in.params), t.Query)
	if err != nil {
		return nil, err
	}
	return s.selectStatement(plan), nil
}

func (s *Session) selectStatement(plan *QueryPlan) *statement {
	st := &statement{s: s, params: plan.Params, cols: plan.Columns, depends: true}
	if st.cols == nil {
		st.cols = []pgwire.Column{} // SELECT without columns returns rows still
	}
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		if err := s.populated(ctx, plan.Reads); err != nil {
			return nil, err
		}
		return s.runQuery(plan, args, "SELECT")
	}
	return st
}

// execEnv is what an execution that begins now depends on.
func (s *Session) execEnv(plan *QueryPlan, args *arrowbatch.Batch) (*ExecEnv, *exprSession) {
	t := s.begin()
	t.queried = true
	es := s.exprSession()
	e := &ExecEnv{Params: args, Now: t.now, Env: s.envAt(t.now), Session: es, Reader: t.reader()}
	snap := s.snapshot()
	for _, id := range plan.Reads {
		if o := snap.ByID(id); o != nil && o.Kind == catalog.KindSystem {
			// Made here: the rows tell of what this goroutine owns.
			e.System = s.systemContext(t.now).Rows
			return e, es
		}
	}
	e.System = func(o *catalog.Object) (*arrowbatch.Batch, error) {
		return (&catalog.SystemContext{Catalog: snap, User: s.user, Database: s.db, Functions: s.srv.functions}).Rows(o)
	}
	return e, es
}

// queryRun is the run of a query. It has a context of its own, since it may
// outlive the call that began it; the context of each call ends it too.
type queryRun struct {
	s      *Session
	rows   Rows
	es     *exprSession
	cancel context.CancelFunc
	tag    string
}

func (s *Session) runQuery(plan *QueryPlan, args *arrowbatch.Batch, tag string) (*queryRun, error) {
	env, es := s.execEnv(plan, args)
	ctx, cancel := context.WithCancel(s.ctx)
	rows, err := s.srv.Executor.Select(ctx, plan, env)
	if err != nil {
		cancel()
		return nil, err
	}
	return &queryRun{s: s, rows: rows, es: es, cancel: cancel, tag: tag}, nil
}

// Next returns the next rows.
func (q *queryRun) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	stop := context.AfterFunc(ctx, q.cancel)
	defer stop()
	b, err := q.rows.Next(ctx)
	if serr := q.s.takeSettings(q.es); serr != nil && err == nil {
		b.Release()
		return nil, serr
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return b, err
}

// Tag returns SELECT and the number of rows.
func (q *queryRun) Tag(sent int64) string { return q.tag + " " + strconv.FormatInt(sent, 10) }

// Close ends the query.
func (q *queryRun) Close() error {
	q.cancel()
	return q.rows.Close()
}

// value runs a query of one row and column and returns it as a batch with one
// column; nil if there is no row.
func (s *Session) value(ctx context.Context, plan *QueryPlan, args *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	q, err := s.runQuery(plan, args, "")
	if err != nil {
		return nil, err
	}
	defer q.Close()
	for {
		b, err := q.Next(ctx, 1)
		if err != nil {
			return nil, eofNil(err)
		}
		if b.Len > 0 {
			return b, nil
		}
		b.Release()
	}
}

// constants evaluates expressions without columns, each assigned to its type,
// as a batch of one row. Unknown types take what the expression has.
func (s *Session) constants(ctx context.Context, text string, xs []sql.Expr, ts []types.Type,
	params []types.Type, args *arrowbatch.Batch,
) (*arrowbatch.Batch, error) {
	sel := &sql.Select{}
	for i, x := range xs {
		if i < len(ts) && ts[i].ID != types.Unknown {
			x = &sql.Cast{Pos: x.Position(), X: x, Type: typeNameOf(ts[i])}
		}
		sel.Targets = append(sel.Targets, sql.Target{X: x})
	}
	plan, err := s.srv.Planner.Query(s.planInput(text, params), &sql.Query{Body: sel})
	if err != nil {
		return nil, err
	}
	return s.value(ctx, plan, args)
}

// typeNameOf writes a type as syntax.
func typeNameOf(t types.Type) *sql.TypeName {
	if t.ID == types.Array && t.Elem != nil {
		n := typeNameOf(*t.Elem)
		n.Dims = []int{-1}
		return n
	}
	n := &sql.TypeName{Name: sql.Name{Text: t.Base().PGName()}}
	switch {
	case t.Mod == 0:
	case t.ID == types.Numeric:
		n.Mods = []sql.Expr{&sql.NumberLit{Text: strconv.Itoa(int(t.Mod))}, &sql.NumberLit{Text: strconv.Itoa(int(t.Scale))}}
	default:
		n.Mods = []sql.Expr{&sql.NumberLit{Text: strconv.Itoa(int(t.Mod))}}
	}
	for _, f := range t.Fields {
		n.Name.Text = "struct"
		n.Struct = append(n.Struct, sql.ColumnType{Name: sql.Name{Text: f.Name}, Type: typeNameOf(f.Type)})
	}
	return n
}

// eofNil turns the end of the rows into no error.
func eofNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

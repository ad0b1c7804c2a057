package session

import (
	"context"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
)

var writeWords = [...]string{"INSERT", "UPDATE", "DELETE"}

// writable tells whether a statement may change the rows of o.
func writable(o *catalog.Object, op WriteOp) error {
	verb := [...]string{"insert into", "update", "delete from"}[op]
	switch {
	case o.Kind == catalog.KindSystem:
		return sqlerr.New(sqlerr.InsufficientPrivilege, "permission denied: %q is a system catalog", o.Name.Name)
	case o.Kind == catalog.KindMaterializedView:
		return sqlerr.New(sqlerr.WrongObjectType, "cannot change materialized view %q", o.Name.Name)
	case o.Kind != catalog.KindTable:
		return sqlerr.New(sqlerr.ObjectNotInState, "cannot %s %s %q", verb, o.Kind, o.Name.Name)
	case o.Options["connector"] != "":
		return sqlerr.New(sqlerr.ObjectNotInState, "cannot %s table %q: its connector feeds it", verb, o.Name.Name)
	case o.AppendOnly && op != OpInsert:
		return sqlerr.New(sqlerr.ObjectNotInState, "table %q is append-only", o.Name.Name).
			WithHint("Only INSERT changes it.")
	}
	return nil
}

// writeTarget is the relation that a statement changes.
func writeTarget(tree sql.Statement) (sql.QualifiedName, WriteOp) {
	switch t := tree.(type) {
	case *sql.Insert:
		return t.Table, OpInsert
	case *sql.Update:
		return t.Table.Name, OpUpdate
	case *sql.Delete:
		return t.Table.Name, OpDelete
	}
	return sql.QualifiedName{}, 0
}

func (s *Session) prepareWrite(in *input, tree sql.Statement) (*statement, error) {
	name, op := writeTarget(tree)
	o, err := s.resolve(name)
	if err == nil {
		err = writable(o, op)
	}
	if err != nil {
		return nil, sqlerr.From(err).At(name.Pos())
	}
	plan, err := s.srv.Planner.Write(s.planInput(in.text, in.params), tree)
	if err != nil {
		return nil, err
	}
	st := &statement{s: s, params: plan.Source.Params, depends: true}
	if plan.Returning != nil {
		st.cols = plan.Columns
	}
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		if err := s.begin().checkWrite(writeWords[op]); err != nil {
			return nil, err
		}
		if err := s.populated(ctx, plan.Source.Reads); err != nil {
			return nil, err
		}
		return &writeRun{s: s, plan: plan, args: args}, nil
	}
	return st, nil
}

// writeRun is the run of INSERT, UPDATE and DELETE: everything is done in the
// first Next, and the rows of RETURNING follow.
type writeRun struct {
	s    *Session
	plan *WritePlan
	args *arrowbatch.Batch
	w    *writer
	out  []*arrowbatch.Batch
}

// Next does the work and returns the rows of RETURNING.
func (r *writeRun) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	if r.w == nil {
		if err := r.execute(ctx); err != nil {
			return nil, err
		}
	}
	if len(r.out) == 0 {
		return nil, io.EOF
	}
	b := r.out[0]
	r.out = r.out[1:]
	return b, nil
}

// execute reads all rows before it changes the first: what a statement changes
// it does not see.
func (r *writeRun) execute(ctx context.Context) (err error) {
	if r.w, err = r.s.newWriter(r.plan.Table); err != nil {
		return err
	}
	r.w.keep = r.plan.Returning != nil
	q, err := r.s.runQuery(r.plan.Source, r.args, "")
	if err != nil {
		return err
	}
	defer q.Close()
	var src []*arrowbatch.Batch
	defer func() {
		for _, b := range src {
			b.Release()
		}
	}()
	for {
		b, err := q.Next(ctx, 0)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		src = append(src, b)
	}
	r.w.ctx = r.s.evalContext(q.es, r.args)
	for _, b := range src {
		if err := r.one(b); err != nil {
			return err
		}
	}
	return nil
}

// one changes the rows of one batch.
func (r *writeRun) one(b *arrowbatch.Batch) error {
	n := len(r.plan.Table.Columns)
	extra := n
	var done *arrowbatch.Batch // the rows that are left, for RETURNING
	var from []int32           // the rows of b that they came of
	var err error
	switch r.plan.Op {
	case OpInsert:
		done, from, err = r.w.insertOr(b, r.plan.Conflict)
	case OpUpdate:
		extra = 2 * n
		done, from, err = r.w.update(columns(b, 0, n), columns(b, n, 2*n))
	case OpDelete:
		done, from, err = r.w.delete(columns(b, 0, n))
	}
	if done != nil {
		defer done.Release()
	}
	if err != nil || r.plan.Returning == nil || done.Len == 0 {
		return err
	}
	in := done.Share()
	defer in.Release()
	for _, c := range b.Cols[min(extra, len(b.Cols)):] {
		in.Cols = append(in.Cols, c.Take(from))
	}
	out, err := evaluate(r.w.ctx, r.plan.Returning, in)
	if err != nil {
		return err
	}
	r.out = append(r.out, out)
	return nil
}

// columns is a view of some columns of b, without references of its own.
func columns(b *arrowbatch.Batch, lo, hi int) *arrowbatch.Batch {
	return &arrowbatch.Batch{Cols: b.Cols[lo:hi], Len: b.Len}
}

// Tag returns the tag with the number of rows changed.
func (r *writeRun) Tag(int64) string {
	count := int64(0)
	if r.w != nil {
		count = r.w.count
	}
	if r.plan.Op == OpInsert {
		return "INSERT 0 " + strconv.FormatInt(count, 10)
	}
	return writeWords[r.plan.Op] + " " + strconv.FormatInt(count, 10)
}

// Close frees rows of RETURNING that nobody wanted.
func (r *writeRun) Close() error {
	for _, b := range r.out {
		b.Release()
	}
	r.out = nil
	return nil
}

// evalContext is what expressions of a statement are evaluated with here.
func (s *Session) evalContext(es *exprSession, args *arrowbatch.Batch) *expr.Ctx {
	t := s.begin()
	c := &expr.Ctx{Now: t.now, Clock: s.srv.Clock, Env: s.envAt(t.now), Session: es}
	if args != nil {
		c.Params = args.Cols
	}
	return c
}

// evaluate computes expressions over the rows of in; the first row that fails
// is the error.
func evaluate(ctx *expr.Ctx, list []expr.Expr, in *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	out := &arrowbatch.Batch{Len: in.Len, Cols: make([]*arrowbatch.Vec, 0, len(list))}
	for _, e := range list {
		out.Cols = append(out.Cols, e.Eval(ctx, in, nil))
	}
	if errs := ctx.TakeErrors(); errs != nil {
		out.Release()
		return nil, errs[0].Err
	}
	return out, nil
}

// fail is an error of PostgreSQL about a row that cannot be stored.
func fail(code sqlerr.Code, detail, format string, args ...any) *sqlerr.Error {
	e := sqlerr.New(code, format, args...)
	e.Detail = detail
	return e
}

// resultColumns describes columns of a table.
func resultColumns(o *catalog.Object, at []int) []pgwire.Column {
	out := make([]pgwire.Column, len(at))
	for i, k := range at {
		out[i] = pgwire.Column{Name: o.Columns[k].Name, Type: o.Columns[k].Type}
	}
	return out
}

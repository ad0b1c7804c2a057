package session

import (
	"context"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// statement is an analysed statement: what the files do_*.go make.
type statement struct {
	s        *Session
	text     string
	tree     sql.Statement
	declared []types.Type
	params   []types.Type
	cols     []pgwire.Column
	// anyTx: it runs in a failed block too. noTx: it begins no transaction.
	anyTx, noTx bool
	traits      pgwire.Traits
	// start makes the run of one execution; args is one row, nil without
	// parameters, and stays the portal's.
	start func(ctx context.Context, args *arrowbatch.Batch) (run, error)
	// depends: the analysis is of a version of the catalog and a search path.
	depends bool
	version *catalog.Snapshot
}

// run is one execution. Next and Tag are as in pgwire.Portal, but Next may
// return more than max rows.
type run interface {
	Next(ctx context.Context, max int) (*arrowbatch.Batch, error)
	Tag(sent int64) string
	Close() error
}

// Params are the types of the parameters.
func (st *statement) Params() []types.Type { return st.params }

// Columns describe the result.
func (st *statement) Columns() []pgwire.Column { return st.cols }

// Bind starts an execution.
func (st *statement) Bind(ctx context.Context, args *arrowbatch.Batch) (pgwire.Portal, error) {
	s := st.s
	if s.TxStatus() == pgwire.TxFailed && !st.anyTx {
		args.Release()
		return nil, aborted()
	}
	if !st.noTx {
		s.begin()
	}
	if st.depends && s.changedSince(st.version) {
		fresh, err := s.analyse(ctx, st.text, st.tree, st.declared)
		if err == nil && !sameColumns(fresh.cols, st.cols) {
			err = sqlerr.Unsupported("cached plan must not change result type")
		}
		if err != nil {
			args.Release()
			return nil, err
		}
		// Kept for the next time; what the client was told stays the same.
		st.start, st.version = fresh.start, fresh.version
	}
	p := &portal{st: st, args: args, cols: st.cols}
	if st.traits.CopyIn != nil {
		return &copyPortal{p}, nil
	}
	return p, nil
}

// changedSince tells whether names may resolve otherwise than they did.
func (s *Session) changedSince(v *catalog.Snapshot) bool {
	now := s.snapshot()
	if now.Version() != v.Version() || s.tx != nil && s.tx.cat != nil && s.tx.cat.Changed() {
		return true
	}
	a, b := now.Path(), v.Path()
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}

func sameColumns(a, b []pgwire.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !a[i].Type.Equal(b[i].Type) {
			return false
		}
	}
	return true
}

// portal is an execution of a statement.
type portal struct {
	st      *statement
	args    *arrowbatch.Batch
	cols    []pgwire.Column
	run     run
	rest    *arrowbatch.Batch // rows not yet given out
	at      int               // the first of them
	held    []*arrowbatch.Batch
	isHeld  bool
	ended   bool
	started bool
}

// Columns describe the result.
func (p *portal) Columns() []pgwire.Column { return p.cols }

// Traits say how the wire runs the portal.
func (p *portal) Traits() pgwire.Traits { return p.st.traits }

// begin starts the run before the first row.
func (p *portal) begin(ctx context.Context) error {
	if p.started {
		return nil
	}
	s := p.st.s
	if s.TxStatus() == pgwire.TxFailed && !p.st.anyTx {
		return aborted()
	}
	if !p.st.noTx {
		s.begin()
	}
	p.started = true
	s.activity.set("active", p.st.text, clock.Micros(s.srv.Clock))
	r, err := p.st.start(ctx, p.args)
	if err != nil {
		return err
	}
	p.run = r
	return nil
}

// Next returns the next rows, at most max if max is above 0.
func (p *portal) Next(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	for p.rest == nil {
		b, err := p.fetch(ctx, max)
		if err != nil {
			return nil, err
		}
		if b.Len == 0 {
			b.Release()
			continue
		}
		p.rest, p.at = b, 0
	}
	n := p.rest.Len - p.at
	if max > 0 && n > max {
		out := p.rest.Slice(p.at, p.at+max)
		p.at += max
		return out, nil
	}
	out := p.rest
	if p.at > 0 {
		out = p.rest.Slice(p.at, p.rest.Len)
		p.rest.Release()
	}
	p.rest = nil
	return out, nil
}

func (p *portal) fetch(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	if p.isHeld {
		if len(p.held) == 0 {
			return nil, io.EOF
		}
		b := p.held[0]
		p.held = p.held[1:]
		return b, nil
	}
	if p.ended {
		return nil, io.EOF
	}
	b, err := p.run.Next(ctx, max)
	if err != nil {
		p.ended = true
	}
	return b, err
}

// hold makes the portal independent of its transaction.
func (p *portal) hold(ctx context.Context) error {
	if p.isHeld {
		return nil
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	var all []*arrowbatch.Batch
	for !p.ended {
		b, err := p.fetch(ctx, 0)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	p.held, p.isHeld = all, true
	return nil
}

// Tag returns the command tag.
func (p *portal) Tag(sent int64) string {
	if p.run == nil {
		return ""
	}
	return p.run.Tag(sent)
}

// Close frees what the portal holds.
func (p *portal) Close() error {
	p.args.Release()
	p.rest.Release()
	for _, b := range p.held {
		b.Release()
	}
	p.args, p.rest, p.held = nil, nil, nil
	if p.run != nil {
		return p.run.Close()
	}
	return nil
}

// action is the run of a statement without rows: it happens in the first Next.
type action struct {
	do  func(ctx context.Context) (tag string, err error)
	tag string
}

// Next runs the action.
func (a *action) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	tag, err := a.do(ctx)
	if err != nil {
		return nil, err
	}
	a.tag = tag
	return nil, io.EOF
}

// Tag returns the action's tag.
func (a *action) Tag(int64) string { return a.tag }

// Close does nothing.
func (a *action) Close() error { return nil }

// listing is the run of a statement whose rows are made at once, like SHOW.
type listing struct {
	do    func(ctx context.Context) (*arrowbatch.Batch, error)
	tag   string // without the count
	count bool   // the tag ends in the number of rows
	done  bool
}

// Next returns the rows, once.
func (l *listing) Next(ctx context.Context, _ int) (*arrowbatch.Batch, error) {
	if l.done {
		return nil, io.EOF
	}
	l.done = true
	return l.do(ctx)
}

// Tag returns the tag.
func (l *listing) Tag(sent int64) string {
	if l.count {
		return l.tag + " " + strconv.FormatInt(sent, 10)
	}
	return l.tag
}

// Close does nothing.
func (l *listing) Close() error { return nil }

// command makes a statement that returns no rows.
func (s *Session) command(do func(ctx context.Context) (tag string, err error)) *statement {
	return &statement{s: s, start: func(context.Context, *arrowbatch.Batch) (run, error) {
		return &action{do: do}, nil
	}}
}

// textColumns are columns of type text.
func textColumns(names ...string) []pgwire.Column {
	out := make([]pgwire.Column, len(names))
	for i, n := range names {
		out[i] = pgwire.Column{Name: n, Type: types.TText}
	}
	return out
}

// list makes a statement whose rows are text, made when it runs.
func (s *Session) list(tag string, cols []pgwire.Column,
	do func(ctx context.Context, add func(...string)) error,
) *statement {
	st := &statement{s: s, cols: cols}
	st.start = func(context.Context, *arrowbatch.Batch) (run, error) {
		return &listing{tag: tag, do: func(ctx context.Context) (*arrowbatch.Batch, error) {
			b := arrowbatch.NewLike(shapes(cols))
			err := do(ctx, func(vals ...string) {
				for i, v := range vals {
					b.Cols[i].AppendString(v)
				}
				b.AppendOp(arrowbatch.Insert)
			})
			if err != nil {
				b.Release()
				return nil, err
			}
			return b, nil
		}}, nil
	}
	return st
}

func shapes(cols []pgwire.Column) []arrowbatch.Shape {
	out := make([]arrowbatch.Shape, len(cols))
	for i, c := range cols {
		out[i] = c.Type.Shape()
	}
	return out
}

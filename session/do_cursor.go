package session

import (
	"context"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
)

func (s *Session) prepareDeclare(in *input, t *sql.DeclareCursor) (*statement, error) {
	inner, err := s.analyse(in.ctx, in.text, t.Stmt, in.params)
	if err != nil {
		return nil, err
	}
	text := in.text
	st := &statement{s: s, params: inner.params}
	st.start = func(ctx context.Context, args *arrowbatch.Batch) (run, error) {
		return &action{do: func(ctx context.Context) (string, error) {
			return "DECLARE CURSOR", s.declare(ctx, t, inner, args, text)
		}}, nil
	}
	return st, nil
}

func (s *Session) declare(ctx context.Context, t *sql.DeclareCursor, inner *statement, args *arrowbatch.Batch,
	text string,
) error {
	if !t.Hold {
		if err := s.needBlock("DECLARE CURSOR"); err != nil {
			return err
		}
	}
	if args != nil {
		args = args.Share()
	}
	pp, err := inner.Bind(ctx, args)
	if err != nil {
		return err
	}
	p := pp.(*portal)
	// The rows are those of this moment, not of the first FETCH.
	if err := p.begin(ctx); err != nil {
		_ = p.Close()
		return err
	}
	var c pgwire.Portal = p
	if t.Scroll != nil && *t.Scroll {
		c = &scroll{portal: p}
	}
	np := &pgwire.NamedPortal{Name: t.Name.Text, Portal: c, Text: text, FromSQL: true, Hold: t.Hold}
	if t.Binary {
		np.Formats = []int16{1}
	}
	if err := s.names.PutPortal(np); err != nil {
		_ = c.Close()
		return err
	}
	return nil
}

func (s *Session) prepareFetch(t *sql.Fetch) (*statement, error) {
	np, err := s.names.Cursor(t.Cursor.Text)
	if err != nil {
		return nil, err
	}
	if np.Portal == nil || np.Portal.Columns() == nil {
		return nil, sqlerr.New(sqlerr.InvalidCursorName, "cursor %q has no rows", t.Cursor.Text)
	}
	st := &statement{s: s, cols: np.Portal.Columns()}
	if t.Move {
		st.cols = nil
	}
	st.start = func(context.Context, *arrowbatch.Batch) (run, error) {
		np, err := s.names.Cursor(t.Cursor.Text)
		if err != nil {
			return nil, err
		}
		f := &fetch{stmt: t, left: t.Count}
		if t.All {
			f.left = 0
		}
		f.from = np.Portal
		return f, f.check()
	}
	return st, nil
}

// fetch is the run of FETCH and MOVE.
type fetch struct {
	stmt  *sql.Fetch
	from  pgwire.Portal
	left  int64 // 0: all
	moved int64
	ended bool
	once  bool // one batch has been fetched of live rows
}

// forward tells whether the movement is one that any cursor can make.
func (f *fetch) forward() bool {
	return f.stmt.Direction == sql.FetchForward && (f.stmt.All || f.stmt.Count >= 0) ||
		f.stmt.Direction == sql.FetchRelative && f.stmt.Count == 1 && !f.stmt.All
}

func (f *fetch) check() error {
	if _, ok := f.from.(*scroll); ok || f.forward() && (f.stmt.All || f.stmt.Count > 0) {
		return nil
	}
	if f.stmt.Direction == sql.FetchForward && f.stmt.Count == 0 && f.stmt.Move {
		f.ended = true
		return nil
	}
	return sqlerr.New(sqlerr.ObjectNotInState, "cursor can only scan forward").
		WithHint("Declare it with SCROLL option to enable backward scan.")
}

// Next returns rows of the cursor; a MOVE counts and drops them.
func (f *fetch) Next(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	for {
		b, err := f.next(ctx, max)
		if err != nil {
			return nil, err
		}
		f.moved += int64(b.Len)
		if !f.stmt.Move {
			return b, nil
		}
		b.Release()
	}
}

func (f *fetch) next(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	if f.ended {
		return nil, io.EOF
	}
	if sc, ok := f.from.(*scroll); ok {
		f.ended = true
		return sc.move(ctx, f.stmt)
	}
	if f.from.Traits().Live && f.once {
		return nil, io.EOF
	}
	n := max
	if f.left > 0 && (n == 0 || f.left < int64(n)) {
		n = int(f.left)
	}
	b, err := f.from.Next(ctx, n)
	if err != nil {
		return nil, err
	}
	f.once = true
	if f.left > 0 {
		if f.left -= int64(b.Len); f.left == 0 {
			f.ended = true
		}
	}
	return b, nil
}

// Tag returns FETCH or MOVE with the number of rows.
func (f *fetch) Tag(sent int64) string {
	if f.stmt.Move {
		return "MOVE " + strconv.FormatInt(f.moved, 10)
	}
	return "FETCH " + strconv.FormatInt(sent, 10)
}

// Close leaves the cursor as it is.
func (f *fetch) Close() error { return nil }

// scroll is a cursor that can go backwards: it keeps the rows that it has read.
type scroll struct {
	*portal
	all  *arrowbatch.Batch
	at   int64 // rows before the position; the position is on row at-1
	done bool
}

// fill reads until n rows are there, n < 0: all.
func (c *scroll) fill(ctx context.Context, n int64) error {
	for !c.done && (n < 0 || c.all == nil || int64(c.all.Len) < n) {
		b, err := c.portal.Next(ctx, 0)
		if err == io.EOF {
			c.done = true
			return nil
		}
		if err != nil {
			return err
		}
		if c.all == nil {
			c.all = arrowbatch.NewLike(b.Shapes())
		}
		for i := range b.Len {
			c.all.Append(b, i)
		}
		b.Release()
	}
	return nil
}

func (c *scroll) size() int64 {
	if c.all == nil {
		return 0
	}
	return int64(c.all.Len)
}

// Next returns the rows after the position.
func (c *scroll) Next(ctx context.Context, max int) (*arrowbatch.Batch, error) {
	n := int64(-1)
	if max > 0 {
		n = c.at + int64(max)
	}
	if err := c.fill(ctx, n); err != nil {
		return nil, err
	}
	end := c.size()
	if n >= 0 {
		end = min(end, n)
	}
	if c.at >= end {
		c.at = end + 1
		return nil, io.EOF
	}
	b := c.all.Slice(int(c.at), int(end))
	c.at = end
	return b, nil
}

// move carries out a FETCH or MOVE and returns the rows passed over, io.EOF when
// there are none.
func (c *scroll) move(ctx context.Context, f *sql.Fetch) (*arrowbatch.Batch, error) {
	need := int64(-1)
	if f.Direction == sql.FetchForward && !f.All && f.Count >= 0 {
		need = c.at + f.Count
	}
	if err := c.fill(ctx, need); err != nil {
		return nil, err
	}
	count, dir := f.Count, f.Direction
	if f.All {
		count = c.size() + 1
	}
	if dir == sql.FetchBackward {
		dir, count = sql.FetchForward, -count
	}
	var rows []int32
	if dir == sql.FetchForward {
		rows = c.walk(count)
	} else {
		rows = c.jump(dir, count)
	}
	if len(rows) == 0 {
		return nil, io.EOF
	}
	return c.all.Take(rows), nil
}

// walk goes count rows on (back if below 0; 0: the present row again).
func (c *scroll) walk(count int64) []int32 {
	size := c.size()
	var rows []int32
	if count == 0 && c.at >= 1 && c.at <= size {
		return []int32{int32(c.at - 1)}
	}
	for ; count > 0 && c.at <= size; count-- {
		if c.at++; c.at <= size {
			rows = append(rows, int32(c.at-1))
		}
	}
	for ; count < 0 && c.at >= 1; count++ {
		if c.at--; c.at >= 1 {
			rows = append(rows, int32(c.at-1))
		}
	}
	return rows
}

// jump goes to one row, counted from the start, the end or the position.
func (c *scroll) jump(dir sql.FetchDirection, count int64) []int32 {
	size, to := c.size(), count
	switch {
	case dir == sql.FetchRelative:
		to = c.at + count
	case count < 0:
		to = size + 1 + count
	}
	c.at = min(max(to, 0), size+1)
	if c.at >= 1 && c.at <= size {
		return []int32{int32(c.at - 1)}
	}
	return nil
}

// hold reads everything.
func (c *scroll) hold(ctx context.Context) error { return c.fill(ctx, -1) }

// Close frees the rows.
func (c *scroll) Close() error {
	c.all.Release()
	return c.portal.Close()
}

func (s *Session) prepareClose(t *sql.CloseCursor) *statement {
	return s.command(func(context.Context) (string, error) {
		if t.All {
			for _, p := range s.names.Portals() {
				if p.FromSQL {
					s.names.DropPortal(p.Name)
				}
			}
			return "CLOSE CURSOR ALL", nil
		}
		if _, err := s.names.Cursor(t.Name.Text); err != nil {
			return "", err
		}
		s.names.DropPortal(t.Name.Text)
		return "CLOSE CURSOR", nil
	})
}

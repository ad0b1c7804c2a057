package pgwire

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// fakePortal runs a statement.
type fakePortal struct {
	*fakeStatement
	args      *arrowbatch.Batch
	n, failAt int
	at        int
	tag       string
}

func (p *fakePortal) Traits() Traits { return Traits{Live: p.verb == "TICK"} }

func (p *fakePortal) Close() error {
	p.args.Release()
	return nil
}

func (p *fakePortal) Tag(sent int64) string {
	switch p.verb {
	case "SELECT", "ROWS", "TICK":
		return fmt.Sprintf("SELECT %d", sent)
	case "FETCH":
		return fmt.Sprintf("FETCH %d", sent)
	case "INSERT":
		return fmt.Sprintf("INSERT 0 %d", p.n)
	}
	if p.tag != "" {
		return p.tag
	}
	return p.verb
}

const fakeBatchRows = 1000

func (p *fakePortal) Next(ctx context.Context, limit int) (*arrowbatch.Batch, error) {
	switch p.verb {
	case "SELECT":
		return p.nextSelect()
	case "ROWS":
		return p.nextRows(limit)
	case "TICK":
		if p.at == p.n {
			return nil, io.EOF
		}
		ms, _ := strconv.Atoi(p.words[2])
		if err := fakeSleep(ctx, ms); err != nil {
			return nil, err
		}
		p.at++
		v := arrowbatch.NewFlat(arrowbatch.Int32, 0)
		v.AppendInt32(int32(p.at))
		return arrowbatch.NewBatch(1, v), nil
	case "SHOW":
		if p.at++; p.at > 1 {
			return nil, io.EOF
		}
		v := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
		v.AppendString(strings.Join(p.s.journal, ","))
		return arrowbatch.NewBatch(1, v), nil
	case "FETCH":
		np, err := p.s.names.Cursor(p.words[2])
		if err != nil {
			return nil, err
		}
		left := p.n - p.at
		if left == 0 {
			return nil, io.EOF
		}
		b, err := np.Portal.Next(ctx, left)
		if err == nil {
			p.at += b.Len
		}
		return b, err
	}
	if err := p.runCommand(ctx); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func fakeSleep(ctx context.Context, ms int) error {
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (p *fakePortal) nextSelect() (*arrowbatch.Batch, error) {
	if p.at++; p.at > 1 {
		return nil, io.EOF
	}
	b := &arrowbatch.Batch{Len: 1}
	for _, it := range p.items {
		v := arrowbatch.NewVec(it.t.Shape(), 0)
		b.Cols = append(b.Cols, v)
		switch {
		case it.null:
			v.AppendNull()
		case it.param > 0:
			v.AppendFrom(p.args.Cols[it.param-1], 0)
		default:
			t := it.t
			if t.ID == types.Unknown {
				t = types.TText
			}
			if err := types.ParseString(t, it.text, v, nil); err != nil {
				b.Release()
				return nil, err
			}
		}
	}
	return b, nil
}

func (p *fakePortal) nextRows(limit int) (*arrowbatch.Batch, error) {
	n := min(p.n-p.at, fakeBatchRows)
	if limit > 0 {
		n = min(n, limit)
	}
	if p.failAt > 0 && p.at+n >= p.failAt {
		if n = p.failAt - 1 - p.at; n <= 0 {
			return nil, sqlerr.New(sqlerr.DivisionByZero, "division by zero")
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	i, t, d := arrowbatch.NewFlat(arrowbatch.Int32, n), arrowbatch.NewFlat(arrowbatch.Bytes, 0),
		arrowbatch.NewFlat(arrowbatch.Float64, n)
	for k := range n {
		p.at++
		i.I32[k], d.F64[k] = int32(p.at), float64(p.at)/2
		t.Data = append(t.Data, "row "...)
		t.Data = strconv.AppendInt(t.Data, int64(p.at), 10)
		t.EndBytes()
	}
	return arrowbatch.NewBatch(n, i, t, d), nil
}

func (p *fakePortal) runCommand(ctx context.Context) error {
	s, w := p.s, p.words
	switch p.verb {
	case "SLEEP":
		s.client.Notice(&Notice{Message: "sleeping"})
		return fakeSleep(ctx, p.n)
	case "HOLDOUT":
		time.Sleep(time.Duration(p.n) * time.Millisecond)
	case "INSERT":
		s.pending = append(s.pending, strconv.Itoa(p.n))
	case "BEGIN":
		s.block = true
	case "COMMIT", "ROLLBACK":
		p.tag = p.verb
		if s.failed || p.verb == "ROLLBACK" {
			s.pending, p.tag = nil, "ROLLBACK"
		}
		s.block, s.failed = false, false
		return s.Sync(ctx)
	case "SET":
		return p.set(w[1], w[2])
	case "NOTICE":
		s.client.Notice(&Notice{Severity: Severity(strings.ToUpper(w[1])), Message: w[2], Hint: "h"})
	case "NOTIFY":
		s.backend.mu.Lock()
		defer s.backend.mu.Unlock()
		for _, o := range s.backend.sessions {
			if !o.closed {
				o.client.Notify(Notification{PID: s.params.PID, Channel: w[1], Payload: w[2]})
			}
		}
	case "FAILRUN":
		return sqlerr.New(sqlerr.Code(w[1]), "%s", w[2]).WithDetail("some detail").WithHint("some hint")
	case "FAILCOMMIT":
		s.failCommit = true
	case "PANIC":
		panic("told to")
	default:
		return p.runNamed(ctx)
	}
	return nil
}

func (p *fakePortal) set(name, val string) error {
	d, _ := time.ParseDuration(val)
	switch name {
	case "client_min_messages":
		p.s.limits.MinMessages = Severity(strings.ToUpper(val))
	case "statement_timeout":
		p.s.limits.StatementTimeout = d
	case "idle_in_transaction_session_timeout":
		p.s.limits.IdleInTransaction = d
	case "idle_session_timeout":
		p.s.limits.IdleSession = d
	default:
		p.s.client.Report(name, val)
	}
	p.s.client.Limit(p.s.limits)
	return nil
}

// runNamed runs the statements about names.
func (p *fakePortal) runNamed(ctx context.Context) error {
	s, w := p.s, p.words
	body := func(sep string) (Statement, string, error) {
		_, text, _ := strings.Cut(p.text, sep)
		st, err := s.Prepare(ctx, Parsed{Text: text}, nil)
		return st, text, err
	}
	switch p.verb {
	case "PREPARE":
		st, text, err := body(" AS ")
		if err != nil {
			return err
		}
		return s.names.PutStatement(&NamedStatement{Name: w[1], Statement: st, Text: text, FromSQL: true})
	case "DEALLOCATE":
		if w[1] == "ALL" {
			s.names.DropStatements()
		} else if !s.names.DropStatement(w[1]) {
			_, err := s.names.Statement(w[1])
			return err
		}
	case "DECLARE":
		st, text, err := body(" FOR ")
		if err != nil {
			return err
		}
		portal, err := st.Bind(ctx, nil)
		if err != nil {
			return err
		}
		return s.names.PutPortal(&NamedPortal{Name: w[1], Portal: portal, Text: text, FromSQL: true, Hold: w[2] == "HOLD"})
	case "CLOSE":
		if w[1] == "ALL" {
			s.names.DropPortals()
		} else if !s.names.DropPortal(w[1]) {
			_, err := s.names.Cursor(w[1])
			return err
		}
	}
	return nil
}

// fakeCopy is a COPY; data of COPY FROM is kept as one string in the journal.
type fakeCopy struct {
	*fakePortal
	data []byte
}

func (p *fakeCopy) in() bool { return p.words[2] == "FROM" }

func (p *fakeCopy) Traits() Traits {
	f := &CopyFormat{Columns: p.n, Binary: strings.Contains(p.text, "BINARY")}
	if p.in() {
		return Traits{CopyIn: f}
	}
	return Traits{CopyOut: f}
}

func (p *fakeCopy) WriteCopy(_ context.Context, chunk []byte) error {
	p.data = append(p.data, chunk...)
	if lines := strings.Count(string(p.data), "\n"); p.failAt > 0 && lines >= p.failAt {
		return sqlerr.New(sqlerr.BadCopyFileFormat, "extra data after last expected column").
			WithWhere("COPY t, line %d", p.failAt)
	}
	return nil
}

func (p *fakeCopy) Next(context.Context, int) (*arrowbatch.Batch, error) {
	if p.in() {
		p.s.pending = append(p.s.pending, fmt.Sprintf("%q", p.data))
		return nil, io.EOF
	}
	if p.at++; p.at > 1 {
		return nil, io.EOF
	}
	v := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	v.AppendString("1\ta\n")
	v.AppendString("2\t\\N\n")
	return arrowbatch.NewBatch(2, v), nil
}

func (p *fakeCopy) Tag(sent int64) string {
	if p.in() {
		sent = int64(strings.Count(string(p.data), "\n"))
	}
	return fmt.Sprintf("COPY %d", sent)
}

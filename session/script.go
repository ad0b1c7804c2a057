package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
)

// Script is a text to be run in this process.
type Script struct {
	// File is the name that errors give.
	File, Text string
	// Vars are put in for :name, :'name' and :"name".
	Vars map[string]string
	// Format is how results are written: aligned (as psql does), csv or json (one
	// object a line).
	Format string
	// Quiet leaves out the tags of statements without rows.
	Quiet bool
	// Out takes results, Err notices.
	Out, Err io.Writer
	// User and Database are the session's; Settings its parameters.
	User, Database string
	Settings       []pgwire.Setting
}

// scriptPID is the process id of script sessions.
const scriptPID = 1

// ScriptError is the error that ended a script, with its place.
type ScriptError struct {
	File         string
	Line, Column int // from 1; 0 where there is no place
	Err          *sqlerr.Error
}

// Error is FILE:LINE:COLUMN: SQLSTATE message, with detail, hint and context on
// lines of their own.
func (e *ScriptError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	fmt.Fprintf(&b, ": %s %s", e.Err.Code, e.Err.Error())
	if e.Err.Detail != "" {
		b.WriteString("\nDETAIL:  " + e.Err.Detail)
	}
	if e.Err.Hint != "" {
		b.WriteString("\nHINT:  " + e.Err.Hint)
	}
	if e.Err.Where != "" {
		b.WriteString("\nCONTEXT:  " + e.Err.Where)
	}
	return b.String()
}

// Unwrap returns the error itself.
func (e *ScriptError) Unwrap() error { return e.Err }

// RunScript runs the statements of a text one after the other, each in a
// transaction of its own unless BEGIN says otherwise, and writes their results.
// The first error ends it, as a *ScriptError.
func (srv *Server) RunScript(ctx context.Context, sc Script) error {
	write, err := resultWriter(sc.Format, sc.Out)
	if err != nil {
		return err
	}
	client := &scriptClient{out: sc.Err}
	s, err := srv.newSession(ctx, pgwire.StartupParams{User: sc.User, Database: sc.Database, PID: scriptPID,
		Settings: sc.Settings}, client)
	if err != nil {
		return &ScriptError{File: sc.File, Err: sqlerr.From(err)}
	}
	r := &scriptRun{s: s, sc: &sc, src: sql.Substitute(sc.Text, sc.Vars), write: write}
	err = r.run(ctx)
	return errors.Join(err, s.Close())
}

type scriptRun struct {
	s     *Session
	sc    *Script
	src   *sql.Substitution
	write writeResult
}

// at makes the error for an offset in the substituted text; below 0: none.
func (r *scriptRun) at(err error, off int) error {
	e := &ScriptError{File: r.sc.File, Err: sqlerr.From(err)}
	if off < 0 {
		return e
	}
	off = min(r.src.SourcePos(off), len(r.sc.Text))
	before := r.sc.Text[:off]
	e.Line = strings.Count(before, "\n") + 1
	e.Column = utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return e
}

func (r *scriptRun) run(ctx context.Context) error {
	text := strings.TrimPrefix(r.src.Text, "\ufeff")
	at := len(r.src.Text) - len(text)
	for {
		span, err := nextStatement(r.src.Text[at:])
		if err != nil {
			e := sqlerr.From(err)
			return r.at(e, at+e.Pos-1)
		}
		if span.End == 0 {
			break
		}
		lo, hi := at+span.Start, at+span.End
		at = hi
		if at < len(r.src.Text) && r.src.Text[at] == ';' {
			at++
		}
		n, err := r.statement(ctx, r.src.Text[lo:hi], r.src.Text[at:])
		if err != nil {
			e := sqlerr.From(err)
			if e.Pos > 0 {
				lo += e.Pos - 1
			}
			return r.at(e, lo)
		}
		at += n
	}
	if r.s.TxStatus() != pgwire.TxIdle {
		return r.at(sqlerr.New(sqlerr.ActiveTransaction, "the script ends within a transaction block"), len(r.src.Text))
	}
	return nil
}

// nextStatement returns the extent of the first statement of text, zero if there
// is none. What follows it need not be SQL: after COPY FROM STDIN stands data.
func nextStatement(text string) (sql.Span, error) {
	spans, err := sql.Split(text)
	for end := 0; err != nil; {
		k := strings.IndexByte(text[end:], ';')
		if k < 0 {
			return sql.Span{}, err
		}
		end += k + 1
		if part, perr := sql.Split(text[:end]); perr == nil && len(part) > 0 {
			spans, err = part, nil
		}
	}
	if len(spans) == 0 {
		return sql.Span{}, nil
	}
	return spans[0], nil
}

// statement runs one statement; rest is the text after it, of which it returns
// how much was data.
func (r *scriptRun) statement(ctx context.Context, text, rest string) (used int, err error) {
	parsed, err := r.s.Split(text)
	if err != nil {
		return 0, err
	}
	for _, p := range parsed {
		n, err := r.one(ctx, p, rest)
		if err == nil {
			err = r.s.Sync(ctx)
		}
		if err != nil {
			r.s.Abort(err)
			return 0, err
		}
		used += n
	}
	return used, nil
}

func (r *scriptRun) one(ctx context.Context, p pgwire.Parsed, rest string) (used int, err error) {
	st, err := r.s.Prepare(ctx, p, nil)
	if err != nil {
		return 0, err
	}
	if err := noParams(st.Params()); err != nil {
		return 0, err
	}
	if d := r.s.millis("statement_timeout"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	portal, err := st.Bind(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, portal.Close()) }()
	if in, ok := portal.(pgwire.CopyReceiver); ok && portal.Traits().CopyIn != nil {
		data, n := copyData(rest)
		if err := in.WriteCopy(ctx, []byte(data)); err != nil {
			return 0, err
		}
		used = n
	}
	return used, r.results(ctx, portal)
}

// copyData is the data of a COPY: the lines after the statement's up to one of
// \. alone, and how much of rest that is.
func copyData(rest string) (data string, used int) {
	start := strings.IndexByte(rest, '\n') + 1
	if start == 0 {
		return "", len(rest)
	}
	at := start
	for at < len(rest) {
		end := strings.IndexByte(rest[at:], '\n')
		line := rest[at:]
		next := len(rest)
		if end >= 0 {
			line, next = rest[at:at+end], at+end+1
		}
		if strings.TrimSuffix(line, "\r") == `\.` {
			return rest[start:at], next
		}
		at = next
	}
	return rest[start:], len(rest)
}

func (r *scriptRun) results(ctx context.Context, p pgwire.Portal) error {
	cols := p.Columns()
	t := p.Traits()
	var w resultRows
	switch {
	case t.CopyOut != nil:
		w = &rawRows{r.sc.Out}
	case cols != nil:
		w = r.write(cols, t.Live)
	}
	sent := int64(0)
	for {
		b, err := p.Next(ctx, 0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		sent += int64(b.Len)
		if w != nil {
			err = w.rows(b, r.s.Env())
		}
		b.Release()
		if err != nil {
			return err
		}
	}
	if w != nil {
		return w.end()
	}
	if tag := p.Tag(sent); !r.sc.Quiet && r.sc.Format != "json" && r.sc.Format != "csv" {
		_, err := io.WriteString(r.sc.Out, tag+"\n")
		return err
	}
	return nil
}

// scriptClient is the client of a script's session.
type scriptClient struct {
	mu  sync.Mutex
	out io.Writer
	min pgwire.Severity
}

var severityRank = map[pgwire.Severity]int{pgwire.SeverityDebug: 0, pgwire.SeverityLog: 1, pgwire.SeverityNotice: 2,
	pgwire.SeverityWarning: 3, pgwire.SeverityError: 4}

// Notice writes a notice.
func (c *scriptClient) Notice(n *pgwire.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sev := n.Severity
	if sev == "" {
		sev = pgwire.SeverityNotice
	}
	if c.out == nil || sev != pgwire.SeverityInfo && severityRank[sev] < severityRank[c.min] {
		return
	}
	text := string(sev) + ":  " + n.Message + "\n"
	if n.Detail != "" {
		text += "DETAIL:  " + n.Detail + "\n"
	}
	if n.Hint != "" {
		text += "HINT:  " + n.Hint + "\n"
	}
	// A notice that cannot be written has nobody to be told to.
	_, _ = io.WriteString(c.out, text)
}

// Report does nothing: a script sees settings by SHOW.
func (c *scriptClient) Report(string, string) {}

// Limit keeps what notices are wanted.
func (c *scriptClient) Limit(l pgwire.Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.min = l.MinMessages
}

// Notify writes a notification.
func (c *scriptClient) Notify(n pgwire.Notification) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return false
	}
	_, err := fmt.Fprintf(c.out, "NOTIFY:  %s %s\n", n.Channel, n.Payload)
	return err == nil
}

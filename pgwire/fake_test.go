package pgwire

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// fakeBackend serves a toy language, deterministic to the last message:
//
//	SELECT item, …        item: 1, 'x', null, each with ::type and AS name; $1::type
//	ROWS n [FAIL AT k]    n rows (i int4, t text, d float8), an error at row k
//	TICK n ms             n live rows, ms apart
//	SLEEP ms              runs until it is cancelled or the time is over
//	INSERT n              n rows into the journal
//	BEGIN, COMMIT, ROLLBACK; SHOW JOURNAL; FAILCOMMIT
//	COPY n FROM STDIN [BINARY] [FAIL AT k]; COPY n TO STDOUT; n columns
//	SET name value; NOTICE severity text; NOTIFY channel text
//	PREPARE n AS …; EXECUTE n; DEALLOCATE n|ALL; DECLARE n [HOLD] CURSOR FOR …; FETCH k n; CLOSE n
//	FAIL code pos text (in Prepare); FAILRUN code text; PANIC; HOLDOUT ms (deaf to cancel)
type fakeBackend struct {
	mu       sync.Mutex
	sessions []*fakeSession
	refuse   error
}

func (b *fakeBackend) NewSession(_ context.Context, p StartupParams, c Client) (Session, error) {
	if b.refuse != nil {
		return nil, b.refuse
	}
	s := &fakeSession{backend: b, client: c, params: p, names: NewNames()}
	c.Report("server_version", "15.0")
	c.Report("client_encoding", "UTF8")
	c.Report("standard_conforming_strings", "on")
	for _, kv := range p.Settings {
		if kv.Name == "application_name" {
			c.Report(kv.Name, kv.Value)
		}
	}
	b.mu.Lock()
	b.sessions = append(b.sessions, s)
	b.mu.Unlock()
	return s, nil
}

type fakeSession struct {
	backend *fakeBackend
	client  Client
	params  StartupParams
	names   *Names
	limits  Limits

	block, failed bool
	pending       []string // journal entries of the open transaction
	journal       []string
	failCommit    bool
	closed        bool
}

func (s *fakeSession) Names() *Names   { return s.names }
func (s *fakeSession) Env() *types.Env { return nil }

func (s *fakeSession) Close() error {
	s.names.DropPortals()
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	s.closed = true
	return nil
}

func (s *fakeSession) TxStatus() TxStatus {
	switch {
	case s.failed:
		return TxFailed
	case s.block:
		return TxBlock
	}
	return TxIdle
}

func (s *fakeSession) Sync(context.Context) error {
	if s.block {
		return nil
	}
	if s.failCommit {
		s.failCommit = false
		s.Abort(nil)
		return sqlerr.New(sqlerr.SerializationFailure, "could not serialize access")
	}
	s.journal = append(s.journal, s.pending...)
	s.pending = nil
	s.names.EndTransaction(nil)
	return nil
}

func (s *fakeSession) Abort(error) {
	s.failed = s.block
	s.pending = nil
	s.names.EndTransaction(nil)
}

// Split cuts at semicolons outside quotes, drops comments and empty statements.
func (s *fakeSession) Split(sql string) ([]Parsed, error) {
	var out []Parsed
	start, quoted := 0, false
	clean := []byte(sql)
	add := func(end int) {
		text := string(clean[start:end])
		trimmed := strings.TrimLeft(text, " \n\t")
		if trimmed != "" {
			off := start + len(text) - len(trimmed)
			out = append(out, Parsed{Text: strings.TrimRight(trimmed, " \n\t"), Off: off})
		}
		start = end + 1
	}
	for i := 0; i < len(sql); i++ {
		switch {
		case sql[i] == '\'':
			quoted = !quoted
		case quoted:
		case sql[i] == ';':
			add(i)
		case strings.HasPrefix(sql[i:], "--"):
			for ; i < len(sql) && sql[i] != '\n'; i++ {
				clean[i] = ' '
			}
		}
	}
	if quoted {
		return nil, sqlerr.New(sqlerr.SyntaxError, "unterminated quoted string").At(strings.LastIndexByte(sql, '\''))
	}
	add(len(sql))
	return out, nil
}

func (s *fakeSession) Prepare(_ context.Context, p Parsed, params []types.Type) (Statement, error) {
	w := fakeWords(p.Text)
	verb := strings.ToUpper(w[0])
	if s.failed && verb != "COMMIT" && verb != "ROLLBACK" {
		return nil, sqlerr.New(sqlerr.InFailedTransaction,
			"current transaction is aborted, commands ignored until end of transaction block")
	}
	st := &fakeStatement{s: s, verb: verb, words: w, text: p.Text}
	switch verb {
	case "SELECT":
		return st, st.parseSelect(params)
	case "ROWS":
		st.cols = []Column{{Name: "i", Type: types.TInt4, TableOID: 16384, AttNum: 1}, {Name: "t", Type: types.TText},
			{Name: "d", Type: types.TFloat8}}
	case "TICK":
		st.cols = []Column{{Name: "i", Type: types.TInt4}}
	case "SHOW":
		st.cols = []Column{{Name: "journal", Type: types.TText}}
	case "FAIL":
		pos, err := strconv.Atoi(w[2])
		if err != nil {
			return nil, err
		}
		return nil, sqlerr.New(sqlerr.Code(w[1]), "%s", w[3]).At(pos)
	case "FETCH":
		np, err := s.names.Cursor(w[2])
		if err != nil {
			return nil, err
		}
		st.cols = np.Portal.Columns()
	case "EXECUTE":
		ns, err := s.names.Statement(w[1])
		if err != nil {
			return nil, err
		}
		return ns.Statement, nil
	case "INSERT":
		if len(params) > 0 || strings.Contains(p.Text, "$1") {
			st.params = []types.Type{types.TInt4}
		}
	case "BEGIN", "COMMIT", "ROLLBACK", "SLEEP", "COPY", "SET", "NOTICE", "NOTIFY", "PREPARE", "DEALLOCATE",
		"DECLARE", "CLOSE", "FAILRUN", "PANIC", "FAILCOMMIT", "HOLDOUT", "CREATE":
	default:
		return nil, sqlerr.New(sqlerr.SyntaxError, "syntax error at or near %q", w[0]).At(0)
	}
	return st, nil
}

// fakeWords splits at blanks; 'a b' is one word without its quotes.
func fakeWords(text string) []string {
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '\'' {
			end := strings.IndexByte(text[1:], '\'')
			out = append(out, text[1:1+end])
			text = text[end+2:]
			continue
		}
		i := strings.IndexAny(text, " \n\t")
		if i < 0 {
			i = len(text)
		}
		out = append(out, text[:i])
		text = text[i:]
	}
	return out
}

type fakeItem struct {
	param int // from 1; 0: literal
	null  bool
	text  string
	t     types.Type
}

type fakeStatement struct {
	s          *fakeSession
	verb, text string
	words      []string
	params     []types.Type
	cols       []Column
	items      []fakeItem
}

func (st *fakeStatement) Params() []types.Type { return st.params }
func (st *fakeStatement) Columns() []Column    { return st.cols }

var fakeTypes = func() map[string]types.Type {
	m := map[string]types.Type{"numeric(6,2)": {ID: types.Numeric, Mod: 6, Scale: 2}, "varchar(5)": {ID: types.Varchar, Mod: 5}}
	for _, t := range types.All() {
		m[t.PGName()] = t
		if t.ID != types.Void && t.ID != types.Unknown {
			m[t.PGName()+"[]"] = types.ArrayOf(t)
		}
	}
	return m
}()

func (st *fakeStatement) parseSelect(declared []types.Type) error {
	for _, part := range splitOutside(strings.TrimSpace(st.text[len("SELECT"):])) {
		name := "?column?"
		if expr, as, ok := strings.Cut(part, " AS "); ok {
			part, name = expr, as
		}
		it := fakeItem{t: types.TUnknown}
		if expr, tn, ok := strings.Cut(part, "::"); ok {
			t, known := fakeTypes[tn]
			if !known {
				return sqlerr.New(sqlerr.UndefinedObject, "type %q does not exist", tn).
					At(strings.Index(st.text, "::"+tn) + 2)
			}
			part, it.t = expr, t
		}
		switch {
		case strings.HasPrefix(part, "$"):
			n, err := strconv.Atoi(part[1:])
			if err != nil {
				return err
			}
			it.param = n
			for len(st.params) < n {
				st.params = append(st.params, types.TText)
			}
			if it.t.ID == types.Unknown && n <= len(declared) {
				it.t = declared[n-1]
			}
			if it.t.ID == types.Unknown {
				it.t = types.TText
			}
			st.params[n-1] = it.t
		case part == "null":
			it.null = true
		case strings.HasPrefix(part, "'"):
			it.text = strings.Trim(part, "'")
		default:
			if it.text = part; it.t.ID == types.Unknown {
				it.t = types.TInt4
			}
		}
		st.items = append(st.items, it)
		st.cols = append(st.cols, Column{Name: name, Type: it.t})
	}
	return nil
}

// splitOutside cuts at commas outside quotes and parentheses.
func splitOutside(s string) []string {
	var out []string
	quoted, depth, start := false, 0, 0
	for i := range len(s) {
		switch s[i] {
		case '\'':
			quoted = !quoted
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if !quoted && depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

func (st *fakeStatement) Bind(_ context.Context, args *arrowbatch.Batch) (Portal, error) {
	p := &fakePortal{fakeStatement: st, args: args}
	for _, w := range st.words[1:] {
		if w == "$1" {
			p.n = int(args.Cols[0].I32[0])
		} else if n, err := strconv.Atoi(w); err == nil && p.n == 0 {
			p.n = n
		}
		if w == "AT" {
			p.failAt, _ = strconv.Atoi(st.words[len(st.words)-1])
		}
	}
	if st.verb == "COPY" {
		return &fakeCopy{fakePortal: p}, nil
	}
	return p, nil
}

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

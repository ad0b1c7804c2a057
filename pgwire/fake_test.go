package pgwire

import (
	"context"
	"strconv"
	"strings"
	"sync"

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
	m := map[string]types.Type{
		"numeric(6,2)": {ID: types.Numeric, Mod: 6, Scale: 2}, "varchar(5)": {ID: types.Varchar, Mod: 5}}
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

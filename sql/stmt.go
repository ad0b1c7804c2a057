package sql

import (
	"github.com/streamsql/streamsql/sql/dialect"
)

// statement reads one statement up to its end.
func (p *parser) statement() Statement {
	p.enter()
	defer p.leave()
	start := p.Pos()
	t := p.Cur()
	if t.Kind == dialect.Punct && t.Text == "(" && p.OpensQuery() {
		return p.queryStmt(start)
	}
	if t.Kind != dialect.Ident {
		p.Syntax()
	}
	switch t.Text {
	case "select", "values", "table":
		return p.queryStmt(start)
	case "with":
		return p.withStmt(start)
	case "insert", "update", "delete":
		return p.dml(start, nil)
	}
	p.I++
	if s := p.definition(t.Text, start); s != nil {
		return s
	}
	if s := p.streaming(t.Text, start); s != nil {
		return s
	}
	if s := p.session(t.Text, start); s != nil {
		return s
	}
	if s := p.cursorOrPrepared(t.Text, start); s != nil {
		return s
	}
	p.I--
	switch t.Text {
	case "merge", "call", "do", "grant", "revoke", "import", "security", "reassign", "cluster", "load":
		dialect.Unsupported(t.Pos, "%s is not supported", upper(t.Text))
	case "refresh":
		dialect.Unsupported(t.Pos, "REFRESH is not supported: materialized views are always up to date")
	}
	p.Syntax()
	return nil
}

func (p *parser) queryStmt(start int) Statement {
	q := p.query()
	return &QueryStmt{Span: p.span(start), Query: q}
}

// withStmt tells by what follows the WITH clause whether a query or a change of
// data begins.
func (p *parser) withStmt(start int) Statement {
	switch p.Peek(p.afterWith()).Text {
	case "merge":
		dialect.Unsupported(p.Peek(p.afterWith()).Pos, "MERGE is not supported")
	case "insert", "update", "delete":
		with := p.decodeQuery(p.bridge.With()).With
		return p.dml(start, with)
	}
	return p.queryStmt(start)
}

// afterWith returns how far ahead the WITH clause at the cursor ends; any
// distance will do when it is malformed.
func (p *parser) afterWith() int {
	n := 1
	if p.IsWord(n, "recursive") {
		n++
	}
	skip := func() bool {
		m := p.Peek(n).Match
		if !p.IsPunct(n, "(") || m < 0 {
			return false
		}
		n = int(m) + 1 - p.I
		return true
	}
	for {
		n++ // the name
		skip()
		if !p.IsWord(n, "as") {
			return n
		}
		n++
		if p.IsWord(n, "not") {
			n++
		}
		if p.IsWord(n, "materialized") {
			n++
		}
		if !skip() || !p.IsPunct(n, ",") {
			return n
		}
		n++
	}
}

// definition reads the statements about objects.
func (p *parser) definition(word string, start int) Statement {
	switch word {
	case "create":
		return p.create(start)
	case "drop":
		return p.drop(start)
	case "alter":
		return p.alter(start)
	case "truncate":
		return p.truncate(start)
	case "comment":
		return p.comment(start)
	case "lock":
		return p.lockTable(start)
	case "vacuum", "analyze", "analyse", "checkpoint", "reindex":
		return p.maintenance(word, start)
	}
	return nil
}

// streaming reads the statements about running queries.
func (p *parser) streaming(word string, start int) Statement {
	switch word {
	case "pause", "resume", "restart":
		action := map[string]ControlAction{"pause": Pause, "resume": Resume, "restart": Restart}[word]
		s := &Control{Action: action, Name: p.qualifiedName()}
		if action == Restart {
			s.Savepoint = p.fromSavepoint()
		}
		s.Span = p.span(start)
		return s
	case "await":
		return p.await(start)
	case "flush":
		return &Flush{p.span(start)}
	case "subscribe":
		return p.subscribe(start)
	case "explain":
		return p.explain(start)
	case "backup":
		p.Need("to")
		s := &Backup{Path: p.str(), Options: p.optionalWith()}
		s.Span = p.span(start)
		return s
	}
	return nil
}

func (p *parser) await(start int) Statement {
	s := &Await{}
	if p.Accept("any") {
		s.Any = true
	} else {
		s.Name = p.qualifiedName()
	}
	if p.Accept("timeout") {
		s.Timeout = p.expr()
		switch x := s.Timeout.(type) {
		case *StringLit:
		case *TypedLit:
			if x.Type.Name.Text != "interval" {
				p.failAt(x.Pos)
			}
		default:
			p.failAt(x.Position())
		}
	}
	s.Span = p.span(start)
	return s
}

// failAt reports a syntax error about the token at byte offset pos.
func (p *parser) failAt(pos int) {
	for i := range p.Toks {
		if p.Toks[i].Pos >= pos {
			dialect.Fail(p.SyntaxAt(i))
		}
	}
}

func (p *parser) subscribe(start int) Statement {
	s := &Subscribe{}
	p.Accept("to")
	if p.OpensQuery() {
		s.Query = p.query()
	} else {
		pos := p.Pos()
		s.Relation = &Relation{Pos: pos, Name: p.qualifiedName()}
	}
	s.Options = p.optionalWith()
	s.Span = p.span(start)
	return s
}

func (p *parser) explain(start int) Statement {
	if p.Is("wait") && p.IsColumnName(1) {
		p.I++
		name := p.qualifiedName()
		return &ExplainWait{Span: p.span(start), Name: name}
	}
	s := &Explain{}
	if p.IsPunct(0, "(") && !p.OpensQuery() {
		s.Options = p.options(false)
	} else {
		for _, w := range []string{"analyze", "verbose"} {
			if p.Is(w) || w == "analyze" && p.Is("analyse") {
				s.Options = append(s.Options, Option{Name: Name{w, p.Pos()}})
				p.I++
			}
		}
	}
	s.Stmt = p.statement()
	switch s.Stmt.(type) {
	case *QueryStmt, *Insert, *Update, *Delete, *CreateView, *CreateSink, *CreateFlow, *CreateTable, *Subscribe,
		*Execute, *DeclareCursor:
	default:
		p.failAt(s.Stmt.Extent().Start)
	}
	s.Span = p.span(start)
	return s
}

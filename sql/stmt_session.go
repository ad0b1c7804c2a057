package sql

import (
	"github.com/streamsql/streamsql/sql/dialect"
)

// session reads the statements about the session and its transaction.
func (p *parser) session(word string, start int) Statement {
	switch word {
	case "show":
		return p.show(start)
	case "set":
		return p.set(start)
	case "reset":
		name := p.parameter()
		return &Reset{Span: p.span(start), Name: name}
	case "begin":
		p.work()
		modes := p.txModes()
		return &Begin{Span: p.span(start), Modes: modes}
	case "start":
		p.Need("transaction")
		modes := p.txModes()
		return &Begin{Span: p.span(start), Start: true, Modes: modes}
	case "commit", "end":
		p.noPrepared(word)
		p.work()
		chain := p.chain()
		return &Commit{Span: p.span(start), Chain: chain}
	case "rollback", "abort":
		return p.rollback(word, start)
	case "savepoint":
		name := p.columnName()
		return &Savepoint{Span: p.span(start), Name: name}
	case "release":
		p.savepointWord()
		name := p.columnName()
		return &ReleaseSavepoint{Span: p.span(start), Name: name}
	case "discard":
		return p.discard(start)
	case "listen":
		name := p.columnName()
		return &Listen{Span: p.span(start), Channel: name}
	case "unlisten":
		if p.IsOp(0, "*") {
			p.I++
			return &Unlisten{Span: p.span(start), All: true}
		}
		name := p.columnName()
		return &Unlisten{Span: p.span(start), Channel: name}
	case "notify":
		s := &Notify{Channel: p.columnName()}
		if p.AcceptPunct(",") {
			s.Payload = p.str()
		}
		s.Span = p.span(start)
		return s
	}
	return nil
}

func (p *parser) work() {
	if !p.Accept("work") {
		p.Accept("transaction")
	}
}

func (p *parser) chain() bool {
	if !p.Accept("and") {
		return false
	}
	no := p.Accept("no")
	p.Need("chain")
	return !no
}

// savepointWord skips an optional SAVEPOINT that is not itself the name.
func (p *parser) savepointWord() {
	if p.Is("savepoint") && p.IsColumnName(1) {
		p.I++
	}
}

func (p *parser) noPrepared(word string) {
	if p.Is("prepared") {
		dialect.Unsupported(p.Pos(), "%s PREPARED is not supported", upper(word))
	}
}

func (p *parser) rollback(word string, start int) Statement {
	p.noPrepared(word)
	p.work()
	if word == "rollback" && p.Accept("to") {
		p.savepointWord()
		name := p.columnName()
		return &RollbackTo{Span: p.span(start), Name: name}
	}
	chain := p.chain()
	return &Rollback{Span: p.span(start), Chain: chain}
}

func (p *parser) discard(start int) Statement {
	s := &Discard{What: p.Cur().Text}
	switch {
	case p.Accept("all"), p.Accept("plans"), p.Accept("sequences"), p.Accept("temp"):
	case p.Accept("temporary"):
		s.What = "temp"
	default:
		p.Syntax()
	}
	s.Span = p.span(start)
	return s
}

// txModes reads ISOLATION LEVEL …, READ ONLY|WRITE and [NOT] DEFERRABLE, with or
// without commas between.
func (p *parser) txModes() TxModes {
	var m TxModes
	flag := func(b bool) *bool { return &b }
	for first := true; ; first = false {
		comma := !first && p.AcceptPunct(",")
		switch {
		case p.Accept("isolation", "level"):
			m.Isolation = p.isolation()
		case p.Accept("read", "only"):
			m.ReadOnly = flag(true)
		case p.Accept("read", "write"):
			m.ReadOnly = flag(false)
		case p.Accept("deferrable"):
			m.Deferrable = flag(true)
		case p.Accept("not", "deferrable"):
			m.Deferrable = flag(false)
		default:
			if comma {
				p.Syntax()
			}
			return m
		}
	}
}

func (p *parser) isolation() string {
	switch {
	case p.Accept("serializable"):
		return "serializable"
	case p.Accept("repeatable", "read"):
		return "repeatable read"
	case p.Accept("read", "committed"):
		return "read committed"
	case p.Accept("read", "uncommitted"):
		return "read uncommitted"
	}
	p.Syntax()
	return ""
}

// parameter reads the name of a parameter as SHOW and RESET spell it.
func (p *parser) parameter() Name {
	pos := p.Pos()
	switch {
	case p.Accept("all"):
		return Name{"all", pos}
	case p.Accept("time", "zone"):
		return Name{"timezone", pos}
	case p.Accept("transaction", "isolation", "level"):
		return Name{"transaction_isolation", pos}
	case p.Accept("session", "authorization"):
		return Name{"session_authorization", pos}
	}
	return p.dottedParameter()
}

func (p *parser) dottedParameter() Name {
	n := p.columnName()
	for p.AcceptPunct(".") {
		n.Text += "." + p.label().Text
	}
	return n
}

// objectLists are the words of SHOW that list objects.
var objectLists = map[string]bool{
	"sources": true, "tables": true, "views": true, "sinks": true, "flows": true, "queries": true, "objects": true,
	"pools": true, "schemas": true, "databases": true, "functions": true,
}

func (p *parser) show(start int) Statement {
	switch {
	case p.Accept("create"):
		s := &ShowCreate{Kind: p.kind("SHOW CREATE")}
		s.Name = p.qualifiedName()
		s.Span = p.span(start)
		return s
	case p.Is("columns", "from"):
		p.I += 2
		name := p.qualifiedName()
		return &ShowColumns{Span: p.span(start), Name: name}
	case p.Accept("progress", "for"):
		name := p.qualifiedName()
		return &ShowProgress{Span: p.span(start), Name: name}
	case p.Accept("materialized", "views"):
		return p.showObjects(start, "materialized views")
	}
	t := p.Cur()
	if t.Kind == dialect.Ident && !p.IsPunct(1, ".") &&
		(objectLists[t.Text] || p.IsWord(1, "like") || p.IsWord(1, "from")) && p.IsColumnName(0) {
		p.I++
		return p.showObjects(start, t.Text)
	}
	name := p.parameter()
	return &Show{Span: p.span(start), Name: name}
}

func (p *parser) showObjects(start int, what string) Statement {
	s := &ShowObjects{What: what}
	if p.Accept("from") {
		s.From = p.qualifiedName()
	}
	if p.Accept("like") {
		pos := p.Pos()
		s.Like = &StringLit{Pos: pos, Value: p.str()}
	}
	s.Span = p.span(start)
	return s
}

// set reads SET in all its spellings; those that are not name = value become the
// parameter they stand for.
func (p *parser) set(start int) Statement {
	s := &Set{}
	pos := p.Pos()
	switch {
	case p.Accept("transaction"):
		t := &SetTransaction{}
		if p.Accept("snapshot") {
			t.Snapshot = p.str()
		} else {
			t.Modes = p.txModes()
		}
		t.Span = p.span(start)
		return t
	case p.Accept("session", "characteristics"):
		p.Need("as", "transaction")
		modes := p.txModes()
		return &SetTransaction{Span: p.span(start), Session: true, Modes: modes}
	case p.Is("local") && p.setScopeAhead():
		p.I++
		s.Scope = ScopeLocal
	case p.Is("session") && p.setScopeAhead():
		p.I++
	}
	p.setValue(s, pos)
	s.Span = p.span(start)
	return s
}

// setScopeAhead tells SET LOCAL x from a parameter of that name.
func (p *parser) setScopeAhead() bool { return p.Peek(1).IsName() && !p.IsWord(1, "to") }

func (p *parser) setValue(s *Set, pos int) {
	switch {
	case p.Accept("time", "zone"):
		s.Name = Name{"timezone", pos}
		s.Values = p.timeZone()
	case p.Accept("names"):
		s.Name = Name{"client_encoding", pos}
		if p.Cur().Kind == dialect.Str {
			s.Values = p.setOne()
		} else {
			p.Accept("default")
		}
	case p.Is("schema") && p.Peek(1).Kind == dialect.Str:
		p.I++
		s.Name = Name{"search_path", pos}
		s.Values = p.setOne()
	case p.Is("role") && !p.IsOp(1, "=") && !p.IsWord(1, "to"):
		p.I++
		s.Name = Name{"role", pos}
		s.Values = p.setOne()
	case p.Accept("session", "authorization"), p.Accept("authorization"):
		s.Name = Name{"session_authorization", pos}
		s.Values = p.setOne()
	case p.Is("xml", "option"), p.Is("catalog") && p.Peek(1).Kind == dialect.Str, p.Is("constraints"):
		dialect.Unsupported(p.Pos(), "SET %s is not supported", upper(p.Cur().Text))
	default:
		s.Name = p.dottedParameter()
		switch {
		case p.Is("from", "current"):
			dialect.Unsupported(p.Pos(), "SET ... FROM CURRENT is not supported")
		case p.IsOp(0, "="):
			p.I++
		default:
			p.Need("to")
		}
		s.Values = p.setValues()
	}
}

// timeZone reads the value of SET TIME ZONE; LOCAL is the default.
func (p *parser) timeZone() []Expr {
	if p.Accept("local") {
		return nil
	}
	if p.Is("interval") {
		return []Expr{p.expr()}
	}
	return p.setOne()
}

// setOne reads the only value; nil for DEFAULT.
func (p *parser) setOne() []Expr {
	if v := p.setScalar(); v != nil {
		return []Expr{v}
	}
	return nil
}

// setValues reads value, …; nil for DEFAULT.
func (p *parser) setValues() []Expr {
	var out []Expr
	for {
		v := p.setScalar()
		if v == nil {
			if out != nil {
				p.I--
				p.Syntax()
			}
			return nil
		}
		out = append(out, v)
		if !p.AcceptPunct(",") {
			return out
		}
	}
}

// setScalar reads one value; nil for DEFAULT.
func (p *parser) setScalar() Expr {
	if p.Accept("default") {
		return nil
	}
	t := p.Cur()
	if t.Kind == dialect.Ident && t.Text != "on" && t.Text != "true" && t.Text != "false" &&
		dialect.Reserved(t.Text) {
		p.Syntax()
	}
	switch v := p.optionValue().(type) {
	case *ColumnRef:
		return &StringLit{Pos: v.Pos, Value: v.Parts[0].Text}
	case *Row, *Star:
		p.failAt(t.Pos)
		return nil
	default:
		return v
	}
}

package sql

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// cursorOrPrepared reads the statements about cursors and prepared statements.
func (p *parser) cursorOrPrepared(word string, start int) Statement {
	switch word {
	case "declare":
		return p.declare(start)
	case "fetch", "move":
		return p.fetch(start, word == "move")
	case "close":
		if p.Accept("all") {
			return &CloseCursor{Span: p.span(start), All: true}
		}
		name := p.columnName()
		return &CloseCursor{Span: p.span(start), Name: name}
	case "copy":
		return p.copy(start)
	case "prepare":
		return p.prepare(start)
	case "execute":
		s := &Execute{Name: p.columnName()}
		if p.AcceptPunct("(") {
			s.Args = p.exprList()
			p.NeedPunct(")")
		}
		s.Span = p.span(start)
		return s
	case "deallocate":
		if p.Is("prepare") && (p.IsColumnName(1) || p.IsWord(1, "all")) {
			p.I++
		}
		if p.Accept("all") {
			return &Deallocate{Span: p.span(start), All: true}
		}
		name := p.columnName()
		return &Deallocate{Span: p.span(start), Name: name}
	}
	return nil
}

func (p *parser) declare(start int) Statement {
	s := &DeclareCursor{Name: p.columnName()}
	for !p.Accept("cursor") {
		yes := true
		switch {
		case p.Accept("binary"):
			s.Binary = true
		case p.Accept("insensitive"):
			s.Insensitive = true
		case p.Accept("asensitive"):
		case p.Accept("scroll"):
			p.scrollOnce(s)
			s.Scroll = &yes
		case p.Accept("no", "scroll"):
			p.scrollOnce(s)
			yes = false
			s.Scroll = &yes
		default:
			p.Syntax()
		}
	}
	if p.Accept("with", "hold") {
		s.Hold = true
	} else {
		p.Accept("without", "hold")
	}
	p.Need("for")
	inner := p.Pos()
	if p.Accept("subscribe") {
		s.Stmt = p.subscribe(inner)
	} else {
		s.Stmt = p.queryStmt(inner)
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) scrollOnce(s *DeclareCursor) {
	if s.Scroll != nil {
		dialect.Failf(sqlerr.SyntaxError, p.Toks[p.I-1].Pos, "cannot specify both SCROLL and NO SCROLL")
	}
}

func (p *parser) fetch(start int, move bool) Statement {
	s := &Fetch{Move: move, Count: 1}
	p.fetchDirection(s)
	if !p.Accept("from") {
		p.Accept("in")
	}
	s.Cursor = p.columnName()
	s.Span = p.span(start)
	return s
}

// fetchDirection reads the direction unless the word is itself the cursor.
func (p *parser) fetchDirection(s *Fetch) {
	t := p.Cur()
	last := p.Peek(1).Kind == dialect.EOF || p.IsPunct(1, ";")
	if t.Kind == dialect.Num || t.Kind == dialect.Op {
		s.Count = p.signedInt()
		return
	}
	if t.Kind != dialect.Ident || last {
		return
	}
	switch t.Text {
	case "next":
		p.I++
	case "prior":
		p.I++
		s.Direction = FetchBackward
	case "first", "last":
		p.I++
		s.Direction = FetchAbsolute
		if t.Text == "last" {
			s.Count = -1
		}
	case "absolute", "relative":
		p.I++
		s.Direction = FetchAbsolute
		if t.Text == "relative" {
			s.Direction = FetchRelative
		}
		s.Count = p.signedInt()
	case "all":
		p.I++
		s.All = true
	case "forward", "backward":
		p.I++
		if t.Text == "backward" {
			s.Direction = FetchBackward
		}
		if p.Accept("all") {
			s.All = true
		} else if k := p.Cur().Kind; k == dialect.Num || k == dialect.Op {
			s.Count = p.signedInt()
		}
	}
}

func (p *parser) signedInt() int64 {
	sign := int64(1)
	if p.IsOp(0, "-") {
		sign = -1
		p.I++
	} else if p.IsOp(0, "+") {
		p.I++
	}
	if p.Cur().Kind != dialect.Num {
		p.Syntax()
	}
	n, err := strconv.ParseInt(p.Cur().Text, 10, 32)
	if err != nil {
		p.Syntax()
	}
	p.I++
	return sign * n
}

func (p *parser) prepare(start int) Statement {
	if p.Is("transaction") {
		dialect.Unsupported(p.Pos(), "PREPARE TRANSACTION is not supported")
	}
	s := &Prepare{Name: p.columnName()}
	if p.AcceptPunct("(") {
		for {
			s.Types = append(s.Types, p.typeName())
			if !p.AcceptPunct(",") {
				break
			}
		}
		p.NeedPunct(")")
	}
	p.Need("as")
	s.Stmt = p.statement()
	switch s.Stmt.(type) {
	case *QueryStmt, *Insert, *Update, *Delete, *Subscribe:
	default:
		p.failAt(s.Stmt.Extent().Start)
	}
	s.StmtSpan = s.Stmt.Extent()
	s.Span = p.span(start)
	return s
}

func (p *parser) copy(start int) Statement {
	s := &Copy{}
	binary := p.Accept("binary")
	if p.IsPunct(0, "(") {
		p.copyStmt(s)
		p.Need("to")
	} else {
		name := p.qualifiedName()
		s.Table = &name
		if p.IsPunct(0, "(") {
			s.Columns = p.columnList()
		}
		if s.From = p.Accept("from"); !s.From {
			p.Need("to")
		}
	}
	if p.Accept("program") {
		s.End = CopyProgram
	}
	switch {
	case p.Cur().Kind == dialect.Str:
		if s.End == CopyStdio {
			s.End = CopyFile
		}
		s.Path = p.str()
	case s.End == CopyStdio && (p.Accept("stdin") || p.Accept("stdout")):
	default:
		p.Syntax()
	}
	if binary {
		s.Options = append(s.Options, bareOption("format", "binary", start))
	}
	p.copyOptions(s)
	if p.Is("where") {
		if !s.From {
			dialect.Failf(sqlerr.SyntaxError, p.Pos(), "WHERE clause not allowed with COPY TO")
		}
		s.Where = p.where()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) copyStmt(s *Copy) {
	p.NeedPunct("(")
	inner := p.Pos()
	if p.Accept("subscribe") {
		s.Stmt = p.subscribe(inner)
	} else {
		s.Stmt = p.statement()
		switch s.Stmt.(type) {
		case *QueryStmt, *Insert, *Update, *Delete:
		default:
			p.failAt(inner)
		}
	}
	p.NeedPunct(")")
}

func bareOption(name, value string, pos int) Option {
	return Option{Name: Name{name, pos}, Value: &ColumnRef{Pos: pos, Parts: []Name{{value, pos}}}}
}

// copyOptions reads [WITH] (options), or the options of old without parentheses.
func (p *parser) copyOptions(s *Copy) {
	if p.Is("using", "delimiters") || p.Is("delimiters") {
		p.Accept("using")
		pos := p.Pos()
		p.I++
		s.Options = append(s.Options, p.copyText("delimiter", pos))
	}
	p.Accept("with")
	if p.IsPunct(0, "(") {
		s.Options = append(s.Options, p.options(false)...)
		return
	}
	for {
		pos := p.Pos()
		switch {
		case p.Accept("binary"):
			s.Options = append(s.Options, bareOption("format", "binary", pos))
		case p.Accept("csv"):
			s.Options = append(s.Options, bareOption("format", "csv", pos))
		case p.Accept("freeze"), p.Accept("header"):
			s.Options = append(s.Options, Option{Name: Name{p.Toks[p.I-1].Text, pos}})
		case p.Accept("delimiter"), p.Accept("null"), p.Accept("quote"), p.Accept("escape"),
			p.Accept("encoding"):
			s.Options = append(s.Options, p.copyText(p.Toks[p.I-1].Text, pos))
		case p.Accept("force"):
			s.Options = append(s.Options, p.forceOption(pos))
		default:
			return
		}
	}
}

func (p *parser) copyText(name string, pos int) Option {
	if name != "encoding" {
		p.Accept("as")
	}
	at := p.Pos()
	return Option{Name: Name{name, pos}, Value: &StringLit{Pos: at, Value: p.str()}}
}

func (p *parser) forceOption(pos int) Option {
	o := Option{Name: Name{Pos: pos}}
	switch {
	case p.Accept("quote"):
		o.Name.Text = "force_quote"
	case p.Accept("not", "null"):
		o.Name.Text = "force_not_null"
	case p.Accept("null"):
		o.Name.Text = "force_null"
	default:
		p.Syntax()
	}
	at := p.Pos()
	if o.Name.Text == "force_quote" && p.IsOp(0, "*") {
		p.I++
		o.Value = &Star{Pos: at}
		return o
	}
	r := &Row{Pos: at}
	for {
		n := p.columnName()
		r.Fields = append(r.Fields, &ColumnRef{Pos: n.Pos, Parts: []Name{n}})
		if !p.AcceptPunct(",") {
			break
		}
	}
	o.Value = r
	return o
}

package sql

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// parser reads statements from the tokens of one text. Queries and expressions
// go through the bridge, which reads at the same cursor.
type parser struct {
	*dialect.Cursor
	bridge *dialect.Bridge
	types  []*TypeName // what the handles given to the bridge stand for
	depth  int         // of statements inside statements
}

func newParser(text string) *parser {
	p := &parser{Cursor: dialect.NewCursor(text)}
	p.bridge = dialect.NewBridge(p.Cursor, p)
	return p
}

// Parse parses all statements of a text. Empty statements leave no trace, so a
// text of comments gives none. The error is a *sqlerr.Error.
func Parse(text string) (stmts []Statement, err error) {
	defer dialect.Catch(&err)
	p := newParser(text)
	for {
		for p.AcceptPunct(";") {
		}
		if p.Cur().Kind == dialect.EOF {
			return stmts, nil
		}
		stmts = append(stmts, p.statement())
		if p.Cur().Kind != dialect.EOF && !p.IsPunct(0, ";") {
			p.Syntax()
		}
	}
}

// ParseOne parses a text that must hold exactly one statement.
func ParseOne(text string) (Statement, error) {
	stmts, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, sqlerr.New(sqlerr.SyntaxError, "expected one statement, got %d", len(stmts))
	}
	return stmts[0], nil
}

// ParseQuery parses a text that is one query.
func ParseQuery(text string) (q *Query, err error) {
	defer dialect.Catch(&err)
	p := newParser(text)
	q = p.query()
	p.end()
	return q, nil
}

// ParseExpr parses a text that is one expression.
func ParseExpr(text string) (x Expr, err error) {
	defer dialect.Catch(&err)
	p := newParser(text)
	x = p.expr()
	p.end()
	return x, nil
}

// ParseTypeName parses a text that is one type name, such as regtype's input.
func ParseTypeName(text string) (t *TypeName, err error) {
	defer dialect.Catch(&err)
	p := newParser(text)
	t = p.typeName()
	p.end()
	return t, nil
}

func (p *parser) end() {
	p.AcceptPunct(";")
	if p.Cur().Kind != dialect.EOF {
		p.Syntax()
	}
}

// nameAt makes a Name of a token.
func (p *parser) nameAt(tok int) Name {
	t := &p.Toks[tok]
	return Name{Text: t.Text, Pos: t.Pos}
}

// columnName demands a name that needs no quotes.
func (p *parser) columnName() Name { return p.nameAt(p.ColumnName()) }

// label demands any word.
func (p *parser) label() Name { return p.nameAt(p.Label()) }

// qualifiedName demands [[catalog.]schema.]name.
func (p *parser) qualifiedName() QualifiedName {
	names := []Name{p.columnName()}
	for p.AcceptPunct(".") {
		names = append(names, p.label())
	}
	if len(names) > 3 {
		dialect.Failf(sqlerr.SyntaxError, names[0].Pos, "improper qualified name (too many dotted names): %s",
			p.Src[names[0].Pos:p.PrevEnd()])
	}
	return qualify(names)
}

func (p *parser) qualifiedNames() []QualifiedName {
	names := []QualifiedName{p.qualifiedName()}
	for p.AcceptPunct(",") {
		names = append(names, p.qualifiedName())
	}
	return names
}

// columnList demands (name, …).
func (p *parser) columnList() []Name {
	p.NeedPunct("(")
	names := []Name{p.columnName()}
	for p.AcceptPunct(",") {
		names = append(names, p.columnName())
	}
	p.NeedPunct(")")
	return names
}

// str demands a string constant.
func (p *parser) str() string {
	if p.Cur().Kind != dialect.Str {
		p.Syntax()
	}
	return p.Next().Text
}

func (p *parser) query() *Query {
	if !p.OpensQuery() {
		p.Accept("values") // what follows it is wrong
		p.Syntax()
	}
	return p.decodeQuery(p.bridge.Query())
}

// querySpan parses a query and tells where it lies.
func (p *parser) querySpan() (*Query, Span) {
	start := p.Pos()
	q := p.query()
	return q, Span{start, p.PrevEnd()}
}

func (p *parser) expr() Expr { return p.decodeExpr(p.bridge.Expr()) }

func (p *parser) exprList() []Expr { return p.decodeExprs(p.bridge.ExprList()) }

// span closes a statement that began at start.
func (p *parser) span(start int) Span { return Span{start, p.PrevEnd()} }

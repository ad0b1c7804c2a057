package sql

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// decoder turns the tree of one fragment into ours. Its methods fail as the
// cursor's do.
type decoder struct {
	p *parser
	b *dialect.Bridge
	f *dialect.Fragment
	// done is called when the tree is decoded.
	done func()
	// symmetric is set when the low bound being decoded began with SYMMETRIC.
	symmetric bool
}

// decoder parses the fragment and returns a decoder with the statement.
func (p *parser) decoder(f *dialect.Fragment) (*decoder, ast.StmtNode) {
	stmt, done, err := p.bridge.Parse(f)
	if err != nil {
		dialect.Fail(err)
	}
	return &decoder{p: p, b: p.bridge, f: f, done: done}, stmt
}

func (p *parser) decodeQuery(f *dialect.Fragment) *Query {
	d, stmt := p.decoder(f)
	defer d.done()
	return d.query(stmt)
}

// decodeSelect decodes a fragment that is one SELECT with only targets or FROM.
func (p *parser) decodeSelect(f *dialect.Fragment) *Select {
	d, stmt := p.decoder(f)
	defer d.done()
	sel, ok := stmt.(*ast.SelectStmt)
	if !ok {
		d.broken(stmt)
	}
	return d.selectCore(sel)
}

// decodeExprs decodes a fragment that is a list of expressions.
func (p *parser) decodeExprs(f *dialect.Fragment) []Expr {
	d, stmt := p.decoder(f)
	defer d.done()
	sel, ok := stmt.(*ast.SelectStmt)
	if !ok {
		d.broken(stmt)
	}
	out := make([]Expr, 0, len(sel.Fields.Fields))
	for _, fld := range sel.Fields.Fields {
		out = append(out, d.expr(fld.Expr))
	}
	return out
}

func (p *parser) decodeExpr(f *dialect.Fragment) Expr {
	if f == nil {
		return nil
	}
	return p.decodeExprs(f)[0]
}

// broken ends the parse over a tree that no fragment should give.
func (d *decoder) broken(n any) {
	dialect.Fail(sqlerr.Internal("the SQL bridge met an unexpected %T", n))
}

// tok returns the token index that a reference holds.
func (d *decoder) tok(n ast.Node) int {
	if letter, i := d.ref(n); letter == 0 {
		return i
	}
	d.broken(n)
	return 0
}

// ref reads a reference to a token (letter 0) or fact; 'm' is anything else.
func (d *decoder) ref(n ast.Node) (letter byte, index int) {
	c, ok := n.(*ast.ColumnNameExpr)
	if !ok {
		return 'm', 0
	}
	return dialect.Ref(c.Name.Name.O)
}

// word returns the marker word of a column node, "" when it is a reference.
func (d *decoder) word(n ast.Node) string {
	c, ok := n.(*ast.ColumnNameExpr)
	if !ok {
		return ""
	}
	if letter, _ := dialect.Ref(c.Name.Name.O); letter != 'm' {
		return ""
	}
	return c.Name.Name.O
}

// call returns the name of a marker call, "" when n is none. The parser's own
// name for the || glue is "concat".
func (d *decoder) call(n ast.Node) (*ast.FuncCallExpr, string) {
	if f, ok := n.(*ast.FuncCallExpr); ok {
		return f, f.FnName.L
	}
	return nil, ""
}

func (d *decoder) token(i int) *dialect.Token { return &d.b.Toks[i] }

// startPos is the position of the first token of an expression.
func (d *decoder) startPos(n ast.ExprNode) int {
	return d.token(d.f.TokenAt(n.OriginTextPosition())).Pos
}

// opTok is the token before an operand: its operator's.
func (d *decoder) opTok(right ast.ExprNode) int {
	return d.f.TokenBefore(right.OriginTextPosition())
}

func (d *decoder) name(tok int) Name {
	if tok < 0 {
		return Name{}
	}
	return d.p.nameAt(tok)
}

func (d *decoder) names(toks []int) []Name {
	if len(toks) == 0 {
		return nil
	}
	out := make([]Name, len(toks))
	for i, t := range toks {
		out[i] = d.name(t)
	}
	return out
}

// dotted reads the names of a dotted name from token tok on.
func (d *decoder) dotted(tok int) []Name {
	names := []Name{d.name(tok)}
	for {
		dot, next := d.token(tok+1), tok+2
		if dot.Kind != dialect.Punct || dot.Text != "." || next >= len(d.b.Toks) || !d.token(next).IsName() {
			return names
		}
		names = append(names, d.name(next))
		tok = next
	}
}

func (d *decoder) qualified(tok int) QualifiedName { return qualify(d.dotted(tok)) }

func qualify(names []Name) (q QualifiedName) {
	switch n := len(names); {
	case n >= 3:
		q.Catalog = names[n-3]
		fallthrough
	case n == 2:
		q.Schema = names[n-2]
		fallthrough
	default:
		q.Name = names[n-1]
	}
	return q
}

// nested decodes a fragment that a fact holds; nil gives nil.
func (d *decoder) nested(f *dialect.Fragment) Expr { return d.p.decodeExpr(f) }

package dialect

import (
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// value is the parser's literal node. Fragments hold no literals, so it only keeps
// what it is given.
type value struct {
	ast.TexprNode
	v          any
	projection int
}

func (n *value) SetValue(v any)             { n.v = v }
func (n *value) GetValue() any              { return n.v }
func (n *value) GetDatumString() string     { return n.GetString() }
func (n *value) GetProjectionOffset() int   { return n.projection }
func (n *value) SetProjectionOffset(at int) { n.projection = at }
func (n *value) Format(io.Writer)           {}

func (n *value) GetString() string {
	s, _ := n.v.(string)
	return s
}

func (n *value) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain("?")
	return nil
}

func (n *value) Accept(v ast.Visitor) (ast.Node, bool) {
	m, _ := v.Enter(n)
	return v.Leave(m)
}

// marker is the parser's ? node, which fragments never hold.
type marker struct{ value }

func (*marker) SetOrder(int) {}

// hooks gives the parser its constructors of literals: numbers stay text, so
// none is too long.
var hooks = sync.OnceFunc(func() {
	text := func(s string) (any, error) { return s, nil }
	ast.NewValueExpr = func(v any, _, _ string) ast.ValueExpr { return &value{v: v, projection: -1} }
	ast.NewParamMarkerExpr = func(int) ast.ParamMarkerExpr { return &marker{} }
	ast.NewDecimal, ast.NewHexLiteral, ast.NewBitLiteral = text, text, text
})

var parsers = sync.Pool{New: func() any {
	hooks()
	p := parser.New()
	p.SetSQLMode(mysql.ModeANSIQuotes | mysql.ModePipesAsConcat | mysql.ModeNoBackslashEscapes)
	return p
}}

// Parse gives the fragment to the parser. The error is PostgreSQL's syntax error
// about the token that the parser refused. The tree must not be used any more once
// done has been called: the parser writes positions into nodes of its last tree
// while it makes the next one.
func (b *Bridge) Parse(f *Fragment) (stmt ast.StmtNode, done func(), _ *sqlerr.Error) {
	p := parsers.Get().(*parser.Parser)
	done = func() { parsers.Put(p) }
	stmt, err := p.ParseOneStmt(f.Text, "", "")
	if err != nil {
		done()
		return nil, nil, b.SyntaxAt(f.refused(err.Error()))
	}
	return stmt, done, nil
}

// refused returns the token that a message is about. The message quotes the rest
// of the text from the refused token on, or its beginning and total length.
func (f *Fragment) refused(msg string) int {
	_, rest, ok := strings.Cut(msg, `near "`)
	if !ok {
		return 0
	}
	end := strings.LastIndex(rest, `"`)
	if end < 0 {
		return 0
	}
	n := end
	if _, total, ok := strings.Cut(rest[end:], "(total length "); ok {
		total, _, _ = strings.Cut(total, ")")
		if v, err := strconv.Atoi(total); err == nil {
			n = v
		}
	}
	return f.TokenAt(len(f.Text) - n)
}

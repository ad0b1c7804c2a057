package dialect

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Cursor walks over the tokens of a text. Its methods that demand something
// fail by a panic that Catch turns into an error.
type Cursor struct {
	Src  string
	Toks []Token
	I    int
}

// NewCursor lexes src and stands at its first token.
func NewCursor(src string) *Cursor { return &Cursor{Src: src, Toks: Lex(src)} }

type bailout struct{ err *sqlerr.Error }

// Catch is deferred by whoever starts a parse: it turns a Fail into *err.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case bailout:
		*err = r.err
	default:
		panic(r)
	}
}

// Fail ends the parse with err.
func Fail(err *sqlerr.Error) { panic(bailout{err}) }

// Failf ends the parse with an error at byte offset pos.
func Failf(code sqlerr.Code, pos int, format string, args ...any) {
	Fail(sqlerr.New(code, format, args...).At(pos))
}

// Unsupported ends the parse with 0A000.
func Unsupported(pos int, format string, args ...any) {
	Failf(sqlerr.FeatureNotSupported, pos, format, args...)
}

// SyntaxAt makes PostgreSQL's syntax error about the token with index i.
func (c *Cursor) SyntaxAt(i int) *sqlerr.Error {
	t := &c.Toks[min(i, len(c.Toks)-1)]
	switch t.Kind {
	case Bad:
		return t.err
	case EOF:
		return sqlerr.New(sqlerr.SyntaxError, "syntax error at end of input").At(t.Pos)
	}
	e := sqlerr.New(sqlerr.SyntaxError, "syntax error").At(t.Pos)
	e.Message += " at or near \"" + c.Src[t.Pos:t.End] + "\""
	return e
}

// Syntax ends the parse with a syntax error about the current token.
func (c *Cursor) Syntax() { Fail(c.SyntaxAt(c.I)) }

// Cur returns the current token.
func (c *Cursor) Cur() *Token { return &c.Toks[c.I] }

// Peek returns the token n places ahead; the last one stands for all after it.
func (c *Cursor) Peek(n int) *Token {
	if c.I+n >= len(c.Toks) {
		return &c.Toks[len(c.Toks)-1]
	}
	return &c.Toks[c.I+n]
}

// Pos returns the offset of the current token.
func (c *Cursor) Pos() int { return c.Toks[c.I].Pos }

// PrevEnd returns the offset after the token before the current one.
func (c *Cursor) PrevEnd() int {
	if c.I == 0 {
		return 0
	}
	return c.Toks[c.I-1].End
}

// Next returns the current token and moves on; at the end it stays.
func (c *Cursor) Next() *Token {
	t := &c.Toks[c.I]
	if c.I < len(c.Toks)-1 {
		c.I++
	}
	return t
}

// IsPunct tells whether the token n ahead is the punctuation s.
func (c *Cursor) IsPunct(n int, s string) bool {
	t := c.Peek(n)
	return t.Kind == Punct && t.Text == s
}

// IsOp tells whether the token n ahead is the operator s.
func (c *Cursor) IsOp(n int, s string) bool {
	t := c.Peek(n)
	return t.Kind == Op && t.Text == s
}

// IsWord tells whether the tokens from n ahead are the given words.
func (c *Cursor) IsWord(n int, words ...string) bool {
	for k, w := range words {
		if t := c.Peek(n + k); t.Kind != Ident || t.Text != w {
			return false
		}
	}
	return true
}

// Is tells whether the next tokens are the given words.
func (c *Cursor) Is(words ...string) bool { return c.IsWord(0, words...) }

// Accept skips the given words if they are next.
func (c *Cursor) Accept(words ...string) bool {
	if !c.IsWord(0, words...) {
		return false
	}
	c.I += len(words)
	return true
}

// AcceptPunct skips the punctuation if it is next.
func (c *Cursor) AcceptPunct(s string) bool {
	if !c.IsPunct(0, s) {
		return false
	}
	c.I++
	return true
}

// Need demands the given words.
func (c *Cursor) Need(words ...string) {
	for _, w := range words {
		if !c.Accept(w) {
			c.Syntax()
		}
	}
}

// NeedPunct demands the punctuation.
func (c *Cursor) NeedPunct(s string) {
	if !c.AcceptPunct(s) {
		c.Syntax()
	}
}

// IsColumnName tells whether the token n ahead can name a column or relation.
func (c *Cursor) IsColumnName(n int) bool {
	t := c.Peek(n)
	return t.Kind == Quoted || t.Kind == Ident && !reserved[t.Text] && !typeOrFunc[t.Text]
}

// ColumnName demands a name for a column or relation and returns its index.
func (c *Cursor) ColumnName() int {
	if !c.IsColumnName(0) {
		c.Syntax()
	}
	c.I++
	return c.I - 1
}

// Label demands any word and returns its index.
func (c *Cursor) Label() int {
	if !c.Cur().IsName() {
		c.Syntax()
	}
	c.I++
	return c.I - 1
}

// Dotted returns how many tokens ahead the dotted name that starts n ahead ends.
func (c *Cursor) Dotted(n int) int {
	n++
	for c.IsPunct(n, ".") && c.Peek(n+1).IsName() {
		n += 2
	}
	return n
}

// SplitOp cuts the first byte off the current operator token when that byte is
// first, and tells whether it did or skipped a token that was only that byte.
func (c *Cursor) SplitOp(first byte) bool {
	t := c.Cur()
	if t.Kind != Op || t.Text[0] != first || c.Src[t.Pos] != first {
		return false
	}
	if len(t.Text) == 1 {
		c.I++
		return true
	}
	t.Text, t.Pos = t.Text[1:], t.Pos+1
	return true
}

// OpensQuery tells whether the current token starts a query: SELECT, WITH,
// VALUES, TABLE or a parenthesis around one.
func (c *Cursor) OpensQuery() bool { return c.opensQuery(c.I) }

func (c *Cursor) opensQuery(i int) bool {
	t := &c.Toks[i]
	if t.Kind == Ident {
		switch t.Text {
		case "select", "with", "table":
			return true
		case "values": // also a column name
			n := &c.Toks[i+1]
			return n.Kind == Punct && n.Text == "("
		}
		return false
	}
	if t.Kind != Punct || t.Text != "(" {
		return false
	}
	if t.query == 0 {
		t.query = 2
		if c.parenQuery(i + 1) {
			t.query = 1
		}
	}
	return t.query == 1
}

// parenQuery decides about a "(" by what follows it at i. A nested parenthesis
// is a query's only if nothing continues it as an expression.
func (c *Cursor) parenQuery(i int) bool {
	if !c.opensQuery(i) {
		return false
	}
	t := &c.Toks[i]
	if t.Kind == Ident {
		return true
	}
	if t.Match < 0 {
		return false
	}
	after := &c.Toks[t.Match+1]
	if after.Kind == Punct {
		return after.Text == ")"
	}
	if after.Kind == Ident {
		switch after.Text {
		case "union", "intersect", "except", "order", "limit", "offset", "fetch", "for":
			return true
		}
	}
	return false
}

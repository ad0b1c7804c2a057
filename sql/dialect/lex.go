package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// MaxNesting is how deep brackets and prefix operators may nest.
const MaxNesting = 1000

// maxName is the length of an identifier in bytes; longer ones are cut.
const maxName = 63

const opChars = "+-*/<>=~!@#%^&|`?"

type lexer struct {
	src   string
	i     int
	toks  []Token
	stack []int32 // open brackets
}

// Lex cuts src into tokens, ending with an EOF token. Where it fails it leaves a
// Bad token, so that an earlier syntax error is reported first; Err returns it.
func Lex(src string) []Token {
	l := &lexer{src: src, toks: make([]Token, 0, len(src)/4+2)}
	if off := invalidUTF8(src); off >= 0 {
		l.src = src[:off]
		l.run()
		l.toks = l.toks[:len(l.toks)-1]
		l.bad(off, sqlerr.New(sqlerr.CharacterNotInRepertoire,
			"invalid byte sequence for encoding \"UTF8\": %s", byteDump(src[off:])).At(off))
		return l.toks
	}
	l.run()
	return l.toks
}

// Err returns the error at the end of toks, nil when lexing went well.
func Err(toks []Token) *sqlerr.Error { return toks[len(toks)-1].err }

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return strings.IndexByte(s, 0)
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 || s[i] == 0 {
			return i
		}
		i += n
	}
	return -1
}

// byteDump prints the bytes of the bad character as PostgreSQL does.
func byteDump(s string) string {
	n := 1
	switch c := s[0]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < min(n, len(s)); i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("0x")
		b.WriteByte(hex[s[i]>>4])
		b.WriteByte(hex[s[i]&15])
	}
	return b.String()
}

func (l *lexer) add(k Kind, text string, pos int) {
	l.toks = append(l.toks, Token{Kind: k, Text: text, Pos: pos, End: l.i, Match: -1})
}

func (l *lexer) bad(pos int, err *sqlerr.Error) {
	l.toks = append(l.toks, Token{Kind: Bad, Pos: pos, End: len(l.src), Match: -1, err: err})
}

// failNear reports msg at pos; the text quoted runs from pos to end.
func (l *lexer) failNear(pos, end int, format string, args ...any) *sqlerr.Error {
	e := sqlerr.New(sqlerr.SyntaxError, format, args...).At(pos)
	e.Message += " at or near \"" + l.src[pos:end] + "\""
	return e
}

func (l *lexer) run() {
	for {
		if err := l.space(); err != nil {
			l.bad(err.Pos-1, err)
			return
		}
		if l.i >= len(l.src) {
			l.i = len(l.src)
			l.add(EOF, "", l.i)
			return
		}
		if err := l.token(); err != nil {
			l.bad(err.Pos-1, err)
			return
		}
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIdentStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isIdentPart(c byte) bool { return isIdentStart(c) || isDigit(c) || c == '$' }

// space skips white space and comments; a hint comment after SELECT becomes a token.
func (l *lexer) space() *sqlerr.Error {
	for l.i < len(l.src) {
		switch {
		case isSpace(l.src[l.i]):
			l.i++
		case strings.HasPrefix(l.src[l.i:], "--"):
			if n := strings.IndexAny(l.src[l.i:], "\r\n"); n >= 0 {
				l.i += n
			} else {
				l.i = len(l.src)
			}
		case strings.HasPrefix(l.src[l.i:], "/*"):
			if err := l.blockComment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) blockComment() *sqlerr.Error {
	pos, depth := l.i, 1
	l.i += 2
	for depth > 0 {
		if l.i+1 >= len(l.src) {
			return l.failNear(pos, len(l.src), "unterminated /* comment")
		}
		switch {
		case l.src[l.i] == '*' && l.src[l.i+1] == '/':
			depth--
			l.i += 2
		case l.src[l.i] == '/' && l.src[l.i+1] == '*':
			depth++
			l.i += 2
		default:
			l.i++
		}
	}
	if n := len(l.toks); l.src[pos+2] == '+' && n > 0 && l.toks[n-1].Kind == Ident && l.toks[n-1].Text == "select" {
		l.add(Hint, l.src[pos+3:l.i-2], pos)
	}
	return nil
}

func (l *lexer) token() *sqlerr.Error {
	c, pos := l.src[l.i], l.i
	next := byte(0)
	if pos+1 < len(l.src) {
		next = l.src[pos+1]
	}
	switch {
	case c == '\'':
		return l.str(pos, false)
	case next == '\'' && (c == 'e' || c == 'E'):
		l.i++
		return l.str(pos, true)
	case next == '\'' && (c == 'b' || c == 'B' || c == 'x' || c == 'X'):
		return l.bits(pos)
	case next == '\'' && (c == 'n' || c == 'N'):
		l.i++
		l.add(Ident, "nchar", pos)
		return nil
	case (c == 'u' || c == 'U') && next == '&' && pos+2 < len(l.src) &&
		(l.src[pos+2] == '\'' || l.src[pos+2] == '"'):
		return l.unicode(pos)
	case c == '"':
		s, err := l.quotedBody(pos, l.i)
		if err != nil {
			return err
		}
		return l.quotedIdent(s, pos)
	case isIdentStart(c):
		for l.i < len(l.src) && isIdentPart(l.src[l.i]) {
			l.i++
		}
		l.add(Ident, truncate(fold(l.src[pos:l.i])), pos)
		return nil
	case isDigit(c) || c == '.' && isDigit(next):
		return l.number(pos)
	case c == '$':
		return l.dollar(pos)
	case strings.IndexByte("()[],;.:", c) >= 0:
		return l.punct(c, next, pos)
	case strings.IndexByte(opChars, c) >= 0:
		return l.operator(pos)
	}
	_, n := utf8.DecodeRuneInString(l.src[pos:])
	return l.failNear(pos, pos+n, "syntax error")
}

// fold lowers ASCII letters, as PostgreSQL does for multibyte encodings.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// truncate cuts an identifier to maxName bytes, never inside a character.
func truncate(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (l *lexer) quotedIdent(s string, pos int) *sqlerr.Error {
	if s == "" {
		return l.failNear(pos, l.i, "zero-length delimited identifier")
	}
	l.add(Quoted, truncate(s), pos)
	return nil
}

func (l *lexer) number(pos int) *sqlerr.Error {
	digits := func() {
		for l.i < len(l.src) && isDigit(l.src[l.i]) {
			l.i++
		}
	}
	digits()
	if l.i < len(l.src) && l.src[l.i] == '.' && !strings.HasPrefix(l.src[l.i:], "..") {
		l.i++
		digits()
	}
	if l.i < len(l.src) && (l.src[l.i] == 'e' || l.src[l.i] == 'E') {
		j := l.i + 1
		if j < len(l.src) && (l.src[j] == '+' || l.src[j] == '-') {
			j++
		}
		if j < len(l.src) && isDigit(l.src[j]) {
			l.i = j
			digits()
		}
	}
	if l.i < len(l.src) && isIdentStart(l.src[l.i]) {
		end := l.i
		for end < len(l.src) && isIdentPart(l.src[end]) {
			end++
		}
		return l.failNear(pos, end, "trailing junk after numeric literal")
	}
	l.add(Num, l.src[pos:l.i], pos)
	return nil
}

func (l *lexer) punct(c, next byte, pos int) *sqlerr.Error {
	l.i++
	switch c {
	case ':':
		if next == ':' || next == '=' {
			l.i++
		}
	case '.':
		if next == '.' {
			l.i++
		}
	}
	k := int32(len(l.toks))
	l.add(Punct, l.src[pos:l.i], pos)
	switch c {
	case '(', '[':
		if len(l.stack) >= MaxNesting {
			return TooDeep(pos)
		}
		l.stack = append(l.stack, k)
	case ')', ']':
		if n := len(l.stack); n > 0 {
			if o := l.stack[n-1]; (c == ')') == (l.toks[o].Text == "(") {
				l.stack = l.stack[:n-1]
				l.toks[o].Match, l.toks[k].Match = k, o
			}
		}
	case ';':
		l.stack = l.stack[:0] // brackets never span statements
	}
	return nil
}

// TooDeep is the error for texts that nest deeper than the limit.
func TooDeep(pos int) *sqlerr.Error {
	return sqlerr.New(sqlerr.StatementTooComplex, "stack depth limit exceeded").At(pos).
		WithHint("Simplify the statement: it nests more than %d levels deep.", MaxNesting)
}

func (l *lexer) operator(pos int) *sqlerr.Error {
	j := pos
	for j < len(l.src) && strings.IndexByte(opChars, l.src[j]) >= 0 {
		if j > pos && (strings.HasPrefix(l.src[j:], "--") || strings.HasPrefix(l.src[j:], "/*")) {
			break
		}
		j++
	}
	op := l.src[pos:j]
	// A multi-character operator ends in + or - only if it holds an unusual character.
	for len(op) > 1 && (op[len(op)-1] == '+' || op[len(op)-1] == '-') &&
		!strings.ContainsAny(op[:len(op)-1], "~!@#%^&|`?") {
		op = op[:len(op)-1]
	}
	l.i = pos + len(op)
	switch {
	case op == "=>":
		l.add(Punct, op, pos)
	case op == "!=":
		l.add(Op, "<>", pos)
	case len(op) > maxName:
		return l.failNear(pos, l.i, "operator too long")
	default:
		l.add(Op, op, pos)
	}
	return nil
}

package dialect

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// str reads a string constant whose opening quote is at l.i, and the ones that
// continue it after white space with a line break.
func (l *lexer) str(pos int, escapes bool) *sqlerr.Error {
	var b strings.Builder
	for {
		if err := l.strPart(&b, pos, escapes); err != nil {
			return err
		}
		if !l.continued() {
			break
		}
	}
	if escapes {
		if err := checkText(b.String(), pos); err != nil {
			return err
		}
	}
	l.add(Str, b.String(), pos)
	return nil
}

func checkText(s string, pos int) *sqlerr.Error {
	if off := invalidUTF8(s); off >= 0 {
		return sqlerr.New(sqlerr.CharacterNotInRepertoire,
			"invalid byte sequence for encoding \"UTF8\": %s", byteDump(s[off:])).At(pos)
	}
	return nil
}

// continued moves to the quote of a continuation, if one follows.
func (l *lexer) continued() bool {
	j, newline := l.i, false
	for j < len(l.src) {
		switch c := l.src[j]; {
		case c == '\n' || c == '\r':
			newline = true
			j++
		case isSpace(c):
			j++
		case strings.HasPrefix(l.src[j:], "--"):
			for j < len(l.src) && l.src[j] != '\n' && l.src[j] != '\r' {
				j++
			}
		default:
			if newline && c == '\'' {
				l.i = j
				return true
			}
			return false
		}
	}
	return false
}

func (l *lexer) strPart(b *strings.Builder, pos int, escapes bool) *sqlerr.Error {
	l.i++
	for l.i < len(l.src) {
		switch c := l.src[l.i]; {
		case c == '\'':
			if l.i+1 < len(l.src) && l.src[l.i+1] == '\'' {
				b.WriteByte('\'')
				l.i += 2
				continue
			}
			l.i++
			return nil
		case c == '\\' && escapes && l.i+1 < len(l.src):
			if err := l.escape(b); err != nil {
				return err
			}
		default:
			b.WriteByte(c)
			l.i++
		}
	}
	return l.failNear(pos, len(l.src), "unterminated quoted string")
}

func (l *lexer) escape(b *strings.Builder) *sqlerr.Error {
	pos := l.i
	c := l.src[l.i+1]
	l.i += 2
	switch c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'x':
		if h := l.hex(2); h != "" {
			v, _ := strconv.ParseUint(h, 16, 8)
			b.WriteByte(byte(v))
		} else {
			b.WriteByte('x')
		}
	case 'u', 'U':
		r, err := l.unicodeEscape(pos, c)
		if err != nil {
			return err
		}
		b.WriteRune(r)
	default:
		if c < '0' || c > '7' {
			b.WriteByte(c)
			return nil
		}
		v := int(c - '0')
		for k := 0; k < 2 && l.i < len(l.src) && l.src[l.i] >= '0' && l.src[l.i] <= '7'; k++ {
			v = v*8 + int(l.src[l.i]-'0')
			l.i++
		}
		b.WriteByte(byte(v))
	}
	return nil
}

// hex reads at most n hexadecimal digits.
func (l *lexer) hex(n int) string {
	j := l.i
	for j < len(l.src) && j-l.i < n && strings.IndexByte("0123456789abcdefABCDEF", l.src[j]) >= 0 {
		j++
	}
	h := l.src[l.i:j]
	l.i = j
	return h
}

// unicodeEscape reads the digits of \uXXXX or \UXXXXXXXX, and the second half of
// a surrogate pair.
func (l *lexer) unicodeEscape(pos int, kind byte) (rune, *sqlerr.Error) {
	n := 4
	if kind == 'U' {
		n = 8
	}
	h := l.hex(n)
	if len(h) != n {
		return 0, sqlerr.New(sqlerr.InvalidEscapeSequence, "invalid Unicode escape").At(pos).
			WithHint(`Unicode escapes must be \uXXXX or \UXXXXXXXX.`)
	}
	v, _ := strconv.ParseUint(h, 16, 64)
	if utf16.IsSurrogate(rune(v)) && v < 0xdc00 && strings.HasPrefix(l.src[l.i:], `\u`) {
		l.i += 2
		low, _ := strconv.ParseUint(l.hex(4), 16, 64)
		if r := utf16.DecodeRune(rune(v), rune(low)); r != utf8.RuneError {
			return r, nil
		}
		return 0, l.failNear(pos, l.i, "invalid Unicode surrogate pair")
	}
	if utf16.IsSurrogate(rune(v)) {
		return 0, l.failNear(pos, l.i, "invalid Unicode surrogate pair")
	}
	if v == 0 || v > utf8.MaxRune {
		return 0, l.failNear(pos, l.i, "invalid Unicode escape value")
	}
	return rune(v), nil
}

func (l *lexer) bits(pos int) *sqlerr.Error {
	kind := l.src[l.i] | 0x20
	l.i++
	var b strings.Builder
	for {
		if err := l.strPart(&b, pos, false); err != nil {
			return l.failNear(pos, len(l.src), "unterminated %s string literal",
				map[byte]string{'b': "bit", 'x': "hexadecimal"}[kind])
		}
		if !l.continued() {
			break
		}
	}
	digits := "01"
	if kind == 'x' {
		digits = "0123456789abcdefABCDEF"
	}
	for _, r := range b.String() {
		if !strings.ContainsRune(digits, r) {
			if kind == 'x' {
				return sqlerr.New(sqlerr.InvalidTextRepresentation, "\"%c\" is not a valid hexadecimal digit", r).At(pos)
			}
			return sqlerr.New(sqlerr.InvalidTextRepresentation, "\"%c\" is not a valid binary digit", r).At(pos)
		}
	}
	l.add(Bits, string(rune(kind))+b.String(), pos)
	return nil
}

// quotedBody reads a quoted identifier whose opening quote is at open.
func (l *lexer) quotedBody(pos, open int) (string, *sqlerr.Error) {
	var b strings.Builder
	for l.i = open + 1; l.i < len(l.src); l.i++ {
		if l.src[l.i] == '"' {
			if l.i+1 >= len(l.src) || l.src[l.i+1] != '"' {
				l.i++
				return b.String(), nil
			}
			l.i++
		}
		b.WriteByte(l.src[l.i])
	}
	return "", l.failNear(pos, len(l.src), "unterminated quoted identifier")
}

// unicode reads U&'…' and U&"…" with an optional UESCAPE 'c'.
func (l *lexer) unicode(pos int) *sqlerr.Error {
	l.i += 2
	ident := l.src[l.i] == '"'
	var s string
	if ident {
		body, err := l.quotedBody(pos, l.i)
		if err != nil {
			return err
		}
		s = body
	} else {
		var b strings.Builder
		for {
			if err := l.strPart(&b, pos, false); err != nil {
				return err
			}
			if !l.continued() {
				break
			}
		}
		s = b.String()
	}
	esc, err := l.uescape()
	if err != nil {
		return err
	}
	s, err = decodeUnicode(s, esc, pos)
	if err != nil {
		return err
	}
	if ident {
		return l.quotedIdent(s, pos)
	}
	l.add(Str, s, pos)
	return nil
}

// uescape reads UESCAPE 'c' if it follows, else gives the backslash.
func (l *lexer) uescape() (byte, *sqlerr.Error) {
	save := l.i
	if err := l.space(); err != nil {
		return 0, err
	}
	const word = "uescape"
	if len(l.src)-l.i < len(word) || fold(l.src[l.i:l.i+len(word)]) != word {
		l.i = save
		return '\\', nil
	}
	l.i += len(word)
	if err := l.space(); err != nil {
		return 0, err
	}
	pos := l.i
	if len(l.src)-l.i < 3 || l.src[l.i] != '\'' || l.src[l.i+2] != '\'' {
		return 0, sqlerr.New(sqlerr.SyntaxError, "UESCAPE must be followed by a simple string literal").At(pos)
	}
	c := l.src[l.i+1]
	l.i += 3
	if c == '+' || c == '\'' || c == '"' || isSpace(c) || strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 {
		return 0, l.failNear(pos, l.i, "invalid Unicode escape character")
	}
	return c, nil
}

func decodeUnicode(s string, esc byte, pos int) (string, *sqlerr.Error) {
	if strings.IndexByte(s, esc) < 0 {
		return s, nil
	}
	var b strings.Builder
	high := rune(0)
	for i := 0; i < len(s); {
		if s[i] != esc {
			if high != 0 {
				break
			}
			b.WriteByte(s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == esc {
			b.WriteByte(esc)
			i += 2
			continue
		}
		j, n := i+1, 4
		if j < len(s) && s[j] == '+' {
			j, n = j+1, 6
		}
		if len(s)-j < n {
			return "", badUnicode(pos)
		}
		v, err := strconv.ParseUint(s[j:j+n], 16, 32)
		if err != nil || v == 0 || v > utf8.MaxRune {
			return "", badUnicode(pos)
		}
		i = j + n
		r := rune(v)
		switch {
		case high != 0:
			if r = utf16.DecodeRune(high, r); r == utf8.RuneError {
				return "", sqlerr.New(sqlerr.SyntaxError, "invalid Unicode surrogate pair").At(pos)
			}
			high = 0
		case v >= 0xd800 && v < 0xdc00:
			high = r
			continue
		case utf16.IsSurrogate(r):
			return "", sqlerr.New(sqlerr.SyntaxError, "invalid Unicode surrogate pair").At(pos)
		}
		b.WriteRune(r)
	}
	if high != 0 {
		return "", sqlerr.New(sqlerr.SyntaxError, "invalid Unicode surrogate pair").At(pos)
	}
	return b.String(), nil
}

func badUnicode(pos int) *sqlerr.Error {
	return sqlerr.New(sqlerr.SyntaxError, "invalid Unicode escape").At(pos).
		WithHint(`Unicode escapes must be \XXXX or \+XXXXXX.`)
}

// dollar reads $1 and $tag$…$tag$.
func (l *lexer) dollar(pos int) *sqlerr.Error {
	l.i++
	if l.i < len(l.src) && isDigit(l.src[l.i]) {
		for l.i < len(l.src) && isDigit(l.src[l.i]) {
			l.i++
		}
		l.add(Param, l.src[pos+1:l.i], pos)
		return nil
	}
	j := l.i
	for j < len(l.src) && isIdentPart(l.src[j]) && l.src[j] != '$' {
		j++
	}
	if j >= len(l.src) || l.src[j] != '$' {
		return l.failNear(pos, pos+1, "syntax error")
	}
	tag := l.src[pos : j+1]
	end := strings.Index(l.src[j+1:], tag)
	if end < 0 {
		return l.failNear(pos, len(l.src), "unterminated dollar-quoted string")
	}
	body := l.src[j+1 : j+1+end]
	l.i = j + 1 + end + len(tag)
	l.add(Str, body, pos)
	return nil
}

package format

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// malformed is the message of every fault in the syntax.
const malformed = "invalid input syntax for type json"

// skip checks the value at byte i and returns the place behind it, or -1.
func (d *jsonCodec) skip(b []byte, i, depth int) int {
	i = skipSpace(b, i)
	if i >= len(b) {
		return d.cut()
	}
	switch c := b[i]; c {
	case '"':
		return d.skipString(b, i+1)
	case '{':
		return d.skipObject(b, i+1, depth+1)
	case '[':
		return d.skipArray(b, i+1, depth+1)
	case 't':
		return d.literal(b, i, "true")
	case 'f':
		return d.literal(b, i, "false")
	case 'n':
		return d.literal(b, i, "null")
	}
	e := scanNumber(b, i)
	if e < 0 {
		return d.badNumber(b, i)
	}
	if e == len(b) {
		return d.cut()
	}
	return e
}

func (d *jsonCodec) skipString(b []byte, i int) int {
	e, flags := scanString(b, i)
	if e < 0 {
		return d.badString(flags)
	}
	if flags&hasHigh != 0 && !utf8.Valid(b[i:e]) {
		return d.fail(badUTF8())
	}
	if flags&hasEscape != 0 {
		for j := i; j < e; j++ {
			if b[j] != '\\' {
				continue
			}
			if _, n := escape(b[j:e]); n == 0 {
				return d.badEscape(b, j)
			}
			j++
		}
	}
	return e + 1
}

func (d *jsonCodec) skipObject(b []byte, i, depth int) int {
	if depth > maxDepth {
		return d.fail(tooDeep())
	}
	for k := 0; ; k++ {
		i = skipSpace(b, i)
		if i < len(b) && b[i] == '}' {
			return i + 1
		}
		if k > 0 {
			if i >= len(b) || b[i] != ',' {
				return d.unexpected(b, i, `"," or "}"`)
			}
			i = skipSpace(b, i+1)
		}
		if i >= len(b) || b[i] != '"' {
			return d.unexpected(b, i, "string")
		}
		if i = d.skipString(b, i+1); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != ':' {
			return d.unexpected(b, i, `":"`)
		}
		if i = d.skip(b, i+1, depth); i < 0 {
			return -1
		}
	}
}

func (d *jsonCodec) skipArray(b []byte, i, depth int) int {
	if depth > maxDepth {
		return d.fail(tooDeep())
	}
	for k := 0; ; k++ {
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ']' {
			return i + 1
		}
		if k > 0 {
			if i >= len(b) || b[i] != ',' {
				return d.unexpected(b, i, `"," or "]"`)
			}
			i = skipSpace(b, i+1)
		}
		if i = d.skip(b, i, depth); i < 0 {
			return -1
		}
	}
}

func (d *jsonCodec) literal(b []byte, i int, word string) int {
	e := i + len(word)
	if e > len(b) {
		if string(b[i:]) == word[:len(b)-i] {
			return d.cut()
		}
		return d.unexpected(b, i, "JSON value")
	}
	if string(b[i:e]) != word || e < len(b) && !delimiter(b[e]) {
		return d.unexpected(b, i, "JSON value")
	}
	return e
}

// badNumber notes that there is no value at i: what may be a number up to the end
// of the input is merely cut off.
func (d *jsonCodec) badNumber(b []byte, i int) int {
	if c := b[i]; (c == '-' || c-'0' <= 9) && bytes.IndexFunc(b[i:], notNumber) < 0 {
		return d.cut()
	}
	return d.unexpected(b, i, "JSON value")
}

func notNumber(r rune) bool {
	return (r < '0' || r > '9') && r != '-' && r != '+' && r != '.' && r|0x20 != 'e'
}

func (d *jsonCodec) badString(flags strFlags) int {
	if flags&hasControl != 0 {
		return d.fail(jsonError("A control character must be escaped in a string."))
	}
	return d.cut()
}

func (d *jsonCodec) badEscape(b []byte, i int) int {
	return d.fail(jsonError(`Escape sequence "%s" is invalid.`, token(b, i)))
}

func badUTF8() *sqlerr.Error {
	return sqlerr.New(sqlerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
}

func tooDeep() *sqlerr.Error {
	return sqlerr.New(sqlerr.StatementTooComplex, "JSON value is nested more than %d levels deep", maxDepth)
}

// text returns the string b[i:e] with its escapes resolved; ok is false and the
// fault noted where it has none that a text could hold. The result is valid until
// the next call.
func (d *jsonCodec) text(b []byte, i, e int, flags strFlags) (s []byte, ok bool) {
	if flags&hasHigh != 0 && !utf8.Valid(b[i:e]) {
		d.fail(badUTF8())
		return nil, false
	}
	if flags&hasEscape == 0 {
		return b[i:e], true
	}
	d.scratch, ok = d.unescape(d.scratch[:0], b, i, e)
	return d.scratch, ok
}

// unescape appends the string b[i:e] with its escapes resolved.
func (d *jsonCodec) unescape(dst, b []byte, i, e int) ([]byte, bool) {
	for i < e {
		if c := b[i]; c != '\\' {
			j := i + 1
			for j < e && b[j] != '\\' {
				j++
			}
			dst = append(dst, b[i:j]...)
			i = j
			continue
		}
		r, n := escape(b[i:e])
		if n == 0 {
			d.badEscape(b, i)
			return dst, false
		}
		i += n
		if utf16.IsSurrogate(r) {
			low, m := rune(0), 0
			if r < 0xDC00 && i < e {
				low, m = escape(b[i:e])
			}
			if r = utf16.DecodeRune(r, low); m == 0 || r == utf8.RuneError {
				d.fail(jsonError("Unicode low surrogate must follow a high surrogate."))
				return dst, false
			}
			i += m
		}
		if r == 0 {
			d.fail(sqlerr.New(sqlerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
				WithDetail(`\u0000 cannot be converted to text.`))
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

// escape reads the escape sequence at the front of s; n is its length, 0 if it
// is none.
func escape(s []byte) (r rune, n int) {
	if len(s) < 2 || s[0] != '\\' {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(s) < 6 {
			return 0, 0
		}
		for _, c := range s[2:6] {
			x, ok := hexDigit(c)
			if !ok {
				return 0, 0
			}
			r = r<<4 | rune(x)
		}
		return r, 6
	}
	return 0, 0
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

package types

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// fail makes the 22P02 of a malformed document.
func (r *jsonReader) fail(format string, args ...any) error {
	return sqlerr.New(sqlerr.InvalidTextRepresentation, "invalid input syntax for type json").
		WithDetail(format, args...)
}

// word returns the letters and digits from here on; a character above ASCII
// counts as a letter.
func (r *jsonReader) word() string {
	i := r.i
	for i < len(r.s) && isJSONWord(r.s[i]) {
		i++
	}
	return r.s[r.i:i]
}

func isJSONWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '_' || c >= utf8.RuneSelf
}

// token returns what the lexer sees here, for a message; ok is false for what
// is no token.
func (r *jsonReader) token() (tok string, ok bool) {
	switch c := r.s[r.i]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		return r.s[r.i : r.i+1], true
	case c == '"' || c == '-' || isDigit(c):
		sub := jsonReader{s: r.s, i: r.i}
		var err error
		if c == '"' {
			_, err = sub.str()
		} else {
			err = sub.number()
		}
		return r.s[r.i:sub.i], err == nil
	}
	w := r.word()
	if w == "" {
		_, n := utf8.DecodeRuneInString(r.s[r.i:])
		return r.s[r.i : r.i+n], false
	}
	return w, w == "true" || w == "false" || w == "null"
}

// unexpected makes the error for what stands here instead of what was wanted.
func (r *jsonReader) unexpected(want string) error {
	if r.space(); r.i == len(r.s) {
		return r.fail("The input string ended unexpectedly.")
	}
	if c := r.s[r.i]; c == '"' || c == '-' || isDigit(c) {
		// A token that is broken in itself is reported as such.
		sub := jsonReader{s: r.s, i: r.i}
		var err error
		if c == '"' {
			_, err = sub.str()
		} else {
			err = sub.number()
		}
		if err != nil {
			return err
		}
	}
	tok, ok := r.token()
	if !ok {
		return r.fail(`Token "%s" is invalid.`, tok)
	}
	return r.fail(`%s, but found "%s".`, want, tok)
}

// invalidToken makes the error for a broken string or number that began at start.
func (r *jsonReader) invalidToken(start int) error {
	r.i += len(r.word())
	return r.fail(`Token "%s" is invalid.`, r.s[start:r.i])
}

// member is a key and where its text, key and value, lies in the output.
type member struct {
	key      string
	from, to int
}

// compareKeys is jsonb's order of keys.
func compareKeys(a, b member) int {
	if c := len(a.key) - len(b.key); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

// orderMembers brings the members of an object, written from start on, into
// jsonb's order and drops all but the last of equal keys.
func (r *jsonReader) orderMembers(start int, ms []member) {
	sorted := true
	for i := 1; i < len(ms) && sorted; i++ {
		sorted = compareKeys(ms[i-1], ms[i]) < 0
	}
	if sorted {
		return
	}
	slices.SortStableFunc(ms, compareKeys)
	r.old = append(r.old[:0], r.out[start:]...)
	out := r.out[:start]
	for i, m := range ms {
		if i+1 < len(ms) && ms[i+1].key == m.key {
			continue
		}
		if len(out) > start {
			out = append(out, ", "...)
		}
		out = append(out, r.old[m.from-start:m.to-start]...)
	}
	r.out = out
}

// AppendJSONString appends s as a JSON string, as PostgreSQL writes one.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// Bounds of a number in jsonb: PostgreSQL's digits before and after the point.
const (
	maxWholeDigits = 131072
	maxFracDigits  = 16383
)

// appendJSONNumber appends a number without exponent and without a sign of zero;
// all its digits stay, trailing zeros too.
func appendJSONNumber(dst []byte, s string) ([]byte, error) {
	body, neg := strings.CutPrefix(s, "-")
	exp := 0
	if at := strings.IndexAny(body, "eE"); at >= 0 {
		var err error
		exp, err = strconv.Atoi(body[at+1:])
		if err != nil || exp > maxWholeDigits || exp < -maxWholeDigits {
			return dst, overflowsFormat()
		}
		body = body[:at]
	}
	whole, frac, _ := strings.Cut(body, ".")
	if strings.Trim(whole, "0") == "" && strings.Trim(frac, "0") == "" {
		neg = false
		if exp > 0 {
			frac = frac[:max(len(frac)-exp, 0)]
			exp = 0
		}
	}
	if neg {
		dst = append(dst, '-')
	}
	if exp != 0 {
		whole, frac = shiftPoint(whole, frac, exp)
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > maxWholeDigits || len(frac) > maxFracDigits {
		return dst, overflowsFormat()
	}
	if whole == "" {
		whole = "0"
	}
	dst = append(dst, whole...)
	if frac != "" {
		dst = append(append(dst, '.'), frac...)
	}
	return dst, nil
}

func overflowsFormat() error {
	return sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
}

// shiftPoint moves the point by exp digits to the right.
func shiftPoint(whole, frac string, exp int) (string, string) {
	if exp > 0 {
		if exp >= len(frac) {
			return whole + frac + strings.Repeat("0", exp-len(frac)), ""
		}
		return whole + frac[:exp], frac[exp:]
	}
	if -exp >= len(whole) {
		return "", strings.Repeat("0", -exp-len(whole)) + whole + frac
	}
	at := len(whole) + exp
	return whole[:at], whole[at:] + frac
}

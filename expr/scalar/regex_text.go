package scalar

import (
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// AppendReplacement appends the text that replaces the match loc of s: \1 to \9
// and \& stand for what was matched.
func AppendReplacement(dst []byte, repl, s string, loc []int) []byte {
	for i := 0; i < len(repl); i++ {
		c := repl[i]
		if c != '\\' || i+1 == len(repl) {
			dst = append(dst, c)
			continue
		}
		i++
		switch c = repl[i]; {
		case c == '&':
			dst = append(dst, s[loc[0]:loc[1]]...)
		case c >= '1' && c <= '9':
			if k := 2 * int(c-'0'); k+1 < len(loc) && loc[k] >= 0 {
				dst = append(dst, s[loc[k]:loc[k+1]]...)
			}
		case c == '\\':
			dst = append(dst, '\\')
		default:
			dst = append(dst, '\\', c)
		}
	}
	return dst
}

// SimilarToRegex turns a pattern of SIMILAR TO into a regular expression; esc is
// its escape character, "" for none.
func SimilarToRegex(dst []byte, p, esc string) ([]byte, error) {
	if Len(esc) > 1 {
		return dst, sqlerr.New(sqlerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	dst = append(dst, "^(?:"...)
	inSet := false
	seps := 0
	for i := 0; i < len(p); {
		r, w := utf8.DecodeRuneInString(p[i:])
		ch := p[i : i+w]
		i += w
		switch {
		case esc != "" && ch == esc:
			if i < len(p) && p[i] == '"' && !inSet {
				// Separators of the part that SUBSTRING … SIMILAR takes.
				switch seps++; seps {
				case 1:
					dst = append(dst, "){1,1}?("...)
				case 2:
					dst = append(dst, "){1,1}(?:"...)
				default:
					return dst, sqlerr.New("2200C",
						"SQL regular expression may not contain more than two escape-double-quote separators")
				}
				i++
				continue
			}
			if i < len(p) {
				_, w := utf8.DecodeRuneInString(p[i:])
				dst = append(append(dst, '\\'), p[i:i+w]...)
				i += w
			}
		case inSet:
			if r == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, ch...)
			inSet = r != ']'
		case r == '[':
			dst = append(dst, '[')
			inSet = true
		case r == '%':
			dst = append(dst, ".*"...)
		case r == '_':
			dst = append(dst, '.')
		case r == '(':
			dst = append(dst, "(?:"...)
		case r == '\\' || r == '.' || r == '^' || r == '$':
			dst = append(append(dst, '\\'), ch...)
		default:
			dst = append(dst, ch...)
		}
	}
	return append(dst, ")$"...), nil
}

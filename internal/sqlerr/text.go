package sqlerr

import (
	"strings"
	"unicode/utf8"
)

// Text is s as a text value can have it: what is no UTF-8 in it is shown as a question
// mark, and a zero byte as a space. Messages show values, and values may be anything.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", " ")
}

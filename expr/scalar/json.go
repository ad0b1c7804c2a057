package scalar

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/decimal"
)

// JSON values are handled as their text, which is known to be valid. json may
// have blanks anywhere; jsonb is canonical. Parts of a document are parts of its
// text: nothing is encoded anew.

func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// valueEnd returns the end of the value that begins at i.
func valueEnd(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = stringEnd(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(s) && strings.IndexByte(",}] \t\n\r", s[i]) < 0 {
		i++
	}
	return i
}

// stringEnd returns the end of the string literal at i, its quote included.
func stringEnd(s string, i int) int {
	i++
	for {
		k := strings.IndexByte(s[i:], '"')
		if k < 0 {
			return len(s)
		}
		// The quote is escaped if an odd number of backslashes leads up to it.
		end := i + k
		n := 0
		for end-n > i && s[end-n-1] == '\\' {
			n++
		}
		if n&1 == 0 {
			return end + 1
		}
		i = end + 1
	}
}

// JSONKind is the first byte that tells the kind of a value: { [ " t f n, and 0
// for numbers.
func JSONKind(s string) byte {
	i := skipBlanks(s, 0)
	if i < len(s) && strings.IndexByte(`{["tfn`, s[i]) >= 0 {
		return s[i]
	}
	return '0'
}

// JSONTypeName is jsonb_typeof.
func JSONTypeName(s string) string {
	switch JSONKind(s) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// members calls f for each member of an object until f returns false; key is the
// text between its quotes, escapes and all.
func members(s string, f func(key, val string) bool) {
	i := skipBlanks(s, 0) + 1
	for {
		i = skipBlanks(s, i)
		if i >= len(s) || s[i] == '}' {
			return
		}
		end := stringEnd(s, i)
		key := s[i+1 : end-1]
		i = skipBlanks(s, end) + 1 // the colon
		i = skipBlanks(s, i)
		end = valueEnd(s, i)
		if !f(key, s[i:end]) {
			return
		}
		i = skipBlanks(s, end)
		if i < len(s) && s[i] == ',' {
			i++
		}
	}
}

// elements calls f for each element of an array until f returns false.
func elements(s string, f func(val string) bool) {
	i := skipBlanks(s, 0) + 1
	for {
		i = skipBlanks(s, i)
		if i >= len(s) || s[i] == ']' {
			return
		}
		end := valueEnd(s, i)
		if !f(s[i:end]) {
			return
		}
		i = skipBlanks(s, end)
		if i < len(s) && s[i] == ',' {
			i++
		}
	}
}

// keyIs tells whether the raw key of a member is name.
func keyIs(raw, name string) bool {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw == name
	}
	return string(appendUnquoted(nil, raw)) == name
}

// JSONField returns the member of an object: of jsonb, where names are unique and
// nothing stands between tokens but the canonical blanks, the first of that name,
// of json the last.
func JSONField(s, name string, canonical bool) (val string, ok bool) {
	if JSONKind(s) != '{' {
		return "", false
	}
	if canonical {
		return canonicalField(s, name)
	}
	members(s, func(key, v string) bool {
		if keyIs(key, name) {
			val, ok = v, true
		}
		return true
	})
	return val, ok
}

func canonicalField(s, name string) (val string, ok bool) {
	for i := 1; i < len(s) && s[i] == '"'; i += 2 { // behind "{" or ", "
		end := stringEnd(s, i)
		key := s[i+1 : end-1]
		i = end + 2 // ": "
		end = valueEnd(s, i)
		if len(key) == len(name) && key == name || len(key) > len(name) && keyIs(key, name) {
			return s[i:end], true
		}
		i = end
	}
	return "", false
}

// JSONLen returns the number of elements of an array.
func JSONLen(s string) int {
	n := 0
	elements(s, func(string) bool { n++; return true })
	return n
}

// JSONElem returns an element of an array, from 0 or from the end if negative.
func JSONElem(s string, n int64) (val string, ok bool) {
	if JSONKind(s) != '[' {
		return "", false
	}
	if n < 0 {
		if n += int64(JSONLen(s)); n < 0 {
			return "", false
		}
	}
	elements(s, func(v string) bool {
		if n == 0 {
			val, ok = v, true
			return false
		}
		n--
		return true
	})
	return val, ok
}

// JSONStep goes one step of a path: a member of an object, an element of an array.
func JSONStep(s, step string, unique bool) (string, bool) {
	switch JSONKind(s) {
	case '{':
		return JSONField(s, step, unique)
	case '[':
		if n, err := strconv.ParseInt(strings.TrimSpace(step), 10, 32); err == nil {
			return JSONElem(s, n)
		}
	}
	return "", false
}

// AppendJSONText appends a value as ->> gives it: a string without quotes, else
// its text. ok is false for null.
func AppendJSONText(dst []byte, s string) (out []byte, ok bool) {
	s = strings.Trim(s, " \t\n\r")
	switch JSONKind(s) {
	case '"':
		return appendUnquoted(dst, s[1:len(s)-1]), true
	case 'n':
		return dst, false
	}
	return append(dst, s...), true
}

// appendUnquoted appends the text that the inside of a string literal stands for.
func appendUnquoted(dst []byte, s string) []byte {
	for {
		k := strings.IndexByte(s, '\\')
		if k < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:k]...)
		s = s[k+1:]
		if s == "" {
			return dst
		}
		c := s[0]
		s = s[1:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, s = readHex(s)
			if r >= 0xD800 && r < 0xDC00 && strings.HasPrefix(s, `\u`) {
				var lo rune
				lo, s = readHex(s[2:])
				r = 0x10000 + (r-0xD800)<<10 + lo - 0xDC00
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

func readHex(s string) (rune, string) {
	n := min(4, len(s))
	x, err := strconv.ParseUint(s[:n], 16, 32)
	if err != nil {
		return utf8.RuneError, s[n:]
	}
	return rune(x), s[n:]
}

// rank orders the kinds of jsonb values.
func rank(kind byte) int { return strings.IndexByte(`n"0ftZ[{`, kind) }

// CompareJSONB is the btree order of two jsonb documents.
func CompareJSONB(a, b string) int {
	if a == b {
		return 0
	}
	ka, kb := JSONKind(a), JSONKind(b)
	// A scalar document is an array of one element that is marked as such.
	if ka != '{' && kb != '{' && (ka == '[') != (kb == '[') {
		na, nb := 1, 1
		if ka == '[' {
			na = JSONLen(a)
		} else {
			nb = JSONLen(b)
		}
		switch {
		case na != nb:
			return cmp.Compare(na, nb)
		case ka == '[':
			return 1
		}
		return -1
	}
	return compareValues(a, b)
}

func compareValues(a, b string) int {
	ka, kb := JSONKind(a), JSONKind(b)
	ra, rb := rank(ka), rank(kb)
	if ka == 't' || ka == 'f' {
		if kb == 't' || kb == 'f' {
			return cmp.Compare(bit(ka == 't'), bit(kb == 't'))
		}
	}
	if ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch ka {
	case '"':
		x, _ := AppendJSONText(nil, a)
		y, _ := AppendJSONText(nil, b)
		return bytes.Compare(x, y)
	case '0':
		x, errX := decimal.Parse(a)
		y, errY := decimal.Parse(b)
		if errX != nil || errY != nil { // more digits than a number holds here
			return strings.Compare(a, b)
		}
		return x.Cmp(y)
	case '[', '{':
		return compareContainers(ka, a, b)
	}
	return 0
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compareContainers(kind byte, a, b string) int {
	x, y := parts(kind, a), parts(kind, b)
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	for i := range x {
		if x[i].key != y[i].key {
			return bytes.Compare(appendUnquoted(nil, x[i].key), appendUnquoted(nil, y[i].key))
		}
		if c := compareValues(x[i].val, y[i].val); c != 0 {
			return c
		}
	}
	return 0
}

// part is a member of an object or, without a key, an element of an array.
type part struct{ key, val string }

func parts(kind byte, s string) (ps []part) {
	if kind == '{' {
		members(s, func(k, v string) bool { ps = append(ps, part{k, v}); return true })
	} else {
		elements(s, func(v string) bool { ps = append(ps, part{"", v}); return true })
	}
	return ps
}

// JSONBContains is a @> b.
func JSONBContains(a, b string) bool {
	ka, kb := JSONKind(a), JSONKind(b)
	if ka == '[' && kb != '[' && kb != '{' { // an array contains a bare scalar
		return hasElement(a, b)
	}
	return contains(a, b)
}

func hasElement(arr, val string) bool {
	found := false
	elements(arr, func(v string) bool {
		found = compareValues(v, val) == 0
		return !found
	})
	return found
}

func contains(a, b string) bool {
	ka, kb := JSONKind(a), JSONKind(b)
	switch {
	case ka == '{' && kb == '{':
		all := true
		members(b, func(k, v string) bool {
			mine := ""
			found := false
			members(a, func(k2, v2 string) bool {
				if k2 == k {
					mine, found = v2, true
				}
				return !found
			})
			all = found && contains(mine, v)
			return all
		})
		return all
	case ka == '[' && kb == '[':
		all := true
		elements(b, func(v string) bool {
			found := false
			elements(a, func(mine string) bool {
				found = contains(mine, v)
				return !found
			})
			all = found
			return all
		})
		return all
	case ka == '{' || ka == '[' || kb == '{' || kb == '[':
		return false
	}
	return compareValues(a, b) == 0
}

// JSONBExists is doc ? key.
func JSONBExists(doc, key string) bool {
	found := false
	switch JSONKind(doc) {
	case '{':
		_, found = JSONField(doc, key, true)
	case '[':
		elements(doc, func(v string) bool {
			found = JSONKind(v) == '"' && keyIs(v[1:len(v)-1], key)
			return !found
		})
	case '"':
		return keyIs(doc[1:len(doc)-1], key)
	}
	return found
}

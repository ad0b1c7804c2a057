package types

import (
	"sync"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxJSONDepth bounds the nesting of a document.
const maxJSONDepth = 6000

// jsonReader checks a document by PostgreSQL's grammar. With canon set it also
// writes jsonb's canonical form to out.
type jsonReader struct {
	s            string
	i            int
	depth        int
	canon        bool
	out          []byte
	*jsonScratch // of a reader with canon set
}

// jsonScratch is what readers take turns in using.
type jsonScratch struct {
	// members is a stack: those of the object being read on top of those of the
	// objects around it.
	members []member
	old     []byte // an object before its members are put in order
}

var jsonScratches = sync.Pool{New: func() any { return new(jsonScratch) }}

// maxScratch bounds what stays in the pool: members, and bytes by sixteens.
const maxScratch = 1 << 12

// put gives s back, without the keys, which look at somebody's text.
func (s *jsonScratch) put() {
	if cap(s.members) > maxScratch || cap(s.old) > 16*maxScratch {
		return
	}
	clear(s.members[:cap(s.members)])
	s.members = s.members[:0]
	jsonScratches.Put(s)
}

// parseJSON adds a row of the text as it stands, once it is known to be JSON.
func parseJSON(s string, v *arrowbatch.Vec) error {
	if err := ValidateJSON(s); err != nil {
		return err
	}
	v.AppendString(s)
	return nil
}

// ValidateJSON returns PostgreSQL's 22P02 for text that is not JSON.
func ValidateJSON(s string) error {
	if err := checkUTF8(s); err != nil {
		return err
	}
	r := jsonReader{s: s}
	return r.document()
}

// parseJSONB adds a row of the document's canonical form.
func parseJSONB(s string, v *arrowbatch.Vec) error {
	data, err := AppendJSONB(v.Data, s)
	if err != nil {
		return err
	}
	v.Data = data
	v.EndBytes()
	return nil
}

// AppendJSONB appends the canonical form of a JSON document, which is how jsonb
// is kept and printed: keys ordered by length and then bytes, the last of equal
// keys, a blank after colon and comma, escapes decoded, numbers without exponent.
func AppendJSONB(dst []byte, s string) ([]byte, error) {
	if err := checkUTF8(s); err != nil {
		return dst, err
	}
	scratch := jsonScratches.Get().(*jsonScratch)
	r := jsonReader{s: s, canon: true, out: dst, jsonScratch: scratch}
	err := r.document()
	scratch.put()
	if err != nil {
		return dst, err
	}
	return r.out, nil
}

func (r *jsonReader) document() error {
	if err := r.value(wantValue); err != nil {
		return err
	}
	r.space()
	if r.i < len(r.s) {
		return r.unexpected("Expected end of input")
	}
	return nil
}

func (r *jsonReader) space() {
	for r.i < len(r.s) {
		switch r.s[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// peek returns the next byte after blanks, 0 at the end.
func (r *jsonReader) peek() byte {
	r.space()
	if r.i == len(r.s) {
		return 0
	}
	return r.s[r.i]
}

func (r *jsonReader) emit(s string) {
	if r.canon {
		r.out = append(r.out, s...)
	}
}

const wantValue = "Expected JSON value"

// value reads any value; want is what the message says when there is none.
func (r *jsonReader) value(want string) error {
	switch c := r.peek(); {
	case c == '{':
		return r.nest(false)
	case c == '[':
		return r.nest(true)
	case c == '"':
		_, err := r.str()
		return err
	case c == '-' || isDigit(c):
		return r.number()
	case c == 0 && r.i == len(r.s):
		return r.fail("The input string ended unexpectedly.")
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if r.word() == w {
			r.i += len(w)
			r.emit(w)
			return nil
		}
	}
	return r.unexpected(want)
}

// nest reads an array or an object one level down.
func (r *jsonReader) nest(array bool) (err error) {
	if r.depth++; r.depth > maxJSONDepth {
		return sqlerr.New(sqlerr.StatementTooComplex, "stack depth limit exceeded").
			WithDetail("A JSON document may nest %d levels.", maxJSONDepth)
	}
	r.i++
	if array {
		err = r.array()
	} else {
		err = r.object()
	}
	r.depth--
	return err
}

func (r *jsonReader) array() error {
	r.emit("[")
	if r.peek() == ']' {
		r.i++
		r.emit("]")
		return nil
	}
	want := `Expected array element or "]"`
	for {
		if err := r.value(want); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.i++
			r.emit(", ")
		case ']':
			r.i++
			r.emit("]")
			return nil
		default:
			return r.unexpected(`Expected "," or "]"`)
		}
		want = wantValue
	}
}

func (r *jsonReader) object() error {
	r.emit("{")
	start, first := len(r.out), 0
	if r.canon {
		first = len(r.members)
	}
	if r.peek() == '}' {
		r.i++
		r.emit("}")
		return nil
	}
	want := `Expected string or "}"`
	for {
		if r.peek() != '"' {
			return r.unexpected(want)
		}
		m := member{from: len(r.out)}
		var err error
		if m.key, err = r.str(); err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.unexpected(`Expected ":"`)
		}
		r.i++
		r.emit(": ")
		if err := r.value(wantValue); err != nil {
			return err
		}
		m.to = len(r.out)
		if r.canon {
			r.members = append(r.members, m)
		}
		c := r.peek()
		if c != ',' && c != '}' {
			return r.unexpected(`Expected "," or "}"`)
		}
		r.i++
		if c == '}' {
			break
		}
		r.emit(", ")
		want = "Expected string"
	}
	if r.canon {
		r.orderMembers(start, r.members[first:])
		r.members = r.members[:first]
	}
	r.emit("}")
	return nil
}

// str reads a string. In canonical mode it writes it and returns its decoded
// text.
func (r *jsonReader) str() (string, error) {
	start := r.i
	r.i++
	plain := r.i
	for r.i < len(r.s) {
		c := r.s[r.i]
		if c == '"' {
			r.i++
			if !r.canon {
				return "", nil
			}
			// Nothing to decode and nothing to escape: the text stays as it is.
			r.out = append(r.out, r.s[start:r.i]...)
			return r.s[plain : r.i-1], nil
		}
		if c == '\\' {
			return r.escapedStr(plain)
		}
		if c < 0x20 {
			return "", r.mustEscape(c)
		}
		r.i++
	}
	return "", r.invalidToken(start)
}

func (r *jsonReader) mustEscape(c byte) error {
	return r.fail("Character with value 0x%02x must be escaped.", c)
}

// escapedStr goes on with a string that has a backslash; its plain part begins
// at from.
func (r *jsonReader) escapedStr(from int) (string, error) {
	var buf []byte
	if r.canon {
		buf = append(buf, r.s[from:r.i]...)
	}
	for r.i < len(r.s) {
		c := r.s[r.i]
		switch {
		case c == '"':
			r.i++
			if r.canon {
				r.out = AppendJSONString(r.out, view(buf))
			}
			return string(buf), nil
		case c < 0x20:
			return "", r.mustEscape(c)
		case c == '\\':
			var err error
			if buf, err = r.escape(buf); err != nil {
				return "", err
			}
		default:
			buf = append(buf, c)
			r.i++
		}
	}
	return "", r.invalidToken(from - 1)
}

// escape reads one escape sequence.
func (r *jsonReader) escape(buf []byte) ([]byte, error) {
	if r.i++; r.i == len(r.s) {
		return buf, r.fail("The input string ended unexpectedly.")
	}
	c := r.s[r.i]
	r.i++
	switch c {
	case '"', '\\', '/':
		return append(buf, c), nil
	case 'b':
		return append(buf, '\b'), nil
	case 'f':
		return append(buf, '\f'), nil
	case 'n':
		return append(buf, '\n'), nil
	case 'r':
		return append(buf, '\r'), nil
	case 't':
		return append(buf, '\t'), nil
	case 'u':
		return r.unicode(buf)
	}
	ch, _ := utf8.DecodeRuneInString(r.s[r.i-1:])
	return buf, r.fail(`Escape sequence "\%c" is invalid.`, ch)
}

func (r *jsonReader) hex4() (rune, error) {
	var x rune
	for range 4 {
		if r.i == len(r.s) || unhex(r.s[r.i]) == 255 {
			return 0, r.fail(`"\u" must be followed by four hexadecimal digits.`)
		}
		x = x<<4 | rune(unhex(r.s[r.i]))
		r.i++
	}
	return x, nil
}

// unicode reads the digits after \u, and the second half of a surrogate pair.
func (r *jsonReader) unicode(buf []byte) ([]byte, error) {
	x, err := r.hex4()
	if err != nil || !r.canon {
		return buf, err
	}
	switch {
	case x == 0:
		return buf, sqlerr.New(sqlerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail(`\u0000 cannot be converted to text.`)
	case x >= 0xDC00 && x < 0xE000:
		return buf, r.fail("Unicode low surrogate must follow a high surrogate.")
	case x >= 0xD800 && x < 0xDC00:
		if r.i+1 >= len(r.s) || r.s[r.i] != '\\' || r.s[r.i+1] != 'u' {
			return buf, r.fail("Unicode low surrogate must follow a high surrogate.")
		}
		r.i += 2
		lo, err := r.hex4()
		if err != nil {
			return buf, err
		}
		if lo >= 0xD800 && lo < 0xDC00 {
			return buf, r.fail("Unicode high surrogate must not follow a high surrogate.")
		}
		if lo < 0xDC00 || lo >= 0xE000 {
			return buf, r.fail("Unicode low surrogate must follow a high surrogate.")
		}
		x = 0x10000 + (x-0xD800)<<10 + lo - 0xDC00
	}
	return utf8.AppendRune(buf, x), nil
}

// number reads a number.
func (r *jsonReader) number() error {
	start := r.i
	if r.s[r.i] == '-' {
		r.i++
	}
	ok := true
	switch {
	case r.digitAt(0) && r.s[r.i] == '0':
		r.i++
	case r.digitAt(0):
		r.digits()
	default:
		ok = false
	}
	if r.i < len(r.s) && r.s[r.i] == '.' {
		r.i++
		ok = r.digits() && ok
	}
	if r.i < len(r.s) && r.s[r.i]|0x20 == 'e' {
		r.i++
		if r.i < len(r.s) && (r.s[r.i] == '-' || r.s[r.i] == '+') {
			r.i++
		}
		ok = r.digits() && ok
	}
	// Letters that follow belong to the same token.
	if n := len(r.word()); n > 0 || !ok {
		return r.invalidToken(start)
	}
	if r.canon {
		out, err := appendJSONNumber(r.out, r.s[start:r.i])
		if err != nil {
			// What is wrong behind the number is reported first.
			if r.space(); r.i < len(r.s) {
				if tok, ok := r.token(); !ok {
					return r.fail(`Token "%s" is invalid.`, tok)
				}
			}
			return err
		}
		r.out = out
	}
	return nil
}

func (r *jsonReader) digitAt(k int) bool { return r.i+k < len(r.s) && isDigit(r.s[r.i+k]) }

func (r *jsonReader) digits() bool {
	start := r.i
	for r.digitAt(0) {
		r.i++
	}
	return r.i > start
}

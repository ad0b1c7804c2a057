package types

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func malformed(what, s, detail string) error {
	e := sqlerr.New(sqlerr.InvalidTextRepresentation, `malformed %s literal: "%s"`, what, strings.Clone(s))
	e.Detail = detail
	return e
}

func moreDimensions() error {
	return sqlerr.Unsupported("arrays of more than one dimension are not supported")
}

// arrayReader reads the elements of an array literal one after another.
type arrayReader struct {
	all string // the whole literal, for messages
	s   string // what is left
	buf []byte
	n   int // the elements that the bounds announce, -1 without bounds
}

// open reads the bounds and the opening brace.
func (r *arrayReader) open() error {
	r.s, r.n = skipSpace(r.all), -1
	if r.s != "" && r.s[0] == '[' {
		end := strings.IndexByte(r.s, ']')
		if end < 0 {
			return malformed("array", r.all, `Missing "]" after array dimensions.`)
		}
		lo, hi, ok := strings.Cut(r.s[1:end], ":")
		if !ok {
			lo, hi = "1", lo
		}
		l, err1 := strconv.Atoi(lo)
		h, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil {
			return malformed("array", r.all, `"[" must introduce explicitly-specified array dimensions.`)
		}
		if h < l {
			return sqlerr.New(sqlerr.ArraySubscriptError, "upper bound cannot be less than lower bound")
		}
		if l != 1 {
			return sqlerr.Unsupported("arrays with a lower bound other than 1 are not supported")
		}
		r.n = h - l + 1
		r.s = skipSpace(r.s[end+1:])
		if strings.HasPrefix(r.s, "[") {
			return moreDimensions()
		}
		if !strings.HasPrefix(r.s, "=") {
			return malformed("array", r.all, `Missing "=" after array dimensions.`)
		}
		r.s = skipSpace(r.s[1:])
		if !strings.HasPrefix(r.s, "{") {
			return malformed("array", r.all, "Array contents must start with \"{\".")
		}
	}
	if r.s == "" || r.s[0] != '{' {
		return malformed("array", r.all, `Array value must start with "{" or dimension information.`)
	}
	r.all, r.s = r.s, r.s[1:]
	return nil
}

// next reads one element up to the comma or brace behind it, which it takes too.
// The text is valid until the next call.
func (r *arrayReader) next() (text []byte, null, last bool, err error) {
	r.buf = r.buf[:0]
	r.s = skipSpace(r.s)
	quoted, escaped, keep := false, false, 0
	for {
		if r.s == "" {
			return nil, false, false, malformed("array", r.all, "Unexpected end of input.")
		}
		c := r.s[0]
		r.s = r.s[1:]
		switch c {
		case '{':
			if quoted || len(r.buf) > 0 {
				return nil, false, false, malformed("array", r.all, `Unexpected "{" character.`)
			}
			return nil, false, false, moreDimensions()
		case '"':
			if quoted || keep > 0 || escaped {
				return nil, false, false, malformed("array", r.all, "Unexpected array element.")
			}
			quoted = true
			if err := r.quoted(); err != nil {
				return nil, false, false, err
			}
			keep = len(r.buf)
		case ',', '}':
			if !quoted && keep == 0 && !escaped {
				return nil, false, false, malformed("array", r.all, `Unexpected "`+string(c)+`" character.`)
			}
			text = r.buf[:keep]
			null = !quoted && !escaped && len(text) == 4 && strings.EqualFold(view(text), "null")
			return text, null, c == '}', nil
		default:
			if c == '\\' {
				if r.s == "" {
					return nil, false, false, malformed("array", r.all, "Unexpected end of input.")
				}
				c, escaped = r.s[0], true
				r.s = r.s[1:]
			} else if isSpace(c) {
				if !quoted {
					r.buf = append(r.buf, c)
				}
				continue
			}
			if quoted {
				return nil, false, false, malformed("array", r.all, "Unexpected array element.")
			}
			r.buf = append(r.buf, c)
			keep = len(r.buf)
		}
	}
}

// quoted reads the rest of an element in double quotes.
func (r *arrayReader) quoted() error {
	for i := 0; i < len(r.s); i++ {
		switch c := r.s[i]; c {
		case '"':
			r.s = r.s[i+1:]
			return nil
		case '\\':
			if i++; i == len(r.s) {
				break
			}
			r.buf = append(r.buf, r.s[i])
		default:
			r.buf = append(r.buf, c)
		}
	}
	return malformed("array", r.all, "Unexpected end of input.")
}

func skipSpace(s string) string {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// parseArray adds a row of an array of one dimension.
func parseArray(t Type, s string, v *arrowbatch.Vec, env *Env) error {
	kid := v.Kids[0]
	was := kid.N
	err := readArray(t, s, kid, env)
	if err != nil {
		kid.Resize(was)
		return err
	}
	v.EndList()
	return nil
}

func readArray(t Type, s string, kid *arrowbatch.Vec, env *Env) error {
	elem := *t.Elem
	elem.Mod, elem.Scale = max(elem.Mod, t.Mod), max(elem.Scale, t.Scale)
	r := arrayReader{all: s}
	if err := r.open(); err != nil {
		return err
	}
	if rest := skipSpace(r.s); rest != "" && rest[0] == '}' {
		r.s = rest[1:]
		return r.close(s, 0)
	}
	var bad error // of an element; an error of the whole goes before it
	for n := 1; ; n++ {
		text, null, last, err := r.next()
		switch {
		case err != nil:
			return err
		case null:
			kid.AppendNull()
		case bad == nil:
			bad = ParseText(elem, text, kid, env)
		}
		if last {
			if err := r.close(s, n); err != nil {
				return err
			}
			return bad
		}
	}
}

// close checks that there were as many elements as announced and nothing follows.
func (r *arrayReader) close(all string, n int) error {
	if r.n >= 0 && n != r.n && n > 0 {
		return malformed("array", all, "Specified array dimensions do not match array contents.")
	}
	if skipSpace(r.s) != "" {
		return malformed("array", r.all, "Junk after closing right brace.")
	}
	return nil
}

// parseRecord adds a row of a struct from PostgreSQL's form of a row.
func parseRecord(t Type, s string, v *arrowbatch.Vec, env *Env) error {
	was := v.N
	if err := readRecord(t, s, v, env); err != nil {
		for _, kid := range v.Kids {
			kid.Resize(was)
		}
		return err
	}
	v.EndStruct()
	return nil
}

func readRecord(t Type, s string, v *arrowbatch.Vec, env *Env) error {
	rest := skipSpace(s)
	if rest == "" || rest[0] != '(' {
		return malformed("record", s, "Missing left parenthesis.")
	}
	rest = rest[1:]
	var buf []byte
	for k, f := range t.Fields {
		if k > 0 {
			if rest == "" || rest[0] != ',' {
				return malformed("record", s, "Too few columns.")
			}
			rest = rest[1:]
		}
		if rest != "" && (rest[0] == ',' || rest[0] == ')') {
			v.Kids[k].AppendNull()
			continue
		}
		var ok bool
		if buf, rest, ok = readField(buf[:0], rest); !ok {
			return malformed("record", s, "Unexpected end of input.")
		}
		if err := ParseText(f.Type, buf, v.Kids[k], env); err != nil {
			return err
		}
	}
	if len(t.Fields) == 0 {
		rest = skipSpace(rest)
	}
	if rest == "" || rest[0] != ')' {
		return malformed("record", s, "Too many columns.")
	}
	if skipSpace(rest[1:]) != "" {
		return malformed("record", s, "Junk after right parenthesis.")
	}
	return nil
}

// readField appends the text of a field to dst and returns what follows it.
func readField(dst []byte, s string) (_ []byte, rest string, ok bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i == len(s) {
				return dst, "", false
			}
			dst = append(dst, s[i])
		case c == '"':
			switch {
			case !quoted:
				quoted = true
			case i+1 < len(s) && s[i+1] == '"':
				dst = append(dst, '"')
				i++
			default:
				quoted = false
			}
		case !quoted && (c == ',' || c == ')'):
			return dst, s[i:], true
		default:
			dst = append(dst, c)
		}
	}
	return dst, "", false
}

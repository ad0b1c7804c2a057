package expr

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func appendIdent(dst []byte, s string) []byte   { return scalar.AppendIdent(dst, s) }
func appendLiteral(dst []byte, s string) []byte { return scalar.AppendLiteral(dst, s) }

// addText adds the functions on text.
func addText(t *table) {
	textLength(t)
	textCase(t)
	textParts(t)
	textBuild(t)
	textQuote(t)
	concatFunctions(t)
}

func textLength(t *table) {
	chars := func(f *frame, i int) error { return f.setI32(i, int32(utf8.RuneCount(f.bytes(0, i)))) }
	trimmed := func(f *frame, i int) error { return f.setI32(i, int32(utf8.RuneCount(trimBlanks(f.bytes(0, i))))) }
	octets := func(f *frame, i int) error { return f.setI32(i, int32(len(f.bytes(0, i)))) }
	for _, name := range []string{"length", "char_length", "character_length"} {
		t.fn(name, "text:int4", "number of characters", chars)
		t.fn(name, "bpchar:int4", "number of characters", trimmed)
	}
	t.fn("length", "bytea:int4", "number of bytes", octets)
	for _, typ := range []string{"text", "bytea", "bpchar"} {
		t.fn("octet_length", typ+":int4", "number of bytes", octets)
	}
	for _, typ := range []string{"text", "bytea"} {
		t.fn("bit_length", typ+":int4", "number of bits",
			func(f *frame, i int) error { return f.setI32(i, 8*int32(len(f.bytes(0, i)))) })
	}
	t.fn("ascii", "text:int4", "code of the first character", func(f *frame, i int) error {
		b := f.bytes(0, i)
		if len(b) == 0 {
			return f.setI32(i, 0)
		}
		r, _ := utf8.DecodeRune(b)
		return f.setI32(i, r)
	})
	t.fn("chr", "int4:text", "character of a code", func(f *frame, i int) error {
		switch r := f.i32(0, i); {
		case r < 0:
			return sqlerr.New(sqlerr.InvalidParameterValue, "character number must be positive")
		case r == 0:
			return sqlerr.New(sqlerr.ProgramLimitExceeded, "null character not permitted")
		case !utf8.ValidRune(r):
			return sqlerr.New(sqlerr.ProgramLimitExceeded, "requested character too large for encoding: %d", r)
		default:
			f.out.Data = utf8.AppendRune(f.out.Data, r)
			return nil
		}
	})
}

// appender is a row function that appends a text made from the first argument.
func appender(fn func(dst []byte, s string) []byte) rowFunc {
	return func(f *frame, i int) error {
		f.out.Data = fn(f.out.Data, f.str(0, i))
		return nil
	}
}

func textCase(t *table) {
	t.fn("lower", "text:text", "text in lower case", appender(scalar.AppendLower))
	t.fn("upper", "text:text", "text in upper case", appender(scalar.AppendUpper))
	t.fn("initcap", "text:text", "words with a capital first letter", appender(scalar.AppendInitcap))
	t.fn("reverse", "text:text", "characters from last to first", appender(scalar.AppendReverse))
	trim := func(name, desc string, left, right bool) {
		t.fn(name, "text:text", desc, func(f *frame, i int) error {
			return f.setStr(scalar.TrimSet(f.str(0, i), " ", left, right))
		})
		t.fn(name, "text,text:text", desc, func(f *frame, i int) error {
			return f.setStr(scalar.TrimSet(f.str(0, i), f.str(1, i), left, right))
		})
		t.fn(name, "bytea,bytea:bytea", desc, func(f *frame, i int) error {
			b, set := f.bytes(0, i), f.bytes(1, i)
			for left && len(b) > 0 && bytes.IndexByte(set, b[0]) >= 0 {
				b = b[1:]
			}
			for right && len(b) > 0 && bytes.IndexByte(set, b[len(b)-1]) >= 0 {
				b = b[:len(b)-1]
			}
			return f.setBytes(b)
		})
	}
	trim("btrim", "text without characters of a set at both ends", true, true)
	trim("ltrim", "text without characters of a set at its start", true, false)
	trim("rtrim", "text without characters of a set at its end", false, true)
}

func textParts(t *table) {
	for _, name := range []string{"substring", "substr"} {
		for _, typ := range []string{"text", "bytea"} {
			sub := scalar.Substring
			if typ == "bytea" {
				sub = scalar.SubBytes
			}
			t.fn(name, typ+",int4:"+typ, "part from a place on", func(f *frame, i int) error {
				s, err := sub(f.str(0, i), int64(f.i32(1, i)), 0, false)
				f.out.Data = append(f.out.Data, s...)
				return err
			})
			t.fn(name, typ+",int4,int4:"+typ, "part from a place, of a length", func(f *frame, i int) error {
				s, err := sub(f.str(0, i), int64(f.i32(1, i)), int64(f.i32(2, i)), true)
				f.out.Data = append(f.out.Data, s...)
				return err
			})
		}
	}
	t.fn("left", "text,int4:text", "first characters", func(f *frame, i int) error {
		return f.setStr(scalar.Left(f.str(0, i), int64(f.i32(1, i))))
	})
	t.fn("right", "text,int4:text", "last characters", func(f *frame, i int) error {
		return f.setStr(scalar.Right(f.str(0, i), int64(f.i32(1, i))))
	})
	position := func(f *frame, i int) error { return f.setI32(i, int32(scalar.Position(f.str(0, i), f.str(1, i)))) }
	t.fn("position", "text,text:int4", "place of a text in another", position)
	t.fn("strpos", "text,text:int4", "place of a text in another", position)
	t.fn("position", "bytea,bytea:int4", "place of bytes in others", func(f *frame, i int) error {
		return f.setI32(i, int32(bytes.Index(f.bytes(0, i), f.bytes(1, i))+1))
	})
	starts := func(f *frame, i int) error { return f.setBool(i, bytes.HasPrefix(f.bytes(0, i), f.bytes(1, i))) }
	t.fn("starts_with", "text,text:bool", "text begins with a prefix", starts)
	t.op("^@", "text,text:bool", starts)
	t.fn("split_part", "text,text,int4:text", "field of a text with separators", func(f *frame, i int) error {
		s, err := scalar.SplitPart(f.str(0, i), f.str(1, i), int64(f.i32(2, i)))
		f.out.Data = append(f.out.Data, s...)
		return err
	})
	t.fn("overlay", "text,text,int4,int4:text", "text with a part replaced", func(f *frame, i int) error {
		return overlay(f, i, int64(f.i32(3, i)))
	})
	t.fn("overlay", "text,text,int4:text", "text with a part replaced", func(f *frame, i int) error {
		return overlay(f, i, int64(scalar.Len(f.str(1, i))))
	})
}

func overlay(f *frame, i int, count int64) error {
	s, with, start := f.str(0, i), f.str(1, i), int64(f.i32(2, i))
	if start <= 0 {
		return sqlerr.New(sqlerr.SubstringError, "negative substring length not allowed")
	}
	head, err := scalar.Substring(s, 1, start-1, true)
	if err != nil {
		return err
	}
	if start+count > 1<<31-1 {
		return errInt4Range
	}
	tail, _ := scalar.Substring(s, start+count, 0, false)
	f.out.Data = append(append(append(f.out.Data, head...), with...), tail...)
	return nil
}

func textBuild(t *table) {
	pad := func(name, desc string, left bool) {
		t.fn(name, "text,int4:text", desc, func(f *frame, i int) (err error) {
			f.out.Data, err = scalar.AppendPad(f.out.Data, f.str(0, i), int64(f.i32(1, i)), " ", left)
			return err
		})
		t.fn(name, "text,int4,text:text", desc, func(f *frame, i int) (err error) {
			f.out.Data, err = scalar.AppendPad(f.out.Data, f.str(0, i), int64(f.i32(1, i)), f.str(2, i), left)
			return err
		})
	}
	pad("lpad", "text filled at its start", true)
	pad("rpad", "text filled at its end", false)
	t.fn("replace", "text,text,text:text", "text with each occurrence replaced", func(f *frame, i int) error {
		s, from, to := f.str(0, i), f.str(1, i), f.str(2, i)
		if from == "" {
			return f.setStr(s)
		}
		for {
			k := strings.Index(s, from)
			if k < 0 {
				return f.setStr(s)
			}
			f.out.Data = append(append(f.out.Data, s[:k]...), to...)
			s = s[k+len(from):]
			if len(f.out.Data) > maxColumnBytes {
				return scalar.ErrTooLong
			}
		}
	})
	t.fn("translate", "text,text,text:text", "text with characters exchanged", func(f *frame, i int) error {
		f.out.Data = scalar.AppendTranslate(f.out.Data, f.str(0, i), f.str(1, i), f.str(2, i))
		return nil
	})
	t.fn("repeat", "text,int4:text", "text a number of times", func(f *frame, i int) error {
		s, n := f.bytes(0, i), int64(f.i32(1, i))
		if n > 0 && int64(len(s))*n > maxValueBytes {
			return scalar.ErrTooLong
		}
		for ; n > 0; n-- {
			f.out.Data = append(f.out.Data, s...)
		}
		return nil
	})
	for _, typ := range []string{"int4", "int8"} {
		t.fn("to_hex", typ+":text", "hexadecimal digits of an integer", func(f *frame, i int) error {
			var x uint64
			if f.args[0].v.Layout == arrowbatch.Int32 {
				x = uint64(uint32(f.i32(0, i)))
			} else {
				x = uint64(f.i64(0, i))
			}
			f.out.Data = scalar.AppendHex(f.out.Data, x)
			return nil
		})
	}
}

func textQuote(t *table) {
	t.fn("quote_ident", "text:text", "text as a name, quoted where needed", appender(scalar.AppendIdent))
	t.fn("quote_literal", "text:text", "text as a literal", appender(scalar.AppendLiteral))
	value := func(f *frame, i int) error {
		a := f.args[0]
		f.buf = f.ctx.appendText(f.buf[:0], f.typ(0), a.v, a.at(i))
		f.out.Data = scalar.AppendLiteral(f.out.Data, string(f.buf))
		return nil
	}
	t.fn("quote_literal", "anyelement:text", "value as a literal", value, stable)
	nullable := func(f *frame, i int) error {
		if f.isNull(0, i) {
			return f.setStr("NULL")
		}
		return value(f, i)
	}
	t.fn("quote_nullable", "text:text", "text as a literal, or NULL", nullable, calledOnNull)
	t.fn("quote_nullable", "anyelement:text", "value as a literal, or NULL", nullable, calledOnNull, stable)
	t.fn("format", `text,..."any":text`, "text with arguments put in", formatRow, calledOnNull, stable)
	t.fn("format", "text:text", "text with arguments put in", formatRow, calledOnNull, stable)
}

// formatRow is format(). The arguments follow as values, or as one array where
// the call is VARIADIC.
func formatRow(f *frame, i int) error {
	if f.isNull(0, i) {
		f.null(i)
		return nil
	}
	vals := f.variadic(1, i)
	out, err := scalar.AppendFormat(f.out.Data, f.str(0, i), vals.n, func(dst []byte, k int) ([]byte, bool) {
		return vals.text(dst, k)
	})
	f.out.Data = out
	return err
}

// values are the arguments of a VARIADIC call in one row.
type values struct {
	f     *frame
	first int
	i     int
	n     int
	// elems and lo are set when the arguments came as an array.
	elems *arrowbatch.Vec
	lo    int
	elem  types.Type
	null  bool
}

func (f *frame) variadic(first, i int) values {
	v := values{f: f, first: first, i: i, n: len(f.args) - first}
	if f.call.fn.Variadic && !f.call.spreadArgs && v.n == 1 {
		if t := f.typ(first); t.ID == types.Array {
			if v.null = f.isNull(first, i); v.null {
				v.n = 0
				return v
			}
			elems, lo, hi := f.list(first, i)
			v.elems, v.lo, v.n, v.elem = elems, lo, hi-lo, *t.Elem
		}
	}
	return v
}

// text appends argument k; ok is false for NULL.
func (v values) text(dst []byte, k int) (out []byte, ok bool) {
	if v.elems != nil {
		if v.elems.IsNull(v.lo + k) {
			return dst, false
		}
		return v.f.ctx.appendText(dst, v.elem, v.elems, v.lo+k), true
	}
	a := v.f.args[v.first+k]
	if a.isNull(v.i) {
		return dst, false
	}
	return v.f.ctx.appendText(dst, v.f.typ(v.first+k), a.v, a.at(v.i)), true
}

func concatFunctions(t *table) {
	t.fn("concat", `..."any":text`, "arguments joined, NULLs left out", func(f *frame, i int) error {
		vals := f.variadic(0, i)
		if vals.null {
			f.null(i)
			return nil
		}
		for k := range vals.n {
			f.out.Data, _ = vals.text(f.out.Data, k)
		}
		return nil
	}, calledOnNull, stable)
	const desc = "arguments joined by a separator, NULLs left out"
	t.fn("concat_ws", `text,..."any":text`, desc, func(f *frame, i int) error {
		vals := f.variadic(1, i)
		if f.isNull(0, i) || vals.null {
			f.null(i)
			return nil
		}
		first := true
		for k := range vals.n {
			mark := len(f.out.Data)
			if !first {
				f.out.Data = append(f.out.Data, f.bytes(0, i)...)
			}
			var ok bool
			if f.out.Data, ok = vals.text(f.out.Data, k); !ok {
				f.out.Data = f.out.Data[:mark]
				continue
			}
			first = false
		}
		return nil
	}, calledOnNull, stable)
	join := func(f *frame, i int) error {
		f.out.Data = append(append(f.out.Data, f.bytes(0, i)...), f.bytes(1, i)...)
		return nil
	}
	t.op("||", "text,text:text", join)
	t.op("||", "bytea,bytea:bytea", join)
	mixed := func(f *frame, i int) error {
		for k := range f.args {
			a := f.args[k]
			if t := f.typ(k); t.ID == types.Bool {
				f.out.Data = append(f.out.Data, [2]string{"false", "true"}[bit(f.boolean(k, i))]...)
			} else if t.ID == types.Bpchar {
				f.out.Data = append(f.out.Data, trimBlanks(f.bytes(k, i))...)
			} else {
				f.out.Data = f.ctx.appendText(f.out.Data, t, a.v, a.at(i))
			}
		}
		return nil
	}
	t.op("||", "anynonarray,text:text", mixed, stable)
	t.op("||", "text,anynonarray:text", mixed, stable)
}

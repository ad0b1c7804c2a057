package expr

import (
	"unsafe"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func compareJSONB(a, b []byte) int { return scalar.CompareJSONB(view(a), view(b)) }

// view returns b as a string without a copy; it must not be kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// addJSON adds the operators and functions on json and jsonb.
func addJSON(t *table) {
	for _, typ := range []string{"json", "jsonb"} {
		jsonAccess(t, typ)
	}
	jsonbOperators(t)
	jsonbEdits(t)
	jsonBuilders(t)
}

// found writes a part of a document, as it is or as text; NULL where there is none.
func found(f *frame, i int, val string, ok, asText bool) error {
	if ok && asText {
		f.out.Data, ok = scalar.AppendJSONText(f.out.Data, val)
	} else if ok {
		f.out.Data = append(f.out.Data, val...)
	}
	if !ok {
		f.null(i)
	}
	return nil
}

// jsonAccess adds -> ->> #> #>> and what reads a document of one of the types.
func jsonAccess(t *table, typ string) {
	unique := typ == "jsonb"
	for _, asText := range []bool{false, true} {
		op, path, res, fn := "->", "#>", typ, typ+"_extract_path"
		if asText {
			op, path, res, fn = "->>", "#>>", "text", typ+"_extract_path_text"
		}
		t.op(op, typ+",text:"+res, func(f *frame, i int) error {
			val, ok := scalar.JSONField(f.str(0, i), f.str(1, i), unique)
			return found(f, i, val, ok, asText)
		})
		t.op(op, typ+",int4:"+res, func(f *frame, i int) error {
			s, n := f.str(0, i), f.i32(1, i)
			val, ok := scalar.JSONElem(s, int64(n))
			if k := scalar.JSONKind(s); unique && k != '[' && k != '{' && (n == 0 || n == -1) {
				val, ok = s, true // a bare jsonb scalar counts as an array of one
			}
			return found(f, i, val, ok, asText)
		})
		walk := func(f *frame, i int) error {
			vals := f.variadic(1, i)
			val, ok := f.str(0, i), true
			var buf [64]byte
			for k := 0; k < vals.n && ok; k++ {
				step, has := vals.text(buf[:0], k)
				if !has {
					f.null(i)
					return nil
				}
				val, ok = scalar.JSONStep(val, view(step), unique)
			}
			return found(f, i, val, ok, asText)
		}
		t.op(path, typ+",text[]:"+res, func(f *frame, i int) error {
			elems, lo, hi := f.list(1, i)
			val, ok := f.str(0, i), true
			for ; lo < hi && ok; lo++ {
				if elems.IsNull(lo) {
					f.null(i)
					return nil
				}
				val, ok = scalar.JSONStep(val, view(elems.BytesAt(lo)), unique)
			}
			return found(f, i, val, ok, asText)
		})
		t.fn(fn, typ+",...text:"+res, "part of a document at a path", walk)
	}
	t.fn(typ+"_typeof", typ+":text", "kind of a document", func(f *frame, i int) error {
		return f.setStr(scalar.JSONTypeName(f.str(0, i)))
	})
	t.fn(typ+"_array_length", typ+":int4", "number of elements", func(f *frame, i int) error {
		s := f.str(0, i)
		switch scalar.JSONKind(s) {
		case '[':
			return f.setI32(i, int32(scalar.JSONLen(s)))
		case '{':
			return sqlerr.New(sqlerr.InvalidParameterValue, "cannot get array length of a non-array")
		}
		return sqlerr.New(sqlerr.InvalidParameterValue, "cannot get array length of a scalar")
	})
	t.fn(typ+"_strip_nulls", typ+":"+typ, "document without members that are null", func(f *frame, i int) error {
		f.out.Data = scalar.AppendStripNulls(f.out.Data, f.str(0, i), unique)
		return nil
	})
}

func jsonbOperators(t *table) {
	t.op("@>", "jsonb,jsonb:bool", func(f *frame, i int) error {
		return f.setBool(i, scalar.JSONBContains(f.str(0, i), f.str(1, i)))
	})
	t.op("<@", "jsonb,jsonb:bool", func(f *frame, i int) error {
		return f.setBool(i, scalar.JSONBContains(f.str(1, i), f.str(0, i)))
	})
	exists := func(f *frame, i int) error { return f.setBool(i, scalar.JSONBExists(f.str(0, i), f.str(1, i))) }
	t.op("?", "jsonb,text:bool", exists)
	t.fn("jsonb_exists", "jsonb,text:bool", "document has a key", exists)
	several := func(all bool) rowFunc {
		return func(f *frame, i int) error {
			elems, lo, hi := f.list(1, i)
			for ; lo < hi; lo++ {
				if !elems.IsNull(lo) && scalar.JSONBExists(f.str(0, i), view(elems.BytesAt(lo))) != all {
					return f.setBool(i, !all)
				}
			}
			return f.setBool(i, all)
		}
	}
	t.op("?|", "jsonb,text[]:bool", several(false))
	t.op("?&", "jsonb,text[]:bool", several(true))
	t.op("||", "jsonb,jsonb:jsonb", func(f *frame, i int) error {
		f.out.Data = scalar.AppendJSONBConcat(f.out.Data, f.str(0, i), f.str(1, i))
		return nil
	})
	t.op("-", "jsonb,text:jsonb", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendJSONBDelete(f.out.Data, f.str(0, i), []string{f.str(1, i)})
		return err
	})
	t.op("-", "jsonb,text[]:jsonb", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendJSONBDelete(f.out.Data, f.str(0, i), f.texts(1, i))
		return err
	})
	t.op("-", "jsonb,int4:jsonb", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendJSONBDeleteIndex(f.out.Data, f.str(0, i), int(f.i32(1, i)))
		return err
	})
	t.op("#-", "jsonb,text[]:jsonb", func(f *frame, i int) (err error) {
		f.out.Data, err = scalar.AppendJSONBEdit(f.out.Data, f.str(0, i), f.texts(1, i), "", scalar.EditDelete)
		return err
	})
}

// texts returns the elements of a text[] that are not NULL; they alias it.
func (f *frame) texts(k, i int) []string {
	elems, lo, hi := f.list(k, i)
	out := make([]string, 0, hi-lo)
	for ; lo < hi; lo++ {
		if !elems.IsNull(lo) {
			out = append(out, view(elems.BytesAt(lo)))
		}
	}
	return out
}

func jsonbEdits(t *table) {
	edit := func(name, desc string, on, off scalar.EditMode, byDefault bool) {
		run := func(f *frame, i int, flag bool) (err error) {
			mode := off
			if flag {
				mode = on
			}
			f.out.Data, err = scalar.AppendJSONBEdit(f.out.Data, f.str(0, i), f.texts(1, i), f.str(2, i), mode)
			return err
		}
		t.fn(name, "jsonb,text[],jsonb:jsonb", desc, func(f *frame, i int) error { return run(f, i, byDefault) })
		t.fn(name, "jsonb,text[],jsonb,bool:jsonb", desc, func(f *frame, i int) error { return run(f, i, f.boolean(3, i)) })
	}
	edit("jsonb_set", "document with a part exchanged", scalar.EditSet, scalar.EditReplace, true)
	edit("jsonb_insert", "document with a part added", scalar.EditInsertAfter, scalar.EditInsertBefore, false)
	t.fn("jsonb_pretty", "jsonb:text", "document in lines", func(f *frame, i int) error {
		f.out.Data = scalar.AppendPretty(f.out.Data, f.str(0, i), 0)
		return nil
	})
}

// appendJSON appends a value as json, arrays and rows without blanks.
func (c *Ctx) appendJSON(dst []byte, t types.Type, v *arrowbatch.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.ID {
	case types.Bool:
		if v.Bits.Get(i) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case types.Int2, types.Int4, types.Int8:
		return types.AppendText(dst, t, v, i, nil)
	case types.Float4, types.Float8, types.Numeric:
		start := len(dst)
		dst = types.AppendText(dst, t, v, i, c.Env)
		if n := dst[len(dst)-1]; n == 'N' || n == 'y' { // NaN, Infinity
			return types.AppendJSONString(dst[:start], string(dst[start:]))
		}
		return dst
	case types.JSON, types.JSONB:
		return append(dst, v.BytesAt(i)...)
	case types.Timestamp, types.Timestamptz:
		start := len(dst)
		dst = append(dst, '"')
		dst = types.AppendText(dst, t, v, i, c.Env)
		for k := start; k < len(dst); k++ {
			if dst[k] == ' ' {
				dst[k] = 'T'
				break
			}
		}
		if t.ID == types.Timestamptz {
			dst = fullOffset(dst)
		}
		return append(dst, '"')
	case types.Array:
		lo, hi := v.ListAt(i)
		dst = append(dst, '[')
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = c.appendJSON(dst, *t.Elem, v.Kids[0], k)
		}
		return append(dst, ']')
	case types.Struct:
		dst = append(dst, '{')
		for k, fd := range t.Fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(types.AppendJSONString(dst, fd.Name), ':')
			dst = c.appendJSON(dst, fd.Type, v.Kids[k], i)
		}
		return append(dst, '}')
	}
	return types.AppendJSONString(dst, string(c.appendText(nil, t, v, i)))
}

// fullOffset adds the minutes to a time zone offset of hours alone.
func fullOffset(dst []byte) []byte {
	n := len(dst)
	if n > 3 && (dst[n-3] == '+' || dst[n-3] == '-') {
		return append(dst, ":00"...)
	}
	return dst
}

func jsonBuilders(t *table) {
	build := func(typ string, body rowFunc) rowFunc {
		if typ == "json" {
			return body
		}
		return func(f *frame, i int) error { // jsonb: the same, in canonical form
			start := len(f.out.Data)
			if err := body(f, i); err != nil {
				return err
			}
			f.buf = append(f.buf[:0], f.out.Data[start:]...)
			var err error
			f.out.Data, err = types.AppendJSONB(f.out.Data[:start], view(f.buf))
			return err
		}
	}
	value := func(f *frame, i int) error {
		a := f.args[0]
		f.out.Data = f.ctx.appendJSON(f.out.Data, f.typ(0), a.v, a.at(i))
		return nil
	}
	for _, typ := range []string{"json", "jsonb"} {
		t.fn("to_"+typ, "anyelement:"+typ, "value as "+typ, build(typ, value), stable)
		t.fn(typ+"_build_array", `..."any":`+typ, "array of the arguments", build(typ, jsonArray), stable, calledOnNull)
		t.fn(typ+"_build_array", ":"+typ, "empty array", build(typ, jsonArray), stable)
		t.fn(typ+"_build_object", `..."any":`+typ, "object of names and values",
			build(typ, jsonObject), stable, calledOnNull)
		t.fn(typ+"_build_object", ":"+typ, "empty object", build(typ, jsonObject), stable)
		t.fn(typ+"_object", "text[]:"+typ, "object of names and values", build(typ, jsonPairs))
		t.fn(typ+"_object", "text[],text[]:"+typ, "object of names and values", build(typ, jsonZip))
	}
	t.fn("row_to_json", "record:json", "row as json", value, stable)
	t.fn("array_to_json", "anyarray:json", "array as json", value, stable)
}

// json appends argument k as json, or as a key.
func (v values) json(dst []byte, k int) []byte {
	if v.elems != nil {
		return v.f.ctx.appendJSON(dst, v.elem, v.elems, v.lo+k)
	}
	a := v.f.args[v.first+k]
	return v.f.ctx.appendJSON(dst, v.f.typ(v.first+k), a.v, a.at(v.i))
}

func jsonArray(f *frame, i int) error {
	vals := f.variadic(0, i)
	if vals.null {
		f.null(i)
		return nil
	}
	f.out.Data = append(f.out.Data, '[')
	for k := range vals.n {
		if k > 0 {
			f.out.Data = append(f.out.Data, ", "...)
		}
		f.out.Data = vals.json(f.out.Data, k)
	}
	f.out.Data = append(f.out.Data, ']')
	return nil
}

func jsonObject(f *frame, i int) error {
	vals := f.variadic(0, i)
	if vals.null {
		f.null(i)
		return nil
	}
	if vals.n%2 != 0 {
		return sqlerr.New(sqlerr.InvalidParameterValue, "argument list must have even number of elements").
			WithHint("The arguments of %s() must consist of alternating keys and values.", f.call.fn.Name)
	}
	f.out.Data = append(f.out.Data, '{')
	for k := 0; k < vals.n; k += 2 {
		if k > 0 {
			f.out.Data = append(f.out.Data, ", "...)
		}
		key, ok := vals.text(nil, k)
		if !ok {
			return sqlerr.New(sqlerr.InvalidParameterValue, "argument %d cannot be null", k+1).
				WithHint("Object keys should be text.")
		}
		f.out.Data = append(types.AppendJSONString(f.out.Data, view(key)), " : "...)
		f.out.Data = vals.json(f.out.Data, k+1)
	}
	f.out.Data = append(f.out.Data, '}')
	return nil
}

func appendTextPair(dst []byte, n int, keys *arrowbatch.Vec, k int, vals *arrowbatch.Vec, j int) ([]byte, error) {
	if keys.IsNull(k) {
		return dst, sqlerr.New(sqlerr.NullValueNotAllowed, "null value not allowed for object key")
	}
	if n > 0 {
		dst = append(dst, ", "...)
	}
	dst = append(types.AppendJSONString(dst, view(keys.BytesAt(k))), " : "...)
	if vals.IsNull(j) {
		return append(dst, "null"...), nil
	}
	return types.AppendJSONString(dst, view(vals.BytesAt(j))), nil
}

func jsonPairs(f *frame, i int) error {
	elems, lo, hi := f.list(0, i)
	if (hi-lo)%2 != 0 {
		return sqlerr.New(sqlerr.ArraySubscriptError, "array must have even number of elements")
	}
	f.out.Data = append(f.out.Data, '{')
	for k := lo; k < hi; k += 2 {
		var err error
		if f.out.Data, err = appendTextPair(f.out.Data, k-lo, elems, k, elems, k+1); err != nil {
			return err
		}
	}
	f.out.Data = append(f.out.Data, '}')
	return nil
}

func jsonZip(f *frame, i int) error {
	keys, klo, khi := f.list(0, i)
	vals, vlo, vhi := f.list(1, i)
	if khi-klo != vhi-vlo {
		return sqlerr.New(sqlerr.ArraySubscriptError, "mismatched array dimensions")
	}
	f.out.Data = append(f.out.Data, '{')
	for k := range khi - klo {
		var err error
		if f.out.Data, err = appendTextPair(f.out.Data, k, keys, klo+k, vals, vlo+k); err != nil {
			return err
		}
	}
	f.out.Data = append(f.out.Data, '}')
	return nil
}

// jsonbConverter is the cast of a jsonb scalar to a boolean or a number.
func jsonbConverter(to types.Type) converter {
	if to.ID == types.Bool {
		return converter{row: func(f *frame, i int) error {
			k := scalar.JSONKind(f.str(0, i))
			if k != 't' && k != 'f' {
				return badJSONBCast(f.str(0, i), to)
			}
			return f.setBool(i, k == 't')
		}}
	}
	num := findConverter(types.TNumeric, to, Explicit)
	return converter{row: func(f *frame, i int) error {
		s := f.str(0, i)
		if scalar.JSONKind(s) != '0' {
			return badJSONBCast(s, to)
		}
		d, err := decimal.Parse(s)
		if err != nil {
			return err
		}
		if num.relabel {
			return f.setDecErr(i, d, nil)
		}
		return num.rowOf(f, i, d)
	}}
}

// rowOf runs a conversion from numeric on one number.
func (c converter) rowOf(f *frame, i int, d decimal.Decimal) error {
	if f.tmp == nil {
		f.tmp = arrowbatch.NewFlat(arrowbatch.Decimal, 1)
	}
	f.tmp.Dec[0] = d
	doc := f.args[0]
	f.args[0] = arg{f.tmp, true}
	err := c.row(f, i)
	f.args[0] = doc
	return err
}

func badJSONBCast(s string, to types.Type) error {
	return sqlerr.New(sqlerr.InvalidParameterValue, "cannot cast jsonb %s to type %s", scalar.JSONTypeName(s), to)
}

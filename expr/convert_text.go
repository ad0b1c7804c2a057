package expr

import (
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// stringConverter converts between the text types.
func stringConverter(from, to types.Type) (converter, bool) {
	f, t := from.ID, to.ID
	isText := func(id types.ID) bool { return id == types.Text || id == types.Varchar }
	switch {
	case f == types.Unknown && isText(t):
		return converter{relabel: true}, true
	case (isText(f) || f == types.Name || f == types.Char) && (isText(t) || t == types.Bpchar):
		return converter{relabel: true}, true
	case f == types.Bpchar && (isText(t) || t == types.Name):
		return converter{row: func(f *frame, i int) error {
			return f.setStr(string(trimBlanks(f.bytes(0, i))))
		}}, true
	case isText(f) && t == types.Name:
		return converter{row: func(f *frame, i int) error { return f.setStr(types.TruncName(f.str(0, i))) }}, true
	case (isText(f) || f == types.Bpchar || f == types.Name) && t == types.Char:
		return converter{row: func(f *frame, i int) error {
			b := f.bytes(0, i)
			return f.setBytes(b[:min(len(b), 1)])
		}}, true
	case f == types.Char && t == types.Int4:
		return converter{row: func(f *frame, i int) error {
			if b := f.bytes(0, i); len(b) > 0 {
				return f.setI32(i, int32(int8(b[0])))
			}
			return f.setI32(i, 0)
		}}, true
	case f == types.Int4 && t == types.Char:
		return converter{row: func(f *frame, i int) error {
			x := f.i32(0, i)
			if x < -128 || x > 127 {
				return sqlerr.New(sqlerr.NumericValueOutOfRange, `"char" out of range`)
			}
			if x != 0 {
				f.out.Data = append(f.out.Data, byte(x))
			}
			return nil
		}}, true
	}
	return converter{}, false
}

// textOut writes values as their type's output function does.
func textOut(from, to types.Type) converter {
	if from.ID == types.Bool { // the cast says true where the output function says t
		return converter{row: func(f *frame, i int) error {
			if f.boolean(0, i) {
				return f.setStr("true")
			}
			return f.setStr("false")
		}}
	}
	switch from.ID {
	case types.Int4:
		return converter{row: func(f *frame, i int) error {
			f.out.Data = strconv.AppendInt(f.out.Data, int64(f.i32(0, i)), 10)
			return nil
		}}
	case types.Int8:
		return converter{row: func(f *frame, i int) error {
			f.out.Data = strconv.AppendInt(f.out.Data, f.i64(0, i), 10)
			return nil
		}}
	}
	return converter{vol: outputVolatility(from), row: func(f *frame, i int) error {
		a := &f.args[0]
		start := len(f.out.Data)
		f.out.Data = f.ctx.appendText(f.out.Data, from, a.v, a.at(i))
		if to.ID == types.Name {
			f.out.Data = f.out.Data[:start+len(types.TruncName(string(f.out.Data[start:])))]
		}
		return nil
	}}
}

// outputVolatility tells whether the text of a type depends on the session.
func outputVolatility(t types.Type) Volatility {
	switch t.ID {
	case types.Timestamptz, types.Float4, types.Float8, types.Bytea,
		types.Regclass, types.Regtype, types.Regproc, types.Regnamespace:
		return Stable
	case types.Array:
		return outputVolatility(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if outputVolatility(f.Type) == Stable {
				return Stable
			}
		}
	}
	return Immutable
}

// appendText is types.AppendText with the names of catalog objects.
func (c *Ctx) appendText(dst []byte, t types.Type, v *arrowbatch.Vec, i int) []byte {
	if isReg(t.ID) {
		oid := uint32(v.I64[i])
		if oid == 0 {
			return append(dst, '-')
		}
		if name, ok := c.nameOf(regKinds[t.ID], oid); ok {
			return append(dst, name...)
		}
	}
	return types.AppendText(dst, t, v, i, c.Env)
}

var regKinds = map[types.ID]string{types.Regclass: "class", types.Regtype: "type",
	types.Regproc: "proc", types.Regnamespace: "namespace"}

// textIn reads values as their type's input function does.
func textIn(from, to types.Type) converter {
	vol := Immutable
	if dependsOnEnv(to, "") {
		vol = Stable
	}
	if isReg(to.ID) {
		return converter{vol: Stable, row: func(f *frame, i int) error {
			oid, err := f.ctx.lookupReg(to, f.str(0, i))
			return f.setErr(i, oid, err)
		}}
	}
	switch to.ID {
	case types.Int4:
		return converter{row: func(f *frame, i int) error {
			x, err := types.ParseInt(to, f.str(0, i))
			f.out.I32[i] = int32(x)
			return err
		}}
	case types.Int8:
		return converter{row: func(f *frame, i int) error {
			x, err := types.ParseInt(to, f.str(0, i))
			f.out.I64[i] = x
			return err
		}}
	case types.Float8:
		return converter{row: func(f *frame, i int) error {
			x, err := types.ParseFloat(to, f.str(0, i))
			f.out.F64[i] = x
			return err
		}}
	}
	return converter{vol: vol, row: func(f *frame, i int) error { return f.parseText(i, to, f.str(0, i)) }}
}

// parseText writes the value that s has in a type as row i of the result.
func (f *frame) parseText(i int, t types.Type, s string) error {
	if f.tmp == nil {
		f.tmp = arrowbatch.NewVec(t.Shape(), 0)
	}
	f.tmp.Resize(0)
	if t.Layout() == arrowbatch.Bytes {
		if err := types.ParseString(t, s, f.tmp, f.ctx.Env); err != nil {
			return err
		}
		return f.setBytes(f.tmp.Data)
	}
	if err := types.ParseString(t, s, f.tmp, f.ctx.Env); err != nil {
		return err
	}
	f.putFrom(i, f.tmp, 0)
	return nil
}

// putFrom writes row j of v, a column of the result's shape, as row i.
func (f *frame) putFrom(i int, v *arrowbatch.Vec, j int) {
	if v.IsNull(j) {
		f.null(i)
		return
	}
	putRow(f.out, i, v, j)
}

// putRow writes row j of src as row i of dst. Rows of varying length must be
// written in order; the caller ends them.
func putRow(dst *arrowbatch.Vec, i int, src *arrowbatch.Vec, j int) {
	switch dst.Layout {
	case arrowbatch.Bool:
		dst.Bits.Put(i, src.Bits.Get(j))
	case arrowbatch.Int16:
		dst.I16[i] = src.I16[j]
	case arrowbatch.Int32:
		dst.I32[i] = src.I32[j]
	case arrowbatch.Int64:
		dst.I64[i] = src.I64[j]
	case arrowbatch.Float32:
		dst.F32[i] = src.F32[j]
	case arrowbatch.Float64:
		dst.F64[i] = src.F64[j]
	case arrowbatch.Decimal:
		dst.Dec[i] = src.Dec[j]
	case arrowbatch.Interval:
		dst.Ivl[i] = src.Ivl[j]
	case arrowbatch.UUID:
		dst.U128[i] = src.U128[j]
	case arrowbatch.Bytes:
		dst.Data = append(dst.Data, src.BytesAt(j)...)
	case arrowbatch.List:
		lo, hi := src.ListAt(j)
		for ; lo < hi; lo++ {
			dst.Kids[0].AppendFrom(src.Kids[0], lo)
		}
	}
}

// modConverter fits values of a type to its modifiers, or converts elements.
func modConverter(from, to types.Type, ctx CastContext) converter {
	switch to.ID {
	case types.Array:
		return arrayConverter(from, to, ctx)
	case types.Varchar, types.Bpchar:
		if to.Mod == 0 || to.ID == types.Varchar && from.Mod > 0 && from.Mod <= to.Mod {
			return converter{relabel: true}
		}
		return converter{row: func(f *frame, i int) error {
			fit, pad, err := types.FitString(to, f.str(0, i), ctx == Explicit)
			if err != nil {
				return err
			}
			f.out.Data = append(f.out.Data, fit...)
			for range pad {
				f.out.Data = append(f.out.Data, ' ')
			}
			return nil
		}}
	case types.Numeric:
		if to.Mod == 0 {
			return converter{relabel: true}
		}
		return converter{row: func(f *frame, i int) error {
			d, err := f.dec(0, i).Fits(int(to.Mod), int(to.Scale))
			return f.setDecErr(i, d, err)
		}}
	case types.Interval:
		if to.Mod == 0 {
			return converter{relabel: true}
		}
		return converter{row: func(f *frame, i int) error {
			iv := f.ivl(0, i)
			iv.Micros = types.RoundMicros(iv.Micros, int(to.Mod))
			return f.setIvl(i, iv, nil)
		}}
	case types.Time, types.Timestamp, types.Timestamptz:
		if to.Mod == 0 {
			return converter{relabel: true}
		}
		return converter{row: func(f *frame, i int) error {
			return f.setI64(i, types.RoundTime(to, f.i64(0, i)))
		}}
	}
	return converter{relabel: true}
}

// arrayConverter converts the elements of lists.
func arrayConverter(from, to types.Type, ctx CastContext) converter {
	if to.Elem == nil || from.Elem.Equal(*to.Elem) {
		return converter{relabel: true}
	}
	inner := castBetween(*from.Elem, *to.Elem, ctx)
	if inner == nil {
		return converter{relabel: true}
	}
	vol := VolatilityOf(inner)
	return converter{vol: vol, kernel: func(f *frame) { convertElements(f, inner) }}
}

// castBetween is a cast of column 0; nil where nothing is to be done.
func castBetween(from, to types.Type, ctx CastContext) Expr {
	e, err := Cast(NewColumn(0, "", from), to, ctx)
	if err != nil {
		return nil
	}
	if _, same := e.(*column); same {
		return nil
	}
	return e
}

func convertElements(f *frame, inner Expr) {
	a := f.args[0]
	kid := a.v.Kids[0]
	sub := &Ctx{Now: f.ctx.Now, Env: f.ctx.Env, Session: f.ctx.Session}
	conv := inner.Eval(sub, &arrowbatch.Batch{Cols: []*arrowbatch.Vec{kid}, Len: kid.N}, nil)
	bad := sub.TakeErrors()
	f.out.Kids[0].Release()
	f.out.Kids[0] = conv
	copy(f.out.Off, a.v.Off[:f.n+1])
	rows := allRows(nil, f.n, f.sel)
	for _, r := range rows {
		lo, hi := a.v.ListAt(int(r))
		for _, b := range bad {
			if int(b.Row) >= lo && int(b.Row) < hi {
				f.fail(int(r), b.Err)
				break
			}
		}
	}
}

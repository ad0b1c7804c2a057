package expr

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// ArrayCtor is ARRAY[…]; elements are brought to their common type. An empty one
// needs a cast around it: elem may be given for that, else 42P18.
func ArrayCtor(elem *types.Type, elems ...Expr) (Expr, error) {
	if len(elems) == 0 && elem == nil {
		return nil, sqlerr.New(sqlerr.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
	}
	if elem != nil {
		out := make([]Expr, len(elems))
		for i, e := range elems {
			c, err := Cast(e, *elem, Explicit)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return &makeList{elems: out, typ: types.ArrayOf(*elem)}, nil
	}
	out, t, err := Unify("ARRAY", elems...)
	if err != nil {
		return nil, err
	}
	return &makeList{elems: out, typ: types.ArrayOf(t)}, nil
}

// makeList is ARRAY[…].
type makeList struct {
	elems []Expr
	typ   types.Type
}

func (m *makeList) Type() types.Type { return m.typ }
func (m *makeList) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(m, ctx, in, sel)
}
func (m *makeList) Children() []Expr           { return m.elems }
func (m *makeList) WithChildren(k []Expr) Expr { return &makeList{k, m.typ} }
func (m *makeList) shape() string              { return "array" }
func (m *makeList) String() string {
	if len(m.elems) == 0 {
		return "ARRAY[]::" + m.typ.String()
	}
	return "ARRAY[" + joinExprs(m.elems) + "]"
}

func (m *makeList) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	args, n, one := evalAll(m.elems, ctx, in, sel)
	defer releaseArgs(args)
	out := arrowbatch.NewVec(m.typ.Shape(), 0)
	next := 0
	for i := range n {
		if sel == nil || one || next < len(sel) && int(sel[next]) == i {
			next++
			for _, a := range args {
				out.Kids[0].AppendFrom(a.v, a.at(i))
			}
		}
		out.EndList()
	}
	return arg{out, one}
}

// evalAll evaluates operands; n is 1 and one set where all are constant.
func evalAll(es []Expr, ctx *Ctx, in *arrowbatch.Batch, sel []int32) (args []arg, n int, one bool) {
	one = true
	for _, e := range es {
		a := evalArg(e, ctx, in, sel)
		one = one && a.one
		args = append(args, a)
	}
	if one {
		return args, 1, true
	}
	return args, in.Len, false
}

// RowCtor is ROW(…); names may be nil: then fields are f1, f2, …
func RowCtor(names []string, fields ...Expr) (Expr, error) {
	m := &makeStruct{fields: make([]Expr, len(fields)), typ: types.Type{ID: types.Struct}}
	for i, e := range fields {
		given := e
		if e.Type().ID == types.Unknown {
			c, err := Cast(e, types.TText, Implicit)
			if err != nil {
				return nil, err
			}
			e = c
		}
		m.given = append(m.given, given)
		name := "f" + strconv.Itoa(i+1)
		if names != nil {
			name = names[i]
		}
		m.fields[i] = e
		m.typ.Fields = append(m.typ.Fields, types.Field{Name: name, Type: e.Type()})
	}
	return m, nil
}

// makeStruct is ROW(…).
type makeStruct struct {
	fields []Expr
	// given are the fields before untyped literals became text; nil once the
	// operands were exchanged.
	given []Expr
	typ   types.Type
}

func (m *makeStruct) Type() types.Type { return m.typ }
func (m *makeStruct) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(m, ctx, in, sel)
}
func (m *makeStruct) Children() []Expr           { return m.fields }
func (m *makeStruct) WithChildren(k []Expr) Expr { return &makeStruct{fields: k, typ: m.typ} }
func (m *makeStruct) shape() string              { return "row" }
func (m *makeStruct) String() string             { return "ROW(" + joinExprs(m.fields) + ")" }

func (m *makeStruct) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	args, n, one := evalAll(m.fields, ctx, in, sel)
	out := arrowbatch.NewVec(arrowbatch.Shape{Layout: arrowbatch.Struct}, n)
	for _, a := range args {
		if one {
			out.Kids = append(out.Kids, a.v)
		} else {
			out.Kids = append(out.Kids, spreadArg(a, n))
		}
	}
	return arg{out, one}
}

// RowFields returns the operands of a ROW(…) as they were given, for row
// comparisons: an untyped literal takes the type of its partner.
func RowFields(e Expr) ([]Expr, bool) {
	m, ok := e.(*makeStruct)
	if !ok {
		return nil, false
	}
	if m.given != nil {
		return m.given, true
	}
	return m.fields, true
}

// Field is (x).name: 42703 when x has no such field, 42809 when x is no struct.
func Field(x Expr, name string) (Expr, error) {
	t := x.Type()
	if t.ID != types.Struct {
		return nil, sqlerr.New(sqlerr.WrongObjectType,
			"column notation .%s applied to type %s, which is not a composite type", name, t.Base())
	}
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		if f.Name == name {
			return &field{x: x, index: i, typ: f.Type}, nil
		}
		names[i] = f.Name
	}
	err := sqlerr.New(sqlerr.UndefinedColumn, "could not identify column %q in record data type", name)
	err.Hint = sqlerr.Suggest(name, names)
	return nil, err
}

// field is (x).name.
type field struct {
	x     Expr
	index int
	typ   types.Type
}

func (f *field) Type() types.Type { return f.typ }
func (f *field) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(f, ctx, in, sel)
}
func (f *field) Children() []Expr           { return []Expr{f.x} }
func (f *field) WithChildren(k []Expr) Expr { return &field{k[0], f.index, f.typ} }
func (f *field) shape() string              { return "field " + strconv.Itoa(f.index) }
func (f *field) String() string {
	return "(" + f.x.String() + ")." + quoteIdent(f.x.Type().Fields[f.index].Name)
}

func (f *field) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	a := evalArg(f.x, ctx, in, sel)
	defer a.v.Release()
	kid := a.v.Kids[f.index]
	if a.v.Valid == nil {
		return arg{kid.Retain(), a.one}
	}
	out := copyVec(kid) // a field of NULL is NULL
	for i := range out.N {
		if a.v.IsNull(i) {
			out.SetNull(i)
		}
	}
	return arg{out, a.one}
}

// Subscript is x[index]: of an array an element, from 1; of jsonb a member.
func Subscript(x, index Expr) (Expr, error) {
	switch t := x.Type(); t.ID {
	case types.Array:
		i, err := subscriptIndex(index)
		if err != nil {
			return nil, err
		}
		return &subscript{x: x, index: i, typ: *t.Elem}, nil
	case types.JSONB:
		if it := index.Type(); it.IsInteger() {
			i, err := Cast(index, types.TInt4, Assignment)
			if err != nil {
				return nil, err
			}
			return Binary("->", x, i)
		}
		i, err := Cast(index, types.TText, Implicit)
		if err != nil {
			return nil, err
		}
		return Binary("->", x, i)
	default:
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting",
			t.Base())
	}
}

func subscriptIndex(i Expr) (Expr, error) {
	if !CanCast(i.Type(), types.TInt4, Assignment) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "array subscript must have type integer")
	}
	return Cast(i, types.TInt4, Assignment)
}

// subscript is an element of an array, NULL outside its bounds.
type subscript struct {
	x, index Expr
	typ      types.Type
}

func (s *subscript) Type() types.Type { return s.typ }
func (s *subscript) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(s, ctx, in, sel)
}
func (s *subscript) Children() []Expr           { return []Expr{s.x, s.index} }
func (s *subscript) WithChildren(k []Expr) Expr { return &subscript{k[0], k[1], s.typ} }
func (s *subscript) shape() string              { return "subscript" }
func (s *subscript) String() string {
	var b strings.Builder
	writeOperand(&b, s.x)
	return b.String() + "[" + s.index.String() + "]"
}

func (s *subscript) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	args, n, one := evalAll([]Expr{s.x, s.index}, ctx, in, sel)
	defer releaseArgs(args)
	x, ix := args[0], args[1]
	if one {
		sel = nil
	}
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = -1
	}
	pick := func(i int) {
		if x.isNull(i) || ix.isNull(i) {
			return
		}
		lo, hi := x.v.ListAt(x.at(i))
		if k := int64(ix.v.I32[ix.at(i)]); k >= 1 && k <= int64(hi-lo) {
			idx[i] = int32(lo) + int32(k) - 1
		}
	}
	if sel == nil {
		for i := range n {
			pick(i)
		}
	} else {
		for _, i := range sel {
			pick(int(i))
		}
	}
	return arg{x.v.Kids[0].Take(idx), one}
}

// Slice is x[lower:upper]; either bound may be nil.
func Slice(x, lower, upper Expr) (Expr, error) {
	t := x.Type()
	if t.ID != types.Array {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch,
			"cannot subscript type %s because it does not support subscripting", t.Base())
	}
	bound := func(e Expr, open int64) (Expr, error) {
		if e == nil {
			return ConstInt(open), nil
		}
		return subscriptIndex(e)
	}
	lo, err := bound(lower, 1)
	if err != nil {
		return nil, err
	}
	hi, err := bound(upper, 1<<31-1)
	if err != nil {
		return nil, err
	}
	return newCall(sliceFunction, t, x, lo, hi), nil
}

var sliceFunction = &Function{Name: "array_slice", Strict: true, row: func(f *frame, i int) error {
	elems, lo, hi := f.list(0, i)
	from, to := int64(f.i32(1, i)), int64(f.i32(2, i))
	for k := max(from, 1); k <= min(to, int64(hi-lo)); k++ {
		f.out.Kids[0].AppendFrom(elems, lo+int(k)-1)
	}
	return nil
}}

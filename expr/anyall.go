package expr

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// AnyAll is x op ANY (array) or, if all is set, x op ALL (array). op must give a
// boolean.
func AnyAll(op string, x, array Expr, all bool) (Expr, error) {
	at := array.Type()
	if at.ID == types.Unknown { // '{1,2}' is an array of x's type
		t := x.Type()
		if t.ID == types.Unknown {
			t = types.TText
		}
		a, err := Cast(array, types.ArrayOf(t.Base()), Implicit)
		if err != nil {
			return nil, err
		}
		array, at = a, a.Type()
	}
	if at.ID != types.Array {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "op ANY/ALL (array) requires array on right side")
	}
	elem := &caseTest{typ: *at.Elem}
	test, err := Binary(op, x, elem)
	if err != nil {
		return nil, err
	}
	if test.Type().ID != types.Bool {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean")
	}
	// The operator may want another element type: the array is cast as a whole.
	c := test.(*call)
	want := c.args[1].Type()
	if array, err = Cast(array, types.ArrayOf(want), Implicit); err != nil {
		return nil, err
	}
	return newAnyAll(c.args[0], array, c.fn, all), nil
}

func newAnyAll(x, array Expr, fn *Function, all bool) *anyAll {
	a := &anyAll{x: x, array: array, fn: fn, all: all}
	if v, ok := AsConst(array); ok {
		a.set = a.constSet(v)
	}
	return a
}

// In is x [NOT] IN (list).
func In(x Expr, list []Expr, negated bool) (Expr, error) {
	if e, ok, err := inArray(x, list, negated); ok || err != nil {
		return e, err
	}
	var terms []Expr
	op := "="
	if negated {
		op = "<>"
	}
	for _, e := range list {
		t, err := rowOrBinary(op, x, e)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	return newLogic(!negated, terms)
}

// inArray makes x = ANY (array) where the list's elements are constants of a
// common type.
func inArray(x Expr, list []Expr, negated bool) (Expr, bool, error) {
	if len(list) < 2 {
		return nil, false, nil
	}
	for _, e := range list {
		if _, ok := e.(*constant); !ok || e.Type().ID == types.Struct {
			return nil, false, nil
		}
	}
	if _, ok := x.(*makeStruct); ok {
		return nil, false, nil
	}
	t, err := types.Common("IN", append([]types.Type{x.Type()}, argTypes(list)...)...)
	if err != nil || t.ID == types.Array {
		return nil, false, nil
	}
	arr, err := ArrayCtor(&t, list...)
	if err != nil {
		return nil, false, err
	}
	for _, e := range arr.Children() {
		if _, ok := e.(*constant); !ok {
			return nil, false, nil
		}
	}
	op := "="
	if negated {
		op = "<>"
	}
	e, err := AnyAll(op, x, Fold(nil, arr), negated)
	return e, err == nil, err
}

// anyAll is x op ANY|ALL (array).
type anyAll struct {
	x, array Expr
	fn       *Function
	all      bool
	set      *constSet // of a constant list where a look-up will do
}

func (a *anyAll) Type() types.Type { return types.TBool }
func (a *anyAll) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(a, ctx, in, sel)
}
func (a *anyAll) Children() []Expr           { return []Expr{a.x, a.array} }
func (a *anyAll) WithChildren(k []Expr) Expr { return newAnyAll(k[0], k[1], a.fn, a.all) }
func (a *anyAll) shape() string {
	if a.all {
		return "all " + a.fn.Name
	}
	return "any " + a.fn.Name
}
func (a *anyAll) String() string {
	var b strings.Builder
	writeOperand(&b, a.x)
	if a.all {
		return b.String() + " " + a.fn.Name + " ALL (" + a.array.String() + ")"
	}
	return b.String() + " " + a.fn.Name + " ANY (" + a.array.String() + ")"
}

func (a *anyAll) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	if a.set != nil {
		if x := evalArg(a.x, ctx, in, sel); !x.one {
			defer x.v.Release()
			return arg{v: a.set.lookUp(x, in.Len, a.all)}
		} else {
			x.v.Release()
		}
	}
	args, n, one := evalAll(a.Children(), ctx, in, sel)
	defer releaseArgs(args)
	if one {
		if in.Len == 0 || sel != nil && len(sel) == 0 {
			return nullArg(types.TBool)
		}
		var out *arrowbatch.Vec
		if err := ctx.alone(func() { out = a.run(ctx, args, 1, nil) }); err != nil {
			ctx.failAll(in.Len, sel, err)
		}
		return arg{out, true}
	}
	if args[1].one && len(ctx.failed) == 0 {
		if set := a.constSet(args[1].v); set != nil {
			return arg{v: set.lookUp(args[0], n, a.all)}
		}
	}
	return arg{v: a.run(ctx, args, n, sel)}
}

// run pairs each x with each element, applies the operator to all pairs at once
// and joins the results.
func (a *anyAll) run(ctx *Ctx, args []arg, n int, sel []int32) *arrowbatch.Vec {
	x, arr := args[0], args[1]
	var left, right []int32
	rows := allRows(ctx.getSel(), n, sel)
	defer ctx.putSel(rows)
	live := rows[:0]
	for _, r := range rows {
		if _, bad := ctx.failed[r]; bad || arr.isNull(int(r)) {
			continue
		}
		live = append(live, r)
		lo, hi := arr.v.ListAt(arr.at(int(r)))
		for ; lo < hi; lo++ {
			left = append(left, int32(x.at(int(r))))
			right = append(right, int32(lo))
		}
	}
	f := ctx.getFrame()
	defer ctx.putFrame(f)
	lv, rv := x.v.Take(left), arr.v.Kids[0].Take(right)
	f.args = append(f.args, arg{v: lv}, arg{v: rv})
	defer releaseArgs(f.args)
	pair := newCall(a.fn, types.TBool, NewColumn(0, "", a.x.Type()), NewColumn(1, "", *a.array.Type().Elem))
	sub := &Ctx{Now: ctx.Now, Env: ctx.Env, Session: ctx.Session}
	f.ctx, f.call, f.n = sub, pair, len(left)
	res := spreadArg(pair.evalRows(f), len(left))
	defer res.Release()
	out := arrowbatch.NewFlat(arrowbatch.Bool, 0)
	for range n {
		out.AppendNull()
	}
	k := 0
	for _, r := range live {
		lo, hi := arr.v.ListAt(arr.at(int(r)))
		a.join(ctx, sub, out, res, int(r), k, k+hi-lo)
		k += hi - lo
	}
	return out
}

// join makes row r of the result of the pairs lo to hi-1.
func (a *anyAll) join(ctx, sub *Ctx, out, res *arrowbatch.Vec, r, lo, hi int) {
	sawNull := false
	for k := lo; k < hi; k++ {
		if err, bad := sub.failed[int32(k)]; bad {
			ctx.Fail(int32(r), err)
			return
		}
		if res.IsNull(k) {
			sawNull = true
		} else if res.Bits.Get(k) != a.all {
			out.Bits.Put(r, !a.all)
			out.Valid.Set(r)
			return
		}
	}
	if !sawNull {
		out.Bits.Put(r, a.all)
		out.Valid.Set(r)
	}
}

// constSet is a constant list as a hash set, for = ANY and <> ALL.
type constSet struct {
	few     []int64 // the values, where there are few
	ints    map[int64]struct{}
	strs    map[string]struct{}
	hasNull bool
	get     func(v *arrowbatch.Vec, i int) int64
}

// constSet returns the set of an array, or nil where a set is no equality of the
// operator.
func (a *anyAll) constSet(v *arrowbatch.Vec) *constSet {
	if v.IsNull(0) || a.fn.Name != "=" && a.fn.Name != "<>" || (a.fn.Name == "=") == a.all {
		return nil
	}
	t := *a.array.Type().Elem
	s := &constSet{}
	switch t.Layout() {
	case arrowbatch.Int16:
		s.get = func(v *arrowbatch.Vec, i int) int64 { return int64(v.I16[i]) }
	case arrowbatch.Int32:
		s.get = func(v *arrowbatch.Vec, i int) int64 { return int64(v.I32[i]) }
	case arrowbatch.Int64:
		s.get = func(v *arrowbatch.Vec, i int) int64 { return v.I64[i] }
	case arrowbatch.Bytes:
		if t.ID == types.Bpchar || t.ID == types.JSONB || t.ID == types.JSON {
			return nil
		}
		s.strs = map[string]struct{}{}
	default:
		return nil
	}
	if s.strs == nil {
		s.ints = map[int64]struct{}{}
	}
	lo, hi := v.ListAt(0)
	kid := v.Kids[0]
	for ; lo < hi; lo++ {
		switch {
		case kid.IsNull(lo):
			s.hasNull = true
		case s.strs != nil:
			s.strs[string(kid.BytesAt(lo))] = struct{}{}
		default:
			s.ints[s.get(kid, lo)] = struct{}{}
		}
	}
	if len(s.ints) <= maxFew {
		for x := range s.ints {
			s.few = append(s.few, x)
		}
	}
	return s
}

// maxFew is how many integers are compared one by one rather than looked up.
const maxFew = 8

// anyOf sets the bits of the rows that equal one of the values.
func anyOf[T integer](out arrowbatch.Bitmap, x []T, vals []int64) {
	var c [maxFew]T
	for i, v := range vals {
		c[i] = T(v)
	}
	set := c[:len(vals)]
	for w := 0; len(x) > 0; w++ {
		n := min(64, len(x))
		var m uint64
		for i, v := range x[:n] {
			var hit uint64
			for _, s := range set {
				hit |= bit(v == s)
			}
			m |= hit << (uint(i) & 63)
		}
		out[w] = m
		x = x[n:]
	}
}

// lookUp is x = ANY (set), or x <> ALL (set) if all.
func (s *constSet) lookUp(x arg, n int, all bool) *arrowbatch.Vec {
	out := arrowbatch.NewFlat(arrowbatch.Bool, n)
	if x.v.Valid != nil {
		out.Valid = append(arrowbatch.Bitmap(nil), x.v.Valid...)
	}
	if len(s.few) > 0 && !s.hasNull {
		switch x.v.Layout {
		case arrowbatch.Int16:
			anyOf(out.Bits, x.v.I16[:n], s.few)
		case arrowbatch.Int32:
			anyOf(out.Bits, x.v.I32[:n], s.few)
		default:
			anyOf(out.Bits, x.v.I64[:n], s.few)
		}
		if all {
			flipBits(out.Bits, n)
		}
		return out
	}
	empty := len(s.ints)+len(s.strs) == 0 && !s.hasNull
	for i := range n {
		if empty {
			out.Bits.Put(i, all)
			if out.Valid != nil {
				out.Valid.Set(i)
			}
			continue
		}
		if x.v.Valid != nil && x.v.IsNull(i) {
			continue
		}
		var found bool
		if s.strs != nil {
			_, found = s.strs[string(x.v.BytesAt(i))]
		} else {
			_, found = s.ints[s.get(x.v, i)]
		}
		if !found && s.hasNull {
			out.SetNull(i)
			continue
		}
		out.Bits.Put(i, found != all)
	}
	return out
}

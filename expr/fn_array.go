package expr

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// addArrays adds the functions and operators on arrays.
func addArrays(t *table) {
	arrayBounds(t)
	arraySearch(t)
	arrayBuild(t)
	arrayText(t)
	arrayContainment(t)
}

// dims returns the number of dimensions of a list and the length of one of them,
// from 1; 0 where there is none. Nested lists are the further dimensions.
func dims(v *arrowbatch.Vec, lo, hi, dim int) int {
	if hi == lo {
		return 0
	}
	if dim == 1 {
		return hi - lo
	}
	if v.Layout != arrowbatch.List || v.IsNull(lo) {
		return 0
	}
	l, h := v.ListAt(lo)
	return dims(v.Kids[0], l, h, dim-1)
}

func arrayBounds(t *table) {
	length := func(f *frame, i int) error {
		elems, lo, hi := f.list(0, i)
		dim := f.i32(1, i)
		n := 0
		if dim >= 1 {
			n = dims(elems, lo, hi, int(dim))
		}
		if n == 0 {
			f.null(i)
		}
		return f.setI32(i, int32(n))
	}
	t.fn("array_length", "anyarray,int4:int4", "length of a dimension", length)
	t.fn("array_upper", "anyarray,int4:int4", "upper bound of a dimension", length)
	t.fn("array_lower", "anyarray,int4:int4", "lower bound of a dimension", func(f *frame, i int) error {
		if err := length(f, i); err != nil {
			return err
		}
		return f.setI32(i, 1)
	})
	t.fn("array_ndims", "anyarray:int4", "number of dimensions", func(f *frame, i int) error {
		elems, lo, hi := f.list(0, i)
		n := 0
		for dims(elems, lo, hi, n+1) > 0 {
			n++
		}
		if n == 0 {
			f.null(i)
		}
		return f.setI32(i, int32(n))
	})
	t.fn("array_dims", "anyarray:text", "bounds of all dimensions", func(f *frame, i int) error {
		elems, lo, hi := f.list(0, i)
		if lo == hi {
			f.null(i)
		}
		for d := 1; ; d++ {
			n := dims(elems, lo, hi, d)
			if n == 0 {
				return nil
			}
			f.out.Data = append(f.out.Data, "[1:"...)
			f.out.Data = types.AppendText(f.out.Data, types.TInt8, int8Vec(f, int64(n)), 0, nil)
			f.out.Data = append(f.out.Data, ']')
		}
	})
	t.fn("cardinality", "anyarray:int4", "number of elements", func(f *frame, i int) error {
		elems, lo, hi := f.list(0, i)
		return f.setI32(i, int32(leaves(elems, lo, hi)))
	})
}

// int8Vec returns a vector of one number that lives as long as the frame.
func int8Vec(f *frame, x int64) *arrowbatch.Vec {
	if f.tmp == nil {
		f.tmp = arrowbatch.NewFlat(arrowbatch.Int64, 1)
	}
	f.tmp.I64[0] = x
	return f.tmp
}

func leaves(v *arrowbatch.Vec, lo, hi int) int {
	if v.Layout != arrowbatch.List {
		return hi - lo
	}
	n := 0
	for ; lo < hi; lo++ {
		if !v.IsNull(lo) {
			l, h := v.ListAt(lo)
			n += leaves(v.Kids[0], l, h)
		}
	}
	return n
}

// order returns the comparer of the elements of argument k.
func (f *frame) order(k int) comparer {
	if f.cmp == nil {
		t := f.typ(k)
		if t.ID == types.Array {
			t = *t.Elem
		}
		f.cmp = comparator(t)
	}
	return f.cmp
}

// sameElem tells whether element j is the value row i of argument k, where NULL
// is the same as NULL.
func (f *frame) sameElem(elems *arrowbatch.Vec, j, k, i int) bool {
	a := f.args[k]
	if a.isNull(i) || elems.IsNull(j) {
		return a.isNull(i) && elems.IsNull(j)
	}
	return f.order(k)(elems, j, a.v, a.at(i)) == 0
}

func arraySearch(t *table) {
	find := func(f *frame, i int, from int64) error {
		if f.isNull(0, i) {
			f.null(i)
			return nil
		}
		elems, lo, hi := f.list(0, i)
		if elems.Layout == arrowbatch.List {
			return sqlerr.Unsupported("searching for elements in multidimensional arrays is not supported")
		}
		for j := lo + int(max(from-1, 0)); j < hi; j++ {
			if f.sameElem(elems, j, 1, i) {
				return f.setI32(i, int32(j-lo+1))
			}
		}
		f.null(i)
		return nil
	}
	t.fn("array_position", "anycompatiblearray,anycompatible:int4", "place of the first equal element",
		func(f *frame, i int) error { return find(f, i, 1) }, calledOnNull)
	t.fn("array_position", "anycompatiblearray,anycompatible,int4:int4", "place of the first equal element from one on",
		func(f *frame, i int) error {
			if f.isNull(2, i) {
				return sqlerr.New(sqlerr.NullValueNotAllowed, "initial position must not be null")
			}
			return find(f, i, int64(f.i32(2, i)))
		}, calledOnNull)
	t.fn("array_positions", "anycompatiblearray,anycompatible:int4[]", "places of all equal elements",
		func(f *frame, i int) error {
			if f.isNull(0, i) {
				f.null(i)
				return nil
			}
			elems, lo, hi := f.list(0, i)
			for j := lo; j < hi; j++ {
				if f.sameElem(elems, j, 1, i) {
					f.out.Kids[0].AppendInt32(int32(j - lo + 1))
				}
			}
			return nil
		}, calledOnNull)
}

// appendElems appends the elements of list argument k; a NULL list has none.
func (f *frame) appendElems(k, i int) {
	if f.isNull(k, i) {
		return
	}
	elems, lo, hi := f.list(k, i)
	for ; lo < hi; lo++ {
		f.out.Kids[0].AppendFrom(elems, lo)
	}
}

// appendElem appends the value of argument k as an element.
func (f *frame) appendElem(k, i int) {
	a := f.args[k]
	f.out.Kids[0].AppendFrom(a.v, a.at(i))
}

func arrayBuild(t *table) {
	add := func(f *frame, i int) error { f.appendElems(0, i); f.appendElem(1, i); return nil }
	prepend := func(f *frame, i int) error { f.appendElem(0, i); f.appendElems(1, i); return nil }
	cat := func(f *frame, i int) error {
		if f.isNull(0, i) && f.isNull(1, i) {
			f.null(i)
			return nil
		}
		f.appendElems(0, i)
		f.appendElems(1, i)
		return nil
	}
	t.fn("array_append", "anycompatiblearray,anycompatible:anycompatiblearray", "array with an element at its end",
		add, calledOnNull)
	t.fn("array_prepend", "anycompatible,anycompatiblearray:anycompatiblearray", "array with an element at its start",
		prepend, calledOnNull)
	t.fn("array_cat", "anycompatiblearray,anycompatiblearray:anycompatiblearray", "two arrays joined", cat, calledOnNull)
	t.op("||", "anycompatiblearray,anycompatible:anycompatiblearray", add, calledOnNull)
	t.op("||", "anycompatible,anycompatiblearray:anycompatiblearray", prepend, calledOnNull)
	t.op("||", "anycompatiblearray,anycompatiblearray:anycompatiblearray", cat, calledOnNull)
	each := func(replace bool) rowFunc {
		return func(f *frame, i int) error {
			if f.isNull(0, i) {
				f.null(i)
				return nil
			}
			elems, lo, hi := f.list(0, i)
			for ; lo < hi; lo++ {
				switch {
				case !f.sameElem(elems, lo, 1, i):
					f.out.Kids[0].AppendFrom(elems, lo)
				case replace:
					f.appendElem(2, i)
				}
			}
			return nil
		}
	}
	t.fn("array_remove", "anycompatiblearray,anycompatible:anycompatiblearray", "array without the equal elements",
		each(false), calledOnNull)
	t.fn("array_replace", "anycompatiblearray,anycompatible,anycompatible:anycompatiblearray",
		"array with the equal elements exchanged", each(true), calledOnNull)
	t.fn("trim_array", "anyarray,int4:anyarray", "array without its last elements", func(f *frame, i int) error {
		elems, lo, hi := f.list(0, i)
		n := int(f.i32(1, i))
		if n < 0 || n > hi-lo {
			return sqlerr.New(sqlerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d", hi-lo)
		}
		for ; lo < hi-n; lo++ {
			f.out.Kids[0].AppendFrom(elems, lo)
		}
		return nil
	})
	t.fn("array_fill", "anyelement,int4[]:anyarray", "array of one value", func(f *frame, i int) error {
		if f.isNull(1, i) {
			return sqlerr.New(sqlerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
		}
		elems, lo, hi := f.list(1, i)
		switch {
		case hi-lo > 1:
			return sqlerr.Unsupported("array_fill makes one dimension only")
		case hi == lo:
			return nil
		case elems.IsNull(lo):
			return sqlerr.New(sqlerr.NullValueNotAllowed, "dimension values cannot be null")
		case elems.I32[lo] < 0 || elems.I32[lo] > math.MaxInt32/16:
			return sqlerr.New(sqlerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", math.MaxInt32/16)
		}
		for range elems.I32[lo] {
			f.appendElem(0, i)
		}
		return nil
	}, calledOnNull)
}

func arrayText(t *table) {
	const desc = "elements joined by a separator"
	join := func(f *frame, i int, null string, shown bool) error {
		elems, lo, hi := f.list(0, i)
		joinElems(f, *f.typ(0).Elem, elems, lo, hi, f.bytes(1, i), null, shown, len(f.out.Data))
		return nil
	}
	t.fn("array_to_string", "anyarray,text:text", desc, func(f *frame, i int) error {
		return join(f, i, "", false)
	}, stable)
	t.fn("array_to_string", "anyarray,text,text:text", desc, func(f *frame, i int) error {
		if f.isNull(0, i) || f.isNull(1, i) {
			f.null(i)
			return nil
		}
		if f.isNull(2, i) {
			return join(f, i, "", false)
		}
		return join(f, i, f.str(2, i), true)
	}, stable, calledOnNull)
	split := func(f *frame, i int, null string, hasNull bool) error {
		if f.isNull(0, i) {
			f.null(i)
			return nil
		}
		elems := f.out.Kids[0]
		add := func(s string) {
			if hasNull && s == null {
				elems.AppendNull()
			} else {
				elems.AppendString(s)
			}
		}
		s := f.str(0, i)
		switch {
		case s == "":
		case f.isNull(1, i):
			for len(s) > 0 {
				_, w := utf8.DecodeRuneInString(s)
				add(s[:w])
				s = s[w:]
			}
		case f.str(1, i) == "":
			add(s)
		default:
			sep := f.str(1, i)
			for {
				head, tail, more := strings.Cut(s, sep)
				add(head)
				if !more {
					break
				}
				s = tail
			}
		}
		return nil
	}
	t.fn("string_to_array", "text,text:text[]", "fields of a text with separators", func(f *frame, i int) error {
		return split(f, i, "", false)
	}, calledOnNull)
	t.fn("string_to_array", "text,text,text:text[]", "fields of a text with separators", func(f *frame, i int) error {
		if f.isNull(2, i) {
			return split(f, i, "", false)
		}
		return split(f, i, f.str(2, i), true)
	}, calledOnNull)
}

// joinElems appends elements, nested ones too, with a separator before each but
// the first, which stands at start.
func joinElems(f *frame, t types.Type, v *arrowbatch.Vec, lo, hi int, sep []byte,
	null string, shown bool, start int) bool {
	any := len(f.out.Data) > start
	for ; lo < hi; lo++ {
		switch {
		case v.IsNull(lo) && !shown:
			continue
		case t.ID == types.Array:
			l, h := v.ListAt(lo)
			any = joinElems(f, *t.Elem, v.Kids[0], l, h, sep, null, shown, start) || any
			continue
		}
		if any {
			f.out.Data = append(f.out.Data, sep...)
		}
		any = true
		if v.IsNull(lo) {
			f.out.Data = append(f.out.Data, null...)
		} else {
			f.out.Data = f.ctx.appendText(f.out.Data, t, v, lo)
		}
	}
	return any
}

func arrayContainment(t *table) {
	// has tells whether an element of a list equals element j of other; NULL
	// equals nothing.
	has := func(c comparer, elems *arrowbatch.Vec, lo, hi int, other *arrowbatch.Vec, j int) bool {
		if other.IsNull(j) {
			return false
		}
		for ; lo < hi; lo++ {
			if !elems.IsNull(lo) && c(elems, lo, other, j) == 0 {
				return true
			}
		}
		return false
	}
	contains := func(a, b int) rowFunc {
		return func(f *frame, i int) error {
			ea, alo, ahi := f.list(a, i)
			eb, blo, bhi := f.list(b, i)
			c := f.order(a)
			for ; blo < bhi; blo++ {
				if !has(c, ea, alo, ahi, eb, blo) {
					return f.setBool(i, false)
				}
			}
			return f.setBool(i, true)
		}
	}
	t.op("@>", "anyarray,anyarray:bool", contains(0, 1))
	t.op("<@", "anyarray,anyarray:bool", contains(1, 0))
	t.op("&&", "anyarray,anyarray:bool", func(f *frame, i int) error {
		ea, alo, ahi := f.list(0, i)
		eb, blo, bhi := f.list(1, i)
		c := f.order(0)
		for ; blo < bhi; blo++ {
			if has(c, ea, alo, ahi, eb, blo) {
				return f.setBool(i, true)
			}
		}
		return f.setBool(i, false)
	})
}

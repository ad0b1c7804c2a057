package expr

import (
	"time"
	"unsafe"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/scalar"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// frame is one evaluation of one function over a batch: what kernels and row
// functions see.
type frame struct {
	ctx  *Ctx
	call *call
	cast *cast
	args []arg
	out  *arrowbatch.Vec
	n    int
	sel  []int32
	cmp  comparer
	// re, lk and reKey are the pattern last used.
	re    *scalar.Regex
	lk    *scalar.LikePattern
	reKey patternKey
	// unit and loc are the unit and time zone last named.
	unit     types.Unit
	unitName string
	loc      *time.Location
	locName  string
	// dfmt and nfmt are the formats of dates and numbers last used.
	dfmt    *scalar.DateFormat
	nfmt    *scalar.NumberFormat
	fmtText string
	// tmp and buf are scratch for row functions.
	tmp *arrowbatch.Vec
	buf []byte
}

// rowFunc computes row i. Fixed-width results are written to f.out at i, bytes
// are appended to f.out.Data, list elements to f.out.Kids[0]; f.null(i) makes the
// result NULL.
type rowFunc func(f *frame, i int) error

func (f *frame) null(i int)            { f.out.SetNull(i) }
func (f *frame) isNull(k, i int) bool  { return f.args[k].isNull(i) }
func (f *frame) typ(k int) types.Type  { return f.call.args[k].Type() }
func (f *frame) boolean(k, i int) bool { a := &f.args[k]; return a.v.Bits.Get(a.at(i)) }
func (f *frame) i16(k, i int) int16    { a := &f.args[k]; return a.v.I16[a.at(i)] }
func (f *frame) i32(k, i int) int32    { a := &f.args[k]; return a.v.I32[a.at(i)] }
func (f *frame) i64(k, i int) int64    { a := &f.args[k]; return a.v.I64[a.at(i)] }
func (f *frame) f32(k, i int) float32  { a := &f.args[k]; return a.v.F32[a.at(i)] }
func (f *frame) f64(k, i int) float64  { a := &f.args[k]; return a.v.F64[a.at(i)] }
func (f *frame) dec(k, i int) decimal.Decimal {
	a := &f.args[k]
	return a.v.Dec[a.at(i)]
}
func (f *frame) ivl(k, i int) arrowbatch.IntervalValue {
	a := &f.args[k]
	return a.v.Ivl[a.at(i)]
}

// bytes returns a value that aliases the argument.
func (f *frame) bytes(k, i int) []byte { a := &f.args[k]; return a.v.BytesAt(a.at(i)) }

// str returns a value that aliases the argument: it must not be kept.
func (f *frame) str(k, i int) string {
	b := f.bytes(k, i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// list returns the elements and the bounds of a list.
func (f *frame) list(k, i int) (elems *arrowbatch.Vec, lo, hi int) {
	a := f.args[k]
	lo, hi = a.v.ListAt(a.at(i))
	return a.v.Kids[0], lo, hi
}

func (f *frame) setBool(i int, x bool) error     { f.out.Bits.Put(i, x); return nil }
func (f *frame) setI32(i int, x int32) error     { f.out.I32[i] = x; return nil }
func (f *frame) setI64(i int, x int64) error     { f.out.I64[i] = x; return nil }
func (f *frame) setF64(i int, x float64) error   { f.out.F64[i] = x; return nil }
func (f *frame) setDec(i int, x decimal.Decimal) { f.out.Dec[i] = x }
func (f *frame) setStr(s string) error           { f.out.Data = append(f.out.Data, s...); return nil }
func (f *frame) setBytes(b []byte) error         { f.out.Data = append(f.out.Data, b...); return nil }

func (f *frame) setDecErr(i int, x decimal.Decimal, err error) error {
	f.out.Dec[i] = x
	return err
}

// fail notes that row i has no value. The error is copied: many are variables of
// the package, and whoever reports one may add to it.
func (f *frame) fail(i int, err error) {
	e := *sqlerr.From(err)
	f.ctx.Fail(int32(i), &e)
	f.null(i)
}

// strictValid makes the result NULL where an argument is. It tells whether every
// row is NULL because a constant is.
func (f *frame) strictValid() (allNull bool) {
	for _, a := range f.args {
		if a.v.Valid == nil {
			continue
		}
		if a.one {
			if a.v.IsNull(0) {
				return true
			}
			continue
		}
		f.andValid(a.v.Valid)
	}
	return false
}

func (f *frame) andValid(v arrowbatch.Bitmap) {
	w := arrowbatch.BitmapWords(f.n)
	if f.out.Valid == nil {
		f.out.Valid = append(arrowbatch.Bitmap(nil), v[:w]...)
		return
	}
	o := f.out.Valid[:w]
	for i, x := range v[:w] {
		o[i] &= x
	}
}

// each calls fn for every selected row whose result is not NULL yet.
func (f *frame) each(fn rowFunc) {
	switch f.out.Layout {
	case arrowbatch.Bytes, arrowbatch.List:
		f.eachVar(fn)
		return
	}
	valid := f.out.Valid
	if f.sel == nil && valid == nil {
		for i := range f.n {
			if err := fn(f, i); err != nil {
				f.fail(i, err)
			}
		}
		return
	}
	if f.sel == nil {
		for i := range f.n {
			if valid != nil && !valid.Get(i) {
				continue
			}
			if err := fn(f, i); err != nil {
				f.fail(i, err)
			}
		}
		return
	}
	for _, i := range f.sel {
		if valid != nil && !valid.Get(int(i)) {
			continue
		}
		if err := fn(f, int(i)); err != nil {
			f.fail(int(i), err)
		}
	}
}

// eachVar is each for results of varying length, which are written in order.
func (f *frame) eachVar(fn rowFunc) {
	out := f.out
	if f.sel == nil {
		for i := range f.n {
			f.varRow(fn, i)
		}
		return
	}
	done := 0
	for _, s := range f.sel {
		i := int(s)
		end := f.end()
		for ; done < i; done++ {
			out.Off[done+1] = end
		}
		f.varRow(fn, i)
		done = i + 1
	}
	end := f.end()
	for ; done < f.n; done++ {
		out.Off[done+1] = end
	}
}

func (f *frame) end() int32 {
	if f.out.Layout == arrowbatch.Bytes {
		return int32(len(f.out.Data))
	}
	return int32(f.out.Kids[0].N)
}

func (f *frame) varRow(fn rowFunc, i int) {
	out := f.out
	if out.Valid == nil || out.Valid.Get(i) {
		if err := fn(f, i); err != nil {
			f.fail(i, err)
			if start := out.Off[i]; out.Layout == arrowbatch.Bytes {
				out.Data = out.Data[:start]
			} else {
				out.Kids[0].Resize(int(start))
			}
		}
	}
	out.Off[i+1] = f.end()
	if out.Layout == arrowbatch.Bytes && len(out.Data) > maxColumnBytes {
		f.fail(i, errColumnTooLong)
		out.Data = out.Data[:out.Off[i]]
		out.Off[i+1] = out.Off[i]
	}
}

// maxColumnBytes keeps offsets within 32 bits with room for a row of the longest
// length a function may make.
const (
	maxColumnBytes = 1 << 30
	maxValueBytes  = 1 << 28
)

var errColumnTooLong = sqlerr.New(sqlerr.ProgramLimitExceeded,
	"result of a batch exceeds the limit of %d bytes", maxColumnBytes)

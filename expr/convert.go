package expr

import (
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// findConverter returns how values of one type become values of another. The
// pair has passed CanCast.
func findConverter(from, to types.Type, ctx CastContext) converter {
	if from.ID == to.ID {
		return modConverter(from, to, ctx)
	}
	if c, ok := numberConverter(from.ID, to.ID); ok {
		return c
	}
	if c, ok := timeConverter(from.ID, to.ID); ok {
		return c
	}
	if c, ok := stringConverter(from, to); ok {
		return c
	}
	switch {
	case category(to) == 'S':
		return textOut(from, to)
	case category(from) == 'S', from.ID == types.Unknown:
		return textIn(from, to)
	}
	return otherConverter(from, to)
}

func isOIDLike(id types.ID) bool { return id == types.OID || isReg(id) }

func otherConverter(from, to types.Type) converter {
	switch {
	case from.ID == types.Bool && to.ID == types.Int4:
		return converter{row: func(f *frame, i int) error { return f.setI32(i, int32(bit(f.boolean(0, i)))) }}
	case from.ID == types.Int4 && to.ID == types.Bool:
		return converter{row: func(f *frame, i int) error { return f.setBool(i, f.i32(0, i) != 0) }}
	case from.ID == types.JSONB && to.ID == types.JSON:
		return converter{relabel: true}
	case from.ID == types.JSON:
		return textIn(from, to)
	case from.ID == types.JSONB:
		return jsonbConverter(to)
	}
	return converter{row: func(*frame, int) error {
		return sqlerr.New(sqlerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
	}}
}

// numberOf is how a kernel reads and writes a kind of number.
func rangeError(id types.ID) *sqlerr.Error {
	return sqlerr.New(sqlerr.NumericValueOutOfRange, "%s out of range", types.Type{ID: id})
}

var (
	errInt2Range = rangeError(types.Int2)
	errInt4Range = rangeError(types.Int4)
	errInt8Range = rangeError(types.Int8)
	errOIDRange  = rangeError(types.OID)
	errOverflow  = sqlerr.New(sqlerr.NumericValueOutOfRange, "value out of range: overflow")
	errUnderflow = sqlerr.New(sqlerr.NumericValueOutOfRange, "value out of range: underflow")
)

// widen is a conversion of numbers that cannot fail.
func widen[A, B int16 | int32 | int64 | float32 | float64](in func(*arrowbatch.Vec) []A,
	out func(*arrowbatch.Vec) []B) converter {
	return converter{kernel: func(f *frame) {
		src, dst := in(f.args[0].v), out(f.out)
		src = src[:len(dst)]
		for i, x := range src {
			dst[i] = B(x)
		}
	}}
}

// narrow is a conversion between integers that checks the range.
func narrow[A, B integer](in func(*arrowbatch.Vec) []A, out func(*arrowbatch.Vec) []B, err error) converter {
	return converter{row: func(f *frame, i int) error {
		x := in(f.args[0].v)[f.args[0].at(i)]
		y := B(x)
		if A(y) != x {
			return err
		}
		out(f.out)[i] = y
		return nil
	}}
}

// roundTo is a conversion of floats to integers, half to even, within limits that
// are exact as floats: lo <= x < hi.
func roundTo[A float32 | float64, B integer](in func(*arrowbatch.Vec) []A, out func(*arrowbatch.Vec) []B,
	hi float64, err error) converter {
	return converter{row: func(f *frame, i int) error {
		x := math.RoundToEven(float64(in(f.args[0].v)[f.args[0].at(i)]))
		if !(x >= -hi && x < hi) {
			return err
		}
		out(f.out)[i] = B(x)
		return nil
	}}
}

func vecI16(v *arrowbatch.Vec) []int16   { return v.I16 }
func vecI32(v *arrowbatch.Vec) []int32   { return v.I32 }
func vecI64(v *arrowbatch.Vec) []int64   { return v.I64 }
func vecF32(v *arrowbatch.Vec) []float32 { return v.F32 }
func vecF64(v *arrowbatch.Vec) []float64 { return v.F64 }

var numberConverters = map[castRule]converter{
	{types.Int2, types.Int4}:     widen(vecI16, vecI32),
	{types.Int2, types.Int8}:     widen(vecI16, vecI64),
	{types.Int2, types.Float4}:   widen(vecI16, vecF32),
	{types.Int2, types.Float8}:   widen(vecI16, vecF64),
	{types.Int4, types.Int8}:     widen(vecI32, vecI64),
	{types.Int4, types.Float4}:   widen(vecI32, vecF32),
	{types.Int4, types.Float8}:   widen(vecI32, vecF64),
	{types.Int8, types.Float4}:   widen(vecI64, vecF32),
	{types.Int8, types.Float8}:   widen(vecI64, vecF64),
	{types.Float4, types.Float8}: widen(vecF32, vecF64),

	{types.Int4, types.Int2}: narrow(vecI32, vecI16, errInt2Range),
	{types.Int8, types.Int2}: narrow(vecI64, vecI16, errInt2Range),
	{types.Int8, types.Int4}: narrow(vecI64, vecI32, errInt4Range),

	{types.Float4, types.Int2}: roundTo(vecF32, vecI16, 1<<15, errInt2Range),
	{types.Float4, types.Int4}: roundTo(vecF32, vecI32, 1<<31, errInt4Range),
	{types.Float4, types.Int8}: roundTo(vecF32, vecI64, 1<<63, errInt8Range),
	{types.Float8, types.Int2}: roundTo(vecF64, vecI16, 1<<15, errInt2Range),
	{types.Float8, types.Int4}: roundTo(vecF64, vecI32, 1<<31, errInt4Range),
	{types.Float8, types.Int8}: roundTo(vecF64, vecI64, 1<<63, errInt8Range),

	{types.Float8, types.Float4}: {row: func(f *frame, i int) error {
		x := f.f64(0, i)
		y := float32(x)
		switch {
		case math.IsInf(float64(y), 0) && !math.IsInf(x, 0):
			return errOverflow
		case y == 0 && x != 0:
			return errUnderflow
		}
		f.out.F32[i] = y
		return nil
	}},
	{types.Int2, types.Numeric}: {row: func(f *frame, i int) error {
		f.setDec(i, decimal.FromInt64(int64(f.i16(0, i))))
		return nil
	}},
	{types.Int4, types.Numeric}: {kernel: func(f *frame) {
		for i, x := range f.args[0].v.I32[:f.n] {
			f.out.Dec[i] = decimal.FromInt64(int64(x))
		}
	}},
	{types.Int8, types.Numeric}: {kernel: func(f *frame) {
		for i, x := range f.args[0].v.I64[:f.n] {
			f.out.Dec[i] = decimal.FromInt64(x)
		}
	}},
	{types.Float4, types.Numeric}: {row: func(f *frame, i int) error {
		d, err := decimal.FromFloat32(f.f32(0, i))
		return f.setDecErr(i, d, err)
	}},
	{types.Float8, types.Numeric}: {row: func(f *frame, i int) error {
		d, err := decimal.FromFloat64(f.f64(0, i))
		return f.setDecErr(i, d, err)
	}},
	{types.Numeric, types.Float8}: {row: func(f *frame, i int) error { return f.setF64(i, f.dec(0, i).ToFloat64()) }},
	{types.Numeric, types.Float4}: {row: func(f *frame, i int) error {
		d := f.dec(0, i)
		x := d.ToFloat32()
		if math.IsInf(float64(x), 0) && d.Special() == decimal.Finite || x == 0 && !d.IsZero() {
			return sqlerr.New(sqlerr.NumericValueOutOfRange, "%q is out of range for type real", d)
		}
		f.out.F32[i] = x
		return nil
	}},
	{types.Numeric, types.Int2}: decToInt(types.Int2, math.MinInt16, math.MaxInt16,
		func(v *arrowbatch.Vec, i int, x int64) { v.I16[i] = int16(x) }),
	{types.Numeric, types.Int4}: decToInt(types.Int4, math.MinInt32, math.MaxInt32,
		func(v *arrowbatch.Vec, i int, x int64) { v.I32[i] = int32(x) }),
	{types.Numeric, types.Int8}: decToInt(types.Int8, math.MinInt64, math.MaxInt64,
		func(v *arrowbatch.Vec, i int, x int64) { v.I64[i] = x }),
}

func decToInt(id types.ID, lo, hi int64, put func(*arrowbatch.Vec, int, int64)) converter {
	err := rangeError(id)
	return converter{row: func(f *frame, i int) error {
		x, e := decInt(f.dec(0, i), types.Type{ID: id})
		if e != nil {
			return e
		}
		if x < lo || x > hi {
			return err
		}
		put(f.out, i, x)
		return nil
	}}
}

// decInt rounds a numeric to a whole number.
func decInt(d decimal.Decimal, t types.Type) (int64, error) {
	switch d.Special() {
	case decimal.SpecialNaN:
		return 0, sqlerr.Unsupported("cannot convert NaN to %s", t)
	case decimal.SpecialInf, decimal.SpecialNegInf:
		return 0, sqlerr.Unsupported("cannot convert infinity to %s", t)
	}
	x, ok := d.ToInt64()
	if !ok {
		return 0, rangeError(t.ID)
	}
	return x, nil
}

func numberConverter(from, to types.ID) (converter, bool) {
	if c, ok := numberConverters[castRule{from, to}]; ok {
		return c, true
	}
	if isOIDLike(from) && isOIDLike(to) {
		return converter{relabel: true}, true
	}
	switch {
	case isOIDLike(to):
		switch from {
		case types.Int2: // sign bits run on into the unsigned number
			return converter{row: func(f *frame, i int) error { return f.setI64(i, int64(uint32(f.i16(0, i)))) }}, true
		case types.Int4:
			return converter{row: func(f *frame, i int) error { return f.setI64(i, int64(uint32(f.i32(0, i)))) }}, true
		case types.Int8:
			return converter{row: func(f *frame, i int) error {
				x := f.i64(0, i)
				if x < 0 || x > math.MaxUint32 {
					return errOIDRange
				}
				return f.setI64(i, x)
			}}, true
		}
	case isOIDLike(from):
		switch to {
		case types.Int4:
			return converter{row: func(f *frame, i int) error { return f.setI32(i, int32(uint32(f.i64(0, i)))) }}, true
		case types.Int8:
			return converter{relabel: true}, true
		}
	}
	return converter{}, false
}

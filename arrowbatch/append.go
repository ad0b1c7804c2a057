package arrowbatch

import "github.com/streamsql/streamsql/internal/decimal"

// The appenders add one row at the end. Each is valid for its layout alone.

// AppendNull adds a NULL row.
func (v *Vec) AppendNull() {
	v.Resize(v.N + 1)
	v.zeroLast()
	v.SetNull(v.N - 1)
}

// zeroLast gives the last row a fixed value, so that NULL slots are the same
// bytes in every run.
func (v *Vec) zeroLast() {
	i := v.N - 1
	switch v.Layout {
	case Bool:
		v.Bits.Clear(i)
	case Int16:
		v.I16[i] = 0
	case Int32:
		v.I32[i] = 0
	case Int64:
		v.I64[i] = 0
	case Float32:
		v.F32[i] = 0
	case Float64:
		v.F64[i] = 0
	case Decimal:
		v.Dec[i] = decimal.Decimal{}
	case Interval:
		v.Ivl[i] = IntervalValue{}
	case UUID:
		v.U128[i] = [16]byte{}
	case Struct:
		for _, k := range v.Kids {
			k.zeroLast()
			k.SetNull(i)
		}
	}
}

func (v *Vec) grown() {
	if v.Valid != nil {
		v.Valid = resizeBits(v.Valid, v.N+1)
		v.Valid.Set(v.N)
	}
	v.N++
}

// AppendBool adds a row.
func (v *Vec) AppendBool(x bool) {
	v.grown()
	v.Bits = resizeBits(v.Bits, v.N)
	v.Bits.Put(v.N-1, x)
}

// AppendInt16 adds a row.
func (v *Vec) AppendInt16(x int16) { v.grown(); v.I16 = append(v.I16, x) }

// AppendInt32 adds a row.
func (v *Vec) AppendInt32(x int32) { v.grown(); v.I32 = append(v.I32, x) }

// AppendInt64 adds a row.
func (v *Vec) AppendInt64(x int64) { v.grown(); v.I64 = append(v.I64, x) }

// AppendFloat32 adds a row.
func (v *Vec) AppendFloat32(x float32) { v.grown(); v.F32 = append(v.F32, x) }

// AppendFloat64 adds a row.
func (v *Vec) AppendFloat64(x float64) { v.grown(); v.F64 = append(v.F64, x) }

// AppendDecimal adds a row.
func (v *Vec) AppendDecimal(x decimal.Decimal) { v.grown(); v.Dec = append(v.Dec, x) }

// AppendInterval adds a row.
func (v *Vec) AppendInterval(x IntervalValue) { v.grown(); v.Ivl = append(v.Ivl, x) }

// AppendUUID adds a row.
func (v *Vec) AppendUUID(x [16]byte) { v.grown(); v.U128 = append(v.U128, x) }

// AppendBytes adds a row with a copy of x.
func (v *Vec) AppendBytes(x []byte) {
	v.Data = append(v.Data, x...)
	v.EndBytes()
}

// AppendString adds a row with a copy of x.
func (v *Vec) AppendString(x string) {
	v.Data = append(v.Data, x...)
	v.EndBytes()
}

// EndBytes adds a row of what was appended to Data since the last row.
func (v *Vec) EndBytes() {
	v.grown()
	v.Off = append(v.Off, offset(len(v.Data)))
}

// EndList adds a row of what was appended to Kids[0] since the last row.
func (v *Vec) EndList() {
	v.grown()
	v.Off = append(v.Off, offset(v.Kids[0].N))
}

// EndStruct adds a row; each child must have been appended one.
func (v *Vec) EndStruct() { v.grown() }

// AppendFrom adds row i of src, a vector of the same shape.
func (v *Vec) AppendFrom(src *Vec, i int) {
	if src.IsNull(i) {
		v.AppendNull()
		return
	}
	switch v.Layout {
	case Bool:
		v.AppendBool(src.Bits.Get(i))
	case Int16:
		v.AppendInt16(src.I16[i])
	case Int32:
		v.AppendInt32(src.I32[i])
	case Int64:
		v.AppendInt64(src.I64[i])
	case Float32:
		v.AppendFloat32(src.F32[i])
	case Float64:
		v.AppendFloat64(src.F64[i])
	case Decimal:
		v.AppendDecimal(src.Dec[i])
	case Interval:
		v.AppendInterval(src.Ivl[i])
	case UUID:
		v.AppendUUID(src.U128[i])
	case Bytes:
		v.AppendBytes(src.BytesAt(i))
	case List:
		lo, hi := src.ListAt(i)
		for ; lo < hi; lo++ {
			v.Kids[0].AppendFrom(src.Kids[0], lo)
		}
		v.EndList()
	case Struct:
		for k, kid := range v.Kids {
			kid.AppendFrom(src.Kids[k], i)
		}
		v.EndStruct()
	}
}

package arrowbatch

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/streamsql/streamsql/internal/decimal"
)

// The row code keeps values exactly, in no order: one byte 0 for NULL, else 1 and
// the value; fixed widths little-endian, bytes and lists with a length before
// them. It is what state and stored rows are kept in.

var errRow = errors.New("malformed row")

// AppendValue appends row i of the column in the row code.
func (v *Vec) AppendValue(dst []byte, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.Layout {
	case Bool:
		if v.Bits.Get(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case Int16:
		return binary.LittleEndian.AppendUint16(dst, uint16(v.I16[i]))
	case Int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.I32[i]))
	case Int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.I64[i]))
	case Float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.F32[i]))
	case Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F64[i]))
	case Decimal:
		b := v.Dec[i].Bytes()
		return append(dst, b[:]...)
	case Interval:
		x := v.Ivl[i]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x.Months))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x.Days))
		return binary.LittleEndian.AppendUint64(dst, uint64(x.Micros))
	case UUID:
		return append(dst, v.U128[i][:]...)
	case Bytes:
		b := v.BytesAt(i)
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		return append(dst, b...)
	case List:
		lo, hi := v.ListAt(i)
		dst = binary.AppendUvarint(dst, uint64(hi-lo))
		for ; lo < hi; lo++ {
			dst = v.Kids[0].AppendValue(dst, lo)
		}
	case Struct:
		for _, k := range v.Kids {
			dst = k.AppendValue(dst, i)
		}
	}
	return dst
}

var valueWidth = [numLayouts]int{Bool: 1, Int16: 2, Int32: 4, Int64: 8, Float32: 4, Float64: 8,
	Decimal: 16, Interval: 16, UUID: 16}

// DecodeValue appends the value at the front of src to v and returns the rest.
func (v *Vec) DecodeValue(src []byte) (rest []byte, err error) {
	if len(src) == 0 || src[0] > 1 {
		return nil, errRow
	}
	if src[0] == 0 {
		v.AppendNull()
		return src[1:], nil
	}
	src = src[1:]
	w := valueWidth[v.Layout]
	if len(src) < w {
		return nil, errRow
	}
	switch v.Layout {
	case Bool:
		v.AppendBool(src[0] != 0)
	case Int16:
		v.AppendInt16(int16(binary.LittleEndian.Uint16(src)))
	case Int32:
		v.AppendInt32(int32(binary.LittleEndian.Uint32(src)))
	case Int64:
		v.AppendInt64(int64(binary.LittleEndian.Uint64(src)))
	case Float32:
		v.AppendFloat32(math.Float32frombits(binary.LittleEndian.Uint32(src)))
	case Float64:
		v.AppendFloat64(math.Float64frombits(binary.LittleEndian.Uint64(src)))
	case Decimal:
		v.AppendDecimal(decimal.FromBytes([16]byte(src[:16])))
	case Interval:
		v.AppendInterval(IntervalValue{int32(binary.LittleEndian.Uint32(src)),
			int32(binary.LittleEndian.Uint32(src[4:])), int64(binary.LittleEndian.Uint64(src[8:]))})
	case UUID:
		v.AppendUUID([16]byte(src[:16]))
	case Bytes:
		n, k := binary.Uvarint(src)
		if k <= 0 || n > uint64(len(src)-k) {
			return nil, errRow
		}
		v.AppendBytes(src[k : k+int(n)])
		return src[k+int(n):], nil
	case List:
		return v.decodeList(src)
	case Struct:
		for _, k := range v.Kids {
			if src, err = k.DecodeValue(src); err != nil {
				return nil, err
			}
		}
		v.EndStruct()
	}
	return src[w:], nil
}

func (v *Vec) decodeList(src []byte) (rest []byte, err error) {
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)-k) {
		return nil, errRow
	}
	src = src[k:]
	for ; n > 0; n-- {
		if src, err = v.Kids[0].DecodeValue(src); err != nil {
			return nil, err
		}
	}
	v.EndList()
	return src, nil
}

// AppendRow appends row i of cols in the row code.
func AppendRow(dst []byte, cols []*Vec, i int) []byte {
	for _, c := range cols {
		dst = c.AppendValue(dst, i)
	}
	return dst
}

// DecodeRow appends the row at the front of src to cols and returns the rest. On
// an error cols may have uneven lengths and must be dropped.
func DecodeRow(src []byte, cols []*Vec) (rest []byte, err error) {
	for _, c := range cols {
		if src, err = c.DecodeValue(src); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// AppendBatch appends the whole batch (number of rows, ops, columns) in the row
// code; DecodeBatch reads it back.
func AppendBatch(dst []byte, b *Batch) []byte {
	dst = binary.AppendUvarint(dst, uint64(b.Len))
	if b.Ops == nil {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
		dst = append(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.Ops))), b.Len)...)
	}
	for _, c := range b.Cols {
		for i := range b.Len {
			dst = c.AppendValue(dst, i)
		}
	}
	return dst
}

// DecodeBatch reads what AppendBatch wrote for columns of the given shapes.
func DecodeBatch(src []byte, shapes []Shape) (*Batch, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 || len(src) <= k {
		return nil, errRow
	}
	hasOps := src[k] == 1
	src = src[k+1:]
	b := NewLike(shapes)
	if hasOps {
		if uint64(len(src)) < n {
			return nil, errRow
		}
		b.Ops = make([]Op, n)
		for i := range b.Ops {
			b.Ops[i] = Op(src[i])
		}
		src = src[n:]
	}
	var err error
	for _, c := range b.Cols {
		for range n {
			if src, err = c.DecodeValue(src); err != nil {
				return nil, err
			}
		}
	}
	b.Len = int(n)
	return b, nil
}

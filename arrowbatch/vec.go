package arrowbatch

import (
	"fmt"
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/invariants"
)

// Layout is how a column's values lie in memory; several SQL types share one.
type Layout uint8

// The layouts and the Vec fields that hold them.
const (
	Bool     Layout = iota // Bits
	Int16                  // I16
	Int32                  // I32; date: days since 1970-01-01
	Int64                  // I64; time, timestamp, timestamptz: microseconds
	Float32                // F32
	Float64                // F64
	Decimal                // Dec
	Interval               // Ivl
	UUID                   // U128
	Bytes                  // Off, Data; text, bytea, jsonb
	List                   // Off, Kids[0]
	Struct                 // Kids, one per field
	numLayouts
)

var layoutNames = [...]string{"bool", "int16", "int32", "int64", "float32", "float64",
	"decimal", "interval", "uuid", "bytes", "list", "struct"}

func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// IntervalValue is a span of time in PostgreSQL's three independent parts.
type IntervalValue struct {
	Months, Days int32
	Micros       int64
}

// Shape is a layout with the shapes of its children: all that is needed to make
// an empty column.
type Shape struct {
	Layout Layout
	Kids   []Shape
}

// Vec is one column. Exactly the fields of its layout are set, each with N
// entries (see Layout). Fields are open to kernels; anyone else uses the methods.
type Vec struct {
	Layout Layout
	N      int
	Valid  Bitmap // nil: no NULLs
	Bits   Bitmap
	I16    []int16
	I32    []int32
	I64    []int64
	F32    []float32
	F64    []float64
	Dec    []decimal.Decimal
	Ivl    []IntervalValue
	U128   [][16]byte
	Off    []int32
	Data   []byte
	Kids   []*Vec

	refs atomic.Int32
}

// NewVec returns a vector of n rows without NULLs, from the pool; its values are
// unspecified (bytes and lists: empty).
func NewVec(s Shape, n int) *Vec {
	v := getVec(s.Layout)
	for _, k := range s.Kids {
		v.Kids = append(v.Kids, NewVec(k, 0))
	}
	v.Resize(n)
	return v
}

// NewFlat is NewVec for a layout without children.
func NewFlat(l Layout, n int) *Vec { return NewVec(Shape{Layout: l}, n) }

// Shape returns the layout with its children's.
func (v *Vec) Shape() Shape {
	s := Shape{Layout: v.Layout}
	for _, k := range v.Kids {
		s.Kids = append(s.Kids, k.Shape())
	}
	return s
}

// Retain adds a reference and returns v.
func (v *Vec) Retain() *Vec {
	v.refs.Add(1)
	return v
}

// Release gives a reference back; the last one returns v to the pool.
func (v *Vec) Release() {
	if v == nil {
		return
	}
	switch r := v.refs.Add(-1); {
	case r == 0:
		for _, k := range v.Kids {
			k.Release()
		}
		putVec(v)
	case r < 0:
		if invariants.Enabled {
			panic("arrowbatch: vector released too often")
		}
	}
}

// Shared tells whether v has more than one reference and so must not be written.
func (v *Vec) Shared() bool { return v.refs.Load() > 1 }

// Resize sets the length to n. Rows below keep their values; new rows are
// unspecified but for NULLs: they are valid. New rows of bytes and lists are empty.
func (v *Vec) Resize(n int) {
	old := v.N
	v.N = n
	if v.Valid != nil {
		v.Valid = resizeBits(v.Valid, n)
		for i := old; i < n; i++ {
			v.Valid.Set(i)
		}
	}
	switch v.Layout {
	case Bool:
		v.Bits = resizeBits(v.Bits, n)
	case Int16:
		v.I16 = resize(v.I16, n)
	case Int32:
		v.I32 = resize(v.I32, n)
	case Int64:
		v.I64 = resize(v.I64, n)
	case Float32:
		v.F32 = resize(v.F32, n)
	case Float64:
		v.F64 = resize(v.F64, n)
	case Decimal:
		v.Dec = resize(v.Dec, n)
	case Interval:
		v.Ivl = resize(v.Ivl, n)
	case UUID:
		v.U128 = resize(v.U128, n)
	case Bytes, List:
		v.resizeOffsets(old, n)
	case Struct:
		for _, k := range v.Kids {
			k.Resize(n)
		}
	}
}

func (v *Vec) resizeOffsets(old, n int) {
	v.Off = resize(v.Off, n+1)
	if old == 0 {
		v.Off[0] = 0
	}
	end := v.Off[min(old, n)]
	for i := old; i < n; i++ {
		v.Off[i+1] = end
	}
	if n <= old {
		if v.Layout == Bytes {
			v.Data = v.Data[:end]
		} else {
			v.Kids[0].Resize(int(end))
		}
	}
}

// Grow makes room for n more rows without changing the length.
func (v *Vec) Grow(n int) {
	old := v.N
	if old+n <= v.capacity() {
		return
	}
	v.Resize(old + n)
	v.Resize(old)
}

func (v *Vec) capacity() int {
	switch v.Layout {
	case Bool:
		return cap(v.Bits) << 6
	case Int16:
		return cap(v.I16)
	case Int32:
		return cap(v.I32)
	case Int64:
		return cap(v.I64)
	case Float32:
		return cap(v.F32)
	case Float64:
		return cap(v.F64)
	case Decimal:
		return cap(v.Dec)
	case Interval:
		return cap(v.Ivl)
	case UUID:
		return cap(v.U128)
	case Bytes, List:
		return cap(v.Off) - 1
	}
	return 0
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	ns := make([]T, n, max(n, 2*cap(s)))
	copy(ns, s)
	return ns
}

// IsNull tells whether row i is NULL.
func (v *Vec) IsNull(i int) bool { return v.Valid != nil && !v.Valid.Get(i) }

// SetNull makes row i NULL.
func (v *Vec) SetNull(i int) {
	if v.Valid == nil {
		v.Valid = resizeBits(nil, v.N)
		v.Valid.Fill(v.N, true)
	}
	v.Valid.Clear(i)
}

// Nulls returns the number of NULL rows.
func (v *Vec) Nulls() int {
	if v.Valid == nil {
		return 0
	}
	return v.N - v.Valid.Count(v.N)
}

// BytesAt returns row i of a Bytes column; it aliases the column's memory.
func (v *Vec) BytesAt(i int) []byte { return v.Data[v.Off[i]:v.Off[i+1]:v.Off[i+1]] }

// ListAt returns the bounds of row i of a List column in Kids[0].
func (v *Vec) ListAt(i int) (lo, hi int) { return int(v.Off[i]), int(v.Off[i+1]) }

// Bytes returns the memory that the rows take, children included.
func (v *Vec) Bytes() int {
	n := v.ownBytes()
	for _, k := range v.Kids {
		n += k.Bytes()
	}
	return n
}

// ownBytes is Bytes without the children.
func (v *Vec) ownBytes() int {
	return len(v.Valid)*8 + len(v.Bits)*8 + len(v.I16)*2 + len(v.I32)*4 + len(v.I64)*8 +
		len(v.F32)*4 + len(v.F64)*8 + len(v.Dec)*16 + len(v.Ivl)*16 + len(v.U128)*16 +
		len(v.Off)*4 + len(v.Data)
}

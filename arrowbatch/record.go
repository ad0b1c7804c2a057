package arrowbatch

import (
	"strconv"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sixteen is how values of 16 bytes without an Arrow type of their own appear.
var sixteen = &arrow.FixedSizeBinaryType{ByteWidth: 16}

// DataType returns the Arrow type with the same bytes as a column of shape s.
// Decimals, intervals and uuids are 16 opaque bytes in it.
func (s Shape) DataType() arrow.DataType {
	switch s.Layout {
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Int16:
		return arrow.PrimitiveTypes.Int16
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Float32:
		return arrow.PrimitiveTypes.Float32
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case Bytes:
		return arrow.BinaryTypes.Binary
	case List:
		return arrow.ListOf(s.Kids[0].DataType())
	case Struct:
		fields := make([]arrow.Field, len(s.Kids))
		for i, k := range s.Kids {
			fields[i] = arrow.Field{Name: "f" + strconv.Itoa(i+1), Type: k.DataType(), Nullable: true}
		}
		return arrow.StructOf(fields...)
	}
	return sixteen
}

// Schema returns the Arrow schema of columns of the given shapes, named f1, f2 …
func Schema(shapes []Shape) *arrow.Schema {
	st := Shape{Layout: Struct, Kids: shapes}.DataType().(*arrow.StructType)
	return arrow.NewSchema(st.Fields(), nil)
}

// keeper holds a reference to a vector for one Arrow buffer over its memory.
type keeper struct{ v *Vec }

func (keeper) Allocate(n int) []byte { return make([]byte, n) }

func (keeper) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }

func (k keeper) Free([]byte) { k.v.Release() }

// Record returns b's columns as an Arrow record of schema, without the ops. The
// record looks at the same memory: it holds a reference to each column until it
// is released, and the columns must not be written to meanwhile. Types of the
// same width may differ from the layout's own (date32 for int32, timestamp for
// int64, utf8 for bytes); decimal128 and the interval of nanoseconds are the two
// that are copied. 42804 when a type does not fit its column, 22003 when a value
// does not.
func (b *Batch) Record(schema *arrow.Schema) (arrow.Record, error) {
	if schema.NumFields() != len(b.Cols) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "the schema has %d fields for %d columns",
			schema.NumFields(), len(b.Cols))
	}
	cols := make([]arrow.Array, 0, len(b.Cols))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, v := range b.Cols {
		d, err := v.arrowData(schema.Field(i).Type)
		if err != nil {
			return nil, err
		}
		cols = append(cols, array.MakeFromData(d))
		d.Release()
	}
	return array.NewRecord(schema, cols, int64(b.Len)), nil
}

// kept wraps memory of v.
func (v *Vec) kept(b []byte) *memory.Buffer {
	return memory.NewBufferWithAllocator(b, keeper{v.Retain()})
}

// raw returns the memory of a slice.
func raw[T any](s []T) []byte {
	var x T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(x)))
}

// arrowData returns v as Arrow data of a type.
func (v *Vec) arrowData(dt arrow.DataType) (arrow.ArrayData, error) {
	if !fits(v.Layout, dt) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "a column of %s cannot be of Arrow's type %s", v.Layout, dt)
	}
	var bufs [3]*memory.Buffer
	if v.Valid != nil {
		bufs[0] = v.kept(raw(v.Valid))
	}
	n := 2
	var kids []arrow.ArrayData
	var err error
	switch v.Layout {
	case Bytes:
		bufs[1], bufs[2], n = v.kept(raw(v.Off)), v.kept(v.Data), 3
	case List:
		bufs[1] = v.kept(raw(v.Off))
		kids, err = kidData(v.Kids, []arrow.DataType{dt.(*arrow.ListType).Elem()})
	case Struct:
		n = 1
		st := dt.(*arrow.StructType)
		types := make([]arrow.DataType, st.NumFields())
		for i := range types {
			types[i] = st.Field(i).Type
		}
		kids, err = kidData(v.Kids, types)
	default:
		bufs[1], err = v.fixedBuffer(dt)
	}
	var d arrow.ArrayData
	if err == nil {
		d = array.NewData(dt, v.N, bufs[:n], kids, v.Nulls(), 0)
	}
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	for _, k := range kids {
		k.Release()
	}
	return d, err
}

func kidData(kids []*Vec, types []arrow.DataType) (data []arrow.ArrayData, err error) {
	if len(kids) != len(types) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "Arrow's type has %d fields for %d", len(types), len(kids))
	}
	for i, k := range kids {
		d, err := k.arrowData(types[i])
		if err != nil {
			return data, err
		}
		data = append(data, d)
	}
	return data, nil
}

// fits tells whether columns of a layout can be seen as dt.
func fits(l Layout, dt arrow.DataType) bool {
	switch l {
	case Bool:
		return dt.ID() == arrow.BOOL
	case Int16:
		return dt.ID() == arrow.INT16
	case Int32:
		return dt.ID() == arrow.INT32 || dt.ID() == arrow.DATE32
	case Int64:
		switch t := dt.(type) {
		case *arrow.TimestampType:
			return t.Unit == arrow.Microsecond
		case *arrow.Time64Type:
			return t.Unit == arrow.Microsecond
		}
		return dt.ID() == arrow.INT64
	case Float32:
		return dt.ID() == arrow.FLOAT32
	case Float64:
		return dt.ID() == arrow.FLOAT64
	case Bytes:
		return dt.ID() == arrow.BINARY || dt.ID() == arrow.STRING
	case List:
		return dt.ID() == arrow.LIST
	case Struct:
		return dt.ID() == arrow.STRUCT
	case Decimal:
		if dt.ID() == arrow.DECIMAL128 {
			return true
		}
	case Interval:
		if dt.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
			return true
		}
	}
	return arrow.TypeEqual(dt, sixteen)
}

// fixedBuffer returns the values of a layout of fixed width.
func (v *Vec) fixedBuffer(dt arrow.DataType) (*memory.Buffer, error) {
	switch v.Layout {
	case Bool:
		return v.kept(raw(v.Bits)), nil
	case Int16:
		return v.kept(raw(v.I16)), nil
	case Int32:
		return v.kept(raw(v.I32)), nil
	case Int64:
		return v.kept(raw(v.I64)), nil
	case Float32:
		return v.kept(raw(v.F32)), nil
	case Float64:
		return v.kept(raw(v.F64)), nil
	case Decimal:
		if t, ok := dt.(*arrow.Decimal128Type); ok {
			return v.decimal128(t)
		}
		return v.kept(raw(v.Dec)), nil
	case Interval:
		if dt.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
			return v.monthDayNano()
		}
		return v.kept(raw(v.Ivl)), nil
	}
	return v.kept(raw(v.U128)), nil
}

// decimal128 copies decimals, brought to the type's scale.
func (v *Vec) decimal128(t *arrow.Decimal128Type) (*memory.Buffer, error) {
	out := make([]decimal128.Num, v.N)
	for i, d := range v.Dec[:v.N] {
		if v.IsNull(i) {
			continue
		}
		r, err := d.Fits(int(t.Precision), int(t.Scale))
		if err != nil {
			return nil, err
		}
		if r.IsNaN() {
			return nil, sqlerr.New(sqlerr.NumericValueOutOfRange, "Arrow's %s has no NaN", t)
		}
		neg, hi, lo, _, _ := r.Parts()
		n := decimal128.New(int64(hi), lo)
		if neg {
			n = n.Negate()
		}
		out[i] = n
	}
	return memory.NewBufferBytes(raw(out)), nil
}

// monthDayNano copies intervals, whose microseconds become nanoseconds.
func (v *Vec) monthDayNano() (*memory.Buffer, error) {
	out := make([]arrow.MonthDayNanoInterval, v.N)
	for i, x := range v.Ivl[:v.N] {
		if v.IsNull(i) {
			continue
		}
		ns := x.Micros * 1000
		if ns/1000 != x.Micros {
			return nil, sqlerr.New(sqlerr.IntervalFieldOverflow, "interval out of range of Arrow's nanoseconds")
		}
		out[i] = arrow.MonthDayNanoInterval{Months: x.Months, Days: x.Days, Nanoseconds: ns}
	}
	return memory.NewBufferBytes(raw(out)), nil
}

// intervalOf reads the 16 bytes of an interval as they lie in memory.
func intervalOf(b []byte) IntervalValue {
	var x [1]IntervalValue
	copy(raw(x[:]), b)
	return x[0]
}

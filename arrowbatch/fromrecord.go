package arrowbatch

import (
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// FromRecord returns an insert-only batch with a copy of rec's columns in the
// given shapes; nil shapes stand for those that ShapeOf finds. Arrow's times come
// as microseconds. 0A000 for a type without a layout, 42804 for one that does not
// become its shape.
func FromRecord(rec arrow.Record, shapes []Shape) (*Batch, error) {
	if shapes == nil {
		for _, f := range rec.Schema().Fields() {
			s, err := ShapeOf(f.Type)
			if err != nil {
				return nil, err
			}
			shapes = append(shapes, s)
		}
	}
	if len(shapes) != int(rec.NumCols()) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "the record has %d columns for %d", rec.NumCols(), len(shapes))
	}
	b := NewLike(shapes)
	for i, v := range b.Cols {
		if err := v.appendArrow(rec.Column(i)); err != nil {
			b.Release()
			return nil, err
		}
	}
	b.Len = int(rec.NumRows())
	return b, nil
}

// ShapeOf returns the shape that Arrow's type is read into: 16 opaque bytes as a
// uuid. 0A000 for a type without one.
func ShapeOf(dt arrow.DataType) (Shape, error) {
	switch dt.ID() {
	case arrow.BOOL:
		return Shape{Layout: Bool}, nil
	case arrow.INT8, arrow.UINT8, arrow.INT16:
		return Shape{Layout: Int16}, nil
	case arrow.UINT16, arrow.INT32, arrow.DATE32:
		return Shape{Layout: Int32}, nil
	case arrow.UINT32, arrow.INT64, arrow.TIMESTAMP, arrow.TIME64, arrow.TIME32:
		return Shape{Layout: Int64}, nil
	case arrow.FLOAT32:
		return Shape{Layout: Float32}, nil
	case arrow.FLOAT64:
		return Shape{Layout: Float64}, nil
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return Shape{Layout: Bytes}, nil
	case arrow.DECIMAL128, arrow.UINT64:
		return Shape{Layout: Decimal}, nil
	case arrow.INTERVAL_MONTH_DAY_NANO:
		return Shape{Layout: Interval}, nil
	case arrow.LIST:
		kid, err := ShapeOf(dt.(*arrow.ListType).Elem())
		return Shape{Layout: List, Kids: []Shape{kid}}, err
	case arrow.STRUCT:
		s := Shape{Layout: Struct}
		for _, f := range dt.(*arrow.StructType).Fields() {
			kid, err := ShapeOf(f.Type)
			if err != nil {
				return s, err
			}
			s.Kids = append(s.Kids, kid)
		}
		return s, nil
	}
	if arrow.TypeEqual(dt, sixteen) {
		return Shape{Layout: UUID}, nil
	}
	return Shape{}, sqlerr.Unsupported("Arrow's type %s is not supported", dt)
}

// appendArrow adds the rows of a.
func (v *Vec) appendArrow(a arrow.Array) error {
	put, err := v.putter(a)
	if err != nil {
		return err
	}
	v.Grow(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			v.AppendNull()
			continue
		}
		if err := put(i); err != nil {
			return err
		}
	}
	return nil
}

// putter returns what adds row i of a.
func (v *Vec) putter(a arrow.Array) (func(i int) error, error) {
	if put := v.putNumber(a); put != nil {
		return put, nil
	}
	none := sqlerr.New(sqlerr.DatatypeMismatch, "Arrow's type %s cannot be read into a column of %s",
		a.DataType(), v.Layout)
	switch a := a.(type) {
	case *array.Boolean:
		if v.Layout == Bool {
			return func(i int) error { v.AppendBool(a.Value(i)); return nil }, nil
		}
	case *array.String:
		return v.putBytes(func(i int) []byte { return []byte(a.Value(i)) }, none)
	case *array.LargeString:
		return v.putBytes(func(i int) []byte { return []byte(a.Value(i)) }, none)
	case *array.Binary:
		return v.putBytes(a.Value, none)
	case *array.LargeBinary:
		return v.putBytes(a.Value, none)
	case *array.FixedSizeBinary:
		if arrow.TypeEqual(a.DataType(), sixteen) {
			return v.putSixteen(a, none)
		}
	case *array.Decimal128:
		if v.Layout == Decimal {
			return v.putDecimal(a), nil
		}
	case *array.MonthDayNanoInterval:
		if v.Layout == Interval {
			return func(i int) error {
				x := a.Value(i)
				v.AppendInterval(IntervalValue{Months: x.Months, Days: x.Days, Micros: x.Nanoseconds / 1000})
				return nil
			}, nil
		}
	case *array.List:
		if v.Layout == List {
			return v.putList(a)
		}
	case *array.Struct:
		if v.Layout == Struct && a.NumField() == len(v.Kids) {
			return v.putStruct(a)
		}
	}
	return nil, none
}

func (v *Vec) putBytes(at func(int) []byte, none error) (func(i int) error, error) {
	if v.Layout != Bytes {
		return nil, none
	}
	return func(i int) error { v.AppendBytes(at(i)); return nil }, nil
}

// putSixteen reads 16 bytes as what the column holds.
func (v *Vec) putSixteen(a *array.FixedSizeBinary, none error) (func(i int) error, error) {
	switch v.Layout {
	case UUID:
		return func(i int) error { v.AppendUUID([16]byte(a.Value(i))); return nil }, nil
	case Decimal:
		return func(i int) error {
			d := decimal.FromBytes([16]byte(a.Value(i)))
			neg, hi, lo, scale, special := d.Parts()
			checked, err := decimal.FromParts(neg, hi, lo, scale, special)
			if err == nil && checked != d {
				err = sqlerr.New(sqlerr.DataCorrupted, "malformed decimal")
			}
			v.AppendDecimal(d)
			return err
		}, nil
	case Interval:
		return func(i int) error {
			v.AppendInterval(intervalOf(a.Value(i)))
			return nil
		}, nil
	}
	return nil, none
}

func (v *Vec) putDecimal(a *array.Decimal128) func(i int) error {
	scale := int(a.DataType().(*arrow.Decimal128Type).Scale)
	return func(i int) error {
		x := a.Value(i)
		neg := x.Sign() < 0
		if neg {
			x = x.Negate()
		}
		d, err := decimal.FromParts(neg, uint64(x.HighBits()), x.LowBits(), max(scale, 0), decimal.Finite)
		if err == nil && scale < 0 {
			var unit decimal.Decimal
			if unit, err = decimal.New(1, 0).Round(0); err == nil {
				for range -scale {
					if unit, err = unit.Mul(decimal.FromInt64(10)); err != nil {
						return err
					}
				}
				d, err = d.Mul(unit)
			}
		}
		if err != nil {
			return err
		}
		v.AppendDecimal(d)
		return nil
	}
}

func (v *Vec) putList(a *array.List) (func(i int) error, error) {
	put, err := v.Kids[0].putter(a.ListValues())
	if err != nil {
		return nil, err
	}
	vals := a.ListValues()
	return func(i int) error {
		lo, hi := a.ValueOffsets(i)
		for k := int(lo); k < int(hi); k++ {
			if vals.IsNull(k) {
				v.Kids[0].AppendNull()
			} else if err := put(k); err != nil {
				return err
			}
		}
		v.EndList()
		return nil
	}, nil
}

func (v *Vec) putStruct(a *array.Struct) (func(i int) error, error) {
	puts := make([]func(int) error, len(v.Kids))
	for k := range puts {
		var err error
		if puts[k], err = v.Kids[k].putter(a.Field(k)); err != nil {
			return nil, err
		}
	}
	return func(i int) error {
		for k, put := range puts {
			if a.Field(k).IsNull(i) {
				v.Kids[k].AppendNull()
			} else if err := put(i); err != nil {
				return err
			}
		}
		v.EndStruct()
		return nil
	}, nil
}

// putNumber returns what adds a number or time, nil when a has none that fits.
func (v *Vec) putNumber(a arrow.Array) func(i int) error {
	switch a := a.(type) {
	case *array.Float32:
		switch v.Layout {
		case Float32:
			return func(i int) error { v.AppendFloat32(a.Value(i)); return nil }
		case Float64:
			return func(i int) error { v.AppendFloat64(float64(a.Value(i))); return nil }
		}
	case *array.Float64:
		if v.Layout == Float64 {
			return func(i int) error { v.AppendFloat64(a.Value(i)); return nil }
		}
	case *array.Uint64:
		if v.Layout == Decimal {
			return func(i int) error { v.AppendDecimal(decimal.FromUint64(a.Value(i))); return nil }
		}
	}
	at, lo, hi := wholeNumbers(a)
	if at == nil {
		return nil
	}
	switch {
	case v.Layout == Int16 && lo >= math.MinInt16 && hi <= math.MaxInt16:
		return func(i int) error { v.AppendInt16(int16(at(i))); return nil }
	case v.Layout == Int32 && lo >= math.MinInt32 && hi <= math.MaxInt32:
		return func(i int) error { v.AppendInt32(int32(at(i))); return nil }
	case v.Layout == Int64:
		return func(i int) error { v.AppendInt64(at(i)); return nil }
	case v.Layout == Decimal:
		return func(i int) error { v.AppendDecimal(decimal.FromInt64(at(i))); return nil }
	}
	return nil
}

// wholeNumbers returns what reads row i of whole numbers and times, and its bounds.
func wholeNumbers(a arrow.Array) (at func(i int) int64, lo, hi int64) {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) int64 { return int64(a.Value(i)) }, math.MinInt8, math.MaxInt8
	case *array.Uint8:
		return func(i int) int64 { return int64(a.Value(i)) }, 0, math.MaxUint8
	case *array.Int16:
		return func(i int) int64 { return int64(a.Value(i)) }, math.MinInt16, math.MaxInt16
	case *array.Uint16:
		return func(i int) int64 { return int64(a.Value(i)) }, 0, math.MaxUint16
	case *array.Int32:
		return func(i int) int64 { return int64(a.Value(i)) }, math.MinInt32, math.MaxInt32
	case *array.Date32:
		return func(i int) int64 { return int64(a.Value(i)) }, math.MinInt32, math.MaxInt32
	case *array.Uint32:
		return func(i int) int64 { return int64(a.Value(i)) }, 0, math.MaxUint32
	case *array.Int64:
		return a.Value, math.MinInt64, math.MaxInt64
	case *array.Timestamp:
		return inMicros(a.DataType().(*arrow.TimestampType).Unit, func(i int) int64 { return int64(a.Value(i)) })
	case *array.Time64:
		return inMicros(a.DataType().(*arrow.Time64Type).Unit, func(i int) int64 { return int64(a.Value(i)) })
	case *array.Time32:
		return inMicros(a.DataType().(*arrow.Time32Type).Unit, func(i int) int64 { return int64(a.Value(i)) })
	}
	return nil, 0, 0
}

// inMicros converts times of a unit to microseconds; nanoseconds are cut towards
// the past. Times out of range stay at the end of it.
func inMicros(u arrow.TimeUnit, at func(int) int64) (func(i int) int64, int64, int64) {
	f := at
	switch u {
	case arrow.Nanosecond:
		f = func(i int) int64 {
			x := at(i)
			q := x / 1000
			if x%1000 < 0 {
				q--
			}
			return q
		}
	case arrow.Millisecond, arrow.Second:
		k := int64(1000)
		if u == arrow.Second {
			k = 1_000_000
		}
		f = func(i int) int64 {
			x := at(i)
			switch {
			case x > math.MaxInt64/k:
				return math.MaxInt64
			case x < math.MinInt64/k:
				return math.MinInt64
			}
			return x * k
		}
	}
	return f, math.MinInt64, math.MaxInt64
}

package format

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow/float16"
	"github.com/apache/arrow/go/v17/parquet"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// fillScalar fills a column of scalars. The usual pairs of types are copied as whole
// columns; the others go value by value through what all binary encodings share.
func (p *ParquetReader) fillScalar(d *binding) error {
	n, valid := d.places()
	if d.t.logical == logicalNull {
		fillNull(d.n.v, n)
		return nil
	}
	m := n
	if valid != nil {
		m = valid.Count(n)
	}
	if m != d.col.cutVals {
		return d.col.bad(damaged("it has %d values for %d", d.col.cutVals, m))
	}
	if !d.json && p.copyColumn(d, n, m, valid) {
		return nil
	}
	var s scalar
	at := 0
	for i := range n {
		if valid != nil && !valid.Get(i) {
			d.n.v.AppendNull()
			continue
		}
		err := d.t.scalar(&d.col.vals, at, &s)
		at++
		switch {
		case err != nil:
		case d.json:
			err = p.putJSON(d, &s)
		case d.t.logical == logicalUUID && (d.n.kind == kindJSON || d.n.kind == kindJSONB):
			s.b = AppendJSONString(nil, s.b) // other texts are read as JSON
			err = p.in.put(d.n, i, &s)
		default:
			err = p.in.put(d.n, i, &s)
		}
		if err != nil {
			p.badPlace(d, i, err)
			d.n.truncate(i)
			d.n.v.AppendNull()
		}
	}
	return nil
}

// putJSON appends the value as JSON.
func (p *ParquetReader) putJSON(d *binding, s *scalar) *sqlerr.Error {
	v := d.n.v
	switch {
	case d.t.logical == logicalJSON:
		if err := checkText(s.b); err != nil {
			return err
		}
		if err := types.ValidateJSON(string(s.b)); err != nil {
			return sqlerr.From(err)
		}
		v.AppendBytes(s.b)
		return nil
	case s.class == classText:
		if err := checkText(s.b); err != nil {
			return err
		}
	}
	v.Data = appendScalarJSON(v.Data, s)
	v.EndBytes()
	return nil
}

// scalar reads value i.
func (t *scalarType) scalar(vals *values, i int, s *scalar) *sqlerr.Error {
	s.class = t.class
	switch t.phys {
	case parquet.Types.Boolean:
		s.i = int64(vals.w32[i])
		return nil
	case parquet.Types.Int32:
		s.i = int64(int32(vals.w32[i]))
		if t.logical == logicalUnsigned {
			s.i = int64(vals.w32[i])
		}
	case parquet.Types.Int64:
		s.i = int64(vals.w64[i])
		if t.logical == logicalUnsigned {
			s.class = classUint
		}
	case parquet.Types.Float:
		s.f = float64(math.Float32frombits(vals.w32[i]))
		return nil
	case parquet.Types.Double:
		s.f = math.Float64frombits(vals.w64[i])
		return nil
	default:
		s.b = vals.bs[i]
	}
	ok := true
	switch t.class {
	case classInstant, classLocal:
		if t.phys == parquet.Types.Int96 {
			s.i, ok = int96Micros(s.b)
		} else {
			s.i, ok = micros(s.i, t.digits)
		}
	case classTime:
		s.i, ok = clockMicros(s.i, t.digits)
	case classDate:
		ok = s.i >= minTimestamp/dayMicros || s.i == int64(types.NegInfDate)
	case classDecimal:
		if t.phys == parquet.Types.Int32 || t.phys == parquet.Types.Int64 {
			s.d = decimal.New(s.i, t.digits)
		} else {
			s.d, ok = bigEndian(s.b, t.digits)
		}
	case classFloat4:
		s.f = float64(float16.FromLEBytes(s.b).Float32())
	case classText:
		if t.logical == logicalUUID {
			s.b = types.AppendUUID(nil, (*[16]byte)(s.b))
		}
	case classInterval:
		months, days := binary.LittleEndian.Uint32(s.b), binary.LittleEndian.Uint32(s.b[4:])
		ok = months <= math.MaxInt32 && days <= math.MaxInt32
		s.ivl = arrowbatch.IntervalValue{Months: int32(months), Days: int32(days),
			Micros: int64(binary.LittleEndian.Uint32(s.b[8:])) * 1000}
	}
	if !ok {
		return sqlerr.New(sqlerr.NumericValueOutOfRange, "a %s is out of range", t.what)
	}
	return nil
}

// int96Micros reads nanoseconds of a day and the number of a Julian day.
func int96Micros(b []byte) (int64, bool) {
	ns, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))-2_440_588
	if ns < 0 || ns > 2*dayMicros*1000 || day > math.MaxInt64/dayMicros-2 || day < minTimestamp/dayMicros {
		return 0, false
	}
	return micros(day*dayMicros+ns/1000, 6)
}

// clockMicros converts a time of day in units of a 10^-digits second.
func clockMicros(x int64, digits int) (int64, bool) {
	switch digits {
	case 3:
		if x > dayMicros/1000 {
			return 0, false
		}
		x *= 1000
	case 9:
		x /= 1000
	}
	return x, x >= 0 && x <= dayMicros
}

// copyColumn copies the values into the node's column of n places, m of them with a
// value, where no more is to be done than to widen or check them; false: it is.
func (p *ParquetReader) copyColumn(d *binding, n, m int, valid arrowbatch.Bitmap) bool {
	t, v := &d.t.scalarType, d.n.v
	if t.phys == parquet.Types.Boolean {
		return d.n.kind == kindBool && copyBools(v, d.col.vals.w32[:m], n, valid)
	}
	signed32 := t.phys == parquet.Types.Int32 && t.logical == logicalNone
	signed64 := t.phys == parquet.Types.Int64 && t.logical == logicalNone
	switch d.n.kind {
	case kindInt4, kindInt8:
		return copyInts(d, n, m, valid, signed32, signed64)
	case kindDate:
		if t.class != classDate {
			return false
		}
		for _, x := range d.col.vals.w32[:m] {
			if int32(x) < minTimestamp/dayMicros && int32(x) != types.NegInfDate {
				return false
			}
		}
		v.Resize(n)
		convert(v.I32, d.col.vals.w32[:m])
		spread(v.I32, m, valid)
	case kindFloat4, kindFloat8:
		return copyFloats(d, n, m, valid)
	case kindTimestamp, kindTimestamptz:
		return copyTimes(d, n, m, valid)
	case kindNumeric:
		return copyDecimals(d, n, m, valid, signed32, signed64)
	case kindText:
		return (t.class == classText || t.class == classBytes) && t.logical != logicalUUID && copyBytes(d, n, m, valid, true)
	case kindInput:
		switch {
		case d.n.t.ID == types.Numeric:
			return copyDecimals(d, n, m, valid, signed32, signed64)
		case d.n.t.ID == types.Bytea:
			return t.class == classBytes && copyBytes(d, n, m, valid, false)
		case d.n.t.ID == types.UUID && t.logical == logicalUUID:
			v.Resize(n)
			for i, b := range d.col.vals.bs[:m] {
				v.U128[i] = [16]byte(b)
			}
			spread(v.U128, m, valid)
		default:
			return false
		}
	default:
		return false
	}
	v.Valid = valid
	return true
}

// spread moves the first m values to their places, from the last on; the places
// without one are zero.
func spread[T any](dst []T, m int, valid arrowbatch.Bitmap) {
	if valid == nil {
		return
	}
	var zero T
	for i := len(dst) - 1; i >= 0; i-- {
		if valid.Get(i) {
			m--
			dst[i] = dst[m]
		} else {
			dst[i] = zero
		}
	}
}

func convert[D int32 | int64, S uint32 | uint64](dst []D, src []S) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = D(x)
	}
}

func copyInts(d *binding, n, m int, valid arrowbatch.Bitmap, signed32, signed64 bool) bool {
	t, v := &d.t.scalarType, d.n.v
	switch {
	case t.class != classInt || d.n.kind == kindInt4 && !signed32 || t.phys == parquet.Types.Int64 && !signed64:
		return false
	case d.n.kind == kindInt4:
		v.Resize(n)
		convert(v.I32, d.col.vals.w32[:m])
		spread(v.I32, m, valid)
		v.Valid = valid
		return true
	}
	v.Resize(n)
	switch {
	case signed64:
		convert(v.I64, d.col.vals.w64[:m])
	case signed32:
		for i, x := range d.col.vals.w32[:m] {
			v.I64[i] = int64(int32(x))
		}
	default:
		convert(v.I64, d.col.vals.w32[:m])
	}
	spread(v.I64, m, valid)
	v.Valid = valid
	return true
}

func copyBools(v *arrowbatch.Vec, vals []uint32, n int, valid arrowbatch.Bitmap) bool {
	v.Resize(n)
	clear(v.Bits)
	at := 0
	for i := range n {
		if valid != nil && !valid.Get(i) {
			continue
		}
		if vals[at] != 0 {
			v.Bits.Set(i)
		}
		at++
	}
	v.Valid = valid
	return true
}

func copyFloats(d *binding, n, m int, valid arrowbatch.Bitmap) bool {
	t, v := &d.t.scalarType, d.n.v
	switch {
	case t.phys == parquet.Types.Float && d.n.kind == kindFloat4:
		v.Resize(n)
		for i, x := range d.col.vals.w32[:m] {
			v.F32[i] = math.Float32frombits(x)
		}
		spread(v.F32, m, valid)
	case t.phys == parquet.Types.Float:
		v.Resize(n)
		for i, x := range d.col.vals.w32[:m] {
			v.F64[i] = float64(math.Float32frombits(x))
		}
		spread(v.F64, m, valid)
	case t.phys == parquet.Types.Double && d.n.kind == kindFloat8:
		v.Resize(n)
		for i, x := range d.col.vals.w64[:m] {
			v.F64[i] = math.Float64frombits(x)
		}
		spread(v.F64, m, valid)
	default:
		return false
	}
	v.Valid = valid
	return true
}

func copyTimes(d *binding, n, m int, valid arrowbatch.Bitmap) bool {
	t, v := &d.t.scalarType, d.n.v
	if t.phys != parquet.Types.Int64 || d.n.t.Mod != 0 ||
		t.class != classInstant && (t.class != classLocal || d.n.kind != kindTimestamp) {
		return false
	}
	v.Resize(n)
	for i, x := range d.col.vals.w64[:m] {
		us, ok := micros(int64(x), t.digits)
		if !ok {
			v.Resize(0)
			return false
		}
		v.I64[i] = us
	}
	spread(v.I64, m, valid)
	v.Valid = valid
	return true
}

func copyDecimals(d *binding, n, m int, valid arrowbatch.Bitmap, signed32, signed64 bool) bool {
	t, v := &d.t.scalarType, d.n.v
	scale := 0
	if t.class == classDecimal {
		scale = t.digits
	} else if t.class != classInt {
		return false
	}
	vals := &d.col.vals
	if t.class == classInt && !signed32 && !signed64 {
		return false
	}
	v.Resize(n)
	for i := range m {
		var x decimal.Decimal
		ok := true
		switch {
		case signed32:
			x = decimal.New(int64(int32(vals.w32[i])), scale)
		case signed64:
			x = decimal.New(int64(vals.w64[i]), scale)
		default:
			x, ok = bigEndian(vals.bs[i], scale)
		}
		if ok && d.n.t.Mod != 0 {
			var err error
			x, err = x.Fits(int(d.n.t.Mod), int(d.n.t.Scale))
			ok = err == nil
		}
		if !ok {
			v.Resize(0)
			return false
		}
		v.Dec[i] = x
	}
	spread(v.Dec, m, valid)
	v.Valid = valid
	return true
}

func copyBytes(d *binding, n, m int, valid arrowbatch.Bitmap, text bool) bool {
	v, size := d.n.v, 0
	for _, b := range d.col.vals.bs[:m] {
		if text && (!utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0) {
			return false
		}
		size += len(b)
	}
	if size > math.MaxInt32 {
		return false // the appender ends with an error
	}
	v.Resize(n)
	if cap(v.Data) < size {
		v.Data = make([]byte, 0, size)
	}
	at := 0
	for i := range n {
		if valid == nil || valid.Get(i) {
			v.Data = append(v.Data, d.col.vals.bs[at]...)
			at++
		}
		v.Off[i+1] = int32(len(v.Data))
	}
	v.Valid = valid
	return true
}

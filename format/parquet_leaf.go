package format

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// parquetLeaf makes the levels and values of one column of a Parquet file.
type parquetLeaf struct {
	t types.Type
	// path leads from the columns to the values: the number of a column or field, or
	// inList.
	path []int
	// def is the level of a value, rep that of the innermost list.
	def, rep int16
	phys     parquet.Type
	size     int
	text     bool // values are written as SQL prints them

	defs, reps []int16
	at         []int32 // the rows of the values in vec
	vec        *arrowbatch.Vec
	bools      []bool
	w32        []int32
	w64        []int64
	f32        []float32
	f64        []float64
	bytes      []parquet.ByteArray
	fixed      []parquet.FixedLenByteArray
}

// fill makes levels and values of rows of the columns.
func (l *parquetLeaf) fill(vs []*arrowbatch.Vec, rows []int32, env *types.Env) error {
	l.defs, l.reps, l.at = l.defs[:0], l.reps[:0], l.at[:0]
	l.vec = vs[l.path[0]]
	if len(l.path) == 1 {
		for _, i := range rows {
			if l.vec.IsNull(int(i)) {
				l.defs = append(l.defs, 0)
				continue
			}
			l.defs = append(l.defs, 1)
			l.at = append(l.at, i)
		}
	} else {
		for _, i := range rows {
			l.walk(vs[l.path[0]], l.path[1:], i, 0, 0, 0)
		}
	}
	return l.values(env)
}

// walk goes down from row i of v. def is the level of what v is in, level that of the
// list, rep how the first entry repeats.
func (l *parquetLeaf) walk(v *arrowbatch.Vec, path []int, i int32, def, level, rep int16) {
	switch {
	case v.IsNull(int(i)):
		l.entry(def, rep)
	case len(path) == 0:
		l.vec = v
		l.entry(def+1, rep)
		l.at = append(l.at, i)
	case path[0] != inList:
		l.walk(v.Kids[path[0]], path[1:], i, def+1, level, rep)
	default:
		lo, hi := v.ListAt(int(i))
		if lo == hi {
			l.entry(def+1, rep)
		}
		for k := lo; k < hi; k++ {
			l.walk(v.Kids[0], path[1:], int32(k), def+2, level+1, rep)
			rep = level + 1
		}
	}
}

func (l *parquetLeaf) entry(def, rep int16) {
	l.defs = append(l.defs, def)
	if l.rep > 0 {
		l.reps = append(l.reps, rep)
	}
}

// values collects the values at the rows found.
func (l *parquetLeaf) values(env *types.Env) error {
	v := l.vec
	switch l.phys {
	case parquet.Types.Boolean:
		l.bools = l.bools[:0]
		for _, i := range l.at {
			l.bools = append(l.bools, v.Bits.Get(int(i)))
		}
	case parquet.Types.Int32:
		switch l.t.ID {
		case types.Int2:
			l.w32 = l.w32[:0]
			for _, i := range l.at {
				l.w32 = append(l.w32, int32(v.I16[i]))
			}
		case types.Numeric:
			return l.decimals(v)
		default:
			l.w32 = pick(l.w32, v.I32, l.at)
		}
	case parquet.Types.Int64:
		if l.t.ID == types.Numeric {
			return l.decimals(v)
		}
		l.w64 = pick(l.w64, v.I64, l.at)
	case parquet.Types.Float:
		l.f32 = pick(l.f32, v.F32, l.at)
	case parquet.Types.Double:
		l.f64 = pick(l.f64, v.F64, l.at)
	case parquet.Types.FixedLenByteArray:
		l.fixed = l.fixed[:0]
		if l.t.ID == types.Numeric {
			return l.decimals(v)
		}
		own := make([]byte, 0, 16*len(l.at)) // the library keeps the least and the greatest
		for _, i := range l.at {
			own = append(own, v.U128[i][:]...)
			l.fixed = append(l.fixed, own[len(own)-16:])
		}
	default:
		l.texts(v, env)
	}
	return nil
}

// texts collects bytes and what is written as text, in memory of their own: the library
// keeps the least and the greatest of a row group.
func (l *parquetLeaf) texts(v *arrowbatch.Vec, env *types.Env) {
	l.bytes = l.bytes[:0]
	size := 0
	if !l.text {
		for _, i := range l.at {
			size += int(v.Off[i+1] - v.Off[i])
		}
	}
	own := make([]byte, 0, size)
	for _, i := range l.at {
		from := len(own)
		if l.text {
			own = types.AppendText(own, l.t, v, int(i), env)
		} else {
			own = append(own, v.BytesAt(int(i))...)
		}
		l.bytes = append(l.bytes, own[from:len(own):len(own)])
	}
}

// decimals collects unscaled numbers of the type's scale.
func (l *parquetLeaf) decimals(v *arrowbatch.Vec) error {
	var own []byte
	l.w32, l.w64 = l.w32[:0], l.w64[:0]
	if l.phys == parquet.Types.FixedLenByteArray {
		own = make([]byte, 0, l.size*len(l.at))
	}
	for _, i := range l.at {
		d := v.Dec[i]
		fit, err := d.Fits(int(l.t.Mod), int(l.t.Scale))
		if err != nil || fit.Special() != decimal.Finite || fit.Scale() != int(l.t.Scale) {
			return sqlerr.New(sqlerr.NumericValueOutOfRange, "%s cannot be written as a decimal of Parquet", d.String()).
				AsPermanent()
		}
		neg, hi, lo, _, _ := fit.Parts()
		if neg {
			hi, lo = ^hi, -lo
			if lo == 0 {
				hi++
			}
		}
		switch l.phys {
		case parquet.Types.Int32:
			l.w32 = append(l.w32, int32(lo))
		case parquet.Types.Int64:
			l.w64 = append(l.w64, int64(lo))
		default:
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], hi)
			binary.BigEndian.PutUint64(b[8:], lo)
			own = append(own, b[16-l.size:]...)
			l.fixed = append(l.fixed, own[len(own)-l.size:])
		}
	}
	return nil
}

// pick puts the values of some rows in the place of what dst holds.
func pick[T any](dst, src []T, rows []int32) []T {
	dst = dst[:0]
	for _, i := range rows {
		dst = append(dst, src[i])
	}
	return dst
}

// give writes levels and values to the library.
func (l *parquetLeaf) give(w file.ColumnChunkWriter) (err error) {
	var reps []int16
	if l.rep > 0 {
		reps = l.reps
	}
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(l.bools, l.defs, reps)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(l.w32, l.defs, reps)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(l.w64, l.defs, reps)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(l.f32, l.defs, reps)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(l.f64, l.defs, reps)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(l.fixed, l.defs, reps)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(l.bytes, l.defs, reps)
	default:
		err = sqlerr.Internal("no writer of Parquet's type %s", l.phys)
	}
	return err
}

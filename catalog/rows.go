package catalog

import (
	"fmt"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Rows collects the rows of a system relation.
type Rows struct {
	cols []Column
	pos  map[string]int
	out  *arrowbatch.Batch
}

// Vals are the values of one row by column name: nil, bool, the integers, the
// floats, string, []byte, intervals, []string, []uint32, []int16, each where the column's
// layout can hold it. A time is an int64 of microseconds. A column without value
// is NULL, or if it is NOT NULL the zero of its type.
type Vals map[string]any

// NewRows starts an empty set of rows with those columns.
func NewRows(cols []Column) *Rows {
	r := &Rows{cols: cols, pos: make(map[string]int, len(cols))}
	shapes := make([]arrowbatch.Shape, len(cols))
	for i, c := range cols {
		r.pos[c.Name] = i
		shapes[i] = c.Type.Shape()
	}
	r.out = arrowbatch.NewLike(shapes)
	return r
}

// Batch returns the rows; r must not be used afterwards.
func (r *Rows) Batch() *arrowbatch.Batch { return r.out }

// Row adds a row. It panics on a column or a value that does not fit: the set
// of columns is fixed by this package and every caller is covered by its tests.
func (r *Rows) Row(v Vals) {
	for name := range v {
		if _, ok := r.pos[name]; !ok {
			panic("catalog: no column " + name)
		}
	}
	for i, c := range r.cols {
		val, given := v[c.Name]
		vec := r.out.Cols[i]
		switch {
		case val != nil:
			appendValue(vec, c, val)
		case given || !c.NotNull:
			vec.AppendNull()
		default:
			appendZero(vec)
		}
	}
	r.out.AppendOp(arrowbatch.Insert)
}

func appendZero(v *arrowbatch.Vec) {
	v.Resize(v.N + 1)
	i := v.N - 1
	switch v.Layout {
	case arrowbatch.Bool:
		v.Bits.Clear(i)
	case arrowbatch.Int16:
		v.I16[i] = 0
	case arrowbatch.Int32:
		v.I32[i] = 0
	case arrowbatch.Int64:
		v.I64[i] = 0
	case arrowbatch.Float32:
		v.F32[i] = 0
	case arrowbatch.Float64:
		v.F64[i] = 0
	case arrowbatch.Interval:
		v.Ivl[i] = arrowbatch.IntervalValue{}
	}
}

func appendValue(v *arrowbatch.Vec, c Column, val any) {
	ok := false
	switch v.Layout {
	case arrowbatch.Bool:
		if b, is := val.(bool); is {
			v.AppendBool(b)
			ok = true
		}
	case arrowbatch.Int16, arrowbatch.Int32, arrowbatch.Int64:
		if n, is := asInt(val); is {
			appendInt(v, n)
			ok = true
		}
	case arrowbatch.Float32, arrowbatch.Float64:
		if f, is := val.(float64); is {
			appendFloat(v, f)
			ok = true
		}
	case arrowbatch.Interval:
		if iv, is := val.(arrowbatch.IntervalValue); is {
			v.AppendInterval(iv)
			ok = true
		}
	case arrowbatch.Bytes:
		ok = appendText(v, val)
	case arrowbatch.List:
		ok = appendList(v, *c.Type.Elem, val)
	}
	if !ok {
		panic(fmt.Sprintf("catalog: column %s of type %s cannot hold %T", c.Name, c.Type, val))
	}
}

func asInt(val any) (int64, bool) {
	switch n := val.(type) {
	case int:
		return int64(n), true
	case int16:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint32:
		return int64(n), true
	case uint64:
		return int64(n), true
	}
	return 0, false
}

func appendInt(v *arrowbatch.Vec, n int64) {
	switch v.Layout {
	case arrowbatch.Int16:
		v.AppendInt16(int16(n))
	case arrowbatch.Int32:
		v.AppendInt32(int32(n))
	default:
		v.AppendInt64(n)
	}
}

func appendFloat(v *arrowbatch.Vec, f float64) {
	if v.Layout == arrowbatch.Float32 {
		v.AppendFloat32(float32(f))
		return
	}
	v.AppendFloat64(f)
}

func appendText(v *arrowbatch.Vec, val any) bool {
	switch s := val.(type) {
	case string:
		v.AppendString(sqlerr.Text(s))
	case []byte:
		v.AppendBytes(s)
	default:
		return false
	}
	return true
}

func appendList(v *arrowbatch.Vec, elem types.Type, val any) bool {
	kid := v.Kids[0]
	switch list := val.(type) {
	case []string:
		if elem.Layout() != arrowbatch.Bytes {
			return false
		}
		for _, s := range list {
			kid.AppendString(s)
		}
	case []uint32:
		for _, n := range list {
			appendInt(kid, int64(n))
		}
	case []int16:
		for _, n := range list {
			appendInt(kid, int64(n))
		}
	default:
		return false
	}
	v.EndList()
	return true
}

func itoa(n int) string { return strconv.Itoa(n) }

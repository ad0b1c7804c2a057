package types

import (
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
)

// AppendText appends row i of v, a column of type t, as PostgreSQL's output
// function of the type prints it. The row must not be NULL: NULL has no text of
// its own, the caller's format says how to show it.
func AppendText(dst []byte, t Type, v *arrowbatch.Vec, i int, env *Env) []byte {
	switch t.ID {
	case Bool:
		if v.Bits.Get(i) {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case Int2:
		return strconv.AppendInt(dst, int64(v.I16[i]), 10)
	case Int4:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case Int8, OID, Regclass, Regtype, Regproc, Regnamespace:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case Float4:
		return AppendFloat(dst, float64(v.F32[i]), 32, env)
	case Float8:
		return AppendFloat(dst, v.F64[i], 64, env)
	case Numeric:
		return v.Dec[i].AppendText(dst)
	case Date:
		return AppendDate(dst, v.I32[i])
	case Time:
		return AppendTime(dst, v.I64[i])
	case Timestamp:
		return AppendTimestamp(dst, v.I64[i])
	case Timestamptz:
		return AppendTimestamptz(dst, v.I64[i], env)
	case Interval:
		return AppendInterval(dst, v.Ivl[i])
	case UUID:
		return AppendUUID(dst, &v.U128[i])
	case Bytea:
		return AppendBytea(dst, v.BytesAt(i), env)
	case Char:
		return appendCharText(dst, v.BytesAt(i))
	case Array:
		return appendArray(dst, *t.Elem, v, i, env)
	case Struct:
		return appendRecord(dst, t.Fields, v, i, env)
	}
	return append(dst, v.BytesAt(i)...)
}

package types

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// AppendBinary appends row i of v, a column of type t, in PostgreSQL's binary
// format without a length in front. The row must not be NULL.
func AppendBinary(dst []byte, t Type, v *arrowbatch.Vec, i int) []byte {
	be := binary.BigEndian
	switch t.ID {
	case Bool:
		if v.Bits.Get(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case Int2:
		return be.AppendUint16(dst, uint16(v.I16[i]))
	case Int4:
		return be.AppendUint32(dst, uint32(v.I32[i]))
	case Int8, Time:
		return be.AppendUint64(dst, uint64(v.I64[i]))
	case OID, Regclass, Regtype, Regproc, Regnamespace:
		return be.AppendUint32(dst, uint32(v.I64[i]))
	case Float4:
		if f := v.F32[i]; f == f {
			return be.AppendUint32(dst, math.Float32bits(f))
		}
		return be.AppendUint32(dst, math.Float32bits(float32(nan)))
	case Float8:
		if f := v.F64[i]; f == f {
			return be.AppendUint64(dst, math.Float64bits(f))
		}
		return be.AppendUint64(dst, math.Float64bits(nan))
	case Numeric:
		return v.Dec[i].AppendBinary(dst)
	case Date:
		d := v.I32[i]
		if IsFiniteDate(d) {
			d -= pgEpochDays
		}
		return be.AppendUint32(dst, uint32(d))
	case Timestamp, Timestamptz:
		us := v.I64[i]
		if IsFiniteTime(us) {
			us -= pgEpochMicros
		}
		return be.AppendUint64(dst, uint64(us))
	case Interval:
		iv := v.Ivl[i]
		dst = be.AppendUint64(dst, uint64(iv.Micros))
		dst = be.AppendUint32(dst, uint32(iv.Days))
		return be.AppendUint32(dst, uint32(iv.Months))
	case UUID:
		return append(dst, v.U128[i][:]...)
	case Char:
		return append(dst, firstByte(v.BytesAt(i)))
	case JSONB:
		return append(append(dst, 1), v.BytesAt(i)...)
	case Array:
		return appendBinaryArray(dst, *t.Elem, v, i)
	case Struct:
		return appendBinaryRecord(dst, t.Fields, v, i)
	}
	return append(dst, v.BytesAt(i)...)
}

// appendSized appends row i of v with its length in front, -1 for NULL.
func appendSized(dst []byte, t Type, v *arrowbatch.Vec, i int) []byte {
	if v.IsNull(i) {
		return binary.BigEndian.AppendUint32(dst, math.MaxUint32)
	}
	at := len(dst)
	dst = AppendBinary(append(dst, 0, 0, 0, 0), t, v, i)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendBinaryArray(dst []byte, elem Type, v *arrowbatch.Vec, i int) []byte {
	be := binary.BigEndian
	lo, hi := v.ListAt(i)
	kid := v.Kids[0]
	nulls := uint32(0)
	for k := lo; k < hi; k++ {
		if kid.IsNull(k) {
			nulls = 1
			break
		}
	}
	if lo == hi {
		dst = be.AppendUint32(dst, 0)
		dst = be.AppendUint32(dst, 0)
		return be.AppendUint32(dst, elem.OID())
	}
	dst = be.AppendUint32(dst, 1)
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, elem.OID())
	dst = be.AppendUint32(dst, uint32(hi-lo))
	dst = be.AppendUint32(dst, 1) // the lower bound
	for k := lo; k < hi; k++ {
		dst = appendSized(dst, elem, kid, k)
	}
	return dst
}

func appendBinaryRecord(dst []byte, fields []Field, v *arrowbatch.Vec, i int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(fields)))
	for k, f := range fields {
		dst = binary.BigEndian.AppendUint32(dst, f.Type.OID())
		dst = appendSized(dst, f.Type, v.Kids[k], i)
	}
	return dst
}

// ParseBinary adds a row to v, a column of type t, of a value in PostgreSQL's
// binary format. 22P03 for malformed bytes; values are checked as ParseText does.
func ParseBinary(t Type, b []byte, v *arrowbatch.Vec) error {
	be := binary.BigEndian
	if n := infos[t.ID].size; n > 0 && len(b) != int(n) && t.ID != Name {
		return badBinary(t)
	}
	switch t.ID {
	case Bool:
		v.AppendBool(b[0] != 0)
	case Int2:
		v.AppendInt16(int16(be.Uint16(b)))
	case Int4:
		v.AppendInt32(int32(be.Uint32(b)))
	case Int8:
		v.AppendInt64(int64(be.Uint64(b)))
	case OID, Regclass, Regtype, Regproc, Regnamespace:
		v.AppendInt64(int64(be.Uint32(b)))
	case Float4:
		v.AppendFloat32(math.Float32frombits(be.Uint32(b)))
	case Float8:
		v.AppendFloat64(math.Float64frombits(be.Uint64(b)))
	case Numeric:
		return parseBinaryNumeric(t, b, v)
	case Date, Time, Timestamp, Timestamptz, Interval:
		return parseBinaryTime(t, b, v)
	case UUID:
		v.AppendUUID([16]byte(b))
	case Bytea:
		v.AppendBytes(b)
	case Char:
		v.AppendBytes(oneByte(b[0]))
	case JSONB:
		if len(b) == 0 || b[0] != 1 {
			return sqlerr.New(sqlerr.InternalError, "unsupported jsonb version number %d", firstByte(b))
		}
		return ParseText(t, b[1:], v, nil)
	case Array:
		return parseBinaryArray(t, b, v)
	case Struct:
		return parseBinaryRecord(t, b, v)
	default:
		return ParseText(t, b, v, nil)
	}
	return nil
}

func firstByte(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func parseBinaryNumeric(t Type, b []byte, v *arrowbatch.Vec) error {
	d, err := decimal.FromBinary(b)
	if err == nil && t.Mod > 0 {
		d, err = d.Fits(int(t.Mod), int(t.Scale))
	}
	if err != nil {
		return err
	}
	v.AppendDecimal(d)
	return nil
}

func parseBinaryTime(t Type, b []byte, v *arrowbatch.Vec) error {
	be := binary.BigEndian
	switch t.ID {
	case Date:
		d := int32(be.Uint32(b))
		if IsFiniteDate(d) {
			if int64(d)+pgEpochDays > int64(MaxDate) || d < MinDate-pgEpochDays {
				return sqlerr.New(sqlerr.DatetimeFieldOverflow, "date out of range")
			}
			d += pgEpochDays
		}
		v.AppendInt32(d)
	case Time:
		us := int64(be.Uint64(b))
		if us < 0 || us > MicrosPerDay {
			return sqlerr.New(sqlerr.DatetimeFieldOverflow, "time out of range")
		}
		v.AppendInt64(RoundTime(t, us))
	case Timestamp, Timestamptz:
		us := int64(be.Uint64(b))
		if IsFiniteTime(us) {
			if us > MaxTime-pgEpochMicros || us < MinTime-pgEpochMicros {
				return timestampRange()
			}
			us += pgEpochMicros
		}
		v.AppendInt64(RoundTime(t, us))
	case Interval:
		v.AppendInterval(arrowbatch.IntervalValue{
			Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])), Months: int32(be.Uint32(b[12:]))})
	}
	return nil
}

func timestampRange() error {
	return sqlerr.New(sqlerr.DatetimeFieldOverflow, "timestamp out of range")
}

// parseBinaryArray reads the dimensions, the element type and the elements.
func parseBinaryArray(t Type, b []byte, v *arrowbatch.Vec) error {
	be := binary.BigEndian
	if len(b) < 12 {
		return badBinary(t)
	}
	dims, flags, oid := be.Uint32(b), be.Uint32(b[4:]), be.Uint32(b[8:])
	switch {
	case flags > 1:
		return sqlerr.New(sqlerr.InvalidBinaryRepresentation, "invalid array flags")
	case oid != t.Elem.OID():
		return sqlerr.New(sqlerr.DatatypeMismatch, "wrong element type")
	case dims > 1:
		return sqlerr.Unsupported("arrays of more than one dimension are not supported")
	}
	kid := v.Kids[0]
	was := kid.N
	if dims == 1 {
		if len(b) < 20 || be.Uint32(b[12:]) > uint32(len(b)) {
			return badBinary(t)
		}
		n := int(be.Uint32(b[12:]))
		b = b[20:]
		var err error
		for range n {
			if b, err = parseSized(*t.Elem, b, kid); err != nil {
				kid.Resize(was)
				return err
			}
		}
	} else {
		b = b[12:]
	}
	if len(b) != 0 {
		kid.Resize(was)
		return badBinary(t)
	}
	v.EndList()
	return nil
}

// parseSized reads a length and that many bytes, and returns the rest.
func parseSized(t Type, b []byte, v *arrowbatch.Vec) ([]byte, error) {
	if len(b) < 4 {
		return nil, badBinary(t)
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if n == -1 {
		v.AppendNull()
		return b, nil
	}
	if n < 0 || int(n) > len(b) {
		return nil, badBinary(t)
	}
	return b[n:], ParseBinary(t, b[:n], v)
}

func parseBinaryRecord(t Type, b []byte, v *arrowbatch.Vec) error {
	be := binary.BigEndian
	if len(b) < 4 || int(be.Uint32(b)) != len(t.Fields) {
		return sqlerr.New(sqlerr.DatatypeMismatch, "wrong number of columns: %d, expected %d",
			countOf(b), len(t.Fields))
	}
	was := v.N
	b = b[4:]
	err := error(nil)
	for k, f := range t.Fields {
		if len(b) < 8 {
			err = badBinary(t)
			break
		}
		if oid := be.Uint32(b); oid != f.Type.OID() {
			err = sqlerr.New(sqlerr.DatatypeMismatch,
				"binary data has type %d instead of expected %d in record column %d", oid, f.Type.OID(), k+1)
			break
		}
		if b, err = parseSized(f.Type, b[4:], v.Kids[k]); err != nil {
			break
		}
	}
	if err == nil && len(b) != 0 {
		err = badBinary(t)
	}
	if err != nil {
		for _, kid := range v.Kids {
			kid.Resize(was)
		}
		return err
	}
	v.EndStruct()
	return nil
}

func countOf(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(b))
}

// checkUTF8 returns PostgreSQL's 22021 for bytes that are no text.
func checkUTF8(s string) error {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c == 0 {
				return badEncoding(s[i : i+1])
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return badEncoding(s[i:])
		}
		i += n
	}
	return nil
}

func badEncoding(s string) error {
	n := 1
	switch c := s[0]; {
	case c >= 0xF0 && c < 0xF8:
		n = 4
	case c >= 0xE0 && c < 0xF0:
		n = 3
	case c >= 0xC0 && c < 0xE0:
		n = 2
	}
	msg := []byte(`invalid byte sequence for encoding "UTF8":`)
	for i := 0; i < n && i < len(s); i++ {
		msg = append(msg, ' ', '0', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return sqlerr.New(sqlerr.CharacterNotInRepertoire, "%s", msg)
}

package format

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// class is what a binary encoding says that a value is.
type class uint8

const (
	classBool class = iota
	classInt
	classUint
	classFloat4
	classFloat8
	classText // text, read by the column type's input syntax
	classBytes
	classDecimal
	classDate
	classTime
	classInstant // a time of UTC
	classLocal   // a time without a zone
	classInterval
)

// scalar is one value on its way from a binary encoding into a column.
type scalar struct {
	class class
	i     int64 // bool, integers, days, microseconds
	f     float64
	b     []byte
	d     decimal.Decimal
	ivl   arrowbatch.IntervalValue
}

// takes tells whether columns of type t can be filled with values of the class.
func takes(t types.Type, c class) bool {
	switch t.ID {
	case types.Array, types.Struct:
		return false
	case types.Text, types.Varchar, types.JSON, types.JSONB:
		return true
	}
	switch c {
	case classText:
		return true
	case classBool:
		return t.ID == types.Bool
	case classInt, classUint, classFloat4, classFloat8, classDecimal:
		switch t.ID {
		case types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric, types.OID:
			return true
		}
	case classBytes:
		return t.ID == types.Bytea
	case classDate:
		return t.ID == types.Date || t.ID == types.Timestamp || t.ID == types.Timestamptz
	case classTime:
		return t.ID == types.Time
	case classInstant, classLocal:
		return t.ID == types.Timestamp || t.ID == types.Timestamptz
	case classInterval:
		return t.ID == types.Interval
	}
	return false
}

// scalarInput puts scalars into columns.
type scalarInput struct {
	text textInput
	tmp  []byte
}

// put adds the value to the node's column, which is as long as the row's number.
// The usual pairs of class and type are copied; others go through the type's
// input syntax, which checks ranges and applies modifiers.
func (in *scalarInput) put(n *node, row int, s *scalar) *sqlerr.Error {
	switch n.kind {
	case kindInt8, kindInt4, kindInt2:
		if s.class == classInt || s.class == classUint && s.i >= 0 {
			return putInt(n, s.i)
		}
	case kindFloat8:
		switch s.class {
		case classFloat4, classFloat8:
			n.v.AppendFloat64(s.f)
			return nil
		case classInt:
			n.v.AppendFloat64(float64(s.i))
			return nil
		}
	case kindFloat4:
		if s.class == classFloat4 {
			n.v.AppendFloat32(float32(s.f))
			return nil
		}
	case kindBool:
		if s.class == classBool {
			n.v.AppendBool(s.i != 0)
			return nil
		}
	case kindNumeric:
		switch s.class {
		case classDecimal:
			n.v.AppendDecimal(s.d)
			return nil
		case classInt:
			n.v.AppendDecimal(decimal.FromInt64(s.i))
			return nil
		}
	case kindDate:
		if s.class == classDate {
			n.v.AppendInt32(int32(s.i))
			return nil
		}
	case kindTimestamp, kindTimestamptz:
		if s.class == classInstant || s.class == classLocal && n.kind == kindTimestamp {
			us := s.i
			if n.t.Mod != 0 {
				us = types.RoundTime(n.t, us)
			}
			n.v.AppendInt64(us)
			return nil
		}
	case kindJSON, kindJSONB:
		if s.class != classText {
			in.tmp = appendScalarJSON(in.tmp[:0], s)
			return in.text.put(n, row, in.tmp)
		}
	default:
		switch {
		case s.class == classBytes && n.t.ID == types.Bytea:
			n.v.AppendBytes(s.b)
			return nil
		case s.class == classTime && n.t.ID == types.Time && n.t.Mod == 0:
			n.v.AppendInt64(s.i)
			return nil
		}
	}
	if s.class == classText || s.class == classBytes {
		return in.text.put(n, row, s.b)
	}
	in.tmp = appendScalarText(in.tmp[:0], s)
	return in.text.put(n, row, in.tmp)
}

func putInt(n *node, x int64) *sqlerr.Error {
	switch {
	case n.kind == kindInt8:
		n.v.AppendInt64(x)
	case n.kind == kindInt4 && x == int64(int32(x)):
		n.v.AppendInt32(int32(x))
	case n.kind == kindInt2 && x == int64(int16(x)):
		n.v.AppendInt16(int16(x))
	default:
		return sqlerr.New(sqlerr.NumericValueOutOfRange, `value "%d" is out of range for type %s`, x, n.t)
	}
	return nil
}

// appendScalarText appends the value in the input syntax of its own type.
func appendScalarText(dst []byte, s *scalar) []byte {
	switch s.class {
	case classBool:
		return strconv.AppendBool(dst, s.i != 0)
	case classInt:
		return strconv.AppendInt(dst, s.i, 10)
	case classUint:
		return strconv.AppendUint(dst, uint64(s.i), 10)
	case classFloat4:
		return types.AppendFloat(dst, s.f, 32, nil)
	case classFloat8:
		return types.AppendFloat(dst, s.f, 64, nil)
	case classDecimal:
		return s.d.AppendText(dst)
	case classDate:
		return types.AppendDate(dst, int32(s.i))
	case classTime:
		return types.AppendTime(dst, s.i)
	case classInstant:
		return append(types.AppendTimestamp(dst, s.i), "+00"...)
	case classLocal:
		return types.AppendTimestamp(dst, s.i)
	case classInterval:
		return types.AppendInterval(dst, s.ivl)
	}
	return append(dst, s.b...)
}

// appendScalarJSON appends the value as JSON; bytes are base64, as protobuf's own
// JSON has them.
func appendScalarJSON(dst []byte, s *scalar) []byte {
	switch s.class {
	case classFloat4, classFloat8:
		if math.IsNaN(s.f) || math.IsInf(s.f, 0) {
			break
		}
		return appendScalarText(dst, s)
	case classBool, classInt, classUint:
		return appendScalarText(dst, s)
	case classDecimal:
		if _, _, _, _, special := s.d.Parts(); special == decimal.Finite {
			return s.d.AppendText(dst)
		}
	case classText:
		return AppendJSONString(dst, s.b)
	case classBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, s.b)
		return append(dst, '"')
	}
	dst = append(dst, '"')
	return append(appendScalarText(dst, s), '"')
}

// bigEndian reads a signed two's complement number of any length, as Avro and
// Connect write decimals. ok is false where it has more digits than numeric holds.
func bigEndian(b []byte, scale int) (d decimal.Decimal, ok bool) {
	neg := len(b) > 0 && b[0]&0x80 != 0
	for len(b) > 16 && (b[0] == 0 && !neg || b[0] == 0xff && neg) {
		b = b[1:]
	}
	if len(b) > 16 || len(b) == 16 && (b[0]&0x80 != 0) != neg {
		return d, false
	}
	var hi, lo uint64
	if neg {
		hi, lo = ^uint64(0), ^uint64(0)
	}
	for _, c := range b {
		hi, lo = hi<<8|lo>>56, lo<<8|uint64(c)
	}
	if neg {
		hi, lo = ^hi, -lo
		if lo == 0 {
			hi++
		}
	}
	d, err := decimal.FromParts(neg, hi, lo, scale, decimal.Finite)
	return d, err == nil
}

// micros converts units of a 10^-digits second (3, 6 or 9) to microseconds; ok is
// false for what no timestamp can be.
func micros(x int64, digits int) (us int64, ok bool) {
	switch digits {
	case 6:
		if x == types.PosInfTime || x == types.NegInfTime {
			return x, true // as our own encoder writes them
		}
	case 3:
		if x > math.MaxInt64/1000 || x < math.MinInt64/1000 {
			return 0, false
		}
		x *= 1000
	case 9:
		q, r := x/1000, x%1000
		if r < 0 {
			q--
		}
		x = q
	}
	return x, x >= minTimestamp && x < math.MaxInt64
}

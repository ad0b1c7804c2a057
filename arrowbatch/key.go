package arrowbatch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/streamsql/streamsql/internal/decimal"
)

// The key code is order-preserving: bytes.Compare of two keys orders the rows as
// PostgreSQL orders the values (NULL last, NaN above all numbers, text by bytes),
// and values that are equal in SQL have equal keys. It is self-delimiting, so
// columns follow each other. For Decimal, Interval, Float32 and Float64 several
// values have one key (1.0 and 1.00, 1 day and 24 hours, 0 and -0): decoding
// gives one of them; see Layout.ExactKey.
const (
	keyValue byte = 0x01
	keyNull  byte = 0x02
)

// ExactKey tells whether decoding a key gives back the very value, not just an
// equal one.
func (s Shape) ExactKey() bool {
	switch s.Layout {
	case Decimal, Interval, Float32, Float64:
		return false
	}
	for _, k := range s.Kids {
		if !k.ExactKey() {
			return false
		}
	}
	return true
}

// AppendKey appends the key of row i.
func (v *Vec) AppendKey(dst []byte, i int) []byte {
	if v.IsNull(i) {
		return append(dst, keyNull)
	}
	dst = append(dst, keyValue)
	switch v.Layout {
	case Bool:
		if v.Bits.Get(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case Int16:
		return binary.BigEndian.AppendUint16(dst, uint16(v.I16[i])^1<<15)
	case Int32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.I32[i])^1<<31)
	case Int64:
		return binary.BigEndian.AppendUint64(dst, uint64(v.I64[i])^1<<63)
	case Float32:
		return binary.BigEndian.AppendUint64(dst, floatKey(float64(v.F32[i])))
	case Float64:
		return binary.BigEndian.AppendUint64(dst, floatKey(v.F64[i]))
	case Decimal:
		return appendDecimalKey(dst, v.Dec[i])
	case Interval:
		days, micros := v.Ivl[i].Total()
		dst = binary.BigEndian.AppendUint64(dst, uint64(days)^1<<63)
		return binary.BigEndian.AppendUint64(dst, uint64(micros))
	case UUID:
		return append(dst, v.U128[i][:]...)
	case Bytes:
		return appendBytesKey(dst, v.BytesAt(i))
	case List:
		lo, hi := v.ListAt(i)
		for ; lo < hi; lo++ {
			dst = v.Kids[0].AppendKey(dst, lo)
		}
		return append(dst, 0)
	case Struct:
		for _, k := range v.Kids {
			dst = k.AppendKey(dst, i)
		}
	}
	return dst
}

// AppendKeyDesc appends the key of row i for descending order: every byte is
// inverted, so NULL comes first, as PostgreSQL's DESC has it.
func (v *Vec) AppendKeyDesc(dst []byte, i int) []byte {
	from := len(dst)
	dst = v.AppendKey(dst, i)
	for j := from; j < len(dst); j++ {
		dst[j] = ^dst[j]
	}
	return dst
}

const microsPerDay = 86400_000_000

// Total returns the length that PostgreSQL compares intervals by (a month is 30
// days, a day 24 hours) as whole days and microseconds within the day.
func (x IntervalValue) Total() (days, micros int64) {
	days = int64(x.Months)*30 + int64(x.Days)
	d := x.Micros / microsPerDay
	m := x.Micros % microsPerDay
	if m < 0 {
		m += microsPerDay
		d--
	}
	return days + d, m
}

func floatKey(f float64) uint64 {
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		f = 0 // -0 has the key of 0
	}
	u := math.Float64bits(f)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

func floatFromKey(u uint64) float64 {
	switch {
	case u == math.MaxUint64:
		return math.NaN()
	case u>>63 != 0:
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}

func appendBytesKey(dst, b []byte) []byte {
	for _, c := range b {
		if c == 0 {
			dst = append(dst, 0, 0xFF)
			continue
		}
		dst = append(dst, c)
	}
	return append(dst, 0, 1)
}

// Classes of a decimal key, in order.
const (
	decNegInf byte = iota + 1
	decNeg
	decZero
	decPos
	decPosInf
	decNaN
)

// appendDecimalKey writes class, number of integer digits, then the digits
// without trailing zeros, each plus one, ended by 0; negative numbers inverted.
func appendDecimalKey(dst []byte, d decimal.Decimal) []byte {
	switch d.Special() {
	case decimal.SpecialNaN:
		return append(dst, decNaN)
	case decimal.SpecialInf:
		return append(dst, decPosInf)
	case decimal.SpecialNegInf:
		return append(dst, decNegInf)
	}
	neg, digits, scale := d.Digits()
	if len(digits) == 0 {
		return append(dst, decZero)
	}
	intDigits := len(digits) - scale
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	class := decPos
	if neg {
		class = decNeg
	}
	dst = append(dst, class)
	from := len(dst)
	dst = append(dst, byte(intDigits+128))
	for _, c := range digits[:end] {
		dst = append(dst, c-'0'+1)
	}
	dst = append(dst, 0)
	if neg {
		for j := from; j < len(dst); j++ {
			dst[j] = ^dst[j]
		}
	}
	return dst
}

var errKey = fmt.Errorf("malformed key")

// DecodeKey appends the value at the front of src to v and returns the rest.
func (v *Vec) DecodeKey(src []byte) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, errKey
	}
	tag := src[0]
	src = src[1:]
	if tag == keyNull {
		v.AppendNull()
		return src, nil
	}
	if tag != keyValue {
		return nil, errKey
	}
	if w := keyWidth[v.Layout]; len(src) < w {
		return nil, errKey
	} else if w > 0 {
		v.decodeFixedKey(src)
		return src[w:], nil
	}
	switch v.Layout {
	case Decimal:
		d, rest, err := decodeDecimalKey(src)
		if err != nil {
			return nil, err
		}
		v.AppendDecimal(d)
		return rest, nil
	case Bytes:
		return v.decodeBytesKey(src)
	case List:
		for {
			if len(src) == 0 {
				return nil, errKey
			}
			if src[0] == 0 {
				v.EndList()
				return src[1:], nil
			}
			if src, err = v.Kids[0].DecodeKey(src); err != nil {
				return nil, err
			}
		}
	case Struct:
		for _, k := range v.Kids {
			if src, err = k.DecodeKey(src); err != nil {
				return nil, err
			}
		}
		v.EndStruct()
		return src, nil
	}
	return nil, errKey
}

var keyWidth = [numLayouts]int{Bool: 1, Int16: 2, Int32: 4, Int64: 8, Float32: 8, Float64: 8, Interval: 16, UUID: 16}

func (v *Vec) decodeFixedKey(src []byte) {
	switch v.Layout {
	case Bool:
		v.AppendBool(src[0] != 0)
	case Int16:
		v.AppendInt16(int16(binary.BigEndian.Uint16(src) ^ 1<<15))
	case Int32:
		v.AppendInt32(int32(binary.BigEndian.Uint32(src) ^ 1<<31))
	case Int64:
		v.AppendInt64(int64(binary.BigEndian.Uint64(src) ^ 1<<63))
	case Float32:
		v.AppendFloat32(float32(floatFromKey(binary.BigEndian.Uint64(src))))
	case Float64:
		v.AppendFloat64(floatFromKey(binary.BigEndian.Uint64(src)))
	case Interval:
		days := int64(binary.BigEndian.Uint64(src) ^ 1<<63)
		micros := int64(binary.BigEndian.Uint64(src[8:]))
		v.AppendInterval(IntervalValue{Months: int32(days / 30), Days: int32(days % 30), Micros: micros})
	case UUID:
		v.AppendUUID([16]byte(src[:16]))
	}
}

func (v *Vec) decodeBytesKey(src []byte) ([]byte, error) {
	for i := 0; i < len(src); i++ {
		if src[i] != 0 {
			v.Data = append(v.Data, src[i])
			continue
		}
		if i+1 >= len(src) {
			break
		}
		if src[i+1] == 1 {
			v.EndBytes()
			return src[i+2:], nil
		}
		v.Data = append(v.Data, 0)
		i++
	}
	v.Data = v.Data[:v.Off[v.N]]
	return nil, errKey
}

func decodeDecimalKey(src []byte) (d decimal.Decimal, rest []byte, err error) {
	if len(src) == 0 {
		return d, nil, errKey
	}
	class := src[0]
	src = src[1:]
	inv := byte(0)
	switch class {
	case decNaN:
		return decimal.NaN, src, nil
	case decPosInf:
		return decimal.Inf, src, nil
	case decNegInf:
		return decimal.NegInf, src, nil
	case decZero:
		return d, src, nil
	case decNeg:
		inv = 0xFF
	case decPos:
	default:
		return d, nil, errKey
	}
	if len(src) == 0 {
		return d, nil, errKey
	}
	intDigits := int(src[0]^inv) - 128
	var digits [64]byte
	n := 0
	for i := 1; i < len(src); i++ {
		c := src[i] ^ inv
		if c == 0 {
			for n < intDigits && n < len(digits) {
				digits[n] = '0'
				n++
			}
			d, err = decimal.FromDigits(inv != 0, digits[:n], n-intDigits)
			return d, src[i+1:], err
		}
		if n == len(digits) || c > 10 {
			return d, nil, errKey
		}
		digits[n] = c - 1 + '0'
		n++
	}
	return d, nil, errKey
}

package decimal

import "encoding/binary"

// Digits returns the sign, the coefficient's decimal digits without leading
// zeros (none for 0) and the scale of a finite d.
func (d Decimal) Digits() (neg bool, digits []byte, scale int) {
	neg, c := d.abs()
	buf := make([]byte, 0, MaxDigits+4)
	for !c.isZero() {
		var r uint64
		c, r = c.div64(10)
		buf = append(buf, byte('0'+r))
	}
	for i, j := 0, len(buf)-1; i < j; i, j = i+1, j-1 {
		buf[i], buf[j] = buf[j], buf[i]
	}
	return neg, buf, d.mark()
}

// FromDigits is the inverse of Digits. A negative scale appends zeros.
func FromDigits(neg bool, digits []byte, scale int) (Decimal, error) {
	if len(digits) > MaxDigits+MaxScale || scale < -MaxDigits {
		return Decimal{}, tooLong()
	}
	var c u128
	ok := true
	push := func(x uint64) {
		var good bool
		if c, good = c.mul(u128{lo: 10}); !good {
			ok = false
			return
		}
		c, good = c.add(u128{lo: x})
		ok = ok && !good
	}
	for _, b := range digits {
		push(uint64(b - '0'))
	}
	for ; scale < 0; scale++ {
		push(0)
	}
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(neg, c, scale)
}

// Bytes returns d's 16 bytes, for storage; FromBytes is the inverse.
func (d Decimal) Bytes() (b [16]byte) {
	binary.LittleEndian.PutUint64(b[:8], d.lo)
	binary.LittleEndian.PutUint64(b[8:], uint64(d.hi))
	return b
}

// FromBytes returns the number whose Bytes are b.
func FromBytes(b [16]byte) Decimal {
	return Decimal{lo: binary.LittleEndian.Uint64(b[:8]), hi: int64(binary.LittleEndian.Uint64(b[8:]))}
}

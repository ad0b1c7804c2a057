package format

import (
	"encoding/binary"
	"math/bits"
)

// strFlags tell what is in a JSON string besides plain ASCII.
type strFlags uint8

const (
	hasEscape  strFlags = 1 << iota
	hasHigh             // bytes from 0x80 on
	hasControl          // the string is malformed: a control character
)

const (
	lanes = 0x0101010101010101
	tops  = 0x8080808080808080
)

// specials returns a word whose lowest set bit is in the lane of the first byte
// of w that is a quote, a backslash, a control character or not ASCII; 0: none.
// A lane below what is subtracted borrows and gets its top bit; lanes above it may
// get theirs by mistake.
func specials(w uint64) uint64 {
	return (((w ^ lanes*'"') - lanes) | ((w ^ lanes*'\\') - lanes) | (w - lanes*0x20) | w) & tops
}

// scanString returns the place of the quote that ends the string whose content
// begins at i, or -1: the string is cut off, or has a control character.
func scanString(b []byte, i int) (end int, flags strFlags) {
	for i+8 <= len(b) {
		m := specials(binary.LittleEndian.Uint64(b[i : i+8]))
		for m == 0 && i+24 <= len(b) {
			m = specials(binary.LittleEndian.Uint64(b[i+8 : i+16]))
			next := specials(binary.LittleEndian.Uint64(b[i+16 : i+24]))
			if m != 0 {
				i += 8
				break
			}
			i += 16
			m = next
		}
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		switch c := b[i]; {
		case c == '"':
			return i, flags
		case c == '\\':
			flags |= hasEscape
			i += 2
		case c < 0x20:
			return -1, flags | hasControl
		default:
			flags |= hasHigh
			for i < len(b) && b[i] >= 0x80 {
				i++
			}
		}
	}
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i, flags
		case c == '\\':
			flags |= hasEscape
			i++
		case c < 0x20:
			return -1, flags | hasControl
		case c >= 0x80:
			flags |= hasHigh
		}
		i++
	}
	return -1, flags
}

// delimiter tells whether c may follow a number, true, false or null.
func delimiter(c byte) bool {
	return c == ',' || c == '}' || c == ']' || isSpace(c)
}

// scanDigits reads a whole number of at most 18 digits without superfluous
// zeros; end is 0 where there is anything else.
func scanDigits(b []byte, i int) (x int64, end int) {
	neg := false
	if i < len(b) && b[i] == '-' {
		neg = true
		i++
	}
	start := i
	var u uint64
	for i < len(b) {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		u = u*10 + uint64(c)
		i++
	}
	n := i - start
	if n == 0 || n > 18 || n > 1 && b[start] == '0' || i == len(b) || !delimiter(b[i]) {
		return 0, 0
	}
	if neg {
		return -int64(u), i
	}
	return int64(u), i
}

// decimalParts are a JSON number's digits as coef * 10^-scale.
type decimalParts struct {
	coef  uint64
	scale int
	neg   bool
}

// scanDecimal reads a number of at most 18 digits without exponent; end is 0
// where there is anything else.
func scanDecimal(b []byte, i int) (p decimalParts, end int) {
	if i < len(b) && b[i] == '-' {
		p.neg = true
		i++
	}
	start, point := i, -1
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c <= 9 {
			p.coef = p.coef*10 + uint64(c)
			continue
		}
		if b[i] != '.' || point >= 0 {
			break
		}
		point = i
	}
	whole, digits := i-start, i-start
	if point >= 0 {
		whole, digits = point-start, digits-1
		p.scale = i - point - 1
		if p.scale == 0 {
			return p, 0
		}
	}
	if whole == 0 || digits > 18 || whole > 1 && b[start] == '0' || i == len(b) || !delimiter(b[i]) {
		return p, 0
	}
	return p, i
}

// scanNumber returns the end of a number in JSON's grammar, or -1.
func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i == len(b):
		return -1
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		e := digits(b, i+1)
		if e == i+1 {
			return -1
		}
		i = e
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		e := digits(b, i)
		if e == i {
			return -1
		}
		i = e
	}
	if i < len(b) && !delimiter(b[i]) {
		return -1
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

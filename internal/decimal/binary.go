package decimal

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The sign words of PostgreSQL's binary format.
const (
	wirePos    = 0x0000
	wireNeg    = 0x4000
	wireNaN    = 0xC000
	wirePosInf = 0xD000
	wireNegInf = 0xF000
)

// infScale is what PostgreSQL sends as the scale of an infinity.
const infScale = 32

// AppendBinary appends d in PostgreSQL's binary format: the count of groups of
// four digits, the weight of the first, the sign, the scale, the groups.
func (d Decimal) AppendBinary(dst []byte) []byte {
	switch d.mark() {
	case markNaN:
		return appendHeader(dst, 0, 0, wireNaN, 0)
	case markPos:
		return appendHeader(dst, 0, 0, wirePosInf, infScale)
	case markNeg:
		return appendHeader(dst, 0, 0, wireNegInf, infScale)
	}
	neg, c := d.abs()
	scale := d.mark()
	if c.isZero() {
		return appendHeader(dst, 0, 0, wirePos, scale)
	}
	// Groups from the last to the first; the last takes the digits that fill up
	// a fraction of a group.
	var groups [(MaxDigits + 3 + 4) / 4]uint16
	n := len(groups)
	low := (scale + 3) >> 2 // weight of the last group, negated
	if part := scale & 3; part != 0 {
		q, r := c.div64(pow10[part].lo)
		n--
		groups[n] = uint16(r * pow10[4-part].lo)
		c = q
	}
	for !c.isZero() {
		q, r := c.div64(10000)
		n--
		groups[n] = uint16(r)
		c = q
	}
	g := groups[n:]
	w := len(g) - 1 - low
	for g[0] == 0 {
		g, w = g[1:], w-1
	}
	for g[len(g)-1] == 0 {
		g = g[:len(g)-1]
	}
	sign := wirePos
	if neg {
		sign = wireNeg
	}
	dst = appendHeader(dst, len(g), w, sign, scale)
	for _, x := range g {
		dst = binary.BigEndian.AppendUint16(dst, x)
	}
	return dst
}

func appendHeader(dst []byte, n, weight, sign, scale int) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(sign))
	return binary.BigEndian.AppendUint16(dst, uint16(scale))
}

func badBinary(what string) error {
	return sqlerr.New(sqlerr.InvalidBinaryRepresentation, `invalid %s in external "numeric" value`, what)
}

// FromBinary reads PostgreSQL's binary format; digits past the scale are cut
// off. 22P03 for malformed bytes, 22003 for a number that is too long.
func FromBinary(b []byte) (Decimal, error) {
	if len(b) < 8 {
		return Decimal{}, badBinary("length")
	}
	n := int(binary.BigEndian.Uint16(b))
	w := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	scale := int(binary.BigEndian.Uint16(b[6:]))
	switch sign {
	case wireNaN:
		return NaN, nil
	case wirePosInf:
		return Inf, nil
	case wireNegInf:
		return NegInf, nil
	case wirePos, wireNeg:
	default:
		return Decimal{}, badBinary("sign")
	}
	if scale > 0x3fff {
		return Decimal{}, badBinary("scale")
	}
	b = b[8:]
	if len(b) != 2*n {
		return Decimal{}, badBinary("length")
	}
	return fromGroups(b, w, sign == wireNeg, scale)
}

// fromGroups makes a number of groups of four digits, the first of weight w.
func fromGroups(b []byte, w int, neg bool, scale int) (Decimal, error) {
	var c u128
	have := 0 // digits after the point that c holds
	for i := 0; i < len(b); i += 2 {
		g := uint64(binary.BigEndian.Uint16(b[i:]))
		if g >= 10000 {
			return Decimal{}, badBinary("digit")
		}
		at := -4 * (w - i/2) // digits after the point, this group included
		take := 4
		if at > scale {
			// The group reaches past the scale: cut.
			take = max(4-(at-scale), 0)
			g /= pow10[4-take].lo
		}
		if take == 0 || c.isZero() && g == 0 {
			continue
		}
		var ok, carry bool
		if c, ok = upscale(c, take); !ok {
			return Decimal{}, tooLong()
		}
		if c, carry = c.add(u128{0, g}); carry {
			return Decimal{}, tooLong()
		}
		have = at - 4 + take
	}
	if c.isZero() {
		return checked(false, c, scale)
	}
	c, ok := upscale(c, scale-have)
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(neg, c, scale)
}

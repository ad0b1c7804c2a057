package decimal

// Decimal is an exact decimal number: a signed 122-bit coefficient and a scale
// of 0 to 59 digits after the point, or NaN, Infinity, -Infinity. 16 bytes, no
// pointer. The zero value is 0. Two Decimals of one value and different scales
// (1.5, 1.50) are different as structs: compare with Cmp.
//
// Layout: hi holds the scale (or the mark of a special value) in its low 6
// bits and the upper 58 bits of the coefficient, two's complement, above them;
// lo holds the lower 64 bits of the coefficient.
type Decimal struct {
	lo uint64
	hi int64
}

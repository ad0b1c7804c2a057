package decimal

import (
	"math/bits"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

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

// Limits of a Decimal.
const (
	MaxDigits = 36 // digits of the coefficient
	MaxScale  = 59 // digits after the point
)

// Special tells a number from the values that are none.
type Special uint8

// The kinds of values.
const (
	Finite Special = iota
	SpecialNaN
	SpecialInf
	SpecialNegInf
)

const (
	scaleBits = 6
	scaleMask = 1<<scaleBits - 1
	markNaN   = 61
	markPos   = 62
	markNeg   = 63
)

// The special values, and one.
var (
	NaN    = Decimal{hi: markNaN}
	Inf    = Decimal{hi: markPos}
	NegInf = Decimal{hi: markNeg}
	Zero   = Decimal{}
	One    = Decimal{lo: 1}
)

// maxHi and maxLo are 10^36, the first coefficient that is too long.
const (
	maxHi = 0xC097CE7BC90715
	maxLo = 0xB34B9F1000000000
)

var (
	errDigits = sqlerr.New(sqlerr.NumericValueOutOfRange, "numeric value has more than %d digits", MaxDigits)
	errScale  = sqlerr.New(sqlerr.NumericValueOutOfRange,
		"numeric value has more than %d digits after the decimal point", MaxScale)
)

// tooLong returns a fresh error: whoever gets it may set its position.
func tooLong() error { e := *errDigits; return &e }

func tooDeep() error { e := *errScale; return &e }

// u128 is an unsigned 128-bit integer.
type u128 struct{ hi, lo uint64 }

func (a u128) less(b u128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a u128) isZero() bool { return a.hi|a.lo == 0 }

// fits tells whether a is a coefficient of at most MaxDigits digits.
func (a u128) fits() bool { return a.less(u128{maxHi, maxLo}) }

func (a u128) add(b u128) (sum u128, carry bool) {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	hi, c := bits.Add64(a.hi, b.hi, c)
	return u128{hi, lo}, c != 0
}

func (a u128) sub(b u128) u128 {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, c)
	return u128{hi, lo}
}

// mul returns a*b and whether it fits in 128 bits.
func (a u128) mul(b u128) (u128, bool) {
	if a.hi != 0 && b.hi != 0 {
		return u128{}, false
	}
	hi, lo := bits.Mul64(a.lo, b.lo)
	h1, l1 := bits.Mul64(a.hi, b.lo)
	h2, l2 := bits.Mul64(a.lo, b.hi)
	hi, c1 := bits.Add64(hi, l1, 0)
	hi, c2 := bits.Add64(hi, l2, 0)
	return u128{hi, lo}, h1|h2|c1|c2 == 0
}

// div64 returns a/b and the remainder; b is not 0.
func (a u128) div64(b uint64) (u128, uint64) {
	if a.hi == 0 {
		return u128{0, a.lo / b}, a.lo % b
	}
	q1, r := a.hi/b, a.hi%b
	q0, r := bits.Div64(r, a.lo, b)
	return u128{q1, q0}, r
}

// div returns a/b and the remainder; b is not 0.
func (a u128) div(b u128) (q, r u128) {
	if b.hi == 0 {
		q, r64 := a.div64(b.lo)
		return q, u128{0, r64}
	}
	if a.less(b) {
		return u128{}, a
	}
	// The quotient fits in 64 bits: estimate it from the upper 64 bits of the
	// shifted divisor; the estimate less one is right or one too small.
	n := uint(bits.LeadingZeros64(b.hi))
	v := b.hi<<n | b.lo>>(64-n)
	tq, _ := bits.Div64(a.hi>>1, a.lo>>1|a.hi<<63, v)
	tq >>= 63 - n
	if tq != 0 {
		tq--
	}
	p, _ := b.mul(u128{0, tq})
	r = a.sub(p)
	if !r.less(b) {
		tq++
		r = r.sub(b)
	}
	return u128{0, tq}, r
}

// pow10 holds the powers of ten that fit in 128 bits.
var pow10 = func() (p [39]u128) {
	p[0] = u128{0, 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mul(u128{0, 10})
	}
	return p
}()

// digits returns the number of decimal digits of a, 0 for 0.
func (a u128) digits() int {
	n := bits.Len64(a.hi) + 64
	if a.hi == 0 {
		n = bits.Len64(a.lo)
	}
	// 1233/4096 is just above log10(2): d is the count or one too small.
	d := n * 1233 >> 12
	if d < len(pow10) && !a.less(pow10[d]) {
		d++
	}
	if a.isZero() {
		return 0
	}
	return d
}

// build returns the number of a sign, a coefficient that fits and a scale.
func build(neg bool, c u128, scale int) Decimal {
	if neg {
		c = u128{}.sub(c)
	}
	return Decimal{lo: c.lo, hi: int64(c.hi<<scaleBits | uint64(scale))}
}

// checked is build with D1 checked.
func checked(neg bool, c u128, scale int) (Decimal, error) {
	if !c.fits() {
		return Decimal{}, tooLong()
	}
	if scale > MaxScale {
		return Decimal{}, tooDeep()
	}
	return build(neg, c, scale), nil
}

// abs returns the sign and the coefficient without it.
func (d Decimal) abs() (neg bool, c u128) {
	c = u128{uint64(d.hi >> scaleBits), d.lo}
	if d.hi < 0 {
		return true, u128{}.sub(c)
	}
	return false, c
}

func (d Decimal) mark() int { return int(d.hi & scaleMask) }

// finite tells whether d is a number.
func (d Decimal) finite() bool { return d.hi&scaleMask <= MaxScale }

// Special tells whether d is finite, NaN or infinite.
func (d Decimal) Special() Special {
	if m := d.mark(); m > MaxScale {
		return Special(m - markNaN + int(SpecialNaN))
	}
	return Finite
}

// IsNaN tells whether d is NaN.
func (d Decimal) IsNaN() bool { return d.hi == markNaN }

// FromInt64 returns x with scale 0.
func FromInt64(x int64) Decimal {
	return Decimal{lo: uint64(x), hi: x >> 63 << scaleBits}
}

// FromUint64 returns x with scale 0.
func FromUint64(x uint64) Decimal { return Decimal{lo: x} }

// New returns coef * 10^-scale; the scale is 0 to MaxScale.
func New(coef int64, scale int) Decimal {
	d := FromInt64(coef)
	d.hi |= int64(scale)
	return d
}

// FromParts returns the number of a sign, a coefficient and a scale, or the
// special value of sp. It is the inverse of Parts and fails with 22003 when the
// coefficient or the scale is too large.
func FromParts(neg bool, hi, lo uint64, scale int, sp Special) (Decimal, error) {
	switch sp {
	case SpecialNaN:
		return NaN, nil
	case SpecialInf:
		return Inf, nil
	case SpecialNegInf:
		return NegInf, nil
	}
	if scale < 0 {
		return Decimal{}, tooDeep()
	}
	return checked(neg, u128{hi, lo}, scale)
}

// Parts returns the sign, the coefficient without it (hi: upper 64 bits), the
// scale, and whether d is special; a special value has coefficient and scale 0.
func (d Decimal) Parts() (neg bool, hi, lo uint64, scale int, sp Special) {
	if sp = d.Special(); sp != Finite {
		return sp == SpecialNegInf, 0, 0, 0, sp
	}
	neg, c := d.abs()
	return neg, c.hi, c.lo, d.mark(), Finite
}

// Scale returns the digits after the point, 0 for a special value.
func (d Decimal) Scale() int {
	if !d.finite() {
		return 0
	}
	return d.mark()
}

// Sign returns -1, 0 or 1; NaN counts as positive.
func (d Decimal) Sign() int {
	if !d.finite() {
		if d.mark() == markNeg {
			return -1
		}
		return 1
	}
	switch {
	case d.hi < 0:
		return -1
	case d.lo == 0 && d.hi>>scaleBits == 0:
		return 0
	}
	return 1
}

// IsZero tells whether d is 0, at any scale.
func (d Decimal) IsZero() bool { return d.finite() && d.lo == 0 && d.hi>>scaleBits == 0 }

// small returns the coefficient where it fits in 64 bits.
func (d Decimal) small() (int64, bool) {
	return int64(d.lo), d.hi>>scaleBits == int64(d.lo)>>63
}

package decimal

import (
	"cmp"
	"math/big"
	"math/bits"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// minSigDigits is PostgreSQL's NUMERIC_MIN_SIG_DIGITS: a result that is not
// exact has at least this many significant digits.
const minSigDigits = 16

// divisionByZero returns PostgreSQL's 22012.
func divisionByZero() error { return sqlerr.New(sqlerr.DivisionByZero, "division by zero") }

// Cmp compares d and e: -1, 0 or 1. NaN equals itself and is above all.
func (d Decimal) Cmp(e Decimal) int {
	if d == e {
		return 0
	}
	if !d.finite() || !e.finite() {
		return cmp.Compare(rank(d), rank(e))
	}
	ds, es := d.Sign(), e.Sign()
	if ds != es {
		if ds < es {
			return -1
		}
		return 1
	}
	_, a := d.abs()
	_, b := e.abs()
	c := cmpScaled(a, b, e.mark()-d.mark())
	return c * ds
}

// rank orders special values against each other and against numbers.
func rank(d Decimal) int {
	switch d.mark() {
	case markNaN:
		return 2
	case markPos:
		return 1
	case markNeg:
		return -1
	}
	return 0
}

// cmpScaled compares a*10^up with b (up may be negative).
func cmpScaled(a, b u128, up int) int {
	if up < 0 {
		return -cmpScaled(b, a, -up)
	}
	if up > 0 {
		if a.isZero() {
			return cmp128(a, b)
		}
		if up >= len(pow10) {
			return 1
		}
		var ok bool
		if a, ok = a.mul(pow10[up]); !ok {
			return 1
		}
	}
	return cmp128(a, b)
}

func cmp128(a, b u128) int {
	switch {
	case a.less(b):
		return -1
	case a == b:
		return 0
	}
	return 1
}

// Neg returns -d.
func (d Decimal) Neg() Decimal {
	switch d.mark() {
	case markNaN:
		return d
	case markPos:
		return NegInf
	case markNeg:
		return Inf
	}
	neg, c := d.abs()
	return build(!neg, c, d.mark())
}

// Abs returns d without its sign.
func (d Decimal) Abs() Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}

// Add returns d+e at the larger of the two scales, 22003 when the sum is too long.
func (d Decimal) Add(e Decimal) (Decimal, error) {
	ds, es := d.hi&scaleMask, e.hi&scaleMask
	if ds == es && ds <= MaxScale {
		// One scale: add the packed words; 122 bits hold the sum of two
		// coefficients below 10^36.
		lo, c := bits.Add64(d.lo, e.lo, 0)
		r := Decimal{lo: lo, hi: d.hi + (e.hi - es) + int64(c)<<scaleBits}
		if _, a := r.abs(); a.fits() {
			return r, nil
		}
		return Decimal{}, tooLong()
	}
	if ds > MaxScale || es > MaxScale {
		return addSpecial(d, e), nil
	}
	return addAligned(d, e)
}

// addAligned adds numbers of different scales.
func addAligned(d, e Decimal) (Decimal, error) {
	if d.mark() < e.mark() {
		d, e = e, d
	}
	dn, a := d.abs()
	en, b := e.abs()
	b, ok := upscale(b, d.mark()-e.mark())
	if !ok {
		return Decimal{}, tooLong()
	}
	switch {
	case dn == en:
		sum, carry := a.add(b)
		if carry {
			return Decimal{}, tooLong()
		}
		return checked(dn, sum, d.mark())
	case a.less(b):
		return checked(en, b.sub(a), d.mark())
	}
	return checked(dn, a.sub(b), d.mark())
}

// upscale returns c*10^by and whether it fits in 128 bits.
func upscale(c u128, by int) (u128, bool) {
	if c.isZero() {
		return c, true
	}
	if by >= len(pow10) {
		return u128{}, false
	}
	return c.mul(pow10[by])
}

func addSpecial(d, e Decimal) Decimal {
	switch {
	case d.IsNaN() || e.IsNaN():
		return NaN
	case d.finite():
		return e
	case e.finite() || d == e:
		return d
	}
	return NaN // Infinity and -Infinity
}

// Sub returns d-e at the larger of the two scales, 22003 when it is too long.
func (d Decimal) Sub(e Decimal) (Decimal, error) { return d.Add(e.Neg()) }

// Mul returns d*e; its scale is the sum of both. 22003 when it is too long.
func (d Decimal) Mul(e Decimal) (Decimal, error) {
	if !d.finite() || !e.finite() {
		return mulSpecial(d, e), nil
	}
	dn, a := d.abs()
	en, b := e.abs()
	var p u128
	if a.hi|b.hi == 0 {
		p.hi, p.lo = bits.Mul64(a.lo, b.lo)
	} else {
		var ok bool
		if p, ok = a.mul(b); !ok {
			return Decimal{}, tooLong()
		}
	}
	return checked(dn != en, p, d.mark()+e.mark())
}

func mulSpecial(d, e Decimal) Decimal {
	s := d.Sign() * e.Sign()
	switch {
	case d.IsNaN() || e.IsNaN() || s == 0:
		return NaN
	case s > 0:
		return Inf
	}
	return NegInf
}

// Div returns d/e with PostgreSQL's scale (at least 16 significant digits and
// the scales of both operands), shortened where the quotient would have more
// than MaxDigits digits; 22012 for a zero divisor, 22003 when the whole part is
// too long.
func (d Decimal) Div(e Decimal) (Decimal, error) {
	if !d.finite() || !e.finite() {
		return divSpecial(d, e)
	}
	if e.IsZero() {
		return Decimal{}, divisionByZero()
	}
	return divScaled(d, e, min(divScale(d, e), MaxScale))
}

func divSpecial(d, e Decimal) (Decimal, error) {
	switch {
	case d.IsNaN() || e.IsNaN():
		return NaN, nil
	case d.finite():
		return Zero, nil
	case !e.finite():
		return NaN, nil
	case e.IsZero():
		return Decimal{}, divisionByZero()
	case (d.Sign() < 0) != (e.Sign() < 0):
		return NegInf, nil
	}
	return Inf, nil
}

// weight returns the position of the first group of four digits that is not
// zero (0: the one before the point) and its value; 0, 0 for zero.
func weight(c u128, scale int) (w int, first int) {
	n := c.digits()
	if n == 0 {
		return 0, 0
	}
	e := n - 1 - scale
	w = e >> 2 // rounds down
	lead := e - w<<2 + 1
	if n >= lead {
		q, _ := c.div(pow10[n-lead])
		return w, int(q.lo)
	}
	return w, int(c.lo) * int(pow10[lead-n].lo)
}

// divScale is PostgreSQL's scale of a quotient.
func divScale(d, e Decimal) int {
	_, a := d.abs()
	_, b := e.abs()
	w1, f1 := weight(a, d.mark())
	w2, f2 := weight(b, e.mark())
	q := w1 - w2
	if f1 <= f2 {
		q--
	}
	return max(minSigDigits-4*q, d.mark(), e.mark())
}

// divScaled returns d/e at scale, or at a shorter one that makes it fit.
func divScaled(d, e Decimal, scale int) (Decimal, error) {
	dn, a := d.abs()
	en, b := e.abs()
	// d/e = a/b * 10^(es-ds); the coefficient wanted is that times 10^scale.
	k := scale + e.mark() - d.mark()
	if k >= 0 && b.hi == 0 {
		if num, ok := upscale(a, k); ok {
			q, r := num.div64(b.lo)
			if r >= b.lo-r {
				q, _ = q.add(u128{0, 1})
			}
			if q.fits() {
				return build(dn != en, q, scale), nil
			}
		}
	}
	return divBig(dn != en, a.big(), b.big(), k, scale)
}

// divBig returns a/b*10^k as the coefficient of a number of scale, shortening
// the scale until it fits.
func divBig(neg bool, a, b *big.Int, k, scale int) (Decimal, error) {
	for {
		q := quoRound(a, b, k)
		over := bigDigits(q) - MaxDigits
		if over <= 0 {
			c, _ := from128(q)
			return build(neg, c, scale), nil
		}
		if over > scale {
			return Decimal{}, tooLong()
		}
		scale -= over
		k -= over
	}
}

// quoRound returns a/b*10^k rounded half up; a and b are not negative.
func quoRound(a, b *big.Int, k int) *big.Int {
	num, den := a, b
	if k >= 0 {
		num = new(big.Int).Mul(a, bigPow10(k))
	} else {
		den = new(big.Int).Mul(b, bigPow10(-k))
	}
	q, r := new(big.Int).QuoRem(num, den, new(big.Int))
	if r.Lsh(r, 1).Cmp(den) >= 0 {
		q.Add(q, bigOne)
	}
	return q
}

// QuoInt returns d/e cut to a whole number, as PostgreSQL's div().
func (d Decimal) QuoInt(e Decimal) (Decimal, error) {
	if !d.finite() || !e.finite() {
		return divSpecial(d, e)
	}
	if e.IsZero() {
		return Decimal{}, divisionByZero()
	}
	dn, a := d.abs()
	en, b := e.abs()
	if d.mark() == e.mark() {
		q, _ := a.div(b)
		return build(dn != en, q, 0), nil
	}
	num, den := a.big(), b.big()
	if k := e.mark() - d.mark(); k > 0 {
		num.Mul(num, bigPow10(k))
	} else {
		den.Mul(den, bigPow10(-k))
	}
	c, ok := from128(num.Quo(num, den))
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(dn != en, c, 0)
}

// Mod returns the rest of d/e with the sign of d, at the larger of the two
// scales; 22012 for a zero divisor.
func (d Decimal) Mod(e Decimal) (Decimal, error) {
	switch {
	case d.IsNaN() || e.IsNaN():
		return NaN, nil
	case !d.finite():
		if e.IsZero() {
			return Decimal{}, divisionByZero()
		}
		return NaN, nil
	case !e.finite():
		return d, nil
	case e.IsZero():
		return Decimal{}, divisionByZero()
	}
	dn, a := d.abs()
	_, b := e.abs()
	scale := max(d.mark(), e.mark())
	x, ok1 := upscale(a, scale-d.mark())
	y, ok2 := upscale(b, scale-e.mark())
	if ok1 && ok2 {
		_, r := x.div(y)
		return checked(dn, r, scale)
	}
	num := new(big.Int).Mul(a.big(), bigPow10(scale-d.mark()))
	den := new(big.Int).Mul(b.big(), bigPow10(scale-e.mark()))
	c, ok := from128(num.Rem(num, den))
	if !ok {
		return Decimal{}, tooLong()
	}
	return checked(dn, c, scale)
}

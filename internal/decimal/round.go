package decimal

import (
	"math"
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Round returns d rounded half away from zero to scale digits after the point,
// padded with zeros where d has fewer. A negative scale rounds before the point
// and gives scale 0. 22003 when the padding makes it too long.
func (d Decimal) Round(scale int) (Decimal, error) {
	return d.rescale(scale, func(_ bool, q, r, p u128) u128 {
		// r >= p/2, written so that nothing overflows.
		if !r.less(p.sub(r)) {
			q, _ = q.add(u128{0, 1})
		}
		return q
	})
}

// Trunc returns d cut to scale digits after the point, padded as Round does.
func (d Decimal) Trunc(scale int) (Decimal, error) {
	return d.rescale(scale, func(_ bool, q, _, _ u128) u128 { return q })
}

// Ceil returns the least whole number that is not below d.
func (d Decimal) Ceil() Decimal {
	r, _ := d.rescale(0, func(neg bool, q, r, _ u128) u128 {
		if !neg && !r.isZero() {
			q, _ = q.add(u128{0, 1})
		}
		return q
	})
	return r
}

// Floor returns the greatest whole number that is not above d.
func (d Decimal) Floor() Decimal {
	r, _ := d.rescale(0, func(neg bool, q, r, _ u128) u128 {
		if neg && !r.isZero() {
			q, _ = q.add(u128{0, 1})
		}
		return q
	})
	return r
}

// rescale brings d to scale; fix settles the quotient q of the coefficient by
// the power p that goes, whose rest is r.
func (d Decimal) rescale(scale int, fix func(neg bool, q, r, p u128) u128) (Decimal, error) {
	if !d.finite() || d.mark() == scale {
		return d, nil
	}
	neg, c := d.abs()
	if scale > d.mark() {
		if scale > MaxScale {
			return Decimal{}, tooDeep()
		}
		c, ok := upscale(c, scale-d.mark())
		if !ok {
			return Decimal{}, tooLong()
		}
		return checked(neg, c, scale)
	}
	by := d.mark() - scale
	var q u128
	if by < len(pow10) {
		var r u128
		q, r = c.div(pow10[by])
		q = fix(neg, q, r, pow10[by])
	} else {
		// The coefficient is below half of such a power: nothing but Ceil and
		// Floor rounds it up.
		q = fix(neg, u128{}, c, u128{^uint64(0), ^uint64(0)})
	}
	if scale < 0 && !q.isZero() {
		if scale < -MaxDigits {
			return Decimal{}, tooLong()
		}
		var ok bool
		if q, ok = upscale(q, -scale); !ok {
			return Decimal{}, tooLong()
		}
	}
	return checked(neg, q, max(scale, 0))
}

// Normalize returns d with the trailing zeros after the point taken off.
func (d Decimal) Normalize() Decimal {
	if !d.finite() || d.mark() == 0 {
		return d
	}
	neg, c := d.abs()
	if c.isZero() {
		return Zero
	}
	scale := d.mark()
	for scale > 0 {
		q, r := c.div64(10)
		if r != 0 {
			break
		}
		c = q
		scale--
	}
	return build(neg, c, scale)
}

// MinScale returns the least scale that holds d exactly, 0 for special values.
func (d Decimal) MinScale() int { return d.Normalize().Scale() }

// Fits returns d rounded to scale as a numeric(precision, scale) column holds
// it; 22003 when the rest needs more than precision digits or is infinite. NaN fits.
func (d Decimal) Fits(precision, scale int) (Decimal, error) {
	if !d.finite() {
		if d.IsNaN() {
			return d, nil
		}
		return Decimal{}, sqlerr.New(sqlerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
	}
	r, err := d.Round(scale)
	if err == nil {
		_, c := r.abs()
		// Digits above the rounded place: those of the coefficient less what a
		// negative scale filled with zeros.
		n := c.digits()
		if scale < 0 {
			n += scale
		}
		if c.isZero() || n <= precision {
			return r, nil
		}
	} else if d.wholeDigits() <= precision-scale {
		return Decimal{}, err // within the column's bounds, past this type's
	}
	return Decimal{}, fieldOverflow(precision, scale)
}

func fieldOverflow(precision, scale int) error {
	limit := "1"
	if precision != scale {
		limit = "10^" + strconv.Itoa(precision-scale)
	}
	return sqlerr.New(sqlerr.NumericValueOutOfRange, "numeric field overflow").WithDetail(
		"A field with precision %d, scale %d must round to an absolute value less than %s.", precision, scale, limit)
}

// wholeDigits returns the digits before the point.
func (d Decimal) wholeDigits() int {
	_, c := d.abs()
	return max(c.digits()-d.mark(), 0)
}

// ToInt64 returns d rounded half away from zero; ok is false when it does not
// fit or is not finite.
func (d Decimal) ToInt64() (x int64, ok bool) {
	if d.mark() == 0 {
		return d.small()
	}
	if !d.finite() {
		return 0, false
	}
	r, err := d.Round(0)
	if err != nil {
		return 0, false
	}
	return r.small()
}

// pow10f holds the powers of ten that a float64 holds exactly.
var pow10f = func() (p [23]float64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// ToFloat64 returns the nearest float64.
func (d Decimal) ToFloat64() float64 {
	switch d.mark() {
	case markNaN:
		return math.NaN()
	case markPos:
		return math.Inf(1)
	case markNeg:
		return math.Inf(-1)
	}
	if x, ok := d.small(); ok && x < 1<<53 && x > -1<<53 && d.mark() < len(pow10f) {
		return float64(x) / pow10f[d.mark()]
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(d.AppendText(buf[:0])), 64)
	return f
}

// ToFloat32 returns the nearest float32.
func (d Decimal) ToFloat32() float32 {
	if !d.finite() {
		return float32(d.ToFloat64())
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(d.AppendText(buf[:0])), 32)
	return float32(f)
}

// FromFloat64 returns f to 15 significant digits, as PostgreSQL's cast from
// float8; 22003 when it is out of range.
func FromFloat64(f float64) (Decimal, error) { return fromFloat(f, 15, 64) }

// FromFloat32 returns f to 6 significant digits, as PostgreSQL's cast from float4.
func FromFloat32(f float32) (Decimal, error) { return fromFloat(float64(f), 6, 32) }

func fromFloat(f float64, digits, size int) (Decimal, error) {
	switch {
	case f != f:
		return NaN, nil
	case math.IsInf(f, 1):
		return Inf, nil
	case math.IsInf(f, -1):
		return NegInf, nil
	}
	var buf [32]byte
	return ParseBytes(strconv.AppendFloat(buf[:0], f, 'g', digits, size))
}

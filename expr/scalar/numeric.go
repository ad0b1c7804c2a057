package scalar

import (
	"math"
	"math/big"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Roots, logarithms and powers of numerics: computed in binary floating point of
// precBits and rounded to the scale that PostgreSQL gives the result, or to the
// longest that fits.
const (
	precBits  = 320
	minDigits = 16 // significant digits that PostgreSQL wants at least
)

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(precBits).SetFloat64(x) }

func newFloat() *big.Float { return new(big.Float).SetPrec(precBits) }

func pow10(n int) *big.Float {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	return newFloat().SetInt(p)
}

// toBig returns a finite number.
func toBig(d decimal.Decimal) *big.Float {
	neg, hi, lo, scale, _ := d.Parts()
	c := new(big.Int).SetUint64(hi)
	c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(lo))
	f := newFloat().SetInt(c)
	f.Quo(f, pow10(scale))
	if neg {
		f.Neg(f)
	}
	return f
}

// fromBig rounds f, half away from zero, to scale or what fits.
func fromBig(f *big.Float, scale int) (decimal.Decimal, error) {
	scale = min(max(scale, 0), decimal.MaxScale)
	mag := newFloat().Abs(f)
	for ; ; scale-- {
		scaled := newFloat().Mul(mag, pow10(scale))
		scaled.Add(scaled, bigFloat(0.5))
		c, _ := scaled.Int(nil)
		if c.BitLen() <= 128 {
			lo := new(big.Int).And(c, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
			hi := new(big.Int).Rsh(c, 64).Uint64()
			d, err := decimal.FromParts(f.Sign() < 0, hi, lo, scale, decimal.Finite)
			if err == nil || scale == 0 {
				return d, err
			}
		} else if scale == 0 {
			return decimal.Decimal{}, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
		}
	}
}

// weight is the exponent of the first of PostgreSQL's base-10000 digits.
func weight(d decimal.Decimal) int {
	if d.IsZero() {
		return 0
	}
	_, digits, scale := d.Digits()
	lead := len(digits) - scale // decimal digits before the point
	return int(math.Floor(float64(lead-1) / 4))
}

// Sqrt is sqrt(numeric).
func Sqrt(d decimal.Decimal) (decimal.Decimal, error) {
	if d.Special() != decimal.Finite && d.Sign() > 0 {
		return d, nil
	}
	if d.Sign() < 0 {
		return d, sqlerr.New(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
	}
	rscale := max(minDigits-((weight(d)+1)*2-1), d.Scale())
	return fromBig(newFloat().Sqrt(toBig(d)), rscale)
}

// Exp is exp(numeric).
func Exp(d decimal.Decimal) (decimal.Decimal, error) {
	if d.Special() != decimal.Finite {
		if d.Special() == decimal.SpecialNegInf {
			return decimal.Zero, nil
		}
		return d, nil
	}
	x := d.ToFloat64()
	if x > 90 {
		return d, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	rscale := max(minDigits-int(max(x*0.434294481903252, -2000)), d.Scale())
	if x < -200 {
		return fromBig(newFloat(), rscale)
	}
	return fromBig(expBig(toBig(d)), rscale)
}

// expBig is e^x by Taylor's series after halving x often.
func expBig(x *big.Float) *big.Float {
	const halvings = 24
	y := newFloat().SetMantExp(x, -halvings)
	sum, term := bigFloat(1), bigFloat(1)
	for n := 1; n < 40; n++ {
		term.Mul(term, y)
		term.Quo(term, bigFloat(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// lnBig is the natural logarithm of x > 0, by Newton's method on the mantissa.
func lnBig(x *big.Float) *big.Float {
	mant := newFloat()
	exp := x.MantExp(mant) // x = mant * 2^exp, mant in [0.5, 1)
	m, _ := mant.Float64()
	y := bigFloat(math.Log(m))
	for range 4 { // each step doubles the digits
		e := expBig(y)
		// y += 2 (mant - e) / (mant + e)
		num := newFloat().Sub(mant, e)
		num.Mul(num, bigFloat(2))
		y.Add(y, num.Quo(num, newFloat().Add(mant, e)))
	}
	return y.Add(y, newFloat().Mul(ln2, bigFloat(float64(exp))))
}

var ln2 = func() *big.Float {
	y := bigFloat(math.Ln2)
	two := bigFloat(2)
	for range 4 {
		e := expBig(y)
		num := newFloat().Sub(two, e)
		num.Mul(num, bigFloat(2))
		y.Add(y, num.Quo(num, newFloat().Add(two, e)))
	}
	return y
}()

// dweight estimates the decimal weight of ln(d), as PostgreSQL does.
func dweight(d decimal.Decimal) int {
	if d.Sign() <= 0 {
		return 0
	}
	f := toBig(d)
	x, _ := f.Float64()
	if x >= 0.9 && x <= 1.1 {
		diff := newFloat().Sub(f, bigFloat(1))
		if diff.Sign() == 0 {
			return 0
		}
		v, _ := diff.Float64()
		return int(math.Floor(math.Log10(math.Abs(v))))
	}
	l, _ := lnBig(f).Float64()
	return int(math.Log10(math.Abs(l)))
}

func logArgument(d decimal.Decimal) error {
	switch {
	case d.IsNaN():
		return nil
	case d.IsZero():
		return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
	case d.Sign() < 0:
		return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
	}
	return nil
}

// Ln is ln(numeric).
func Ln(d decimal.Decimal) (decimal.Decimal, error) {
	if err := logArgument(d); err != nil {
		return d, err
	}
	if d.Special() != decimal.Finite {
		return d, nil
	}
	return fromBig(lnBig(toBig(d)), max(minDigits-dweight(d), d.Scale()))
}

// Log is log(base, x).
func Log(base, d decimal.Decimal) (decimal.Decimal, error) {
	if base.IsNaN() || d.IsNaN() {
		return decimal.NaN, nil
	}
	for _, x := range []decimal.Decimal{base, d} {
		if err := logArgument(x); err != nil {
			return d, err
		}
	}
	switch {
	case base.Special() != decimal.Finite && d.Special() != decimal.Finite:
		return decimal.NaN, nil
	case base.Special() != decimal.Finite:
		return decimal.Zero, nil
	case d.Special() != decimal.Finite:
		return d, nil
	}
	den := lnBig(toBig(base))
	if base.Cmp(decimal.One) == 0 {
		return d, sqlerr.New(sqlerr.DivisionByZero, "division by zero")
	}
	rscale := max(minDigits-(dweight(d)-dweight(base)), base.Scale(), d.Scale())
	return fromBig(newFloat().Quo(lnBig(toBig(d)), den), rscale)
}

// Power is numeric ^ numeric.
func Power(base, exp decimal.Decimal) (decimal.Decimal, error) {
	if base.Special() != decimal.Finite || exp.Special() != decimal.Finite {
		return powerSpecial(base, exp)
	}
	if base.IsZero() && exp.Sign() < 0 {
		return base, sqlerr.New(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	}
	whole := exp.Cmp(exp.Floor()) == 0
	if base.Sign() < 0 && !whole {
		return base, sqlerr.New(sqlerr.InvalidPowerArgument,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if n, ok := exp.ToInt64(); ok && whole && n >= math.MinInt32 && n <= math.MaxInt32 {
		return powerInt(base, n)
	}
	if base.IsZero() {
		return fromBig(newFloat(), minDigits)
	}
	neg := base.Sign() < 0 && oddNumber(exp)
	l := lnBig(toBig(base.Abs()))
	l.Mul(l, toBig(exp))
	x, _ := l.Float64()
	if x > 90 {
		return base, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	rscale := max(minDigits-int(max(x*0.434294481903252, -2000)), base.Scale(), exp.Scale())
	if x < -200 {
		return fromBig(newFloat(), rscale)
	}
	r := expBig(l)
	if neg {
		r.Neg(r)
	}
	return fromBig(r, rscale)
}

func oddNumber(d decimal.Decimal) bool {
	m, err := d.Mod(decimal.New(2, 0))
	return err == nil && !m.IsZero()
}

func powerInt(base decimal.Decimal, n int64) (decimal.Decimal, error) {
	rscale := max(minDigits, base.Scale())
	b := toBig(base)
	if f, _ := b.Float64(); f != 0 && math.Abs(math.Log10(math.Abs(f))*float64(n)) > 80 {
		if math.Log10(math.Abs(f))*float64(n) > 0 {
			return base, sqlerr.New(sqlerr.NumericValueOutOfRange, "value overflows numeric format")
		}
		return fromBig(newFloat(), rscale)
	}
	neg := n < 0
	if neg {
		n = -n
	}
	r := bigFloat(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			r.Mul(r, b)
		}
		b.Mul(b, b)
	}
	if neg {
		r.Quo(bigFloat(1), r)
	}
	return fromBig(r, rscale)
}

func powerSpecial(base, exp decimal.Decimal) (decimal.Decimal, error) {
	f := math.Pow(base.ToFloat64(), exp.ToFloat64())
	switch {
	case base.IsNaN() || exp.IsNaN():
		if exp.IsZero() || base.Cmp(decimal.One) == 0 {
			return decimal.One, nil
		}
		return decimal.NaN, nil
	case base.IsZero() && exp.Special() == decimal.SpecialNegInf:
		return base, sqlerr.New(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	case base.Special() == decimal.SpecialNegInf && exp.Cmp(exp.Floor()) != 0:
		return base, sqlerr.New(sqlerr.InvalidPowerArgument,
			"a negative number raised to a non-integer power yields a complex result")
	case math.IsInf(f, 1):
		return decimal.Inf, nil
	case math.IsInf(f, -1):
		return decimal.NegInf, nil
	}
	return decimal.FromInt64(int64(f)), nil
}

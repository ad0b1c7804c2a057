package decimal

import (
	"math"
	"math/big"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// log10e is the decimal logarithm of e: it estimates the digits of powers.
const log10e = 0.434294481903252

// guardBits is what the intermediate numbers have beyond the digits wanted.
const guardBits = 96

// maxEstimate bounds the estimated number of digits of a result.
const maxEstimate = 2000

func valueOverflow() error { return overflowsFormat() }

// float returns d, which is finite, with so many bits.
func (d Decimal) float(prec uint) *big.Float {
	neg, c := d.abs()
	x := new(big.Float).SetPrec(prec).SetInt(c.big())
	if d.mark() > 0 {
		x.Quo(x, new(big.Float).SetPrec(prec).SetInt(bigPow10(d.mark())))
	}
	if neg {
		x.Neg(x)
	}
	return x
}

// bitsFor is the precision for a result of whole digits before the point and
// scale behind it.
func bitsFor(whole, scale int) uint {
	return uint(max(whole, 0)+scale)*10/3 + guardBits
}

// fromBig rounds x to scale, and to a shorter one where it would not fit.
func fromBig(x *big.Float, scale int) (Decimal, error) {
	scale = min(scale, MaxScale)
	for {
		y := new(big.Float).SetPrec(x.Prec()).SetInt(bigPow10(scale))
		y.Mul(y, x)
		neg := y.Sign() < 0
		y.Abs(y)
		y.Add(y, big.NewFloat(0.5))
		n, _ := y.Int(nil)
		over := bigDigits(n) - MaxDigits
		if over <= 0 {
			c, _ := from128(n)
			return build(neg, c, scale), nil
		}
		if over > scale {
			return Decimal{}, tooLong()
		}
		scale -= over
	}
}

// Sqrt returns the square root with at least 16 significant digits and d's
// scale; 2201F for a negative number.
func (d Decimal) Sqrt() (Decimal, error) {
	switch {
	case d.IsNaN() || d == Inf:
		return d, nil
	case d.Sign() < 0:
		return Decimal{}, sqlerr.New(sqlerr.InvalidPowerArgument, "cannot take square root of a negative number")
	}
	_, c := d.abs()
	w, _ := weight(c, d.mark())
	scale := max(minSigDigits-((w+1)*2-1), d.mark(), 0)
	if c.isZero() {
		return build(false, c, min(scale, MaxScale)), nil
	}
	x := d.float(bitsFor(2*w+4, scale))
	return fromBig(x.Sqrt(x), scale)
}

// Exp returns e to the power of d; 22003 when it is out of range.
func (d Decimal) Exp() (Decimal, error) {
	switch {
	case d.IsNaN() || d == Inf:
		return d, nil
	case d == NegInf:
		return Zero, nil
	}
	est := min(max(d.ToFloat64()*log10e, -maxEstimate), maxEstimate)
	scale := min(max(minSigDigits-int(est), d.mark(), 0), 1000)
	if est > MaxDigits+1 {
		if d.ToFloat64() >= 6000 {
			return Decimal{}, valueOverflow()
		}
		return Decimal{}, tooLong()
	}
	if est < -MaxScale-1 {
		return build(false, u128{}, MaxScale), nil
	}
	return fromBig(expBig(d.float(bitsFor(int(est)+2, min(scale, MaxScale)))), scale)
}

func badLog(d Decimal) error {
	if d.Sign() == 0 {
		return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of zero")
	}
	if d.Sign() < 0 {
		return sqlerr.New(sqlerr.InvalidLogArgument, "cannot take logarithm of a negative number")
	}
	return nil
}

// Ln returns the natural logarithm; 2201E for zero and negative numbers.
func (d Decimal) Ln() (Decimal, error) {
	if d.IsNaN() {
		return d, nil
	}
	if err := badLog(d); err != nil {
		return Decimal{}, err
	}
	if d == Inf {
		return d, nil
	}
	scale := min(max(minSigDigits-lnWeight(d), d.mark(), 0), MaxScale)
	return fromBig(lnBig(d.float(bitsFor(4, scale)+guardBits)), scale)
}

// lnWeight estimates the position of the first digit of ln(d), as PostgreSQL does.
func lnWeight(d Decimal) int {
	_, c := d.abs()
	if c.isZero() {
		return 0
	}
	if d.Cmp(New(9, 1)) >= 0 && d.Cmp(New(11, 1)) <= 0 {
		// Near 1 the logarithm of 1+x is about x.
		x, err := d.Sub(One)
		if err != nil || x.IsZero() {
			return 0
		}
		_, xc := x.abs()
		w, first := weight(xc, x.mark())
		return w*4 + int(math.Log10(float64(first)))
	}
	w, first := weight(c, d.mark())
	digits, e := float64(first), w*4
	// The second group of four counts too.
	n := c.digits()
	if at := n - 1 - d.mark() - e + 1; n > at {
		take := min(n-at, 4)
		q, _ := c.div(pow10[n-at-take])
		_, r := q.div(pow10[take])
		group := float64(r.lo) * float64(pow10[4-take].lo)
		rest := c
		if at > 0 {
			_, rest = c.div(pow10[n-at])
		}
		if !rest.isZero() {
			digits, e = digits*10000+group, e-4
		}
	}
	ln := math.Log(digits) + float64(e)*math.Ln10
	return int(math.Log10(math.Abs(ln)))
}

// Log returns the logarithm of d to a base; 2201E for zero and negative numbers,
// 22012 for base 1.
func (d Decimal) Log(base Decimal) (Decimal, error) {
	if d.IsNaN() || base.IsNaN() {
		return NaN, nil
	}
	if err := badLog(base); err != nil {
		return Decimal{}, err
	}
	if err := badLog(d); err != nil {
		return Decimal{}, err
	}
	switch {
	case base == Inf && d == Inf:
		return NaN, nil
	case base == Inf:
		return Zero, nil
	case d == Inf:
		return Inf, nil
	case base.Cmp(One) == 0:
		return Decimal{}, divisionByZero()
	}
	scale := max(minSigDigits-(lnWeight(d)-lnWeight(base)), d.mark(), base.mark(), 0)
	scale = min(scale, MaxScale)
	prec := bitsFor(8, scale) + guardBits
	x, b := lnBig(d.float(prec)), lnBig(base.float(prec))
	return fromBig(x.Quo(x, b), scale)
}

// Log10 returns the logarithm to base 10.
func (d Decimal) Log10() (Decimal, error) { return d.Log(FromInt64(10)) }

// isWhole tells whether d, finite, has no fraction.
func (d Decimal) isWhole() bool { return d.MinScale() == 0 }

// Pow returns d to the power of e. 2201F where it is not a real number, 22003
// when it is out of range.
func (d Decimal) Pow(e Decimal) (Decimal, error) {
	ds, es := d.Sign(), e.Sign()
	if d.IsNaN() || e.IsNaN() {
		if e.IsZero() || d.finite() && d.Cmp(One) == 0 {
			return One, nil
		}
		return NaN, nil
	}
	if ds == 0 && es < 0 {
		return Decimal{}, sqlerr.New(sqlerr.InvalidPowerArgument, "zero raised to a negative power is undefined")
	}
	if ds < 0 && e.finite() && !e.isWhole() {
		return Decimal{}, sqlerr.New(sqlerr.InvalidPowerArgument,
			"a negative number raised to a non-integer power yields a complex result")
	}
	if !d.finite() || !e.finite() {
		return powSpecial(d, e), nil
	}
	if n, ok := e.ToInt64(); ok && e.isWhole() && n == int64(int32(n)) {
		return powInt(d, int(n))
	}
	if ds == 0 {
		return build(false, u128{}, minSigDigits), nil
	}
	odd := false
	if ds < 0 {
		odd = isOdd(e)
		d = d.Neg()
	}
	est := e.ToFloat64() * math.Log10(math.Abs(d.ToFloat64()))
	if near := math.Abs(est); near < 1 {
		ln, err := d.Ln()
		if err != nil {
			return Decimal{}, err
		}
		est = ln.ToFloat64() * e.ToFloat64() * log10e
	}
	est = min(max(est, -maxEstimate), maxEstimate)
	scale := max(minSigDigits-int(est), d.mark(), e.mark(), 0)
	r, err := powBig(d, e, est, scale)
	if odd {
		r = r.Neg()
	}
	return r, err
}

// powBig computes d^e as exp(e ln d) for a positive d.
func powBig(d, e Decimal, est float64, scale int) (Decimal, error) {
	if est > MaxDigits+1 {
		return Decimal{}, outgrown(est)
	}
	if est < -MaxScale-1 {
		return build(false, u128{}, MaxScale), nil
	}
	prec := bitsFor(int(est)+2+MaxDigits, min(scale, MaxScale)) + guardBits
	x := lnBig(d.float(prec))
	x.Mul(x, e.float(prec))
	return fromBig(expBig(x), scale)
}

// outgrown is the error of a result of so many digits.
func outgrown(digits float64) error {
	if digits > maxWhole {
		return valueOverflow()
	}
	return tooLong()
}

func isOdd(e Decimal) bool {
	r, err := e.Mod(FromInt64(2))
	return err == nil && !r.IsZero()
}

func powSpecial(d, e Decimal) Decimal {
	ds, es := d.Sign(), e.Sign()
	switch {
	case d.finite() && d.Cmp(One) == 0, es == 0:
		return One
	case ds == 0:
		return Zero
	case !e.finite():
		minusOne := One.Neg()
		if d.finite() && d.Cmp(minusOne) == 0 {
			return One
		}
		large := !d.finite() || d.Abs().Cmp(One) > 0
		if large == (es > 0) {
			return Inf
		}
		return Zero
	case es < 0:
		return Zero
	case d == Inf:
		return Inf
	case e.isWhole() && isOdd(e):
		return NegInf
	}
	return Inf
}

// powInt is PostgreSQL's power by a whole number; escale is the exponent's scale.
func powInt(d Decimal, n int) (Decimal, error) {
	neg, c := d.abs()
	scale := max(minSigDigits, d.mark())
	if c.isZero() {
		if n == 0 {
			return One.Round(scale)
		}
		return build(false, c, scale), nil
	}
	// The first digits estimate how long the result is.
	digits := c.digits()
	lead := min(digits, 16)
	q, _ := c.div(pow10[digits-lead])
	est := float64(n) * (math.Log10(float64(q.lo)) + float64(digits-lead-d.mark()))
	if est > maxWhole {
		return Decimal{}, valueOverflow()
	}
	if est+1 < -MaxScale {
		return build(false, u128{}, scale), nil
	}
	if est > MaxDigits+1 {
		return Decimal{}, tooLong()
	}
	if n == 1 {
		return shorten(d, scale)
	}
	prec := bitsFor(int(math.Abs(est))+2, scale) + 64
	x := powFloat(d.Abs().float(prec), n)
	if neg && n&1 != 0 {
		x.Neg(x)
	}
	return fromBig(x, scale)
}

// shorten returns d at scale, or at the largest scale that it fits.
func shorten(d Decimal, scale int) (Decimal, error) {
	for scale = min(scale, MaxScale); scale > d.mark(); scale-- {
		if r, err := d.Round(scale); err == nil {
			return r, nil
		}
	}
	return d.Round(scale)
}

// powFloat raises x to a whole power by squaring.
func powFloat(x *big.Float, n int) *big.Float {
	invert := n < 0
	if invert {
		n = -n
	}
	prec := x.Prec()
	r := new(big.Float).SetPrec(prec).SetInt64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r.Mul(r, x)
		}
		if n > 1 {
			x.Mul(x, x)
		}
	}
	if invert {
		r.Quo(new(big.Float).SetPrec(prec).SetInt64(1), r)
	}
	return r
}

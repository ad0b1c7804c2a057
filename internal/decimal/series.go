package decimal

import "math/big"

// expBig returns e^x with x's precision.
func expBig(x *big.Float) *big.Float {
	prec := x.Prec() + 64
	// e^x = 2^k e^r with |r| <= ln2/2; r is halved further, the result squared back.
	ln2 := ln2Big(prec)
	k := new(big.Float).SetPrec(prec).Quo(x, ln2)
	whole, _ := k.Float64()
	n := int64(whole)
	r := new(big.Float).SetPrec(prec).SetInt64(n)
	r.Mul(r, ln2)
	r.Sub(new(big.Float).SetPrec(prec).Set(x), r)
	const halvings = 16
	r.SetMantExp(r, -halvings)
	sum := new(big.Float).SetPrec(prec).SetInt64(1)
	term := new(big.Float).SetPrec(prec).SetInt64(1)
	for i := int64(1); ; i++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(i))
		if term.Sign() == 0 || term.MantExp(nil) < -int(prec) {
			break
		}
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(n))
}

// lnBig returns ln x for a positive x with its precision.
func lnBig(x *big.Float) *big.Float {
	prec := x.Prec() + 64
	// x = m 2^e with m between 1/2 and 1: brought to between 0.7 and 1.4.
	m := new(big.Float).SetPrec(prec)
	e := x.MantExp(m)
	m.SetPrec(prec)
	if m.Cmp(big.NewFloat(0.7)) < 0 {
		m.SetMantExp(m, 1)
		e--
	}
	// Square roots bring m near 1, where the series is short. Near 1 already, x
	// keeps its digits.
	roots := 0
	one := new(big.Float).SetPrec(prec).SetInt64(1)
	d := new(big.Float).SetPrec(prec).Sub(m, one)
	if d.Sign() != 0 && d.MantExp(nil) > -8 {
		for range 8 {
			m.Sqrt(m)
			roots++
		}
	}
	r := atanhBig(m, one, prec)
	r.SetMantExp(r, roots+1)
	if e != 0 {
		t := ln2Big(prec)
		r.Add(r, t.Mul(t, new(big.Float).SetInt64(int64(e))))
	}
	return r
}

// atanhBig returns the inverse hyperbolic tangent of (m-1)/(m+1): half of ln m.
func atanhBig(m, one *big.Float, prec uint) *big.Float {
	z := new(big.Float).SetPrec(prec).Sub(m, one)
	den := new(big.Float).SetPrec(prec).Add(m, one)
	z.Quo(z, den)
	sq := new(big.Float).SetPrec(prec).Mul(z, z)
	sum := new(big.Float).SetPrec(prec).Set(z)
	pow := new(big.Float).SetPrec(prec).Set(z)
	if z.Sign() == 0 {
		return sum
	}
	stop := z.MantExp(nil) - int(prec)
	for i := int64(3); ; i += 2 {
		pow.Mul(pow, sq)
		if pow.Sign() == 0 || pow.MantExp(nil) < stop {
			return sum
		}
		t := new(big.Float).SetPrec(prec).Quo(pow, new(big.Float).SetInt64(i))
		sum.Add(sum, t)
	}
}

// ln2Big returns ln 2 = 2 atanh(1/3).
func ln2Big(prec uint) *big.Float {
	two := new(big.Float).SetPrec(prec).SetInt64(2)
	one := new(big.Float).SetPrec(prec).SetInt64(1)
	r := atanhBig(two, one, prec)
	return r.SetMantExp(r, 1)
}

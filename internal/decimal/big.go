package decimal

import (
	"math/big"
	"math/bits"
)

var (
	bigOne   = big.NewInt(1)
	bigTen   = big.NewInt(10)
	bigPow   [100]*big.Int
	bigLimit = new(big.Int).Exp(bigTen, big.NewInt(MaxDigits), nil)
)

func init() {
	p := big.NewInt(1)
	for i := range bigPow {
		bigPow[i] = p
		p = new(big.Int).Mul(p, bigTen)
	}
}

// bigPow10 returns 10^k, which must not be written to.
func bigPow10(k int) *big.Int {
	if k < len(bigPow) {
		return bigPow[k]
	}
	return new(big.Int).Exp(bigTen, big.NewInt(int64(k)), nil)
}

// big returns a as a big integer.
func (a u128) big() *big.Int {
	var x big.Int
	x.SetUint64(a.hi)
	x.Lsh(&x, 64)
	var lo big.Int
	lo.SetUint64(a.lo)
	return x.Or(&x, &lo)
}

// from128 returns x, which is not negative, and whether it fits in 128 bits.
func from128(x *big.Int) (u128, bool) {
	if x.BitLen() > 128 {
		return u128{}, false
	}
	var c u128
	var hi big.Int
	c.hi = hi.Rsh(x, 64).Uint64()
	w := x.Bits()
	if len(w) > 0 {
		c.lo = uint64(w[0])
	}
	if bits.UintSize == 32 && len(w) > 1 {
		c.lo |= uint64(w[1]) << 32
	}
	return c, true
}

// bigDigits returns the number of decimal digits of x, which is not negative.
func bigDigits(x *big.Int) int {
	if x.Cmp(bigLimit) < 0 {
		c, _ := from128(x)
		return c.digits()
	}
	n := x.BitLen() * 1233 >> 12
	for x.Cmp(bigPow10(n)) >= 0 {
		n++
	}
	for n > 0 && x.Cmp(bigPow10(n-1)) < 0 {
		n--
	}
	return n
}

// weightBig is weight for a number of any length that is not 0.
func weightBig(x *big.Int, scale int) (w, first int) {
	n := bigDigits(x)
	e := n - 1 - scale
	w = e >> 2
	lead := e - w<<2 + 1
	if n <= lead {
		return w, int(x.Int64()) * int(pow10[lead-n].lo)
	}
	return w, int(new(big.Int).Quo(x, bigPow10(n-lead)).Int64())
}

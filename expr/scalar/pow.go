package scalar

import "math"

// Pow is x to the power y, within one unit in the last place; math.Pow, which
// multiplies its way up, is further off for large exponents. x is above zero and
// finite, y is finite.
//
// The logarithm to base 2 is computed as a sum of two floats, multiplied by y,
// and raised again: the method of FreeBSD's msun/src/e_pow.c.
func Pow(x, y float64) float64 {
	if y == 0 || x == 1 {
		return 1
	}
	if y == 0.5 {
		return math.Sqrt(x)
	}
	if math.Abs(y) > 0x1p31 {
		return math.Pow(x, y) // far from 1 it overflows, next to 1 the error is small
	}
	if n := int(y); float64(n) == y && n >= -64 && n <= 64 {
		if r := powInt(x, n); r != 0 && !math.IsInf(r, 0) && !math.IsNaN(r) {
			return r
		}
	}
	t1, t2 := log2Split(x)
	y1 := head(y)
	pl := (y-y1)*t1 + y*t2
	ph := y1 * t1
	z := pl + ph
	switch {
	case z >= 1024:
		if z > 1024 || pl+8.0085662595372944372e-17 > z-ph {
			return math.Inf(1)
		}
	case z <= -1075:
		return 0
	}
	n := 0.0
	if math.Abs(z) > 0.5 {
		n = math.Floor(z + 0.5)
	}
	ph -= n
	t := head(pl + ph)
	const (
		lg2  = 6.93147180559945286227e-01
		lg2h = 6.93147182464599609375e-01
		lg2l = -1.90465429995776804525e-09
	)
	u := t * lg2h
	v := (pl-(t-ph))*lg2 + t*lg2l
	z = u + v
	w := v - (z - u)
	t = z * z
	t1 = z - t*(1.66666666666666019037e-01+t*(-2.77777777770155933842e-03+t*(6.61375632143793436117e-05+
		t*(-1.65339022054652515390e-06+t*4.13813679705723846039e-08))))
	r := (z*t1)/(t1-2) - (w + z*w)
	return math.Ldexp(1-(r-z), int(n))
}

// powInt multiplies x out in sums of two floats; it is 0, infinite or NaN where a
// step on the way is.
func powInt(x float64, n int) float64 {
	neg := n < 0
	if neg {
		n = -n
	}
	mul := func(ah, al, bh, bl float64) (h, l float64) {
		p := ah * bh
		e := math.FMA(ah, bh, -p) + (ah*bl + al*bh)
		h = p + e
		return h, e - (h - p)
	}
	rh, rl, bh, bl := 1.0, 0.0, x, 0.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			rh, rl = mul(rh, rl, bh, bl)
		}
		if n > 1 {
			bh, bl = mul(bh, bl, bh, bl)
		}
	}
	if !neg {
		return rh
	}
	q := 1 / rh
	return q + q*(math.FMA(-q, rh, 1)-q*rl)
}

// head clears the lower half of a float.
func head(x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) &^ 0xffffffff)
}

// log2Split returns log2(x) as the sum of a float with short mantissa and a rest.
func log2Split(x float64) (t1, t2 float64) {
	frac, exp := math.Frexp(x) // [0.5, 1)
	ax, n := frac*2, exp-1     // [1, 2)
	k := 0
	switch {
	case ax < 1.2247448713915889: // sqrt(3/2)
	case ax < 1.7320508075688772: // sqrt(3)
		k = 1
	default:
		n++
		ax /= 2
	}
	bp := [2]float64{1, 1.5}
	u := ax - bp[k]
	v := 1 / (ax + bp[k])
	ss := u * v
	sh := head(ss)
	th := head(ax + bp[k])
	tl := ax - (th - bp[k])
	sl := v * ((u - sh*th) - sh*tl)
	s2 := ss * ss
	r := s2 * s2 * (5.99999999999994648725e-01 + s2*(4.28571428578550184252e-01+s2*(3.33333329818377432918e-01+
		s2*(2.72728123808534006489e-01+s2*(2.30660745775561754067e-01+s2*2.06975017800338417784e-01)))))
	r += sl * (sh + ss)
	s2 = sh * sh
	th = head(3 + s2 + r)
	tl = r - ((th - 3) - s2)
	u = sh * th
	v = sl*th + tl*ss
	ph := head(u + v)
	pl := v - (ph - u)
	const (
		cp  = 9.61796693925975554329e-01
		cph = 9.61796700954437255859e-01
		cpl = -7.02846165095275826516e-09
	)
	dph := [2]float64{0, 5.84962487220764160156e-01}
	dpl := [2]float64{0, 1.35003920212974897128e-08}
	zh := cph * ph
	zl := cpl*ph + pl*cp + dpl[k]
	t := float64(n)
	t1 = head(((zh + zl) + dph[k]) + t)
	t2 = zl - (((t1 - t) - dph[k]) - zh)
	return t1, t2
}

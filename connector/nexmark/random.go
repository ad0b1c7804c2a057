package nexmark

import "math/bits"

// random is SplitMix64, begun anew for each event.
type random uint64

const gamma = 0x9E3779B97F4A7C15

// mix is SplitMix64's output function: a bijection that scatters its argument.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// next returns 64 random bits.
func (r *random) next() uint64 {
	*r += gamma
	return mix(uint64(*r))
}

// below returns a number from 0 to n-1; n is at least 1.
func (r *random) below(n int64) int64 {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int64(hi)
}

// hot is true with probability 1 - 1/ratio.
func (r *random) hot(ratio int64) bool { return r.below(ratio) > 0 }

// price returns a price in cents, log-uniform from 100 to 100,000,000.
func (r *random) price() int64 {
	const log2of10 = 3.321928094887362
	u := float64(r.next()>>11) / (1 << 53)
	y := float64(u * (6 * log2of10))
	k := int64(y)
	return int64(float64(exp2(y-float64(k))*float64(int64(100)<<k)) + 0.5)
}

// exp2 is 2^f for f from 0 to 1 by its power series. Each product is rounded by a
// conversion, so that no machine fuses it with the sum (invariant N1).
func exp2(f float64) float64 {
	x := float64(f * 0.6931471805599453)
	s := 1.0
	for i := 18.0; i > 0; i-- {
		s = 1 + float64(float64(s*x)/i)
	}
	return s
}

// text appends 3 to max-1 characters: special for one in 13, else a letter;
// blanks at the ends are cut off.
func (r *random) text(dst []byte, max int64, special byte) []byte {
	at, n := len(dst), int(3+r.below(max-3))
	for i := 0; i < n; i += 4 {
		w := r.next()
		for j := i; j < min(i+4, n); j++ {
			x := (w & 0xffff) * (13 * 26) >> 16
			w >>= 16
			c := 'a' + byte(x%26)
			if x < 26 {
				c = special
			}
			dst = append(dst, c)
		}
	}
	for len(dst) > at && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	lead := at
	for lead < len(dst) && dst[lead] == ' ' {
		lead++
	}
	return append(dst[:at], dst[lead:]...)
}

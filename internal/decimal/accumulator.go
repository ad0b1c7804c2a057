package decimal

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Accumulator is an exact sum of Decimals that takes values back: 64 bytes
// without a pointer. The zero value is the sum of nothing.
//
// The sum is a signed integer of 186 bits at a scale of its own, so it cannot
// overflow before it is some 10^19 times longer than a Decimal. How many values
// of each scale, NaNs and infinities went in is counted, so that the sum of what
// is left has PostgreSQL's scale and is finite again when the last NaN left.
// Five kinds are counted apart; with more scales than that the smaller ones
// share a count, and after deletions the sum may show more trailing zeros.
type Accumulator struct {
	lo, mid uint64
	hi      int64 // the upper 58 bits of the sum above the scale's 6, as Decimal's
	kinds   [5]int64
}

// A kind is a count above the 6 bits of the scale or special mark that it counts.
func kindMark(k int64) int { return int(k & scaleMask) }

func (a *Accumulator) scale() int { return int(a.hi & scaleMask) }

// note counts n values of a mark.
func (a *Accumulator) note(mark int, n int64) {
	if k := a.kinds[0]; k != 0 && kindMark(k) == mark {
		a.kinds[0] = bump(k, n)
		return
	}
	free := -1
	for i, k := range a.kinds {
		if k == 0 {
			if free < 0 {
				free = i
			}
		} else if kindMark(k) == mark {
			a.kinds[i] = bump(k, n)
			return
		}
	}
	if free < 0 {
		if mark, free = a.makeRoom(mark); free < 0 {
			a.note(mark, n)
			return
		}
	}
	a.kinds[free] = n<<scaleBits | int64(mark)
}

// bump adds n to a count; a kind that nothing is left of is free again.
func bump(k, n int64) int64 {
	if k += n << scaleBits; k>>scaleBits == 0 {
		return 0
	}
	return k
}

// makeRoom frees a kind for mark by merging the two smallest scales into the
// larger. Where mark lies below that one it takes part: then free is -1 and mark
// the scale to count it under.
func (a *Accumulator) makeRoom(mark int) (_, free int) {
	first, second := -1, -1 // the smallest and the next scale
	for i, k := range a.kinds {
		m := kindMark(k)
		switch {
		case m > MaxScale:
		case first < 0 || m < kindMark(a.kinds[first]):
			first, second = i, first
		case second < 0 || m < kindMark(a.kinds[second]):
			second = i
		}
	}
	switch smallest := kindMark(a.kinds[first]); {
	case mark < smallest:
		return smallest, -1
	case mark < kindMark(a.kinds[second]):
		a.kinds[first] += int64(mark - smallest)
		return mark, -1
	}
	a.kinds[second] = bump(a.kinds[second], a.kinds[first]>>scaleBits)
	a.kinds[first] = 0
	return mark, first
}

// Add adds d. 22003 when the sum passes 186 bits; then a stays as it was.
func (a *Accumulator) Add(d Decimal) error {
	mark := d.hi & scaleMask
	if k := a.kinds[0]; mark <= MaxScale && mark == a.hi&scaleMask && mark == k&scaleMask && k > 0 {
		// One scale, as nearly always.
		lo, c := bits.Add64(a.lo, d.lo, 0)
		mid, c := bits.Add64(a.mid, uint64(d.hi>>scaleBits), c)
		hi := a.hi>>scaleBits + d.hi>>63 + int64(c)
		if hi<<scaleBits>>scaleBits == hi {
			a.lo, a.mid, a.hi = lo, mid, hi<<scaleBits|mark
			a.kinds[0] = k + 1<<scaleBits
			return nil
		}
	}
	return a.add(d, 1)
}

// Sub takes back a d that was added; it may come before its Add.
func (a *Accumulator) Sub(d Decimal) error { return a.add(d, -1) }

func (a *Accumulator) add(d Decimal, n int64) error {
	mark := d.mark()
	if mark <= MaxScale {
		v := wide{d.lo, uint64(d.hi >> scaleBits), uint64(d.hi >> 63)}
		if n < 0 {
			v = v.neg()
		}
		if mark == a.scale() {
			sum, ok := a.wide().add(v)
			if !ok {
				return tooLong()
			}
			a.set(sum, mark)
		} else if err := a.addScaled(v, mark); err != nil {
			return err
		}
	}
	a.note(mark, n)
	return nil
}

// addScaled adds v of another scale.
func (a *Accumulator) addScaled(v wide, scale int) error {
	sum, at := a.wide(), a.scale()
	ok := true
	switch {
	case sum.isZero():
		at = scale
	case scale > at:
		sum, ok = sum.scaleUp(scale - at)
		at = scale
	default:
		v, ok = v.scaleUp(at - scale)
	}
	if ok {
		sum, ok = sum.add(v)
	}
	if !ok {
		return tooLong()
	}
	a.set(sum, at)
	return nil
}

// AddInt64 adds a whole number.
func (a *Accumulator) AddInt64(x int64) error { return a.add(FromInt64(x), 1) }

// Merge adds all that b holds. 22003 as Add.
func (a *Accumulator) Merge(b *Accumulator) error {
	if err := a.addScaled(b.wide(), b.scale()); err != nil {
		return err
	}
	for _, k := range b.kinds {
		if k != 0 {
			a.note(kindMark(k), k>>scaleBits)
		}
	}
	return nil
}

// state returns the scale that the sum shows and which special values it holds.
func (a *Accumulator) state() (scale int, nan, pos, neg bool) {
	for _, k := range a.kinds {
		if k == 0 {
			continue
		}
		switch m := kindMark(k); m {
		case markNaN:
			nan = true
		case markPos:
			pos = true
		case markNeg:
			neg = true
		default:
			scale = max(scale, m)
		}
	}
	return scale, nan, pos, neg
}

// Sum returns the sum at the largest scale among what was added. 22003 when it
// has more than MaxDigits digits.
func (a *Accumulator) Sum() (Decimal, error) {
	scale, nan, pos, neg := a.state()
	switch {
	case nan || pos && neg:
		return NaN, nil
	case pos:
		return Inf, nil
	case neg:
		return NegInf, nil
	}
	minus, m := a.wide().abs()
	at := a.scale()
	// Values that were taken back may have left zeros behind.
	for at > scale {
		q, r := m.div10()
		if r != 0 {
			break
		}
		m, at = q, at-1
	}
	if m[2] != 0 {
		return Decimal{}, tooLong()
	}
	c := u128{m[1], m[0]}
	if at < scale {
		var ok bool
		if c, ok = upscale(c, scale-at); !ok {
			return Decimal{}, tooLong()
		}
		at = scale
	}
	return checked(minus, c, at)
}

// Avg returns the sum divided by count, with the scale of PostgreSQL's avg; it is
// exact where the sum alone would be too long. 22012 for a count of 0.
func (a *Accumulator) Avg(count int64) (Decimal, error) {
	n := FromInt64(count)
	sum, err := a.Sum()
	if err == nil || count == 0 {
		return sum.Div(n)
	}
	minus, m := a.wide().abs()
	num, scale := m.big(), a.scale()
	_, den := n.abs()
	w1, f1 := weightBig(num, scale)
	w2, f2 := weight(den, 0)
	q := w1 - w2
	if f1 <= f2 {
		q--
	}
	want := min(max(minSigDigits-4*q, scale), MaxScale)
	return divBig(minus != (count < 0), num, den.big(), want-scale, want)
}

// Append appends the state to dst.
func (a *Accumulator) Append(dst []byte) []byte {
	w := a.wide()
	words := 3
	if s := uint64(int64(w[1]) >> 63); w[2] == s {
		words = 2
		if s = uint64(int64(w[0]) >> 63); w[1] == s && w[2] == s {
			words = 1
		}
	}
	kinds := 0
	for _, k := range a.kinds {
		if k != 0 {
			kinds++
		}
	}
	dst = append(dst, byte(words<<4|kinds), byte(a.scale()))
	for i := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w[i])
	}
	for _, k := range a.kinds {
		if k != 0 {
			dst = binary.AppendVarint(append(dst, byte(kindMark(k))), k>>scaleBits)
		}
	}
	return dst
}

// Decode reads what Append wrote at the front of src and returns the rest; ok is
// false for other bytes.
func (a *Accumulator) Decode(src []byte) (rest []byte, ok bool) {
	*a = Accumulator{}
	if len(src) < 2 {
		return nil, false
	}
	words, kinds, scale := int(src[0]>>4), int(src[0]&15), int(src[1])
	if words < 1 || words > 3 || kinds > len(a.kinds) || scale > MaxScale || len(src) < 2+8*words {
		return nil, false
	}
	var w wide
	for i := range words {
		w[i] = binary.LittleEndian.Uint64(src[2+8*i:])
	}
	for i := words; i < len(w); i++ {
		w[i] = uint64(int64(w[i-1]) >> 63)
	}
	if !w.fits() {
		return nil, false
	}
	a.set(w, scale)
	src = src[2+8*words:]
	for i := range kinds {
		if len(src) == 0 || src[0] > markNeg || src[0] == MaxScale+1 {
			return nil, false
		}
		n, k := binary.Varint(src[1:])
		if k <= 0 {
			return nil, false
		}
		a.kinds[i] = n<<scaleBits | int64(src[0])
		src = src[1+k:]
	}
	return src, true
}

// wide is a signed integer of 192 bits, low word first.
type wide [3]uint64

func (a *Accumulator) wide() wide { return wide{a.lo, a.mid, uint64(a.hi >> scaleBits)} }

func (a *Accumulator) set(w wide, scale int) {
	a.lo, a.mid, a.hi = w[0], w[1], int64(w[2])<<scaleBits|int64(scale)
}

// fits tells whether w keeps within 186 bits.
func (w wide) fits() bool { return int64(w[2])<<scaleBits>>scaleBits == int64(w[2]) }

func (w wide) isZero() bool { return w[0]|w[1]|w[2] == 0 }

func (w wide) add(v wide) (wide, bool) {
	var c uint64
	w[0], c = bits.Add64(w[0], v[0], 0)
	w[1], c = bits.Add64(w[1], v[1], c)
	w[2], _ = bits.Add64(w[2], v[2], c)
	return w, w.fits()
}

func (w wide) neg() wide {
	var b uint64
	w[0], b = bits.Sub64(0, w[0], 0)
	w[1], b = bits.Sub64(0, w[1], b)
	w[2], _ = bits.Sub64(0, w[2], b)
	return w
}

func (w wide) abs() (neg bool, _ wide) {
	if int64(w[2]) < 0 {
		return true, w.neg()
	}
	return false, w
}

// scaleUp returns w*10^by and whether it fits.
func (w wide) scaleUp(by int) (wide, bool) {
	neg, m := w.abs()
	for by > 0 {
		step := min(by, 19)
		p := pow10[step].lo
		h0, l0 := bits.Mul64(m[0], p)
		h1, l1 := bits.Mul64(m[1], p)
		h2, l2 := bits.Mul64(m[2], p)
		var c uint64
		l1, c = bits.Add64(l1, h0, 0)
		l2, c = bits.Add64(l2, h1, c)
		m = wide{l0, l1, l2}
		if h2+c != 0 || int64(l2) < 0 || !m.fits() {
			return w, false
		}
		by -= step
	}
	if neg {
		m = m.neg()
	}
	return m, true
}

// div10 divides a number that is not negative by ten.
func (w wide) div10() (q wide, r uint64) {
	q[2], r = w[2]/10, w[2]%10
	q[1], r = bits.Div64(r, w[1], 10)
	q[0], r = bits.Div64(r, w[0], 10)
	return q, r
}

// big returns a number that is not negative as a big integer.
func (w wide) big() *big.Int {
	x := u128{w[2], w[1]}.big()
	x.Lsh(x, 64)
	return x.Or(x, u128{0, w[0]}.big())
}

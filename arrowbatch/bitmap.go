package arrowbatch

import "math/bits"

// Bitmap is a bit per row, row i in bit i%64 of word i/64: Arrow's bitmap read
// as little-endian words.
type Bitmap []uint64

// BitmapWords is the number of words that n bits take.
func BitmapWords(n int) int { return (n + 63) >> 6 }

// NewBitmap returns n clear bits.
func NewBitmap(n int) Bitmap { return make(Bitmap, BitmapWords(n)) }

// Get returns bit i.
func (b Bitmap) Get(i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// Put sets bit i to v.
func (b Bitmap) Put(i int, v bool) {
	if v {
		b.Set(i)
	} else {
		b.Clear(i)
	}
}

// Count returns the number of set bits among the first n.
func (b Bitmap) Count(n int) int {
	full, c := n>>6, 0
	for _, w := range b[:full] {
		c += bits.OnesCount64(w)
	}
	if r := uint(n) & 63; r != 0 {
		c += bits.OnesCount64(b[full] & (1<<r - 1))
	}
	return c
}

// All tells whether the first n bits are set.
func (b Bitmap) All(n int) bool { return b.Count(n) == n }

// Fill sets the first n bits to v.
func (b Bitmap) Fill(n int, v bool) {
	w := uint64(0)
	if v {
		w = ^uint64(0)
	}
	for i := range b[:BitmapWords(n)] {
		b[i] = w
	}
}

// resizeBits returns b with room for n bits, bits below keep their value and new
// ones are unspecified.
func resizeBits(b Bitmap, n int) Bitmap {
	w := BitmapWords(n)
	if cap(b) >= w {
		return b[:w]
	}
	nb := make(Bitmap, w, max(w, 2*cap(b)))
	copy(nb, b)
	return nb
}

// AppendIndexes appends the positions of the set bits among the first n to dst.
func (b Bitmap) AppendIndexes(dst []int32, n int) []int32 {
	for wi := range b[:BitmapWords(n)] {
		w := b[wi]
		base := wi << 6
		if r := n - base; r < 64 {
			w &= 1<<uint(r) - 1
		}
		if w == ^uint64(0) {
			for j := range 64 {
				dst = append(dst, int32(base+j))
			}
			continue
		}
		for w != 0 {
			dst = append(dst, int32(base+bits.TrailingZeros64(w)))
			w &= w - 1
		}
	}
	return dst
}

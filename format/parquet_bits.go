package format

import (
	"encoding/binary"
	"math/bits"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// hybrid reads numbers of a fixed width in Parquet's mixture of runs and packed bits,
// in which levels and the numbers of dictionary entries are written.
type hybrid struct {
	b     []byte
	width uint
	// run values of val follow, or lit packed ones from bit of b on, in packed.
	run    uint64
	val    uint32
	packed []byte
	lit    uint64
	bit    int
}

func (h *hybrid) reset(b []byte, width uint) { *h = hybrid{b: b, width: width} }

// next begins a run; false: there is none, or it is malformed.
func (h *hybrid) next() bool {
	head, k := binary.Uvarint(h.b)
	if k <= 0 || head>>1 == 0 {
		return false
	}
	h.b = h.b[k:]
	if head&1 == 0 {
		n := int(h.width+7) / 8
		if len(h.b) < n {
			return false
		}
		h.val = 0
		for i, c := range h.b[:n] {
			h.val |= uint32(c) << (8 * uint(i))
		}
		h.b, h.run = h.b[n:], head>>1
		return true
	}
	// Groups of eight; the last bytes may be left out where no value is in them.
	groups := head >> 1
	if most := uint64(len(h.b))/uint64(h.width) + 1; groups > most {
		groups = most
	}
	n := min(int(groups)*int(h.width), len(h.b))
	h.packed, h.bit = h.b[:n], 0
	h.lit = min(groups*8, uint64(n)*8/uint64(h.width))
	h.b = h.b[n:]
	return h.lit > 0
}

// readHybrid fills dst; false: there are not as many values.
func readHybrid[T uint8 | uint32](h *hybrid, dst []T) bool {
	if h.width == 0 {
		clear(dst)
		return true
	}
	for len(dst) > 0 {
		switch {
		case h.run > 0:
			n := int(min(uint64(len(dst)), h.run))
			v := T(h.val)
			for i := range dst[:n] {
				dst[i] = v
			}
			h.run -= uint64(n)
			dst = dst[n:]
		case h.lit > 0:
			n := int(min(uint64(len(dst)), h.lit))
			unpack(dst[:n], h.packed, h.bit, h.width)
			h.bit += n * int(h.width)
			h.lit -= uint64(n)
			dst = dst[n:]
		default:
			if !h.next() {
				return false
			}
		}
	}
	return true
}

// unpack reads numbers of at most 57 bits that lie behind each other from a bit on,
// the low bits first. They are within b.
func unpack[T uint8 | uint32 | uint64](dst []T, b []byte, bit int, width uint) {
	mask := uint64(1)<<width - 1
	for i := range dst {
		at := bit >> 3
		var w uint64
		if at+8 <= len(b) {
			w = binary.LittleEndian.Uint64(b[at:])
		} else {
			for k, c := range b[at:] {
				w |= uint64(c) << (8 * uint(k))
			}
		}
		dst[i] = T(w >> (uint(bit) & 7) & mask)
		bit += int(width)
	}
}

// delta reads all numbers of a block in the encoding DELTA_BINARY_PACKED, at most
// limit, and returns the bytes behind it.
func delta(dst []uint64, b []byte, limit int) (_ []uint64, rest []byte, err *sqlerr.Error) {
	bad := damaged("numbers in DELTA_BINARY_PACKED are malformed")
	var head [3]uint64
	for i := range head {
		x, k := binary.Uvarint(b)
		if k <= 0 {
			return dst, b, bad
		}
		head[i], b = x, b[k:]
	}
	first, k := binary.Varint(b)
	size, parts, total := head[0], head[1], head[2]
	if k <= 0 || size == 0 || size > 1<<20 || size%128 != 0 || parts == 0 || parts > size || size%parts != 0 ||
		size/parts%32 != 0 || total > uint64(limit) {
		return dst, b, bad
	}
	b = b[k:]
	if total == 0 {
		return dst, b, nil
	}
	dst = append(dst, uint64(first))
	value, part := uint64(first), int(size/parts)
	for left := int(total) - 1; left > 0; {
		low, k := binary.Varint(b)
		if k <= 0 || len(b)-k < int(parts) {
			return dst, b, bad
		}
		widths := b[k : k+int(parts)]
		b = b[k+int(parts):]
		for _, w := range widths {
			if left == 0 {
				break // the widths of parts without values mean nothing
			}
			n := part * int(w) / 8
			count := min(left, part)
			if w > 64 || len(b) < (count*int(w)+7)/8 {
				return dst, b, bad
			}
			at := len(dst)
			dst = append(dst, make([]uint64, count)...)
			unpackWide(dst[at:], b, uint(w))
			for i := range dst[at:] {
				value += uint64(low) + dst[at+i]
				dst[at+i] = value
			}
			b = b[min(n, len(b)):]
			left -= count
		}
	}
	return dst, b, nil
}

// unpackWide is unpack from the first bit on for any width up to 64.
func unpackWide(dst []uint64, b []byte, width uint) {
	if width <= 57 {
		unpack(dst, b, 0, width)
		return
	}
	bit := 0
	for i := range dst {
		at, shift := bit>>3, uint(bit)&7
		var w [2]uint64
		for k, c := range b[at:min(len(b), at+9)] {
			w[k>>3] |= uint64(c) << (8 * uint(k&7))
		}
		x := w[0] >> shift
		if shift > 0 {
			x |= w[1] << (64 - shift)
		}
		if width < 64 {
			x &= 1<<width - 1
		}
		dst[i] = x
		bit += int(width)
	}
}

// levelWidth is the number of bits of a level up to top.
func levelWidth(top int16) uint { return uint(bits.Len16(uint16(top))) }

package kafka

import "encoding/binary"

// partitionOf returns the partition of a keyed record among n, as Kafka's own
// clients choose it: murmur2 of the key's bytes, sign bit cleared, modulo n.
func partitionOf(key []byte, n int) int { return int(murmur2(key)&0x7fffffff) % n }

// murmur2 is the 32-bit hash of that name with the seed of Kafka's clients.
func murmur2(b []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

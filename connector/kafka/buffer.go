package kafka

import (
	"math/bits"
	"sync"
)

// Buffers are pooled by powers of two from 4 kB to 16 MB; larger ones are left to
// the collector.
const (
	minBufferBits = 12
	maxBufferBits = 24
)

var bufferPools [maxBufferBits + 1]sync.Pool

// getBuffer returns n unspecified bytes.
func getBuffer(n int) []byte {
	class := max(minBufferBits, bits.Len(uint(max(n, 1)-1)))
	if class > maxBufferBits {
		return make([]byte, n)
	}
	if p, _ := bufferPools[class].Get().(*[]byte); p != nil {
		return (*p)[:n]
	}
	return make([]byte, n, 1<<class)
}

// putBuffer gives b back; nobody may touch it afterwards.
func putBuffer(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if class < minBufferBits || class > maxBufferBits || cap(b) != 1<<class {
		return
	}
	b = b[:0]
	bufferPools[class].Put(&b)
}

package kafka

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Places in the header of a record batch of format 2, from its first byte.
const (
	atLength      = 8
	atMagic       = 16
	atCRC         = 17
	atAttributes  = 21
	atLastDelta   = 23
	atBaseTime    = 27
	atMaxTime     = 35
	atProducer    = 43
	atEpoch       = 51
	atSequence    = 53
	atCount       = 57
	headerBytes   = 61
	lengthPrefix  = 12 // base offset and length: what the length does not count
	noCompression = 0
)

// Bits of a batch's attributes.
const (
	attrCodec         = 7
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batchHeader is a record batch: its header's fields and its records' bytes.
type batchHeader struct {
	base       int64 // offset of the first record when it was written
	last       int64 // offset of the last record when it was written
	attributes int16
	baseTime   int64
	maxTime    int64
	producer   int64
	count      int
	body       []byte // the records, compressed as the attributes say
}

func (h *batchHeader) control() bool       { return h.attributes&attrControl != 0 }
func (h *batchHeader) transactional() bool { return h.attributes&attrTransactional != 0 }
func (h *batchHeader) codec() int8         { return int8(h.attributes & attrCodec) }

// nextBatch parses the batch at the front of b. n is its length in bytes, 0 when
// b does not hold all of it: brokers cut a record set where the limit falls.
func nextBatch(b []byte) (h batchHeader, n int, err error) {
	if len(b) < atMagic+1 {
		return h, 0, nil
	}
	base := int64(binary.BigEndian.Uint64(b))
	if magic := b[atMagic]; magic != 2 {
		return h, 0, sqlerr.Unsupported("record batch at offset %d has message format %d", base, magic).
			WithHint("Only format 2, of Kafka 0.11 and newer, can be read: rewrite the topic's old records.").
			AsPermanent()
	}
	length := int(int32(binary.BigEndian.Uint32(b[atLength:])))
	if length < headerBytes-lengthPrefix {
		return h, 0, corrupt(base, "its length is %d", length)
	}
	n = lengthPrefix + length
	if len(b) < n {
		return h, 0, nil
	}
	b = b[:n:n]
	if crc32.Checksum(b[atAttributes:], castagnoli) != binary.BigEndian.Uint32(b[atCRC:]) {
		return h, 0, corrupt(base, "its checksum does not fit")
	}
	h = batchHeader{
		base:       base,
		last:       base + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))),
		attributes: int16(binary.BigEndian.Uint16(b[atAttributes:])),
		baseTime:   int64(binary.BigEndian.Uint64(b[atBaseTime:])),
		maxTime:    int64(binary.BigEndian.Uint64(b[atMaxTime:])),
		producer:   int64(binary.BigEndian.Uint64(b[atProducer:])),
		count:      int(int32(binary.BigEndian.Uint32(b[atCount:]))),
		body:       b[headerBytes:],
	}
	if h.last < h.base || h.count < 0 {
		return h, 0, corrupt(base, "it has %d records up to offset %d", h.count, h.last)
	}
	return h, n, nil
}

func corrupt(base int64, format string, args ...any) error {
	return sqlerr.New(sqlerr.DataCorrupted, "record batch at offset %d is corrupt", base).
		WithDetail(format, args...)
}

// record is one record; its slices alias the batch's bytes. A nil value is a
// tombstone, a nil key no key.
type record struct {
	timeDelta   int64
	offsetDelta int64
	key, value  []byte
	headers     []byte // encoded: nHeaders pairs of name and value
	nHeaders    int
}

// nextRecord parses the record at the front of b and returns the bytes behind
// it; ok is false for malformed bytes.
func nextRecord(b []byte, r *record) (rest []byte, ok bool) {
	size, i := varint(b, 0)
	if i == 0 || size < 1 || size > int64(len(b)-i) {
		return nil, false
	}
	end := i + int(size)
	rest, b = b[end:], b[:end]
	// Behind the attributes, which format 2 does not use.
	if r.timeDelta, i = varint(b, i+1); i == 0 {
		return nil, false
	}
	if r.offsetDelta, i = varint(b, i); i == 0 {
		return nil, false
	}
	if r.key, i = varBytes(b, i); i == 0 {
		return nil, false
	}
	if r.value, i = varBytes(b, i); i == 0 {
		return nil, false
	}
	count, i := varint(b, i)
	if i == 0 || count < 0 || count > int64(len(b)) {
		return nil, false
	}
	r.nHeaders, r.headers = int(count), b[i:]
	return rest, true
}

// varint reads a number at b[i:]; next is the index behind it, 0 if there is none.
func varint(b []byte, i int) (x int64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (x int64, next int) {
	if i >= len(b) {
		return 0, 0
	}
	x, n := binary.Varint(b[i:])
	if n <= 0 {
		return 0, 0
	}
	return x, i + n
}

// varBytes reads a byte string with its length at b[i:]; nil for the length -1.
// next is the index behind it, 0 if there is none.
func varBytes(b []byte, i int) (s []byte, next int) {
	size, i := varint(b, i)
	switch {
	case i == 0 || size < -1 || size > int64(len(b)-i):
		return nil, 0
	case size == -1:
		return nil, i
	}
	end := i + int(size)
	return b[i:end:end], end
}

// header is one header of a record; a nil value is null.
type header struct{ name, value []byte }

// appendHeaders parses r's headers to dst.
func appendHeaders(dst []header, r *record) ([]header, bool) {
	i := 0
	for range r.nHeaders {
		var h header
		if h.name, i = varBytes(r.headers, i); i == 0 || h.name == nil {
			return dst, false
		}
		if h.value, i = varBytes(r.headers, i); i == 0 {
			return dst, false
		}
		dst = append(dst, h)
	}
	return dst, true
}

// abortMarker tells whether a control batch ends a transaction by aborting it.
func abortMarker(h *batchHeader) bool {
	var r record
	if _, ok := nextRecord(h.body, &r); !ok || len(r.key) < 4 {
		return false
	}
	return binary.BigEndian.Uint16(r.key[2:]) == 0
}

package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// identity is what a broker knows a producer by. Batches of one without an
// identity (id -1) are taken as they come; with one, the broker refuses
// repetitions and gaps of the sequence numbers, and with transactional it shows
// the records when their transaction is committed.
type identity struct {
	id            int64
	epoch         int16
	transactional bool
}

// noIdentity marks a producer that sends at least once.
var noIdentity = identity{id: -1, epoch: -1}

const sizePrefix = 4 // a record set's length in front of its first batch

// outBatch is a record batch while it is filled and until it is acknowledged.
type outBatch struct {
	// buf has room for the size prefix and the header, then the records.
	buf      []byte
	count    int
	baseTime int64
	maxTime  int64
	// seq is the sequence number of the first record; -1 without an identity.
	seq int32
	// sealed is what goes out, once seal has made it: a batch that is sent again is
	// the same to the byte. It is buf unless the records are compressed.
	sealed []byte
	// stored: buf is a whole batch of the outbox, perhaps compressed.
	stored bool
	// lent: a request that failed may still be reading buf and sealed.
	lent bool
}

// batchStart is where records begin in an outBatch's buffer.
const batchStart = sizePrefix + headerBytes

func newOutBatch(capacity int) *outBatch {
	return &outBatch{buf: getBuffer(max(capacity, batchStart))[:batchStart], seq: -1}
}

// size is the number of bytes that the batch has on the wire, uncompressed.
func (o *outBatch) size() int { return len(o.buf) - sizePrefix }

// release gives the buffer back.
func (o *outBatch) release() {
	if !o.lent {
		putBuffer(o.buf)
		if len(o.sealed) > 0 && &o.sealed[0] != &o.buf[0] {
			putBuffer(o.sealed)
		}
	}
	o.buf, o.sealed = nil, nil
}

// room makes the buffer hold n more bytes.
func (o *outBatch) room(n int) {
	if cap(o.buf)-len(o.buf) >= n {
		return
	}
	b := getBuffer(max(2*cap(o.buf), len(o.buf)+n))[:len(o.buf)]
	copy(b, o.buf)
	putBuffer(o.buf)
	o.buf = b
}

// maxRecordOverhead is what a record takes beyond its key and value, at most.
const maxRecordOverhead = 5 + 1 + 10 + 5 + 5 + 5 + 1

// add appends a record; a nil key is no key, a nil value a tombstone, nil headers are
// none.
func (o *outBatch) add(key, value, headers []byte, ms int64) {
	if o.count == 0 {
		o.baseTime, o.maxTime = ms, ms
	}
	o.maxTime = max(o.maxTime, ms)
	if headers == nil {
		headers = noHeaders
	}
	o.room(len(key) + len(value) + len(headers) + maxRecordOverhead)
	size := 1 + varintLen(ms-o.baseTime) + varintLen(int64(o.count)) + bytesLen(key) + bytesLen(value) + len(headers)
	b := binary.AppendVarint(o.buf, int64(size))
	b = append(b, 0) // attributes
	b = binary.AppendVarint(b, ms-o.baseTime)
	b = binary.AppendVarint(b, int64(o.count))
	b = appendBytes(b, key)
	b = appendBytes(b, value)
	o.buf = append(b, headers...)
	o.count++
}

var noHeaders = []byte{0}

func varintLen(x int64) int {
	u := uint64(x)<<1 ^ uint64(x>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(int64(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // the varint -1
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// seal returns the bytes of the record set: the batch with its header, its
// records compressed if codec says so, and the size prefix. The batch is complete:
// nothing is added any more, and a second call returns the same bytes.
func (o *outBatch) seal(who identity, codec int8) ([]byte, error) {
	if o.sealed != nil {
		return o.sealed, nil
	}
	b := o.buf
	attributes := uint16(codec)
	switch {
	case o.stored:
		attributes = uint16(b[sizePrefix+atAttributes+1]) & attrCodec
	case codec != noCompression:
		var err error
		if b, err = pack(getBuffer(len(o.buf) / 2)[:batchStart], o.buf[batchStart:], codec); err != nil {
			return nil, sqlerr.Wrap(err, sqlerr.InternalError, "could not compress a record batch")
		}
	}
	if who.transactional {
		attributes |= attrTransactional
	}
	be := binary.BigEndian
	be.PutUint32(b, uint32(len(b)-sizePrefix))
	h := b[sizePrefix:]
	be.PutUint64(h, 0)
	be.PutUint32(h[atLength:], uint32(len(h)-lengthPrefix))
	be.PutUint32(h[atLength+4:], ^uint32(0)) // leader epoch: the broker's
	h[atMagic] = 2
	be.PutUint16(h[atAttributes:], attributes)
	be.PutUint32(h[atLastDelta:], uint32(o.count-1))
	be.PutUint64(h[atBaseTime:], uint64(o.baseTime))
	be.PutUint64(h[atMaxTime:], uint64(o.maxTime))
	be.PutUint64(h[atProducer:], uint64(who.id))
	be.PutUint16(h[atEpoch:], uint16(who.epoch))
	be.PutUint32(h[atSequence:], uint32(o.seq))
	be.PutUint32(h[atCount:], uint32(o.count))
	be.PutUint32(h[atCRC:], crc32.Checksum(h[atAttributes:], castagnoli))
	o.sealed = b
	return b, nil
}

// storedBatch returns a batch of bytes that seal made once, to be sent by another
// producer. The bytes are copied.
func storedBatch(raw []byte) (*outBatch, error) {
	if len(raw) < batchStart {
		return nil, sqlerr.New(sqlerr.DataCorrupted, "a record batch in the outbox is cut off")
	}
	h, n, err := nextBatch(raw[sizePrefix:])
	if err != nil || n != len(raw)-sizePrefix {
		return nil, sqlerr.Wrap(err, sqlerr.DataCorrupted, "a record batch in the outbox is damaged")
	}
	buf := getBuffer(len(raw))
	copy(buf, raw)
	return &outBatch{buf: buf, count: h.count, baseTime: h.baseTime, maxTime: h.maxTime, seq: -1, stored: true}, nil
}

// nextSequence is the sequence number n records behind seq: behind the greatest
// comes 0.
func nextSequence(seq int32, n int) int32 { return int32((int64(seq) + int64(n)) & math.MaxInt32) }

// split returns two batches with the records of o, which it releases; o has at
// least two.
func (o *outBatch) split() (a, b *outBatch, err error) {
	a, b = newOutBatch(len(o.buf)/2+batchStart), newOutBatch(len(o.buf)/2+batchStart)
	rest := o.buf[batchStart:]
	var headers []byte
	for i := range o.count {
		var r record
		var ok bool
		if rest, ok = nextRecord(rest, &r); !ok {
			return nil, nil, sqlerr.Internal("kafka: own record batch is malformed")
		}
		half := a
		if i >= o.count/2 {
			half = b
		}
		headers = append(binary.AppendVarint(headers[:0], int64(r.nHeaders)), r.headers...)
		half.add(r.key, r.value, headers, o.baseTime+r.timeDelta)
	}
	if o.seq >= 0 {
		a.seq, b.seq = o.seq, nextSequence(o.seq, a.count)
	}
	o.release()
	return a, b, nil
}

// first returns the first record of the batch.
func (o *outBatch) first() (r record) {
	nextRecord(o.buf[batchStart:], &r)
	return r
}

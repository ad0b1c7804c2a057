package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go/protocol"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sealed encodes n records and returns the record set without its size.
func sealed(t testing.TB, n int, codec int8) []byte {
	t.Helper()
	o := newOutBatch(0)
	for i := range n {
		var key, value []byte
		if i%3 != 0 {
			key = fmt.Appendf(nil, "key-%d", i)
		}
		if i%5 != 0 {
			value = []byte(strings.Repeat("v", i%200))
		}
		o.add(key, value, nil, 1_700_000_000_000+int64(i*i)-50)
	}
	b, err := o.seal(identity{id: 7, epoch: 3}, codec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What we encode, kafka-go and our own decoder read back alike.
func TestBatchRoundTrip(t *testing.T) {
	for codec := range int8(len(compressions)) {
		for _, n := range []int{1, 2, 700} {
			raw := sealed(t, n, codec)
			var rs protocol.RecordSet
			if _, err := rs.ReadFrom(bytes.NewReader(raw)); err != nil {
				t.Fatal(codec, err)
			}
			h, size, err := nextBatch(raw[sizePrefix:])
			if err != nil || size != len(raw)-sizePrefix || h.count != n || h.producer != 7 || h.codec() != codec {
				t.Fatalf("%d: %+v %d %v", codec, h, size, err)
			}
			body := h.body
			if codec != noCompression {
				if body, err = unpack(nil, &h, maxUnpacked); err != nil {
					t.Fatal(codec, err)
				}
			}
			for i := range n {
				theirs, err := rs.Records.ReadRecord()
				if err != nil {
					t.Fatal(codec, i, err)
				}
				var r record
				var ok bool
				if body, ok = nextRecord(body, &r); !ok {
					t.Fatal(codec, i)
				}
				if r.offsetDelta != theirs.Offset || h.baseTime+r.timeDelta != theirs.Time.UnixMilli() ||
					!same(r.key, theirs.Key) || !same(r.value, theirs.Value) {
					t.Fatalf("%d: record %d: %+v, kafka-go %+v", codec, i, r, theirs)
				}
			}
			if len(body) != 0 {
				t.Fatal(codec, "bytes left over")
			}
		}
	}
}

func same(own []byte, theirs protocol.Bytes) bool {
	if theirs == nil {
		return own == nil
	}
	b, err := io.ReadAll(theirs)
	return err == nil && own != nil && bytes.Equal(b, own)
}

func TestSplit(t *testing.T) {
	o := newOutBatch(0)
	for i := range 5 {
		o.add(nil, fmt.Appendf(nil, "%d", i), nil, int64(100+i))
	}
	o.seq = 40
	a, b, err := o.split()
	if err != nil || a.count != 2 || b.count != 3 || a.seq != 40 || b.seq != 42 || b.baseTime != 102 {
		t.Fatalf("%+v %+v %v", a, b, err)
	}
	if r := b.first(); string(r.value) != "2" || r.offsetDelta != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestCorruptBatches(t *testing.T) {
	good := sealed(t, 10, noCompression)[sizePrefix:]
	change := func(fix bool, f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		if fix {
			binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
		}
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		code sqlerr.Code
	}{
		"a bit":   {change(false, func(b []byte) { b[100] ^= 1 }), sqlerr.DataCorrupted},
		"length":  {change(false, func(b []byte) { b[atLength+3], b[atLength+2] = 3, 0 }), sqlerr.DataCorrupted},
		"count":   {change(true, func(b []byte) { b[atCount] = 0x80 }), sqlerr.DataCorrupted},
		"delta":   {change(true, func(b []byte) { b[atLastDelta] = 0x80 }), sqlerr.DataCorrupted},
		"format1": {change(false, func(b []byte) { b[atMagic] = 1 }), sqlerr.FeatureNotSupported},
	} {
		if _, _, err := nextBatch(c.b); sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range good {
		if _, n, err := nextBatch(good[:i]); n != 0 || err != nil {
			t.Fatalf("cut at %d: %d, %v", i, n, err)
		}
	}
}

// A small batch that unpacks to more than the limit is refused before it does.
func TestUnpackIsBounded(t *testing.T) {
	const limit = 8 << 20
	zeros := make([]byte, 1<<20)
	for codec := int8(1); int(codec) < len(compressions); codec++ {
		var raw []byte
		o := newOutBatch(0)
		for range limit>>20 + 1 {
			o.add(nil, zeros, nil, 0)
		}
		raw, err := o.seal(noIdentity, codec)
		if err != nil {
			t.Fatal(err)
		}
		h, _, err := nextBatch(raw[sizePrefix:])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(nil, &h, limit); sqlerr.CodeOf(err) != sqlerr.ProgramLimitExceeded {
			t.Errorf("%s: %v", compressions[codec], err)
		}
	}
	// A zstd frame that only claims a window of 256 MB, behind one that is as it should be.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (28 - 10) << 3, 1, 0, 0}
	for _, b := range [][]byte{frame, append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0}, frame...)} {
		if w, ok := zstdWindow(b); w != 256<<20 || !ok {
			t.Error(w, ok)
		}
		h := batchHeader{attributes: 4, body: b}
		if _, err := unpack(nil, &h, limit); sqlerr.CodeOf(err) != sqlerr.ProgramLimitExceeded {
			t.Error(err)
		}
	}
	// A snappy block that only claims it.
	h := batchHeader{attributes: 2, body: binary.AppendUvarint(nil, 1<<31)}
	if _, err := unpack(nil, &h, limit); sqlerr.CodeOf(err) != sqlerr.ProgramLimitExceeded {
		t.Error(err)
	}
}

// The walk over zstd's frames comes to an end for all that its writer makes, and for
// all else.
func FuzzZstdWindow(f *testing.F) {
	for _, n := range []int{0, 1, 300, 70_000, 3 << 20} {
		b, err := pack(nil, bytes.Repeat([]byte("abcdefg"), n/7), 4)
		if err != nil {
			f.Fatal(err)
		}
		if w, ok := zstdWindow(b); !ok || w > 16<<20 {
			f.Fatalf("%d bytes: window %d, %v", n, w, ok)
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) { zstdWindow(b) })
}

func FuzzBatch(f *testing.F) {
	for codec := range int8(len(compressions)) {
		f.Add(sealed(f, 20, codec)[sizePrefix:], true)
	}
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		padded := append(bytes.Clone(b), make([]byte, 16)...)
		n := lengthPrefix + int(int32(binary.BigEndian.Uint32(padded[atLength:])))
		if fix && n >= headerBytes && n <= len(b) {
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:n], castagnoli))
		}
		lastOffset(b)
		h, n, err := nextBatch(b)
		if n > len(b) || err != nil && n != 0 {
			t.Fatal(n, err)
		}
		if n == 0 {
			return
		}
		body := h.body
		if h.codec() != noCompression {
			if body, err = unpack(nil, &h, maxUnpacked); err != nil {
				return
			}
		}
		abortMarker(&h)
		for len(body) > 0 {
			var r record
			rest, ok := nextRecord(body, &r)
			if !ok {
				return
			}
			if len(rest) >= len(body) {
				t.Fatal("no progress")
			}
			appendHeaders(nil, &r)
			body = rest
		}
	})
}

func FuzzFetchAnswer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1}, int16(11))
	f.Fuzz(func(t *testing.T, b []byte, version int16) {
		version = minFetchVersion + (version&0x7fff)%(maxFetchVersion-minFetchVersion+1)
		req := &fetchRequest{topic: "t", parts: []fetchPart{{partition: 0}}}
		r := &wireReader{r: bytes.NewReader(b), left: int64(len(b))}
		req.decode(r, version)
		if r.left < 0 || req.got > len(b) {
			t.Fatal(r.left, req.got)
		}
	})
}

func FuzzTopicAnswer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 2, 't', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &wireReader{r: bytes.NewReader(b), left: int64(len(b))}
		req := &topicRequest{topic: "t"}
		req.decode(r)
		if r.left < 0 || req.layout != nil && req.layout.partitions > len(b) {
			t.Fatal(r.left, req.layout)
		}
	})
}

// murmur2 of Kafka's own test vectors (UtilsTest of its clients).
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{"21": -973932308, "foobar": -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

func TestAbortFilter(t *testing.T) {
	marker := func(producer, offset int64, kind byte) *batchHeader {
		body := []byte{0, 0, 0, 0, 8, 0, 0, 0, kind, 1, 0}
		body[0] = byte(2 * (len(body) - 1))
		return &batchHeader{base: offset, last: offset, attributes: attrControl | attrTransactional,
			producer: producer, body: body}
	}
	data := func(producer, lo, hi int64) *batchHeader {
		return &batchHeader{base: lo, last: hi, attributes: attrTransactional, producer: producer}
	}
	var f abortFilter
	f.reset([]abortedTxn{{producer: 1, first: 8}, {producer: 1, first: 0}, {producer: 2, first: 3}})
	for i, c := range []struct {
		h    *batchHeader
		skip bool
	}{
		{data(1, 0, 1), true}, {data(3, 2, 2), false}, {data(2, 3, 4), true}, {marker(1, 5, 0), true},
		{data(1, 6, 6), false}, {marker(1, 7, 1), true}, {data(1, 8, 8), true}, {data(2, 9, 9), true},
		{marker(2, 10, 0), true}, {data(2, 11, 11), false}, {marker(1, 12, 0), true},
		{&batchHeader{base: 13, last: 13, producer: 1}, false},
	} {
		if got := f.skip(c.h); got != c.skip {
			t.Errorf("batch %d: %v", i, got)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	value := make([]byte, 200)
	for i := range value {
		value[i] = byte(rand.Int())
	}
	o := newOutBatch(1 << 20)
	b.SetBytes(200)
	n := 0
	for b.Loop() {
		o.add(nil, value, nil, int64(n))
		if n++; n == 4000 {
			if _, err := o.seal(noIdentity, noCompression); err != nil {
				b.Fatal(err)
			}
			o.buf, o.count, n = o.buf[:batchStart], 0, 0
		}
	}
}

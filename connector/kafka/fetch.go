package kafka

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go/protocol"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// readCommitted is the isolation level of all our reads.
const readCommitted = 1

// Versions of the Fetch API that fetchRequest speaks: from the first with
// isolation levels to the last before flexible encoding.
const (
	minFetchVersion = 4
	maxFetchVersion = 11
)

// maxAnswer bounds the answer to one fetch. Brokers keep to the limits of the
// request but for one batch, which can be as large as the topic allows.
const maxAnswer = 512 << 20

// fetchRequest is one Fetch for partitions of one topic led by one broker. Its
// answer goes into parts: each record set is read from the connection straight
// into a buffer of its own.
type fetchRequest struct {
	topic    string
	maxWait  time.Duration
	maxBytes int32
	parts    []fetchPart
	// got is the number of record bytes that came.
	got int
	// reserved is what the budget has given for it.
	reserved int64
}

// fetchPart asks for and then holds one partition's part of a fetch.
type fetchPart struct {
	sub       *subscription
	partition int32
	offset    int64
	maxBytes  int32

	answered bool
	code     int16
	stable   int64 // last stable offset: the end for committed reads
	high     int64 // high watermark: what is beyond the stable one awaits a transaction's end
	aborted  []abortedTxn
	records  []byte // from getBuffer; nil: none
}

// ApiKey makes fetchRequest a message of kafka-go's transport.
func (f *fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch }

func (f *fetchRequest) exchange(rw io.ReadWriter, version int16, id int32) error {
	if version < minFetchVersion || version > maxFetchVersion {
		return sqlerr.Unsupported("the broker speaks Fetch version %d only", version).
			WithHint("Kafka 0.11 or newer is needed.").AsPermanent()
	}
	if _, err := rw.Write(f.encode(version, id)); err != nil {
		return err
	}
	r := &wireReader{r: rw, left: 4}
	r.left = int64(r.int32())
	if got := r.int32(); r.err == nil && got != id {
		return fmt.Errorf("answer %d to request %d", got, id)
	}
	if r.left > maxAnswer {
		return sqlerr.New(sqlerr.ProgramLimitExceeded, "the broker answers a fetch with %d bytes", r.left).
			WithDetail("At most %d are taken.", maxAnswer).AsPermanent()
	}
	f.decode(r, version)
	if r.err == nil && r.left > 0 {
		_, r.err = io.CopyN(io.Discard, rw, r.left)
	}
	return r.err
}

// encode returns the request's bytes with their length in front.
func (f *fetchRequest) encode(version int16, id int32) []byte {
	be := binary.BigEndian
	b := make([]byte, 4, 128+40*len(f.parts))
	b = be.AppendUint16(b, uint16(protocol.Fetch))
	b = be.AppendUint16(b, uint16(version))
	b = be.AppendUint32(b, uint32(id))
	b = appendString(b, clientID)
	b = be.AppendUint32(b, ^uint32(0)) // replica: a client
	b = be.AppendUint32(b, uint32(f.maxWait.Milliseconds()))
	b = be.AppendUint32(b, 1) // at least a byte: answer as soon as there is anything
	b = be.AppendUint32(b, uint32(f.maxBytes))
	b = append(b, readCommitted)
	if version >= 7 {
		b = be.AppendUint32(b, 0)          // no fetch session
		b = be.AppendUint32(b, ^uint32(0)) // and none wanted
	}
	b = be.AppendUint32(b, 1)
	b = appendString(b, f.topic)
	b = be.AppendUint32(b, uint32(len(f.parts)))
	for i := range f.parts {
		p := &f.parts[i]
		b = be.AppendUint32(b, uint32(p.partition))
		if version >= 9 {
			b = be.AppendUint32(b, ^uint32(0)) // leader epoch: not known
		}
		b = be.AppendUint64(b, uint64(p.offset))
		if version >= 5 {
			b = be.AppendUint64(b, ^uint64(0)) // log start: for followers
		}
		b = be.AppendUint32(b, uint32(p.maxBytes))
	}
	if version >= 7 {
		b = be.AppendUint32(b, 0) // no partitions to forget
	}
	if version >= 11 {
		b = appendString(b, "") // rack: read from the leader
	}
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func (f *fetchRequest) decode(r *wireReader, version int16) {
	r.int32() // throttle time: the broker has slept it already
	if version >= 7 {
		if err := codeError(r.int16()); err != nil && r.err == nil {
			r.err = err
		}
		r.int32() // session
	}
	for range r.count(6) {
		r.skip(int64(r.int16())) // the topic: we asked for one
		for range r.count(30) {
			f.decodePart(r, version)
		}
	}
}

func (f *fetchRequest) decodePart(r *wireReader, version int16) {
	partition := r.int32()
	var drop fetchPart
	p := &drop
	for i := range f.parts {
		if f.parts[i].partition == partition {
			p = &f.parts[i]
		}
	}
	p.code = r.int16()
	p.high, p.stable = r.int64(), r.int64()
	if version >= 5 {
		r.int64() // log start
	}
	for range r.count(16) {
		p.aborted = append(p.aborted, abortedTxn{producer: r.int64(), first: r.int64()})
	}
	if version >= 11 {
		r.int32() // preferred replica
	}
	if n := r.int32(); n > 0 {
		p.records = r.bytes(int64(n))
		f.got += len(p.records)
	}
	p.answered = r.err == nil
}

// wireReader reads big-endian fields from an answer of known length. After an
// error every field is zero.
type wireReader struct {
	r    io.Reader
	left int64
	err  error
	buf  [8]byte
}

func (w *wireReader) take(n int) []byte {
	if w.err == nil && int64(n) > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err == nil {
		_, w.err = io.ReadFull(w.r, w.buf[:n])
		w.left -= int64(n)
	}
	if w.err != nil {
		clear(w.buf[:])
	}
	return w.buf[:n]
}

func (w *wireReader) int16() int16 { return int16(binary.BigEndian.Uint16(w.take(2))) }
func (w *wireReader) int32() int32 { return int32(binary.BigEndian.Uint32(w.take(4))) }
func (w *wireReader) int64() int64 { return int64(binary.BigEndian.Uint64(w.take(8))) }

// count reads the length of an array whose elements take at least size bytes
// each; -1 (null) is 0.
func (w *wireReader) count(size int64) int {
	n := int64(w.int32())
	if n > 0 && n*size > w.left {
		if w.err == nil {
			w.err = io.ErrUnexpectedEOF
		}
		return 0
	}
	return int(max(n, 0))
}

// bytes reads n bytes into a buffer of its own.
func (w *wireReader) bytes(n int64) []byte {
	if w.err == nil && n > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err != nil {
		return nil
	}
	b := getBuffer(int(n))
	_, w.err = io.ReadFull(w.r, b)
	w.left -= n
	return b
}

func (w *wireReader) skip(n int64) {
	if w.err == nil && n > w.left {
		w.err = io.ErrUnexpectedEOF
	}
	if w.err == nil && n > 0 {
		_, w.err = io.CopyN(io.Discard, w.r, n)
		w.left -= n
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

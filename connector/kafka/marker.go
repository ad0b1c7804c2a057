package kafka

import (
	"encoding/binary"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// markerRequest reads back the offset that a transaction has committed for the
// topic's partition 0: the epoch that was made visible last. kafka-go stops before
// the version that waits for a transaction whose end is not yet carried out.
type markerRequest struct {
	group, topic string

	code  int16
	epoch int64 // -1: there is none
}

// stableVersion is the first version of OffsetFetch that can ask for stable
// offsets only, of Kafka 2.5.
const stableVersion = 7

// unstableOffset is the broker's answer while a transaction with the offset is
// open; kafka-go has no name for it.
const unstableOffset kafkago.Error = 88

// ApiKey makes markerRequest a message of kafka-go's transport.
func (m *markerRequest) ApiKey() protocol.ApiKey { return protocol.OffsetFetch }

func (m *markerRequest) exchange(rw io.ReadWriter, _ int16, id int32) error {
	if _, err := rw.Write(m.encode(id)); err != nil {
		return err
	}
	r := &wireReader{r: rw, left: 4}
	r.left = int64(r.int32())
	if got := r.int32(); r.err == nil && got != id {
		return fmt.Errorf("answer %d to request %d", got, id)
	}
	m.decode(r)
	if r.err == nil && r.left > 0 {
		_, r.err = io.CopyN(io.Discard, rw, r.left)
	}
	return r.err
}

// encode returns the request's bytes with their length in front.
func (m *markerRequest) encode(id int32) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(make([]byte, 4, 64+len(m.group)+len(m.topic)), uint16(protocol.OffsetFetch))
	b = be.AppendUint16(b, stableVersion)
	b = be.AppendUint32(b, uint32(id))
	b = appendString(b, clientID)
	b = append(b, 0) // no tagged fields
	b = appendCompact(b, m.group)
	b = append(b, 2) // one topic
	b = appendCompact(b, m.topic)
	b = append(b, 2)       // one partition
	b = append(b, 0, 0, 0) // its number
	b = append(b, 0, 0)    // and no tagged fields of the topic
	b = append(b, 1, 0)    // stable offsets only; no tagged fields
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendCompact(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))+1), s...)
}

func (m *markerRequest) decode(r *wireReader) {
	m.epoch, m.code = -1, 0
	r.tags()
	r.int32() // throttle time
	for range r.compactCount(3) {
		r.skip(r.compactLen()) // topic: we asked for one
		for range r.compactCount(20) {
			r.int32() // partition
			epoch := r.int64()
			r.int32()              // leader epoch
			r.skip(r.compactLen()) // metadata
			m.epoch, m.code = epoch, r.int16()
			r.tags()
		}
		r.tags()
	}
	if code := r.int16(); r.err == nil && code != 0 {
		m.code = code
	}
	r.tags()
	if kafkago.Error(m.code) == kafkago.GroupIdNotFound {
		m.code, m.epoch = 0, -1 // nobody has written to it yet
	}
}

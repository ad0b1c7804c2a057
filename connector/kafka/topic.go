package kafka

import (
	"encoding/binary"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// idVersion is the first version of the Metadata API that tells a topic's id;
// kafka-go stops before it.
const idVersion = 10

// topicRequest asks for one topic's partitions and, where the broker knows them
// (Kafka 2.8 and newer), its id: the only thing by which a topic deleted and made
// anew under its name differs for certain.
type topicRequest struct {
	topic string

	code   int16
	layout *layout
}

// ApiKey makes topicRequest a message of kafka-go's transport.
func (t *topicRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }

func (t *topicRequest) exchange(rw io.ReadWriter, version int16, id int32) error {
	// Brokers of one cluster may differ in what they speak, so each is asked.
	res, err := protocol.RoundTrip(rw, 0, id, clientID, &apiversions.Request{})
	if err != nil {
		return err
	}
	for _, k := range res.(*apiversions.Response).ApiKeys {
		if protocol.ApiKey(k.ApiKey) == protocol.Metadata && k.MinVersion <= idVersion && idVersion <= k.MaxVersion {
			return t.exchangeIDs(rw, id)
		}
	}
	res, err = protocol.RoundTrip(rw, version, id, clientID, &metadata.Request{TopicNames: []string{t.topic}})
	if err != nil {
		return err
	}
	t.code = int16(kafkago.UnknownTopicOrPartition)
	for _, m := range res.(*metadata.Response).Topics {
		if m.Name != t.topic {
			continue
		}
		t.code = m.ErrorCode
		t.layout = &layout{leaders: map[int32]int32{}, partitions: len(m.Partitions)}
		for _, p := range m.Partitions {
			t.layout.lead(p.PartitionIndex, p.LeaderID)
		}
	}
	return nil
}

func (t *topicRequest) exchangeIDs(rw io.ReadWriter, id int32) error {
	if _, err := rw.Write(t.encode(id)); err != nil {
		return err
	}
	r := &wireReader{r: rw, left: 4}
	r.left = int64(r.int32())
	if got := r.int32(); r.err == nil && got != id {
		return fmt.Errorf("answer %d to request %d", got, id)
	}
	t.decode(r)
	if r.err == nil && r.left > 0 {
		_, r.err = io.CopyN(io.Discard, rw, r.left)
	}
	return r.err
}

// encode returns the request's bytes in version 10 with their length in front.
func (t *topicRequest) encode(id int32) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(make([]byte, 4, 64+len(t.topic)), uint16(protocol.Metadata))
	b = be.AppendUint16(b, idVersion)
	b = be.AppendUint32(b, uint32(id))
	b = appendString(b, clientID)
	b = append(b, 0)                        // no tagged fields
	b = append(b, 2)                        // one topic
	b = append(b, make([]byte, idBytes)...) // by its name, not its id
	b = binary.AppendUvarint(b, uint64(len(t.topic))+1)
	b = append(b, t.topic...)
	b = append(b, 0)          // no tagged fields
	b = append(b, 0, 0, 0, 0) // no creation, no rights, no tagged fields
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

const idBytes = 16

func (t *topicRequest) decode(r *wireReader) {
	r.tags()
	r.int32() // throttle time
	for range r.compactCount(11) {
		r.int32() // node, host, port, rack
		r.skip(r.compactLen())
		r.int32()
		r.skip(r.compactLen())
		r.tags()
	}
	r.skip(r.compactLen()) // cluster
	r.int32()              // controller
	t.code = int16(kafkago.UnknownTopicOrPartition)
	for range r.compactCount(26) {
		code := r.int16()
		r.skip(r.compactLen()) // name: we asked for one
		l := &layout{leaders: map[int32]int32{}}
		for i := range l.id {
			l.id[i] = r.take(1)[0]
		}
		r.take(1) // internal
		l.partitions = r.compactCount(18)
		for range l.partitions {
			r.int16() // no leader is told by its number
			index, leader := r.int32(), r.int32()
			r.int32() // leader epoch
			for range 3 {
				r.skip(4 * int64(r.compactCount(4))) // replicas, in sync, offline
			}
			r.tags()
			l.lead(index, leader)
		}
		r.int32() // rights
		r.tags()
		if r.err == nil {
			t.code, t.layout = code, l
		}
	}
}

// uvarint reads an unsigned number of up to 32 bits.
func (w *wireReader) uvarint() uint32 {
	var x uint64
	for shift := 0; shift < 35 && w.err == nil; shift += 7 {
		c := w.take(1)[0]
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if x > 1<<31 {
				break
			}
			return uint32(x)
		}
	}
	if w.err == nil {
		w.err = io.ErrUnexpectedEOF
	}
	return 0
}

// compactLen reads the length of a string, 0 for null.
func (w *wireReader) compactLen() int64 { return max(0, int64(w.uvarint())-1) }

// compactCount is count for the compact form of arrays.
func (w *wireReader) compactCount(size int64) int {
	n := w.compactLen()
	if n*size > w.left {
		if w.err == nil {
			w.err = io.ErrUnexpectedEOF
		}
		return 0
	}
	return int(n)
}

// tags skips tagged fields.
func (w *wireReader) tags() {
	for n := w.uvarint(); n > 0 && w.err == nil; n-- {
		w.uvarint()
		w.skip(int64(w.uvarint()))
	}
}

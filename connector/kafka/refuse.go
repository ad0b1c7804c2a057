package kafka

import (
	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// refusals are the broker's answers to a batch that has a record in it which it will
// never take. It has looked at the batch before it looked at its sequence numbers:
// other records can take these.
var refusals = map[kafkago.Error]bool{
	kafkago.MessageSizeTooLarge: true,
	kafkago.RecordListTooLarge:  true,
	kafkago.InvalidTimestamp:    true,
	kafkago.InvalidRecord:       true, // a topic that is compacted takes no record without a key
}

// maxRecord bounds a record that is sent at all: brokers end a connection on which a
// request comes that is larger than they read, 100 MB by default, and tell no reason.
const maxRecord = 64 << 20

// recordTooLarge is the error for a record that is larger than can be sent.
func recordTooLarge(r *outRecord, topic string) *sqlerr.Error {
	return sqlerr.New(sqlerr.ProgramLimitExceeded, `a record of %d bytes %s is larger than topic "%s" accepts`,
		len(r.key)+len(r.value), r.keyText(), topic).
		WithHint("Raise the topic's max.message.bytes or set compression, or name a topic for such records in option " +
			`"dead_letter".`).AsPermanent()
}

// keyText names the record in a message.
func (r *outRecord) keyText() string {
	if r.key == nil {
		return "without a key"
	}
	return "with key " + shorten(r.key)
}

// refuseLocked takes the only record of a partition's first batch out, for refuse, or
// returns the error that tells of it.
func (p *producer) refuseLocked(o *outPart, code kafkago.Error, detail string) error {
	b := o.full[0]
	rec := b.first()
	r := &outRecord{key: rec.key, value: rec.value, headers: rec.headerList(nil), ms: b.baseTime, part: -1}
	why := recordTooLarge(r, p.cl.topic)
	if code != kafkago.MessageSizeTooLarge && code != kafkago.RecordListTooLarge {
		if detail == "" {
			detail = describe(code)
		}
		why = sqlerr.New(sqlerr.InvalidParameterValue, `topic "%s" does not accept a record of %d bytes %s: %s`,
			p.cl.topic, len(r.key)+len(r.value), r.keyText(), detail).
			WithHint(`Name a topic for such records in option "dead_letter".`).AsPermanent()
	}
	if p.refuse == nil {
		return why
	}
	if err := p.refuse(r, why); err != nil {
		return err
	}
	// Batches behind it were numbered when a larger one was halved, and never sent.
	if b.seq >= 0 {
		p.txn.on[p.place].next[o.id] = b.seq
		for _, later := range o.full[1:] {
			later.seq = -1
		}
	}
	o.inFlight = false
	p.buffered -= b.size()
	b.release()
	o.full[0] = nil
	o.full = o.full[1:]
	return nil
}

func shorten(key []byte) string {
	if len(key) > 100 {
		return sqlerr.Text(string(key[:100])) + "…"
	}
	return sqlerr.Text(string(key))
}

package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Outbox keeps a copy of what a sink has sent in an epoch until the other end is
// known to have made it visible. Pieces are written as they arise, without a sync:
// the log is one, so that a checkpoint's sync makes all that was kept before it
// durable with it. What has no checkpoint is dropped at the next start.
type Outbox struct {
	store  *Store
	prefix []byte
}

const (
	recordOutbox byte = 0x10 // the kind in spaceRecord
	// outboxBefore is what it was up to format 1, where late rows had the same.
	outboxBefore = byte(LateRecord)
)

// Outbox returns the outbox of a query's sink operator.
func (s *Store) Outbox(query, operator uint32) *Outbox {
	p := append(prefix32(spaceRecord, query), recordOutbox)
	return &Outbox{store: s, prefix: binary.BigEndian.AppendUint32(p, operator)}
}

func (o *Outbox) epoch(part int, epoch uint64) []byte {
	k := append(make([]byte, 0, len(o.prefix)+18), o.prefix...)
	k = binary.BigEndian.AppendUint16(k, uint16(part))
	return binary.BigEndian.AppendUint64(k, epoch)
}

// outboxKeyLen is the length of a piece's key: prefix, part, epoch, number.
const outboxKeyLen = 28

// Put keeps a piece, head and body joined, under its number. They are copied.
func (o *Outbox) Put(part int, epoch, number uint64, head, body []byte) error {
	n := len(head) + len(body)
	if err := o.store.checkSpace(n); err != nil {
		return err
	}
	b := o.store.db.NewBatch()
	defer b.Close()
	op := b.SetDeferred(len(o.prefix)+18, n)
	binary.BigEndian.PutUint64(op.Key[copy(op.Key, o.epoch(part, epoch)):], number)
	copy(op.Value[copy(op.Value, head):], body)
	if err := op.Finish(); err != nil {
		return err
	}
	return o.written(b.Commit(pebble.NoSync))
}

// Each calls fn for the pieces of an epoch by their numbers. The piece is valid
// during the call.
func (o *Outbox) Each(part int, epoch uint64, fn func(piece []byte) error) error {
	p := o.epoch(part, epoch)
	return o.store.Scan(p, After(p), func(_, v []byte) error { return fn(v) })
}

// fewPieces is up to how many pieces are removed one by one: range tombstones make
// a memtable slow to read, and small epochs are many.
const fewPieces = 64

// Remove drops the pieces 0 to pieces-1 of an epoch.
func (o *Outbox) Remove(part int, epoch, pieces uint64) error {
	b := o.store.db.NewBatch()
	defer b.Close()
	p := o.epoch(part, epoch)
	if pieces > fewPieces {
		if err := b.DeleteRange(p, After(p), nil); err != nil {
			return err
		}
		pieces = 0
	}
	for i := range pieces {
		if err := b.Delete(binary.BigEndian.AppendUint64(p, i), nil); err != nil {
			return err
		}
	}
	return o.written(b.Commit(pebble.NoSync))
}

// Clear drops everything.
func (o *Outbox) Clear() error {
	it, err := o.store.db.NewIter(&pebble.IterOptions{LowerBound: o.prefix, UpperBound: After(o.prefix)})
	if err != nil {
		return o.written(err)
	}
	some := it.First()
	if err := it.Close(); err != nil || !some {
		return o.written(err)
	}
	return o.written(o.store.db.DeleteRange(o.prefix, After(o.prefix), pebble.NoSync))
}

func (o *Outbox) written(err error) error {
	if err != nil {
		return sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be written")
	}
	return nil
}

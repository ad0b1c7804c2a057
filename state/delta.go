package state

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// Delta is what one task's operators changed in an epoch, encoded for the store.
// It is filled by one goroutine and handed over whole.
type Delta struct {
	b *pebble.Batch
	// relations that the delta changes, with the versions they get.
	rels []relationWrite
}

type relationWrite struct {
	rel     *Relation
	version uint64
	nextRow uint64
}

// NewDelta returns an empty delta.
func (s *Store) NewDelta() *Delta { return &Delta{b: s.db.NewBatch()} }

// Put sets a key. Key and value are copied.
func (d *Delta) Put(key, val []byte) { _ = d.b.Set(key, val, nil) }

// PutDeferred reserves room for a key and a value of the given lengths and
// returns both to be filled in before the next call.
func (d *Delta) PutDeferred(keyLen, valLen int) (key, val []byte, done func() error) {
	op := d.b.SetDeferred(keyLen, valLen)
	return op.Key, op.Value, op.Finish
}

// Delete removes a key.
func (d *Delta) Delete(key []byte) { _ = d.b.Delete(key, nil) }

// DeleteRange removes the keys from lo up to but not including hi.
func (d *Delta) DeleteRange(lo, hi []byte) { _ = d.b.DeleteRange(lo, hi, nil) }

// addCount changes a bag row's count.
func (d *Delta) addCount(key, count []byte) { _ = d.b.Merge(key, count, nil) }

// Fail notes that a row of a query began (n = 1) or ceased (n = -1) to have no
// result: see LiveError. id tells the row from others.
func (d *Delta) Fail(query uint32, code, message string, id []byte, n int64) {
	key := append(errorPrefix(query), code...)
	key = append(append(key, message...), 0)
	d.addCount(append(key, id...), binary.AppendVarint(nil, n))
}

// Bytes is the size of the encoded changes.
func (d *Delta) Bytes() int { return d.b.Len() }

// Discard frees a delta that will not be committed.
func (d *Delta) Discard() { _ = d.b.Close() }

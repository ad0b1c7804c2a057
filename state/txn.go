package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ErrDuplicate is returned by Txn.Insert for a key that is there already.
var ErrDuplicate = errors.New("duplicate key")

// Txn is a transaction of table writes: seen by its own reads, invisible to
// others until Commit, which makes all of it durable at once. One goroutine uses
// it.
//
// Transactions do not lock: Delete, Replace and Commit fail with 40001 when a row
// that this one read in order to write was changed by another since.
type Txn struct {
	store *Store
	b     *pebble.Batch
	rels  []*txnRel
	row   []byte // reused
}

type txnRel struct {
	rel *Relation
	// changes is the changelog so far, as it goes to the feed.
	changes *arrowbatch.Batch
	// seen has for each key touched the value that was stored before, nil: none.
	seen    map[string][]byte
	nextRow uint64
}

// Begin starts a transaction.
func (s *Store) Begin() *Txn { return &Txn{store: s, b: s.db.NewIndexedBatch()} }

func (t *Txn) reader() pebble.Reader { return t.b }

// Empty tells whether nothing has been written.
func (t *Txn) Empty() bool { return t.b.Empty() }

// Rollback drops the transaction. It may be called after Commit.
func (t *Txn) Rollback() {
	if t.b != nil {
		_ = t.b.Close()
		t.b = nil
	}
	for _, r := range t.rels {
		r.changes.Release()
	}
	t.rels = nil
}

func (t *Txn) rel(r *Relation) *txnRel {
	for _, x := range t.rels {
		if x.rel == r {
			return x
		}
	}
	x := &txnRel{rel: r, changes: arrowbatch.NewLike(r.Shapes), seen: map[string][]byte{}}
	t.rels = append(t.rels, x)
	return x
}

// numberedTemp marks the keys of rows inserted into a Numbered relation before
// they have their number: it is given at Commit, so that numbers follow the order
// of commits.
const numberedTemp = uint64(1) << 63

func (x *txnRel) key(b *arrowbatch.Batch, i int) []byte {
	key := prefix32(spaceRows, x.rel.ID)
	if x.rel.Mode == Numbered {
		x.nextRow++
		return binary.BigEndian.AppendUint64(key, numberedTemp|x.nextRow)
	}
	for _, k := range x.rel.Key {
		key = b.Cols[k].AppendKey(key, i)
	}
	return key
}

// Key returns the key of row i of b, a batch of the whole row's shape. Keyed
// relations only.
func (t *Txn) Key(r *Relation, b *arrowbatch.Batch, i int) []byte { return r.rowKey(nil, b, i) }

// Find returns the stored row under the key of row i of b, a batch of the whole
// row's shape, as a batch of one row; nil when there is none. Keyed relations only.
func (t *Txn) Find(r *Relation, b *arrowbatch.Batch, i int) (*arrowbatch.Batch, []byte, error) {
	x := t.rel(r)
	key := x.key(b, i)
	v, err := t.get(key)
	if err != nil || v == nil {
		return nil, key, err
	}
	row := arrowbatch.NewLike(r.Shapes)
	if _, err := arrowbatch.DecodeRow(v, row.Cols); err != nil {
		return nil, nil, sqlerr.New(sqlerr.DataCorrupted, "a row of relation %d is unreadable", r.ID)
	}
	row.Len = 1
	return row, key, nil
}

func (t *Txn) get(key []byte) ([]byte, error) {
	v, closer, err := t.b.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return bytes.Clone(v), nil
}

// touch returns what is stored under the key as this transaction sees it, and
// notes what was there before its first change.
func (t *Txn) touch(x *txnRel, key []byte) ([]byte, error) {
	v, err := t.get(key)
	if err != nil {
		return nil, err
	}
	if _, ok := x.seen[string(key)]; !ok {
		x.seen[string(key)] = v
	}
	return v, nil
}

// take touches the row stored under key, which must still be row i of b: the
// change to come was worked out from that. It may have been read long before, and
// what is noted now would then be another transaction's row.
func (t *Txn) take(x *txnRel, key []byte, b *arrowbatch.Batch, i int) error {
	v, err := t.touch(x, key)
	if err != nil {
		return err
	}
	t.row = arrowbatch.AppendRow(t.row[:0], b.Cols, i)
	if v == nil || !bytes.Equal(v, t.row) {
		return stale()
	}
	return nil
}

func stale() *sqlerr.Error {
	return sqlerr.New(sqlerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithHint("Try the transaction again.")
}

// Insert adds row i of b. It returns ErrDuplicate, having changed nothing, when a
// row with the key is there.
func (t *Txn) Insert(r *Relation, b *arrowbatch.Batch, i int) error {
	x := t.rel(r)
	key := x.key(b, i)
	if r.Mode == Keyed {
		old, err := t.touch(x, key)
		if err != nil {
			return err
		}
		if old != nil {
			return ErrDuplicate
		}
	}
	if err := t.b.Set(key, arrowbatch.AppendRow(nil, b.Cols, i), nil); err != nil {
		return err
	}
	x.add(b, i, arrowbatch.Insert)
	return nil
}

func (x *txnRel) add(b *arrowbatch.Batch, i int, op arrowbatch.Op) {
	for k, c := range x.changes.Cols {
		c.AppendFrom(b.Cols[k], i)
	}
	x.changes.AppendOp(op)
}

// Delete removes the row stored under key (as RowIter.Keys, Key or Find gave it);
// row i of b is the row as it was read. It fails with 40001, having changed
// nothing, when that is no longer what is stored.
func (t *Txn) Delete(r *Relation, key []byte, b *arrowbatch.Batch, i int) error {
	x := t.rel(r)
	if err := t.take(x, key, b, i); err != nil {
		return err
	}
	if err := t.b.Delete(key, nil); err != nil {
		return err
	}
	x.add(b, i, arrowbatch.Delete)
	return nil
}

// Replace puts row i of b in the place of the row stored under key, row j of old.
// A Numbered row keeps its number.
func (t *Txn) Replace(r *Relation, key []byte, old *arrowbatch.Batch, j int, b *arrowbatch.Batch, i int) error {
	if r.Mode == Keyed {
		if err := t.Delete(r, key, old, j); err != nil {
			return err
		}
		return t.Insert(r, b, i)
	}
	x := t.rel(r)
	if err := t.take(x, key, old, j); err != nil {
		return err
	}
	if err := t.b.Set(key, arrowbatch.AppendRow(nil, b.Cols, i), nil); err != nil {
		return err
	}
	x.add(old, j, arrowbatch.Delete)
	x.add(b, i, arrowbatch.Insert)
	return nil
}

// Commit makes the transaction durable: one version of each relation it changed.
func (t *Txn) Commit() error {
	defer t.Rollback()
	if len(t.rels) == 0 || t.b.Empty() {
		return nil
	}
	t.rels = slices.DeleteFunc(t.rels, func(x *txnRel) bool { return x.changes.Len == 0 })
	// One order for all, so that two transactions never wait for each other.
	slices.SortFunc(t.rels, func(a, b *txnRel) int { return cmp.Compare(a.rel.ID, b.rel.ID) })
	for _, x := range t.rels {
		x.rel.writing.Lock()
		defer x.rel.writing.Unlock()
	}
	if err := t.check(); err != nil {
		return err
	}
	d := t.store.NewDelta()
	for _, x := range t.rels {
		w := relationWrite{rel: x.rel, version: x.rel.Version() + 1, nextRow: x.rel.nextRow}
		if err := t.copyRows(d, x, &w); err != nil {
			d.Discard()
			return err
		}
		x.rel.feed(d, w.version, x.changes)
		d.rels = append(d.rels, w)
	}
	return t.store.Commit(nil, d)
}

// check fails when a row that was touched is not as it was then.
func (t *Txn) check() error {
	for _, x := range t.rels {
		for key, was := range x.seen {
			v, closer, err := t.store.db.Get([]byte(key))
			same := false
			switch {
			case errors.Is(err, pebble.ErrNotFound):
				same = was == nil || isTemp(x.rel, key)
			case err != nil:
				return readError(err)
			default:
				same = was != nil && bytes.Equal(v, was)
				closer.Close()
			}
			if !same {
				return stale()
			}
		}
	}
	return nil
}

// isTemp tells whether the key is of a row that this transaction inserted.
func isTemp(r *Relation, key string) bool {
	return r.Mode == Numbered && len(key) == 13 && key[5]&0x80 != 0
}

// copyRows writes the transaction's final rows of one relation to the delta.
func (t *Txn) copyRows(d *Delta, x *txnRel, w *relationWrite) error {
	for key := range x.seen {
		if isTemp(x.rel, key) {
			continue
		}
		v, err := t.get([]byte(key))
		if err != nil {
			return err
		}
		if v == nil {
			d.Delete([]byte(key))
		} else {
			d.Put([]byte(key), v)
		}
	}
	if x.rel.Mode != Numbered {
		return nil
	}
	lo := binary.BigEndian.AppendUint64(prefix32(spaceRows, x.rel.ID), numberedTemp)
	return scan(t.b, lo, After(prefix32(spaceRows, x.rel.ID)), func(_, v []byte) error {
		d.Put(binary.BigEndian.AppendUint64(prefix32(spaceRows, x.rel.ID), w.nextRow), v)
		w.nextRow++
		return nil
	})
}

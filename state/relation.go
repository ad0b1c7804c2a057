package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// RowMode is how a relation's rows are addressed.
type RowMode uint8

// The row modes.
const (
	// Keyed rows are stored under their key columns: one row a key.
	Keyed RowMode = iota
	// Numbered rows have a number of their own, given in order of insertion.
	Numbered
	// Bag rows are stored under the whole row with a count.
	Bag
)

// RelationSpec describes a stored relation.
type RelationSpec struct {
	ID     uint32
	Shapes []arrowbatch.Shape
	Mode   RowMode
	Key    []int // Keyed only
	// Layout tells relations of one ID with different columns from each other: see
	// Change. 0: the first.
	Layout uint32
}

// Relation is a stored relation: the rows of a table or a materialized view and
// the feed of their changes. Safe for concurrent use.
type Relation struct {
	RelationSpec
	store *Store

	mu      sync.Mutex
	version uint64            // of the last commit
	nextRow uint64            // Numbered: of the next row
	readers map[string]uint64 // reader → version up to which it has read
	oldest  uint64            // feed entries up to this version are gone
	changed chan struct{}     // closed and renewed at each commit
	writing sync.Mutex        // held by the one who prepares the next version
	// replaced: the rows are of other columns now.
	replaced atomic.Bool
}

// relationRecord is what is stored of a relation beside rows and feed.
type relationRecord struct {
	version, nextRow, oldest uint64
	layout                   uint32
}

// relationRecordIn reads the record; one that is not there is all zero.
func relationRecordIn(r pebble.Reader, id uint32) (rec relationRecord, err error) {
	v, closer, err := r.Get(prefix32(spaceRelation, id))
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return rec, nil
	case err != nil:
		return rec, readError(err)
	}
	defer closer.Close()
	if len(v) != 24 && len(v) != 28 {
		return rec, sqlerr.New(sqlerr.DataCorrupted, "the record of relation %d is unreadable", id)
	}
	rec.version = binary.BigEndian.Uint64(v)
	rec.nextRow = binary.BigEndian.Uint64(v[8:])
	rec.oldest = binary.BigEndian.Uint64(v[16:])
	if len(v) == 28 {
		rec.layout = binary.BigEndian.Uint32(v[24:])
	}
	return rec, nil
}

func newRelation(s *Store, spec RelationSpec, rec relationRecord) *Relation {
	return &Relation{RelationSpec: spec, store: s, readers: map[string]uint64{}, changed: make(chan struct{}),
		version: rec.version, nextRow: rec.nextRow, oldest: rec.oldest}
}

// Relation returns the open relation of spec.ID; the first call opens it. It fails
// with 55000 while the stored rows are of another layout.
func (s *Store) Relation(spec RelationSpec) (*Relation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.relations[spec.ID]; r != nil {
		if r.Layout != spec.Layout {
			return nil, errLayout()
		}
		return r, nil
	}
	rec, err := relationRecordIn(s.db, spec.ID)
	if err != nil {
		return nil, err
	}
	if rec.version > 0 && rec.layout != spec.Layout {
		return nil, errLayout()
	}
	r := newRelation(s, spec, rec)
	s.relations[spec.ID] = r
	return r, nil
}

func errLayout() error {
	return sqlerr.New(sqlerr.ObjectNotInState, "the view has been replaced and its rows have not been made anew").
		WithHint("Its query does that when it runs.")
}

// DropRelation removes a relation's rows, feed and record.
func (s *Store) DropRelation(id uint32) error {
	s.mu.Lock()
	delete(s.relations, id)
	s.mu.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	for _, space := range []byte{spaceRows, spaceFeed, spaceRelation} {
		p := prefix32(space, id)
		if err := b.DeleteRange(p, After(p), nil); err != nil {
			return err
		}
	}
	return s.remove(b)
}

// Leave ends the registrations with all relations of readers whose names begin
// with prefix.
func (s *Store) Leave(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.relations {
		r.Leave(prefix)
	}
}

// Version returns the version of the last commit.
func (r *Relation) Version() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}

// Changed returns a channel that is closed by the next commit.
func (r *Relation) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Follow registers a reader of the feed that has read up to version from: later
// changes are kept for it until it moves on or leaves.
func (r *Relation) Follow(reader string, from uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if from < r.oldest {
		return sqlerr.Internal("reader %s wants relation %d after version %d, the feed begins after %d",
			reader, r.ID, from, r.oldest)
	}
	r.readers[reader] = from
	return nil
}

// Snapshot registers a reader at the present version and returns a snapshot of
// the rows at just this version.
func (r *Relation) Snapshot(reader string) (*Snapshot, uint64) {
	// No commit may come between the version and the snapshot.
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if reader != "" {
		r.readers[reader] = r.version
	}
	return r.store.Snapshot(), r.version
}

// Moved notes that the reader has durably read up to version.
func (r *Relation) Moved(reader string, version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.readers[reader]; ok && version > v {
		r.readers[reader] = version
	}
}

// Unfollow ends the registration of one reader.
func (r *Relation) Unfollow(reader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.readers, reader)
}

// Leave ends the registrations of all readers whose names begin with prefix.
func (r *Relation) Leave(prefix string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.readers {
		if strings.HasPrefix(name, prefix) {
			delete(r.readers, name)
		}
	}
}

// Changes calls fn with each version's changes after version from, in order, and
// returns the last version it passed. At most max versions are read.
func (r *Relation) Changes(from uint64, max int, fn func(version uint64, b *arrowbatch.Batch) error) (uint64, error) {
	until := r.Version()
	last := from
	errStop := fmt.Errorf("stop")
	n := 0
	err := r.store.Scan(feedKey(r.ID, from+1), feedKey(r.ID, until+1), func(k, v []byte) error {
		if n == max {
			return errStop
		}
		n++
		b, err := arrowbatch.DecodeBatch(v, r.Shapes)
		if err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "the feed of relation %d is unreadable", r.ID)
		}
		last = binary.BigEndian.Uint64(k[5:])
		return fn(last, b)
	})
	if r.replaced.Load() {
		return last, errReplaced()
	}
	if errors.Is(err, errStop) {
		return last, nil
	}
	if err == nil {
		last = until
	}
	return last, err
}

// Apply writes a changelog to the delta as the relation's next version: rows and
// feed. A Delete carries the whole old row. The delta must be committed or
// discarded before the next Apply; done must be called after that.
func (r *Relation) Apply(d *Delta, b *arrowbatch.Batch) (done func(), err error) {
	r.writing.Lock()
	if err := r.apply(d, b); err != nil {
		r.writing.Unlock()
		return nil, err
	}
	return r.writing.Unlock, nil
}

// Upsert is Apply for rows that replace what is stored under their keys: a later
// row of a key takes the place of an earlier one. Keyed relations only.
func (r *Relation) Upsert(d *Delta, b *arrowbatch.Batch) (done func(), err error) {
	r.writing.Lock()
	changes, err := r.replacements(b)
	if err == nil {
		err = r.apply(d, changes)
		changes.Release()
	}
	if err != nil {
		r.writing.Unlock()
		return nil, err
	}
	return r.writing.Unlock, nil
}

// replacements returns the changes that putting the rows of b in makes.
func (r *Relation) replacements(b *arrowbatch.Batch) (*arrowbatch.Batch, error) {
	last := map[string]int{} // key → its last row in b
	var order []string
	var key []byte
	for i := range b.Len {
		key = r.rowKey(key[:0], b, i)
		if _, ok := last[string(key)]; !ok {
			order = append(order, string(key))
		}
		last[string(key)] = i
	}
	out := arrowbatch.NewLike(r.Shapes)
	for _, k := range order {
		i := last[k]
		v, closer, err := r.store.db.Get([]byte(k))
		if err == nil {
			same := bytes.Equal(v, arrowbatch.AppendRow(nil, b.Cols, i)) && b.OpAt(i) == arrowbatch.Insert
			if !same {
				if _, err = arrowbatch.DecodeRow(v, out.Cols); err == nil {
					out.AppendOp(arrowbatch.Delete)
				}
			}
			_ = closer.Close()
			if same {
				continue
			}
		}
		if err != nil && !errors.Is(err, pebble.ErrNotFound) {
			out.Release()
			return nil, readError(err)
		}
		if b.OpAt(i) == arrowbatch.Insert {
			out.Append(b, i)
		}
	}
	return out, nil
}

// rowKey appends the store key of row i of a Keyed relation.
func (r *Relation) rowKey(dst []byte, b *arrowbatch.Batch, i int) []byte {
	dst = append(dst, prefix32(spaceRows, r.ID)...)
	for _, k := range r.Key {
		dst = b.Cols[k].AppendKey(dst, i)
	}
	return dst
}

func (r *Relation) apply(d *Delta, b *arrowbatch.Batch) error { return r.applyTo(d, b, false) }

// applyTo is apply; gone tells that the rows of a Numbered relation that b deletes have
// been taken out already.
func (r *Relation) applyTo(d *Delta, b *arrowbatch.Batch, gone bool) error {
	w := relationWrite{rel: r, version: r.Version() + 1, nextRow: r.nextRow}
	if r.Mode == Bag {
		if err := r.applyBag(d, b); err != nil {
			return err
		}
		r.feed(d, w.version, b)
		d.rels = append(d.rels, w)
		return nil
	}
	base := prefix32(spaceRows, r.ID)
	var key, val []byte
	for i := range b.Len {
		ins := b.OpAt(i) == arrowbatch.Insert
		key = append(key[:0], base...)
		switch r.Mode {
		case Keyed:
			key = r.rowKey(key[:0], b, i)
			if ins {
				val = arrowbatch.AppendRow(val[:0], b.Cols, i)
				d.Put(key, val)
			} else {
				d.Delete(key)
			}
		case Numbered:
			if !ins && gone {
				continue
			}
			if !ins {
				return sqlerr.Internal("relation %d takes inserts only", r.ID)
			}
			key = binary.BigEndian.AppendUint64(key, w.nextRow)
			w.nextRow++
			val = arrowbatch.AppendRow(val[:0], b.Cols, i)
			d.Put(key, val)
		}
	}
	r.feed(d, w.version, b)
	d.rels = append(d.rels, w)
	return nil
}

var plusOne = binary.AppendVarint(nil, 1)

// applyBag changes the counts of rows. Only those that sink are read, to remove
// the rows that are no more.
func (r *Relation) applyBag(d *Delta, b *arrowbatch.Batch) error {
	key := prefix32(spaceRows, r.ID)
	base := len(key)
	var net map[string]int64 // of the rows that b deletes
	for i := range b.Len {
		if b.OpAt(i) == arrowbatch.Delete {
			if net == nil {
				net = map[string]int64{}
			}
			key = arrowbatch.AppendRow(key[:base], b.Cols, i)
			net[string(key)]--
		}
	}
	for i := range b.Len {
		if b.OpAt(i) != arrowbatch.Insert {
			continue
		}
		key = arrowbatch.AppendRow(key[:base], b.Cols, i)
		if n, ok := net[string(key)]; ok {
			net[string(key)] = n + 1
		} else {
			d.addCount(key, plusOne)
		}
	}
	for k, n := range net {
		key = append(key[:0], k...)
		have := int64(0)
		if n < 0 {
			var err error
			if have, err = r.count(key); err != nil {
				return err
			}
		}
		switch {
		case n < 0 && have+n == 0:
			d.Delete(key)
		case n != 0:
			d.addCount(key, binary.AppendVarint(nil, n))
		}
	}
	return nil
}

// count returns how often a Bag has the row stored under key.
func (r *Relation) count(key []byte) (int64, error) {
	v, closer, err := r.store.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, readError(err)
	}
	defer closer.Close()
	n, k := binary.Varint(v)
	if k <= 0 {
		return 0, sqlerr.New(sqlerr.DataCorrupted, "a row count of relation %d is unreadable", r.ID)
	}
	return n, nil
}

// feed adds the changes to the feed if anybody follows it, and drops what every
// reader has passed.
func (r *Relation) feed(d *Delta, version uint64, b *arrowbatch.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	passed := version
	if len(r.readers) > 0 {
		for _, v := range r.readers {
			passed = min(passed, v)
		}
		d.Put(feedKey(r.ID, version), arrowbatch.AppendBatch(nil, b))
	}
	if passed > r.oldest {
		d.DeleteRange(feedKey(r.ID, r.oldest), feedKey(r.ID, passed+1))
		r.oldest = passed
	}
}

// stage adds the relation's record to the batch that commits w.
func (r *Relation) stage(b *pebble.Batch, w relationWrite) {
	r.mu.Lock()
	oldest := r.oldest
	r.mu.Unlock()
	v := binary.BigEndian.AppendUint64(make([]byte, 0, 28), w.version)
	v = binary.BigEndian.AppendUint64(v, w.nextRow)
	v = binary.BigEndian.AppendUint64(v, oldest)
	if r.Layout != 0 {
		v = binary.BigEndian.AppendUint32(v, r.Layout)
	}
	_ = b.Set(prefix32(spaceRelation, r.ID), v, nil)
	r.mu.Lock()
	r.nextRow = w.nextRow
	r.mu.Unlock()
}

// published makes the version known after its commit.
func (r *Relation) published(version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
	if !r.replaced.Load() {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

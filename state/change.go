package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Change says what a query's state is to be made of, before its next run.
type Change struct {
	Query uint32
	// From is whose state is taken: the query's own, or that of a savepoint.
	From uint32
	// Keep are the operators whose state stays; that of others goes.
	Keep map[uint16]bool
	// Checkpoint is the query's record when all is done.
	Checkpoint *Checkpoint
	// Relation holds the query's rows; nil: it has none. Empty removes them, and makes
	// room for rows of other columns: Relation is of the new ones. Restore makes the rows
	// those of From.
	Relation *RelationSpec
	Restore  bool
	Empty    bool
}

// Change carries out a change. It is done when the checkpoint is durable; until then
// it can be carried out again, after a crash too, and must be before the query runs.
// The query must not run meanwhile.
func (s *Store) Change(ctx context.Context, c *Change) error {
	d := s.NewDelta()
	done := func() {}
	err := s.changeState(ctx, d, c)
	if err == nil && c.Relation != nil && (c.Restore || c.Empty) {
		done, err = s.changeRows(d, c)
	}
	if err != nil {
		d.Discard()
		return err
	}
	defer done()
	return s.Commit(c.Checkpoint, d)
}

func (s *Store) changeState(ctx context.Context, d *Delta, c *Change) error {
	planned := recordPrefix(c.Query, plannedRecord)
	d.DeleteRange(planned, After(planned))
	own := prefix32(spaceOperator, c.Query)
	kept := func(rest []byte) bool { return c.Keep[operatorOf(rest)] }
	if c.From == c.Query {
		return s.dropOthers(d, own, kept)
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err := b.DeleteRange(own, After(own), nil); err != nil {
		return err
	}
	for _, k := range copied {
		p := recordPrefix(c.Query, k)
		if err := b.DeleteRange(p, After(p), nil); err != nil {
			return err
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be written")
	}
	cp := copier{store: s, ctx: ctx, from: s.db, only: kept}
	if err := cp.copy(prefix32(spaceOperator, c.From), own); err != nil {
		return err
	}
	cp.only = nil
	for _, k := range copied {
		if err := cp.copy(recordPrefix(c.From, k), recordPrefix(c.Query, k)); err != nil {
			return err
		}
	}
	return cp.flush()
}

// dropOthers removes the state of operators that is not kept.
func (s *Store) dropOthers(d *Delta, own []byte, kept func(rest []byte) bool) error {
	errs := binary.BigEndian.AppendUint16(bytes.Clone(own), errorTable)
	for at, end := own, After(own); ; {
		key, err := s.First(at, errs)
		if err != nil {
			return err
		}
		if key == nil {
			return s.Scan(errs, end, func(k, _ []byte) error {
				if !kept(k[len(own):]) {
					d.Delete(k)
				}
				return nil
			})
		}
		if len(key) < len(own)+3 {
			return sqlerr.New(sqlerr.DataCorrupted, "a key of operator state is malformed")
		}
		lo := key[:len(own)+2]
		if at = After(lo); !kept(key[len(own):]) {
			d.DeleteRange(lo, at)
		}
	}
}

func (s *Store) changeRows(d *Delta, c *Change) (done func(), err error) {
	if c.Empty {
		return s.reshape(d, c)
	}
	r, err := s.Relation(*c.Relation)
	if err != nil {
		return nil, err
	}
	r.writing.Lock()
	if err := r.become(d, c.From); err != nil {
		r.writing.Unlock()
		return nil, err
	}
	return r.writing.Unlock, nil
}

// reshape readies a relation for rows of other columns: it has none, nobody follows
// it, and who reads the rows that were there is told.
func (s *Store) reshape(d *Delta, c *Change) (done func(), err error) {
	spec := c.Relation
	have, err := relationRecordIn(s.db, spec.ID)
	if err != nil {
		return nil, err
	}
	next := newRelation(s, *spec, have)
	next.oldest = have.version + 1
	s.mu.Lock()
	old := s.relations[spec.ID]
	s.relations[spec.ID] = next
	s.mu.Unlock()
	if old != nil {
		old.replace()
	}
	for _, space := range []byte{spaceRows, spaceFeed} {
		p := prefix32(space, spec.ID)
		d.DeleteRange(p, After(p))
	}
	w := relationWrite{rel: next, version: have.version + 1, nextRow: have.nextRow}
	if c.Restore {
		saved, err := relationRecordIn(s.db, c.From)
		if err != nil {
			return nil, err
		}
		w.nextRow = max(w.nextRow, saved.nextRow)
		from, key := prefix32(spaceRows, c.From), prefix32(spaceRows, spec.ID)
		err = s.Scan(from, After(from), func(k, v []byte) error {
			key = append(key[:len(from)], k[len(from):]...)
			d.Put(key, v)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	d.rels = append(d.rels, w)
	return func() {}, nil
}

// replace ends the relation: its rows are about to go.
func (r *Relation) replace() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.replaced.Swap(true) {
		close(r.changed)
	}
}

// errReplaced is what readers of a relation get that was replaced by one with other
// columns.
func errReplaced() error {
	return sqlerr.New(sqlerr.SerializationFailure, "the view was replaced while it was read").
		WithHint("The statement might succeed if retried.")
}

// become makes the rows those that are stored as relation from, as the next version.
func (r *Relation) become(d *Delta, from uint32) error {
	have, err := relationRecordIn(r.store.db, from)
	if err != nil {
		return err
	}
	r.mu.Lock()
	followed := len(r.readers) > 0
	w := relationWrite{rel: r, version: r.version + 1, nextRow: max(r.nextRow, have.nextRow)}
	r.mu.Unlock()
	diff := rowDiff{rel: r, d: d, out: arrowbatch.NewLike(r.Shapes), followed: followed}
	defer diff.out.Release()
	if err := diff.run(prefix32(spaceRows, r.ID), prefix32(spaceRows, from)); err != nil {
		return err
	}
	r.feed(d, w.version, diff.out)
	d.rels = append(d.rels, w)
	return nil
}

// rowDiff writes what makes the rows under one prefix those under another, and
// gathers the changes for those who follow.
type rowDiff struct {
	rel      *Relation
	d        *Delta
	out      *arrowbatch.Batch
	followed bool
}

func (x *rowDiff) run(own, other []byte) (err error) {
	a, err := x.rel.store.db.NewIter(&pebble.IterOptions{LowerBound: own, UpperBound: After(own)})
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, readError(a.Close())) }()
	b, err := x.rel.store.db.NewIter(&pebble.IterOptions{LowerBound: other, UpperBound: After(other)})
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, readError(b.Close())) }()
	a.First()
	b.First()
	key := bytes.Clone(own)
	for a.Valid() || b.Valid() {
		order := -1
		switch {
		case !a.Valid():
			order = 1
		case b.Valid():
			order = bytes.Compare(a.Key()[len(own):], b.Key()[len(other):])
		}
		var was, is []byte
		if order <= 0 {
			key = append(key[:len(own)], a.Key()[len(own):]...)
			if was, err = a.ValueAndErr(); err != nil {
				return readError(err)
			}
		}
		if order >= 0 {
			key = append(key[:len(own)], b.Key()[len(other):]...)
			if is, err = b.ValueAndErr(); err != nil {
				return readError(err)
			}
		}
		if err := x.row(key, was, is); err != nil {
			return err
		}
		if order <= 0 {
			a.Next()
		}
		if order >= 0 {
			b.Next()
		}
	}
	return nil
}

// row makes the value under a key is; nil stands for no row.
func (x *rowDiff) row(key, was, is []byte) error {
	if was != nil && is != nil && bytes.Equal(was, is) {
		return nil
	}
	if is == nil {
		x.d.Delete(key)
	} else {
		x.d.Put(key, is)
	}
	if !x.followed {
		return nil
	}
	if x.rel.Mode != Bag {
		if err := x.tell(was, arrowbatch.Delete, 1); err != nil {
			return err
		}
		return x.tell(is, arrowbatch.Insert, 1)
	}
	n := copiesOf(is) - copiesOf(was)
	if n < 0 {
		return x.tell(key[5:], arrowbatch.Delete, -n)
	}
	return x.tell(key[5:], arrowbatch.Insert, n)
}

// copiesOf reads a Bag row's count; a row that is not there has none.
func copiesOf(v []byte) int64 {
	n, _ := binary.Varint(v)
	return max(n, 0)
}

func (x *rowDiff) tell(row []byte, op arrowbatch.Op, n int64) error {
	for ; row != nil && n > 0; n-- {
		if _, err := arrowbatch.DecodeRow(row, x.out.Cols); err != nil {
			return sqlerr.New(sqlerr.DataCorrupted, "a row of relation %d is unreadable", x.rel.ID)
		}
		x.out.AppendOp(op)
	}
	return nil
}

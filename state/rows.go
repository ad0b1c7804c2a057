package state

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Snapshot is a fixed view of the store.
type Snapshot struct{ s *pebble.Snapshot }

// Snapshot returns a view of what is committed now. Close it.
func (s *Store) Snapshot() *Snapshot { return &Snapshot{s.db.NewSnapshot()} }

// Close frees the view.
func (s *Snapshot) Close() error { return s.s.Close() }

func (s *Snapshot) reader() pebble.Reader { return s.s }

// Reader is something rows can be read from: a Snapshot, or a Txn with its own
// writes.
type Reader interface{ reader() pebble.Reader }

// RowIter iterates over a relation's rows.
type RowIter struct {
	rel    *Relation
	it     *pebble.Iterator
	cols   []int // positions wanted; nil: all
	first  bool
	repeat int64 // Bag: how often the present row is still to be returned
	// KeepKeys asks for Keys: the store key of each row of the last batch, for DML.
	KeepKeys bool
	Keys     [][]byte
}

// Rows returns an iterator over the rows whose key begins with prefix (key
// columns in the key code; nil: all rows). cols are the positions wanted.
func (r *Relation) Rows(from Reader, prefix []byte, cols []int) (*RowIter, error) {
	lo := append(prefix32(spaceRows, r.ID), prefix...)
	it, err := from.reader().NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: After(lo)})
	if err != nil {
		return nil, readError(err)
	}
	if err := r.readable(from); err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return &RowIter{rel: r, it: it, cols: cols, first: true}, nil
}

// readable tells whether the rows that from shows are of this relation's columns. One
// that is replaced is marked before its rows go, so that an unmarked one had its own
// when from was made.
func (r *Relation) readable(from Reader) error {
	if r.replaced.Load() {
		return errReplaced()
	}
	if r.Layout == 0 {
		return nil
	}
	rec, err := relationRecordIn(from.reader(), r.ID)
	if err == nil && rec.version > 0 && rec.layout != r.Layout {
		err = errReplaced()
	}
	return err
}

// Close frees the iterator.
func (it *RowIter) Close() error { return readError(it.it.Close()) }

// Next returns a batch of at most max rows, nil at the end.
func (it *RowIter) Next(max int) (*arrowbatch.Batch, error) {
	all := arrowbatch.NewLike(it.rel.Shapes)
	it.Keys = it.Keys[:0]
	for all.Len < max {
		if it.repeat == 0 && !it.step() {
			break
		}
		if err := it.decode(all); err != nil {
			all.Release()
			return nil, err
		}
	}
	if err := it.it.Error(); err != nil {
		all.Release()
		return nil, readError(err)
	}
	if all.Len == 0 {
		all.Release()
		return nil, nil
	}
	return it.project(all), nil
}

// step moves to the next stored row and sets repeat.
func (it *RowIter) step() bool {
	ok := false
	if it.first {
		ok, it.first = it.it.First(), false
	} else {
		ok = it.it.Next()
	}
	if ok {
		it.repeat = 1
	}
	return ok
}

func (it *RowIter) decode(all *arrowbatch.Batch) error {
	src, err := it.it.ValueAndErr()
	if err != nil {
		return readError(err)
	}
	if it.rel.Mode == Bag && it.repeat == 1 {
		n, k := binary.Varint(src)
		if k <= 0 {
			return it.corrupt()
		}
		if n <= 0 {
			it.repeat = 0
			return nil
		}
		it.repeat = n
	}
	if it.rel.Mode == Bag {
		src = it.it.Key()[5:]
	}
	if _, err := arrowbatch.DecodeRow(src, all.Cols); err != nil {
		return it.corrupt()
	}
	if it.KeepKeys {
		it.Keys = append(it.Keys, bytes.Clone(it.it.Key()))
	}
	all.Len++
	it.repeat--
	if it.repeat > 0 && it.rel.Mode == Bag {
		return it.repeatRow(all)
	}
	return nil
}

// repeatRow returns a bag row's copies at once: the batch may grow past max by
// them.
func (it *RowIter) repeatRow(all *arrowbatch.Batch) error {
	for ; it.repeat > 0; it.repeat-- {
		for _, c := range all.Cols {
			c.AppendFrom(c, all.Len-1)
		}
		if it.KeepKeys {
			it.Keys = append(it.Keys, it.Keys[len(it.Keys)-1])
		}
		all.Len++
	}
	return nil
}

func (it *RowIter) corrupt() error {
	return sqlerr.New(sqlerr.DataCorrupted, "a row of relation %d is unreadable", it.rel.ID)
}

func (it *RowIter) project(all *arrowbatch.Batch) *arrowbatch.Batch {
	if it.cols == nil {
		return all
	}
	out := &arrowbatch.Batch{Len: all.Len, Cols: make([]*arrowbatch.Vec, len(it.cols))}
	for i, c := range it.cols {
		out.Cols[i] = all.Cols[c].Retain()
	}
	all.Release()
	return out
}

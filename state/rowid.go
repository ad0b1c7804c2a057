package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/arrowbatch"
)

// rowIDBits is what is left of a row id below the microsecond.
const rowIDBits = 8

// RowIDs returns the first of n consecutive ids for rows without a key of their own.
// They rise from the clock (now, in microseconds), so that nothing need be stored to
// keep them apart; see Beyond for a clock that went back.
func (s *Store) RowIDs(n int, now int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := max(s.lastID+1, now<<rowIDBits)
	s.lastID = first + int64(n) - 1
	return first
}

// Beyond makes the ids to come greater than those of the rows of r, whose key is the
// id in column col.
func (s *Store) Beyond(r *Relation, col int) error {
	p := prefix32(spaceRows, r.ID)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: p, UpperBound: After(p)})
	if err != nil {
		return err
	}
	if !it.Last() {
		return errors.Join(it.Error(), it.Close())
	}
	row := arrowbatch.NewLike(r.Shapes)
	defer row.Release()
	v, err := it.ValueAndErr()
	if err == nil {
		_, err = arrowbatch.DecodeRow(v, row.Cols)
	}
	if err = errors.Join(err, it.Close()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID = max(s.lastID, row.Cols[col].I64[0])
	return nil
}

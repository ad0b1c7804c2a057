package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

func fillingKey(rel uint32) []byte { return append(prefix32(spaceRelation, rel), 'f') }

// SetFilling notes that a relation has a part of its first rows only, which are shown
// when there are all of them, or that it has all.
func (d *Delta) SetFilling(rel uint32, on bool) {
	if on {
		d.Put(fillingKey(rel), []byte{1})
	} else {
		d.Delete(fillingKey(rel))
	}
}

// Filling tells whether a relation has a part of its first rows only: see SetFilling.
func (s *Store) Filling(from Reader, rel uint32) (bool, error) {
	_, closer, err := from.reader().Get(fillingKey(rel))
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return false, nil
	case err != nil:
		return false, readError(err)
	}
	return true, closer.Close()
}

package state

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Fetch calls fn for each of the keys, which are sorted, that the store has, with its
// number and value; the value is valid during the call. Filters of the store's tables
// make a key that is not there cheap.
func (s *Store) Fetch(keys *KeyList, fn func(k int, val []byte) error) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, readError(it.Close())) }()
	for k := range keys.Len() {
		key := keys.Key(k)
		if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) {
			if it.Error() != nil {
				return nil // Close has it
			}
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

// ScanEach calls fn for the keys that begin with one of those in keys, which are sorted,
// with its number and what follows it. The slices are valid during the call.
func (s *Store) ScanEach(keys *KeyList, fn func(k int, rest, val []byte) error) (err error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, readError(it.Close())) }()
	for k := range keys.Len() {
		key := keys.Key(k)
		for ok := it.SeekGE(key); ok && bytes.HasPrefix(it.Key(), key); ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				return readError(err)
			}
			if err := fn(k, it.Key()[len(key):], v); err != nil {
				return err
			}
		}
		if it.Error() != nil {
			return nil // Close has it
		}
	}
	return nil
}

// First returns a copy of the first key from lo up to but not including hi, nil if
// there is none.
func (s *Store) First(lo, hi []byte) (key []byte, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, readError(err)
	}
	if it.First() {
		key = bytes.Clone(it.Key())
	}
	return key, readError(it.Close())
}

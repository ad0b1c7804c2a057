package state

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Add changes the count kept under a key by n, without reading it.
func (d *Delta) Add(key []byte, n int64) {
	var buf [binary.MaxVarintLen64]byte
	d.addCount(key, buf[:binary.PutVarint(buf[:], n)])
}

// SetCount sets the count kept under a key.
func (d *Delta) SetCount(key []byte, n int64) {
	var buf [binary.MaxVarintLen64]byte
	d.Put(key, buf[:binary.PutVarint(buf[:], n)])
}

// Count returns the committed count under a key; 0 where there is none.
func (s *Store) Count(key []byte) (int64, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be read")
	}
	n, k := binary.Varint(v)
	if err := closer.Close(); err != nil {
		return 0, err
	}
	if k <= 0 {
		return 0, sqlerr.New(sqlerr.DataCorrupted, "a stored count is unreadable")
	}
	return n, nil
}

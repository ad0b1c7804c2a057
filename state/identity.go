package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

var identityKey = []byte{spaceMeta, 'i', 'd'}

// identity returns the store's name among all others: drawn once, when it is first
// opened.
func identity(db *pebble.DB) (string, error) {
	v, closer, err := db.Get(identityKey)
	if err == nil {
		defer closer.Close()
		return string(v), nil
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return "", err
	}
	var raw [8]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", sqlerr.Wrap(err, sqlerr.IOError, "the system gives no random numbers")
	}
	id := hex.EncodeToString(raw[:])
	return id, db.Set(identityKey, []byte(id), pebble.Sync)
}

// ID names the store among all others, 16 hexadecimal digits. It stays over
// restarts; a copied directory has the same.
func (s *Store) ID() string { return s.id }

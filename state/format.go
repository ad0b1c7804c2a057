package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Format is the version of what this program writes. A change of any key or
// value's meaning adds one, and a step to migrate that reads the version before.
//
//	1  first format
//	2  savepoints; what sinks have sent has a kind of record of its own
const Format = 2

var formatKey = []byte{spaceMeta, 'f', 'o', 'r', 'm', 'a', 't'}

// checkFormat stamps a new store and refuses one of a newer program.
func checkFormat(db *pebble.DB) error {
	v, closer, err := db.Get(formatKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return db.Set(formatKey, fmt.Appendf(nil, "%d", Format), pebble.Sync)
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	var have int
	if _, err := fmt.Sscanf(string(v), "%d", &have); err != nil {
		return sqlerr.New(sqlerr.DataCorrupted, "the data directory's format version is unreadable: %q", v)
	}
	if have > Format {
		return sqlerr.New(sqlerr.ObjectNotInState,
			"the data directory has format %d, this program knows formats up to %d", have, Format).
			WithHint("Start the version of streamsql that wrote it, or a newer one.")
	}
	return migrate(db, have)
}

// steps are what brings a store from each format to the next, first that from 1. A
// step stages its changes; they are durable with the new version or not at all.
var steps = []func(db *pebble.DB, b *pebble.Batch) error{moveOutbox}

// migrate brings a store of an older format up to this program's.
func migrate(db *pebble.DB, have int) error {
	if have < 1 {
		return sqlerr.New(sqlerr.DataCorrupted, "the data directory has format %d, which there never was", have)
	}
	for ; have < Format; have++ {
		b := db.NewBatch()
		err := steps[have-1](db, b)
		if err == nil {
			err = b.Set(formatKey, fmt.Appendf(nil, "%d", have+1), nil)
		}
		if err == nil {
			err = b.Commit(pebble.Sync)
		}
		if err = errors.Join(err, b.Close()); err != nil {
			return err
		}
	}
	return nil
}

// moveOutbox gives what sinks have sent the kind of record that format 2 has for it.
// Keys of records of the old kind have another length.
func moveOutbox(db *pebble.DB, b *pebble.Batch) error {
	p := []byte{spaceRecord}
	return scan(db, p, After(p), func(k, v []byte) error {
		if len(k) != outboxKeyLen || k[5] != outboxBefore {
			return nil
		}
		if err := b.Delete(k, nil); err != nil {
			return err
		}
		to := bytes.Clone(k)
		to[5] = recordOutbox
		return b.Set(to, v, nil)
	})
}

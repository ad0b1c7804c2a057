package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Format is the version of what this program writes. A change of any key or
// value's meaning adds one, and a step to migrate that reads the version before.
//
//	1  first format
const Format = 1

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
	return nil
}

package state

import (
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// readError says in a user's words that something in the store cannot be read.
// Blocks of the store's files have checksums: what is damaged is never taken for
// data, and everything that lies elsewhere can still be read.
func readError(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	what, _, _ := strings.Cut(err.Error(), "\n")
	return sqlerr.New(sqlerr.DataCorrupted, "a file of the data directory is damaged: %s", what).
		WithHint("What lies elsewhere is not affected. Restore a backup, or drop what cannot be read.").AsPermanent()
}

// damaged is told of each damaged block that is met. Without it Pebble would end
// the process.
func damaged(log func(string, ...any)) func(pebble.DataCorruptionInfo) {
	return func(i pebble.DataCorruptionInfo) {
		if log != nil {
			log("file %s is damaged: %v", i.Path, i.Details.Error())
		}
	}
}

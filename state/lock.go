package state

import (
	"errors"
	"strings"
	"syscall"
)

// isLocked tells whether opening failed because the directory's lock is held.
// Pebble has no sentinel for its own process's lock, only the text.
func isLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || strings.Contains(err.Error(), "lock held by current process")
}

package state

import (
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Backup writes a copy of the store to a new directory, on the same file system:
// all that was committed before it, epochs and transactions whole. Commits go on
// meanwhile. Tables are shared with the store by hard links where the file system
// has them, so that the copy costs little until the store has moved on. The
// directory appears when it is whole; a server can be started in it.
func (s *Store) Backup(dir string) error {
	if s.inMemory {
		return sqlerr.New(sqlerr.ObjectNotInState, "a store in memory cannot be copied to a directory").
			WithHint("Start the server with a data directory.")
	}
	if dir == "" {
		return sqlerr.New(sqlerr.InvalidParameterValue, "the name of the directory is empty")
	}
	if _, err := s.fs.Stat(dir); err == nil {
		return sqlerr.New(sqlerr.DuplicateFile, "%q exists already", dir).WithHint("Name a directory that does not exist.")
	}
	if err := s.checkSpace(0); err != nil {
		return err
	}
	parent, part := s.fs.PathDir(dir), dir+".part"
	err := makeDir(s.fs, parent)
	if err == nil {
		err = s.fs.RemoveAll(part) // what a crash has left of an earlier one
	}
	if err == nil {
		err = s.db.Checkpoint(part, pebble.WithFlushedWAL())
	}
	if err == nil {
		err = s.fs.Rename(part, dir)
	}
	if err == nil {
		err = syncDir(s.fs, parent)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		err = sqlerr.Wrap(err, sqlerr.InsufficientPrivilege, "directory %q cannot be written", dir)
	default:
		err = sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be copied to %q", dir)
	}
	_ = s.fs.RemoveAll(part)
	return err
}

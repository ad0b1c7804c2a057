package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Options of a store; the zero value is the default.
type Options struct {
	// CacheBytes is the size of the block cache; 0: 64 MiB.
	CacheBytes int64
	// MemTableBytes is the size of a memtable; 0: 8 MiB. Larger ones make the big
	// batches of checkpoints slower, not faster.
	MemTableBytes uint64
	// MinFreeBytes is what must stay free on the disk; a commit that would go
	// below fails with 53100 and changes nothing. 0: 64 MiB; negative: unchecked.
	MinFreeBytes int64
	// FS is the file system; nil: the machine's, or memory where there is no
	// directory.
	FS vfs.FS
	// Log receives Pebble's messages; nil: they are dropped.
	Log func(format string, args ...any)
}

// Store is the one Pebble store of a server. Safe for concurrent use.
type Store struct {
	db   *pebble.DB
	lock *pebble.Lock
	dir  string
	fs   vfs.FS
	opts Options
	id   string
	// inMemory: there is no directory.
	inMemory bool

	mu        sync.Mutex // guards relations and lastID
	relations map[uint32]*Relation
	lastID    int64 // see RowIDs
}

// Open opens the store in dir, made if it does not exist; "" is a store in
// memory. It fails with 55006 when another process has it open.
func Open(dir string, o Options) (*Store, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 8 << 20
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 64 << 20
	}
	fs, inMemory := o.FS, o.FS == nil && dir == ""
	if inMemory {
		fs, o.MinFreeBytes = vfs.NewMem(), -1
	} else if fs == nil {
		fs = vfs.Default
	}
	name := dir
	if name == "" {
		name = "mem"
	}
	if err := makeDir(fs, name); err != nil {
		return nil, directoryError(name, err)
	}
	lock, err := pebble.LockDirectory(name, fs)
	if err != nil {
		return nil, directoryError(name, err)
	}
	finish, err := begin(fs, name)
	if err != nil {
		return nil, directoryError(name, errors.Join(err, lock.Close()))
	}
	cache := pebble.NewCache(o.CacheBytes)
	defer cache.Unref()
	opts := &pebble.Options{
		FS: fs, Cache: cache, Logger: logger{o.Log}, Merger: countMerger,
		EventListener:      &pebble.EventListener{DataCorruption: damaged(o.Log)},
		FormatMajorVersion: pebble.FormatNewest, MemTableSize: o.MemTableBytes,
		MemTableStopWritesThreshold: 4, DisableWAL: false, Lock: lock,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(name, opts)
	if err != nil {
		return nil, directoryError(name, errors.Join(err, lock.Close()))
	}
	if err := errors.Join(ready(db), finish()); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	id, err := identity(db)
	if err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	return &Store{db: db, lock: lock, id: id, inMemory: inMemory, dir: name, fs: fs, opts: o,
		relations: map[uint32]*Relation{}}, nil
}

// ready brings what is stored to where the server can begin.
func ready(db *pebble.DB) error {
	if err := checkFormat(db); err != nil {
		return err
	}
	return errors.Join(dropUnfinished(db), dropHealed(db))
}

// directoryError says in a user's words why the directory cannot be opened.
func directoryError(dir string, err error) error {
	switch {
	case isLocked(err):
		return sqlerr.Wrap(err, sqlerr.ObjectInUse, "data directory %q is in use by another process", dir).
			WithHint("Stop the other server or choose another directory with --data.")
	case os.IsPermission(err) || errors.Is(err, os.ErrPermission):
		return sqlerr.Wrap(err, sqlerr.InsufficientPrivilege, "data directory %q cannot be written", dir)
	}
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return err
	}
	return sqlerr.Wrap(err, sqlerr.IOError, "data directory %q cannot be opened", dir)
}

// Close waits for running commits and closes the store.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.lock.Close()) }

// Dir returns the directory.
func (s *Store) Dir() string { return s.dir }

// checkSpace refuses a commit of n bytes that would fill the disk.
func (s *Store) checkSpace(n int) error {
	if s.opts.MinFreeBytes < 0 {
		return nil
	}
	u, err := s.fs.GetDiskUsage(s.dir)
	if err != nil {
		return nil //nolint:nilerr // a file system that cannot tell is not full
	}
	// A batch is written twice before the log is freed: to the log and to a table.
	if need := uint64(s.opts.MinFreeBytes) + 2*uint64(n); u.AvailBytes < need {
		return sqlerr.New(sqlerr.DiskFull, "no space left on disk: %d MB free under %q, %d MB needed",
			u.AvailBytes>>20, s.dir, need>>20).WithHint("Free space; the query goes on by itself then.")
	}
	return nil
}

// write commits b in one synced write.
func (s *Store) write(b *pebble.Batch) error {
	if err := s.checkSpace(b.Len()); err != nil {
		return err
	}
	return s.remove(b)
}

// remove commits a batch that drops things, on a full disk too: that is how a
// client makes room again.
func (s *Store) remove(b *pebble.Batch) error {
	if err := b.Commit(pebble.Sync); err != nil {
		return sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be written")
	}
	if s.checkSpace(0) != nil {
		// Files are given back when the tombstones are in tables; until the next
		// write that would not come by itself.
		_, err := s.db.AsyncFlush()
		return err
	}
	return nil
}

type logger struct{ f func(string, ...any) }

func (l logger) Infof(string, ...interface{}) {}
func (l logger) Errorf(format string, args ...interface{}) {
	if l.f != nil {
		l.f(format, args...)
	}
}

// Fatalf is called when the log can no longer be written: going on would promise
// what cannot be kept, so the process ends, and recovery finds the last commit.
func (l logger) Fatalf(format string, args ...interface{}) {
	l.Errorf(format, args...)
	panic(fmt.Sprintf("store: "+format, args...))
}

// countMerger adds signed counts: a bag row's multiplicity changes without
// being read. A sum of 0 is no row, but is kept: Pebble's compactions corrupt or
// panic where a merger drops keys (DeletableValueMerger; cockroachdb/pebble#6168).
// Who changes counts removes those that become 0.
var countMerger = &pebble.Merger{
	Name: "streamsql.count",
	Merge: func(key, value []byte) (pebble.ValueMerger, error) {
		m := &countSum{}
		return m, m.MergeNewer(value)
	},
}

type countSum struct{ n int64 }

func (c *countSum) MergeNewer(v []byte) error {
	n, k := binary.Varint(v)
	if k <= 0 {
		return sqlerr.New(sqlerr.DataCorrupted, "a stored row count is unreadable")
	}
	c.n += n
	return nil
}

func (c *countSum) MergeOlder(v []byte) error { return c.MergeNewer(v) }

func (c *countSum) Finish(bool) ([]byte, io.Closer, error) {
	return binary.AppendVarint(nil, c.n), nil, nil
}

package state

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A crash at any operation of a store's making leaves a directory that opens, with
// the user's own files in it.
func TestCrashWhileTheStoreIsMade(t *testing.T) {
	type found struct {
		fs   *vfs.MemFS
		op   int
		kept int
	}
	var clones []found
	mem := vfs.NewCrashableMem()
	own, err := mem.Create("notes.log.txt", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Write([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	root, err := mem.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(own.Sync(), own.Close(), root.Sync(), root.Close()); err != nil {
		t.Fatal(err)
	}
	ops := 0
	var mu sync.Mutex
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock() // files are removed in the background
			defer mu.Unlock()
			ops++
			for seed := range uint64(12) {
				kept := int(seed) * 9
				clones = append(clones, found{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept,
					RNG: rand.New(rand.NewPCG(uint64(ops), seed))}), ops, kept})
			}
		}
		return nil
	}))
	s := open(t, "a/b", Options{FS: fs, MinFreeBytes: -1})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if ops < 10 {
		t.Fatalf("%d operations", ops)
	}
	// And once more over the finished store, which gets a new manifest.
	if err := open(t, "a/b", Options{FS: fs, MinFreeBytes: -1}).Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range clones {
		s, err := Open("a/b", Options{FS: c.fs, MinFreeBytes: -1})
		if err != nil {
			t.Fatalf("crash before operation %d with %d %% of what was not synced: %v", c.op, c.kept, err)
		}
		if err := s.CommitObjects(map[uint32][]byte{1: []byte("x")}, nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		names, err := c.fs.List("a/b")
		if err != nil || slices.Contains(names, unfinished) {
			t.Errorf("%v, %v", names, err)
		}
		f, err := c.fs.Open("notes.log.txt")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(f); string(b) != "mine" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		_ = f.Close()
	}
}

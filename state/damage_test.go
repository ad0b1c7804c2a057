package state

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// damage flips a bit of the file's first place that has text.
func damage(t *testing.T, fs vfs.FS, dir, text string) (file string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		f, err := fs.OpenReadWrite(fs.PathJoin(dir, n), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if i := bytes.Index(b, []byte(text)); err == nil && i >= 0 && strings.HasSuffix(n, ".sst") {
			_, err = f.WriteAt([]byte{b[i] ^ 0x10}, int64(i))
			file = n
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	return file
}

// A damaged block fails who reads it, with the file's name, and nobody else.
func TestDamagedFile(t *testing.T) {
	fs := vfs.NewMem()
	var logged []string
	o := Options{FS: fs, MinFreeBytes: -1, Log: func(f string, a ...any) { logged = append(logged, fmt.Sprintf(f, a...)) }}
	s := open(t, "d", o)
	spec := func(id uint32) RelationSpec {
		return RelationSpec{ID: id, Shapes: twoCols, Mode: Keyed, Key: []int{0}}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for id := uint32(1); id <= 3; id++ {
		r, err := s.Relation(spec(id))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for i := range 1000 {
			rows = append(rows, fmt.Sprintf("+ %d %016x%016x", i, rng.Uint64(), rng.Uint64()))
		}
		rows[500] = fmt.Sprintf("+ 500 marker-of-relation-%d", id)
		apply(t, s, &Checkpoint{Query: id, Epoch: 1}, r, batch(rows...))
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := damage(t, fs, "d", "marker-of-relation-2")
	if file == "" {
		t.Fatal("no file has the row")
	}
	s = open(t, "d", o)
	defer s.Close()
	for id := uint32(1); id <= 3; id++ {
		r, err := s.Relation(spec(id))
		if err != nil {
			t.Fatal(err)
		}
		n, err := count(s, r)
		switch {
		case id != 2 && (n != 1000 || err != nil):
			t.Errorf("relation %d, which is not damaged: %d rows, %v", id, n, err)
		case id == 2 && (sqlerr.CodeOf(err) != sqlerr.DataCorrupted || !strings.Contains(err.Error(), strings.TrimSuffix(file, ".sst"))):
			t.Errorf("the damage of %s is told as %v", file, err)
		}
		if cp, err := s.Last(id); err != nil || cp == nil {
			t.Errorf("checkpoint %d: %v, %v", id, cp, err)
		}
	}
	if len(logged) == 0 || !strings.Contains(logged[0], file) {
		t.Errorf("the log has %q", logged)
	}
}

func count(s *Store, r *Relation) (n int, err error) {
	sn := s.Snapshot()
	defer sn.Close()
	it, err := r.Rows(sn, nil, nil)
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for {
		b, err := it.Next(100)
		if b == nil {
			return n, err
		}
		n += b.Len
		b.Release()
	}
}

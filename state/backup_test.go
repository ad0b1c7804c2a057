package state

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// A copy taken while epochs are committed is a store with whole epochs, of which
// none is lost that was committed before the copy was asked for.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "data"), Options{MinFreeBytes: -1})
	defer s.Close()
	spec := RelationSpec{ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}}
	r, err := s.Relation(spec)
	if err != nil {
		t.Fatal(err)
	}
	const before, all = 50, 400
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for e := uint64(1); e <= all; e++ {
			apply(t, s, &Checkpoint{Query: 1, Epoch: e}, r, batch(fmt.Sprintf("+ %d x", e)))
			if e == before {
				close(ready)
			}
		}
	}()
	<-ready
	copied := filepath.Join(dir, "copies", "first")
	if err := s.Backup(copied); err != nil {
		t.Fatal(err)
	}
	<-done
	c := open(t, copied, Options{MinFreeBytes: -1})
	defer c.Close()
	cr, err := c.Relation(spec)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := c.Last(1)
	if err != nil || cp == nil || cp.Epoch < before || cp.Epoch > all {
		t.Fatalf("checkpoint %+v, %v", cp, err)
	}
	if n := len(strings.Fields(now(t, c, cr))); n != int(cp.Epoch) {
		t.Errorf("%d rows in the copy of epoch %d", n, cp.Epoch)
	}
	// The copy and the store go apart.
	apply(t, c, &Checkpoint{Query: 1, Epoch: cp.Epoch + 1}, cr, batch("- 1 x"))
	if n := len(strings.Fields(now(t, s, r))); n != all {
		t.Errorf("%d rows in the store", n)
	}
	for _, bad := range []struct {
		s    *Store
		dir  string
		code sqlerr.Code
	}{
		{s, copied, sqlerr.DuplicateFile},
		{s, "", sqlerr.InvalidParameterValue},
		{open(t, "", Options{}), filepath.Join(dir, "x"), sqlerr.ObjectNotInState},
	} {
		if err := bad.s.Backup(bad.dir); sqlerr.CodeOf(err) != bad.code {
			t.Errorf("backup to %q: %v", bad.dir, err)
		}
	}
}

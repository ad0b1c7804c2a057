package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

var twoCols = []arrowbatch.Shape{{Layout: arrowbatch.Int64}, {Layout: arrowbatch.Bytes}}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// batch reads rows like "+ 1 a" and "- 1 a".
func batch(rows ...string) *arrowbatch.Batch {
	b := arrowbatch.NewLike(twoCols)
	for _, r := range rows {
		var op, text string
		var n int64
		fmt.Sscan(r, &op, &n, &text)
		b.Cols[0].AppendInt64(n)
		b.Cols[1].AppendString(text)
		b.AppendOp(map[string]arrowbatch.Op{"+": arrowbatch.Insert, "-": arrowbatch.Delete}[op])
	}
	return b
}

func show(b *arrowbatch.Batch) string {
	var out []string
	for i := range b.Len {
		out = append(out, fmt.Sprintf("%c%d%s", "+-"[b.OpAt(i)], b.Cols[0].I64[i], b.Cols[1].BytesAt(i)))
	}
	return strings.Join(out, " ")
}

func rows(t *testing.T, r *Relation, from Reader) string {
	t.Helper()
	it, err := r.Rows(from, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []string
	for {
		b, err := it.Next(2)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return strings.Join(out, " ")
		}
		out = append(out, show(b))
		b.Release()
	}
}

func now(t *testing.T, s *Store, r *Relation) string {
	sn := s.Snapshot()
	defer sn.Close()
	return rows(t, r, sn)
}

func apply(t *testing.T, s *Store, c *Checkpoint, r *Relation, b *arrowbatch.Batch) {
	t.Helper()
	d := s.NewDelta()
	done, err := r.Apply(d, b)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := s.Commit(c, d); err != nil {
		t.Fatal(err)
	}
}

func TestRelationModesAndReopen(t *testing.T) {
	for _, c := range []struct {
		mode RowMode
		key  []int
		want string
	}{{Keyed, []int{0}, "+1c +3x"}, {Bag, nil, "+1c +3x +3x"}} {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		r, err := s.Relation(RelationSpec{ID: 7, Shapes: twoCols, Mode: c.mode, Key: c.key})
		if err != nil {
			t.Fatal(err)
		}
		apply(t, s, &Checkpoint{Query: 7, Epoch: 1}, r, batch("+ 1 a", "+ 2 b", "+ 3 x", "+ 3 x"))
		apply(t, s, &Checkpoint{Query: 7, Epoch: 2}, r, batch("- 1 a", "+ 1 c", "- 2 b"))
		if got := now(t, s, r); got != c.want {
			t.Errorf("mode %d: rows %q, want %q", c.mode, got, c.want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{})
		r, _ = s.Relation(RelationSpec{ID: 7, Shapes: twoCols, Mode: c.mode, Key: c.key})
		if got := now(t, s, r); got != c.want || r.Version() != 2 {
			t.Errorf("mode %d after reopening: rows %q version %d", c.mode, got, r.Version())
		}
		cp, err := s.Last(7)
		if err != nil || cp.Epoch != 2 {
			t.Errorf("checkpoint %+v, %v", cp, err)
		}
		s.Close()
	}
}

func TestFeedIsKeptForReadersAndDroppedBehindThem(t *testing.T) {
	s := open(t, "", Options{})
	defer s.Close()
	r, _ := s.Relation(RelationSpec{ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}})
	apply(t, s, nil, r, batch("+ 1 a"))
	sn, v := r.Snapshot("down")
	defer sn.Close()
	changed := r.Changed()
	apply(t, s, nil, r, batch("+ 2 b"))
	apply(t, s, nil, r, batch("- 2 b", "+ 2 c"))
	select {
	case <-changed:
	default:
		t.Error("the reader was not told of a commit")
	}
	if got := rows(t, r, sn); got != "+1a" || v != 1 {
		t.Errorf("snapshot at %d: %q", v, got)
	}
	var got []string
	last, err := r.Changes(v, 10, func(v uint64, b *arrowbatch.Batch) error {
		got = append(got, fmt.Sprint(v, " ", show(b)))
		return nil
	})
	if want := "[2 +2b 3 -2b +2c]"; err != nil || last != 3 || fmt.Sprint(got) != want {
		t.Errorf("feed %v to %d, %v; want %s", got, last, err, want)
	}
	r.Moved("down", 3)
	apply(t, s, nil, r, batch("+ 4 d"))
	n := 0
	p := prefix32(spaceFeed, 1)
	s.Scan(p, After(p), func([]byte, []byte) error { n++; return nil })
	if n != 1 {
		t.Errorf("%d feed entries kept, want 1", n)
	}
	if err := r.Follow("late", 1); err == nil {
		t.Error("a reader before the feed's begin was let in")
	}
}

func TestTxn(t *testing.T) {
	s := open(t, "", Options{})
	defer s.Close()
	k, _ := s.Relation(RelationSpec{ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}})
	n, _ := s.Relation(RelationSpec{ID: 2, Shapes: twoCols, Mode: Numbered})
	tx := s.Begin()
	b := batch("+ 2 b", "+ 1 a", "+ 1 z")
	for _, r := range []*Relation{k, n} {
		for i := range 2 {
			if err := tx.Insert(r, b, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tx.Insert(k, b, 2); !errors.Is(err, ErrDuplicate) {
		t.Errorf("duplicate key: %v", err)
	}
	if got := rows(t, k, tx) + "|" + rows(t, n, tx); got != "+1a +2b|+2b +1a" {
		t.Errorf("own writes: %q", got)
	}
	if got := now(t, s, k) + now(t, s, n); got != "" {
		t.Errorf("others see %q before the commit", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := now(t, s, k) + "|" + now(t, s, n); got != "+1a +2b|+2b +1a" {
		t.Errorf("after commit: %q", got)
	}

	// Two transactions that change one row: the second to commit is refused.
	one, two := s.Begin(), s.Begin()
	for _, x := range []*Txn{one, two} {
		old, key, err := x.Find(k, b, 1)
		if err != nil || old == nil {
			t.Fatal(err)
		}
		if err := x.Replace(k, key, old, 0, b, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := two.Commit(); sqlerr.CodeOf(err) != sqlerr.SerializationFailure {
		t.Errorf("second writer: %v", err)
	}
	if got := now(t, s, k); got != "+1z +2b" || k.Version() != 2 {
		t.Errorf("rows %q, version %d", got, k.Version())
	}

	// Rows without key: delete and update by number keep the others in order.
	tx = s.Begin()
	it, _ := n.Rows(tx, nil, nil)
	it.KeepKeys = true
	all, _ := it.Next(10)
	if err := tx.Delete(n, it.Keys[0], all, 0); err != nil {
		t.Fatal(err)
	}
	if err := tx.Replace(n, it.Keys[1], all, 1, b, 2); err != nil {
		t.Fatal(err)
	}
	it.Close()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := now(t, s, n); got != "+1z" {
		t.Errorf("numbered rows %q", got)
	}
}

// Rows that come and go leave nothing behind, whatever the store has compacted in
// between, and take nothing with them.
func TestBagRowsStayAsCounted(t *testing.T) {
	s := open(t, "d", Options{FS: vfs.NewMem(), MinFreeBytes: -1})
	defer s.Close()
	r, err := s.Relation(RelationSpec{ID: 1, Shapes: twoCols, Mode: Bag})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	count := map[string]int{}
	for epoch := uint64(1); epoch <= 400; epoch++ {
		var changes []string
		for range rng.IntN(6) {
			row := fmt.Sprintf("%d %c", rng.IntN(4), 'a'+rng.IntN(3))
			if count[row] > 0 && rng.IntN(2) == 0 {
				count[row]--
				changes = append(changes, "- "+row)
			} else {
				count[row]++
				changes = append(changes, "+ "+row)
			}
		}
		apply(t, s, &Checkpoint{Query: 1, Epoch: epoch}, r, batch(changes...))
		if rng.IntN(3) == 0 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(8) == 0 {
			p := prefix32(spaceRows, 1)
			if err := s.db.Compact(t.Context(), p, After(p), false); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for row, n := range count {
			for range n {
				want = append(want, "+"+strings.ReplaceAll(row, " ", ""))
			}
		}
		slices.Sort(want)
		if got := now(t, s, r); got != strings.Join(want, " ") {
			t.Fatalf("epoch %d: rows %q, counted %q", epoch, got, want)
		}
	}
	stored, present := 0, 0
	if err := s.Scan(prefix32(spaceRows, 1), After(prefix32(spaceRows, 1)), func(_, _ []byte) error {
		stored++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, n := range count {
		present += min(n, 1)
	}
	if stored != present {
		t.Errorf("%d keys stored for %d rows", stored, present)
	}
}

// A row is read long before it is changed, so another transaction may commit
// between the reading and the change as well as between the change and the commit.
func TestTransactionRefusesARowThatChangedSinceItWasRead(t *testing.T) {
	s := open(t, "d", Options{FS: vfs.NewMem(), MinFreeBytes: -1})
	defer s.Close()
	rels := map[string]RelationSpec{
		"keyed":    {ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}},
		"numbered": {ID: 2, Shapes: twoCols, Mode: Numbered},
	}
	changes := map[string]func(x *Txn, r *Relation, key []byte, old, next *arrowbatch.Batch) error{
		"delete": func(x *Txn, r *Relation, key []byte, old, _ *arrowbatch.Batch) error { return x.Delete(r, key, old, 0) },
		"replace": func(x *Txn, r *Relation, key []byte, old, next *arrowbatch.Batch) error {
			return x.Replace(r, key, old, 0, next, 0)
		},
	}
	for rel, spec := range rels {
		for mine, change := range changes {
			for theirs, other := range changes {
				r, err := s.Relation(spec)
				if err != nil {
					t.Fatal(err)
				}
				x := s.Begin()
				if err := x.Insert(r, batch("+ 1 a"), 0); err != nil {
					t.Fatal(err)
				}
				if err := x.Commit(); err != nil {
					t.Fatal(err)
				}
				late, early := s.Begin(), s.Begin()
				old, key := first(t, r, late)
				if err := other(early, r, key, old, batch("+ 1 b")); err != nil {
					t.Fatal(err)
				}
				if err := early.Commit(); err != nil {
					t.Fatal(err)
				}
				was := now(t, s, r)
				if err := change(late, r, key, old, batch("+ 1 c")); sqlerr.CodeOf(err) != sqlerr.SerializationFailure {
					t.Errorf("%s: %s of a row after the %s of another: %v", rel, mine, theirs, err)
				}
				late.Rollback()
				if got := now(t, s, r); got != was {
					t.Errorf("%s: rows %q after %q", rel, got, was)
				}
				if theirs == "replace" {
					x := s.Begin()
					old, key := first(t, r, x)
					if err := x.Delete(r, key, old, 0); err != nil {
						t.Fatal(err)
					}
					if err := x.Commit(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// first returns the first row of the relation as x sees it, and its key.
func first(t *testing.T, r *Relation, x *Txn) (*arrowbatch.Batch, []byte) {
	t.Helper()
	it, err := r.Rows(x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	it.KeepKeys = true
	b, err := it.Next(1)
	if err != nil || b == nil {
		t.Fatal("no row", err)
	}
	return b, bytes.Clone(it.Keys[0])
}

func TestSecondProcessAndNewerFormatAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if _, err := Open(dir, Options{}); sqlerr.CodeOf(err) != sqlerr.ObjectInUse {
		t.Errorf("second opening: %v", err)
	}
	if err := s.db.Set(formatKey, []byte("99"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(dir, Options{}); sqlerr.CodeOf(err) != sqlerr.ObjectNotInState {
		t.Errorf("newer format: %v", err)
	}
}

func TestCommitIsWholeAfterACrashAtAnyPoint(t *testing.T) {
	for kept := range 3 {
		fs := vfs.NewCrashableMem()
		s := open(t, "d", Options{FS: fs, MinFreeBytes: -1})
		r, _ := s.Relation(RelationSpec{ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}})
		for e := uint64(1); e <= 20; e++ {
			apply(t, s, &Checkpoint{Query: 1, Epoch: e}, r, batch(fmt.Sprintf("+ %d x", e)))
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept * 50, RNG: rand.New(rand.NewPCG(1, e))})
			s2 := open(t, "d", Options{FS: clone, MinFreeBytes: -1})
			r2, _ := s2.Relation(RelationSpec{ID: 1, Shapes: twoCols, Mode: Keyed, Key: []int{0}})
			cp, err := s2.Last(1)
			if err != nil || cp == nil || cp.Epoch != e {
				t.Fatalf("epoch %d, %d%% of unsynced data kept: checkpoint %+v, %v", e, kept*50, cp, err)
			}
			if got := len(strings.Fields(now(t, s2, r2))); got != int(e) || r2.Version() != e {
				t.Fatalf("epoch %d: %d rows, version %d", e, got, r2.Version())
			}
			s2.Close()
		}
		s.Close()
	}
}

func TestFullDiskIsRefusedBeforeWriting(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	defer s.Close()
	s.opts.MinFreeBytes = 1 << 60
	d := s.NewDelta()
	d.Put([]byte{spaceMeta, 'x'}, []byte("y"))
	if err := s.Commit(&Checkpoint{Query: 1, Epoch: 1}, d); sqlerr.CodeOf(err) != sqlerr.DiskFull {
		t.Errorf("commit on a full disk: %v", err)
	}
	if cp, err := s.Last(1); cp != nil || err != nil {
		t.Errorf("checkpoint %+v, %v after a refused commit", cp, err)
	}
	if err := s.CommitObjects(map[uint32][]byte{1: []byte("x")}, nil); sqlerr.CodeOf(err) != sqlerr.DiskFull {
		t.Errorf("a new object on a full disk: %v", err)
	}
	// What makes room is taken.
	if err := errors.Join(s.CommitObjects(nil, []uint32{1}), s.DropQuery(1), s.DropRelation(1)); err != nil {
		t.Errorf("drops on a full disk: %v", err)
	}
}

// An error that was taken back is gone for good after a restart; another row's
// stays.
func TestHealedErrorsAreDropped(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, "d", Options{FS: fs, MinFreeBytes: -1})
	epoch := uint64(0)
	fail := func(query uint32, id string, n int64) {
		epoch++
		d := s.NewDelta()
		d.Fail(query, "22012", "division by zero", []byte(id), n)
		if err := s.Commit(&Checkpoint{Query: query, Epoch: epoch}, d); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []uint32{1, 2, 7} {
		for _, id := range []string{"a", "b", "c"} {
			fail(query, id, 1)
			fail(query, id, -1)
		}
	}
	fail(2, "b", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, "d", Options{FS: fs, MinFreeBytes: -1})
	defer s.Close()
	for query, want := range map[uint32]int{1: 0, 2: 1, 7: 0} {
		kept := 0
		snap := s.Snapshot()
		lo := errorPrefix(query)
		if err := s.Scan(lo, After(lo), func(_, _ []byte) error { kept++; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.LiveError(snap, query); kept != want || (err != nil) != (want > 0) {
			t.Errorf("query %d: %d errors kept, not %d; live: %v", query, kept, want, err)
		}
		if err := snap.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

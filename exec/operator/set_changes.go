package operator

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// SetChanges is INTERSECT or EXCEPT of two inputs whose rows come and go. It counts
// each row on both sides; a row leaves, and is taken back, as the counts ask for it.
// NULLs are equal.
//
// Rows that are equal may look different (1.0 and 1.00): the result shows the one
// that the first input had first, or the second where the first has had none.
type SetChanges struct {
	Except, All bool
	Shapes      []arrowbatch.Shape
	// Budget is how many bytes of rows may be held in memory; nil: any number. It is asked
	// at barriers.
	Budget func() int

	rt  *exec.Runtime
	out exec.Output

	groups  *state.Groups
	counts  [2][]int64 // by row: how often it is in each input
	given   []int64    // by row: how often it is in the output
	images  [][]byte   // by row: how it looks, where the key code does not tell
	exact   bool
	changed []int32
	marked  []bool // by row: in changed
	save    []int32
	saving  []bool // by row: in save
	live    int    // rows that an input has
	held    int    // bytes of images
	tier    *tier  // nil: rows stay in memory
	ages    ages
	away    bool // the store has rows that are not here
	saved   state.KeyList
	ids     []int32
	buf     []byte
}

// Open restores the counts.
func (s *SetChanges) Open(rt *exec.Runtime, out exec.Output) error {
	s.rt, s.out, s.exact = rt, out, true
	s.groups = state.NewGroups(s.Shapes)
	for _, sh := range s.Shapes {
		s.exact = s.exact && sh.ExactKey()
	}
	if rt.Store == nil {
		return nil
	}
	s.tier = newTier(rt, s.Budget)
	return s.restore()
}

// ProcessBatch counts rows.
func (s *SetChanges) ProcessBatch(input int, b *arrowbatch.Batch) error {
	defer b.Release()
	if err := s.replay(); err != nil {
		return err
	}
	s.ids = resizeIDs(s.ids, b.Len)
	from := s.groups.Len()
	s.groups.Lookup(b.Cols, nil, s.ids)
	s.grow()
	if s.away {
		if err := s.tier.fetchNew(s.rt.Table.Prefix(), s.groups, from, s.restoreRow); err != nil {
			return err
		}
	}
	for i, id := range s.ids {
		was := s.there(id)
		n := &s.counts[input][id]
		*n += 1 - 2*int64(b.OpAt(i))
		s.live += s.there(id) - was
		if !s.exact && b.OpAt(i) == arrowbatch.Insert && (s.images[id] == nil || input == 0 && *n == 1 && s.given[id] == 0) {
			s.held -= cap(s.images[id])
			s.images[id] = arrowbatch.AppendRow(s.images[id][:0], b.Cols, i)
			s.held += cap(s.images[id])
		}
		if !s.marked[id] {
			s.marked[id] = true
			s.changed = append(s.changed, id)
		}
		if !s.saving[id] {
			s.saving[id] = true
			s.save = append(s.save, id)
		}
	}
	if s.rt.Eager {
		return s.flush()
	}
	return nil
}

// there is 1 for a row that an input has.
func (s *SetChanges) there(id int32) int {
	if s.counts[0][id] != 0 || s.counts[1][id] != 0 {
		return 1
	}
	return 0
}

func (s *SetChanges) grow() {
	for len(s.given) < s.groups.Len() {
		s.counts[0], s.counts[1] = append(s.counts[0], 0), append(s.counts[1], 0)
		s.given, s.marked, s.saving = append(s.given, 0), append(s.marked, false), append(s.saving, false)
		if !s.exact {
			s.images = append(s.images, nil)
		}
	}
}

// copies is how often a row is in the result.
func (s *SetChanges) copies(id int32) int64 {
	l, r := max(s.counts[0][id], 0), max(s.counts[1][id], 0)
	switch {
	case s.Except && s.All:
		return max(l-r, 0)
	case s.All:
		return min(l, r)
	case l > 0 && (r > 0) != s.Except:
		return 1
	}
	return 0
}

// flush sends what has changed: deletes, then inserts.
func (s *SetChanges) flush() error {
	var dels, adds []int32
	for _, id := range s.changed {
		s.marked[id] = false
		n := s.copies(id)
		for range s.given[id] - n {
			dels = append(dels, id)
		}
		for range n - s.given[id] {
			adds = append(adds, id)
		}
		s.given[id] = n
	}
	s.changed = s.changed[:0]
	ids := append(dels, adds...)
	if len(ids) == 0 {
		return nil
	}
	out := arrowbatch.NewLike(s.Shapes)
	if err := s.rows(out, ids); err != nil {
		out.Release()
		return err
	}
	out.Len = len(ids)
	if len(dels) > 0 {
		out.Ops = make([]arrowbatch.Op, len(ids))
		for i := range dels {
			out.Ops[i] = arrowbatch.Delete
		}
	}
	return s.out.Emit(out)
}

func (s *SetChanges) rows(out *arrowbatch.Batch, ids []int32) error {
	if s.exact {
		return s.groups.AppendColumns(out.Cols, ids)
	}
	for _, id := range ids {
		if _, err := arrowbatch.DecodeRow(s.images[id], out.Cols); err != nil {
			return errState
		}
	}
	return nil
}

// ProcessWatermark passes the watermark on behind the changes before it.
func (s *SetChanges) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if err := s.replay(); err != nil {
		return w, err
	}
	return w, s.flush()
}

// ProcessBarrier sends what has changed and saves it.
func (s *SetChanges) ProcessBarrier(exec.Barrier) error {
	if err := s.replay(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	if d := s.rt.Delta(); d != nil {
		s.saveRows(d)
	}
	for _, id := range s.save {
		s.saving[id] = false
	}
	s.save = s.save[:0]
	s.tier.sealed()
	err := s.reclaim()
	s.rt.Stats.State(s.live, s.bytes())
	return err
}

func (s *SetChanges) saveRows(d *state.Delta) {
	s.saved.Begin(s.rt.Table.Prefix())
	for _, id := range s.save {
		s.ages.use(s.tier, id)
		s.saved.Add(s.groups, id)
	}
	s.saved.Sort()
	for k := range s.saved.Len() {
		id := s.saved.ID(k)
		if s.there(id) == 0 {
			d.Delete(s.saved.Key(k))
			continue
		}
		s.buf = binary.AppendVarint(s.buf[:0], s.counts[0][id])
		s.buf = binary.AppendVarint(s.buf, s.counts[1][id])
		if !s.exact {
			s.buf = append(s.buf, s.images[id]...)
		}
		d.Put(s.saved.Key(k), s.buf)
	}
}

func (s *SetChanges) bytes() int {
	return s.groups.Bytes() + 26*cap(s.given) + 4*(cap(s.save)+cap(s.changed)+cap(s.ages)) + s.held + 24*cap(s.images)
}

// reclaim rebuilds the table when no input has most of its rows any more, or when it
// takes more than its budget and rows can leave. A row that is gone stays as long as the
// store may have it.
func (s *SetChanges) reclaim() error {
	if s.tier.over(s.bytes()) {
		s.ages.fill(s.groups.Len())
		if from, ok := s.tier.cut(s.bytes(), s.ages); ok {
			s.away = true
			return s.rebuild(func(id int32) bool { return s.ages.of(id) >= from })
		}
	}
	if s.groups.Len() < 4096 || s.live > s.groups.Len()/2 {
		return nil
	}
	return s.rebuild(func(id int32) bool { return s.there(id) != 0 || s.away && s.tier.holds(s.ages.of(id)) })
}

// empty makes the table one without rows.
func (s *SetChanges) empty() {
	s.groups, s.given, s.images = state.NewGroups(s.Shapes), nil, nil
	s.counts, s.marked, s.saving = [2][]int64{}, nil, nil
	s.ages, s.live, s.held = nil, 0, 0
}

// rebuild makes a table of the rows that stay. Nothing is to be saved then.
func (s *SetChanges) rebuild(stays func(id int32) bool) error {
	var keep []int32
	for id := range int32(s.groups.Len()) {
		if stays(id) {
			keep = append(keep, id)
		}
	}
	old := *s //nolint:govet // the tables are read only
	s.empty()
	var key []byte
	for _, id := range keep {
		key = old.groups.AppendKey(key[:0], id)
		n, _, err := s.groups.AddKey(key)
		if err != nil {
			return errState
		}
		s.grow()
		s.counts[0][n], s.counts[1][n], s.given[n] = old.counts[0][id], old.counts[1][id], old.given[id]
		s.live += s.there(n)
		if !s.exact {
			s.images[n] = old.images[id]
			s.held += cap(s.images[n])
		}
	}
	s.ages = old.ages.renumbered(keep)
	return nil
}

// restore reads the rows that this task owns, if they fit into memory.
func (s *SetChanges) restore() error {
	lo, n := s.rt.Table.Prefix(), 0
	err := s.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 1 {
			return errState
		}
		if !s.rt.Owns(k[0]) {
			return nil
		}
		if n++; n%restoreStep == 1 && s.tier.over(s.bytes()) {
			return errTooLarge
		}
		id, _, err := s.groups.AddKey(k[1:])
		if err != nil {
			return errState
		}
		s.grow()
		return s.restoreRow(id, v)
	})
	if errors.Is(err, errTooLarge) {
		s.empty()
		s.away = true
		return nil
	}
	return err
}

// restoreRow gives a row what the store has of it.
func (s *SetChanges) restoreRow(id int32, v []byte) error {
	l, n := binary.Varint(v)
	if n <= 0 {
		return errState
	}
	r, m := binary.Varint(v[n:])
	if m <= 0 {
		return errState
	}
	s.counts[0][id], s.counts[1][id] = l, r
	if !s.exact {
		s.images[id] = bytes.Clone(v[n+m:])
		s.held += len(s.images[id])
	}
	s.live += s.there(id)
	s.given[id] = s.copies(id)
	return nil
}

// Close has nothing to free.
func (s *SetChanges) Close() {}

package operator

import (
	"encoding/binary"

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
	return s.restore()
}

// ProcessBatch counts rows.
func (s *SetChanges) ProcessBatch(input int, b *arrowbatch.Batch) error {
	defer b.Release()
	s.ids = resizeIDs(s.ids, b.Len)
	s.groups.Lookup(b.Cols, nil, s.ids)
	s.grow()
	for i, id := range s.ids {
		was := s.there(id)
		n := &s.counts[input][id]
		*n += 1 - 2*int64(b.OpAt(i))
		s.live += s.there(id) - was
		if !s.exact && b.OpAt(i) == arrowbatch.Insert && (s.images[id] == nil || input == 0 && *n == 1 && s.given[id] == 0) {
			s.images[id] = arrowbatch.AppendRow(s.images[id][:0], b.Cols, i)
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
	return w, s.flush()
}

// ProcessBarrier sends what has changed and saves it.
func (s *SetChanges) ProcessBarrier(exec.Barrier) error {
	if err := s.flush(); err != nil {
		return err
	}
	if d := s.rt.Delta(); d != nil {
		prefix := s.rt.Table.Prefix()
		var key []byte
		for _, id := range s.save {
			key = appendGroupKey(append(key[:0], prefix...), s.groups, id)
			if s.there(id) == 0 {
				d.Delete(key)
				continue
			}
			s.buf = binary.AppendVarint(s.buf[:0], s.counts[0][id])
			s.buf = binary.AppendVarint(s.buf, s.counts[1][id])
			if !s.exact {
				s.buf = append(s.buf, s.images[id]...)
			}
			d.Put(key, s.buf)
		}
	}
	for _, id := range s.save {
		s.saving[id] = false
	}
	s.save = s.save[:0]
	s.rt.Stats.State(s.live, s.groups.Bytes()+26*len(s.given))
	return s.reclaim()
}

// reclaim rebuilds the table when no input has most of its rows any more.
func (s *SetChanges) reclaim() error {
	if s.groups.Len() < 4096 || s.live > s.groups.Len()/2 {
		return nil
	}
	old := *s
	s.groups, s.given, s.images = state.NewGroups(s.Shapes), nil, nil
	s.counts, s.marked, s.saving = [2][]int64{}, nil, nil
	var key []byte
	for id := range int32(old.groups.Len()) {
		if old.there(id) == 0 {
			continue
		}
		key = old.groups.AppendKey(key[:0], id)
		n, _, err := s.groups.AddKey(key)
		if err != nil {
			return errState
		}
		s.grow()
		s.counts[0][n], s.counts[1][n], s.given[n] = old.counts[0][id], old.counts[1][id], old.given[id]
		if !s.exact {
			s.images[n] = old.images[id]
		}
	}
	return nil
}

func (s *SetChanges) restore() error {
	lo := s.rt.Table.Prefix()
	return s.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 1 {
			return errState
		}
		if !s.rt.Owns(k[0]) {
			return nil
		}
		id, _, err := s.groups.AddKey(k[1:])
		l, n := binary.Varint(v)
		if err != nil || n <= 0 {
			return errState
		}
		r, m := binary.Varint(v[n:])
		if m <= 0 {
			return errState
		}
		s.grow()
		s.counts[0][id], s.counts[1][id] = l, r
		if !s.exact {
			s.images[id] = append([]byte(nil), v[n+m:]...)
		}
		s.live++
		s.given[id] = s.copies(id)
		return nil
	})
}

// Close has nothing to free.
func (s *SetChanges) Close() {}

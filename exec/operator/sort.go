package operator

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// SortKey is one column to order by.
type SortKey struct {
	Col              int
	Desc, NullsFirst bool
	// Compare orders values, neither NULL, whose key code does not; nil: it does.
	Compare func(a *arrowbatch.Vec, i int, b *arrowbatch.Vec, j int) int
}

// Sort orders all rows of a finite input. With Keep above 0 only the first Keep
// rows are wanted (with Ties also those equal to the last one), and no more than
// a multiple of that is held. Equal rows keep their order.
type Sort struct {
	base
	Keys   []SortKey
	Keep   int64
	Ties   bool
	Shapes []arrowbatch.Shape

	held []*arrowbatch.Batch
	n    int64 // rows held
	kept int64 // rows that the last cut left
	rows *arrowbatch.Batch
}

// ProcessBatch collects rows.
func (s *Sort) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	s.held = append(s.held, b)
	s.n += int64(b.Len)
	if s.Keep > 0 && s.n > 2*max(min(s.Keep, 1<<40), s.kept)+chunkRows {
		return s.cut()
	}
	return nil
}

// appendSortKey appends the key of a row: bytes.Compare of two keys orders them.
func appendSortKey(dst []byte, v *arrowbatch.Vec, i int, k SortKey) []byte {
	null := byte(2)
	if k.NullsFirst {
		null = 0
	}
	if v.IsNull(i) {
		return append(dst, null)
	}
	dst = append(dst, 1)
	if k.Desc {
		return v.AppendKeyDesc(dst, i)
	}
	return v.AppendKey(dst, i)
}

// sortRows are the keys of a batch's rows.
type sortRows struct {
	b     *arrowbatch.Batch
	keys  []SortKey
	arena []byte
	off   []int
}

func newSortRows(b *arrowbatch.Batch, keys []SortKey) *sortRows {
	r := &sortRows{b: b, keys: keys}
	for _, k := range keys {
		if k.Compare != nil {
			return r
		}
	}
	r.off = make([]int, b.Len+1)
	for i := range b.Len {
		for _, k := range keys {
			r.arena = appendSortKey(r.arena, b.Cols[k.Col], i, k)
		}
		r.off[i+1] = len(r.arena)
	}
	return r
}

func (r *sortRows) key(i int32) []byte { return r.arena[r.off[i]:r.off[i+1]] }

// compare orders two rows.
func (r *sortRows) compare(i, j int32) int {
	if r.off != nil {
		return bytes.Compare(r.key(i), r.key(j))
	}
	for _, k := range r.keys {
		if c := k.order(r.b.Cols[k.Col], int(i), int(j)); c != 0 {
			return c
		}
	}
	return 0
}

// order compares two rows of a column.
func (k *SortKey) order(v *arrowbatch.Vec, i, j int) int {
	if v.IsNull(i) || v.IsNull(j) {
		c := cmp.Compare(nullRank(v, i), nullRank(v, j))
		if k.NullsFirst {
			return -c
		}
		return c
	}
	if k.Compare == nil {
		return bytes.Compare(appendSortKey(nil, v, i, *k), appendSortKey(nil, v, j, *k))
	}
	c := k.Compare(v, i, v, j)
	if k.Desc {
		return -c
	}
	return c
}

func nullRank(v *arrowbatch.Vec, i int) int {
	if v.IsNull(i) {
		return 1
	}
	return 0
}

// sorted returns the rows' positions in order.
func (r *sortRows) sorted() []int32 {
	type entry struct {
		head uint64 // the key's first bytes
		i    int32
	}
	es := make([]entry, r.b.Len)
	for i := range es {
		es[i].i = int32(i)
		if r.off == nil {
			continue
		}
		k := r.key(int32(i))
		if len(k) >= 8 {
			es[i].head = binary.BigEndian.Uint64(k)
			continue
		}
		var head [8]byte
		copy(head[:], k)
		es[i].head = binary.BigEndian.Uint64(head[:])
	}
	slices.SortFunc(es, func(x, y entry) int {
		if x.head != y.head {
			return cmp.Compare(x.head, y.head)
		}
		if c := r.compare(x.i, y.i); c != 0 {
			return c
		}
		return cmp.Compare(x.i, y.i)
	})
	idx := make([]int32, len(es))
	for i, e := range es {
		idx[i] = e.i
	}
	return idx
}

// gatherRows puts all rows that are held into one batch.
func (s *Sort) gatherRows() {
	if s.rows != nil {
		s.held = append([]*arrowbatch.Batch{s.rows}, s.held...)
		s.rows = nil
	}
	if len(s.held) > 0 {
		s.rows = arrowbatch.Concat(s.held)
		s.held = nil
	}
}

// wanted returns the positions of the rows that are wanted, in order.
func (s *Sort) wanted() []int32 {
	r := newSortRows(s.rows, s.Keys)
	idx := r.sorted()
	if s.Keep <= 0 || int64(len(idx)) <= s.Keep {
		return idx
	}
	end := int(s.Keep)
	for s.Ties && end < len(idx) && r.compare(idx[end-1], idx[end]) == 0 {
		end++
	}
	return idx[:end]
}

func (s *Sort) cut() error {
	if err := s.rt.Ctx.Err(); err != nil {
		return err
	}
	s.gatherRows()
	idx := s.wanted()
	all := s.rows
	s.rows = all.Take(idx)
	all.Release()
	s.kept = int64(s.rows.Len) // where all tie, nothing was cut
	s.n = s.kept
	return nil
}

// ProcessBarrier emits all in order.
func (s *Sort) ProcessBarrier(exec.Barrier) error {
	s.gatherRows()
	if s.rows == nil {
		return nil
	}
	return emitRows(s.rt, s.out, s.rows, s.wanted())
}

// emitRows emits rows of b in batches of bounded size.
func emitRows(rt *exec.Runtime, out exec.Output, b *arrowbatch.Batch, idx []int32) error {
	for len(idx) > 0 {
		if err := rt.Ctx.Err(); err != nil {
			return err
		}
		n := min(len(idx), chunkRows)
		if err := out.Emit(b.Take(idx[:n])); err != nil {
			return err
		}
		idx = idx[n:]
	}
	return nil
}

// Close frees the rows.
func (s *Sort) Close() {
	s.rows.Release()
	for _, b := range s.held {
		b.Release()
	}
	s.rows, s.held = nil, nil
}

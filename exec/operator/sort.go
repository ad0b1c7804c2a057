package operator

import (
	"bytes"
	"sort"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// SortKey is one column to order by.
type SortKey struct {
	Col              int
	Desc, NullsFirst bool
}

// Sort orders all rows of a finite input. With Keep above 0 only the first Keep
// rows are wanted, and no more than a multiple of that is held. Equal rows keep
// their order.
type Sort struct {
	base
	Keys   []SortKey
	Keep   int64
	Shapes []arrowbatch.Shape

	rows *arrowbatch.Batch
}

// sortChunk is how many rows an output batch has at most.
const sortChunk = 8192

// ProcessBatch collects rows.
func (s *Sort) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	if s.rows == nil {
		s.rows = arrowbatch.NewLike(s.Shapes)
	}
	s.rows = arrowbatch.Concat([]*arrowbatch.Batch{s.rows, b})
	if s.Keep > 0 && int64(s.rows.Len) > 2*s.Keep+sortChunk {
		s.cut()
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

// order returns the rows' positions in order.
func order(b *arrowbatch.Batch, keys []SortKey) []int32 {
	var arena []byte
	off := make([]int, b.Len+1)
	for i := range b.Len {
		for _, k := range keys {
			arena = appendSortKey(arena, b.Cols[k.Col], i, k)
		}
		off[i+1] = len(arena)
	}
	idx := make([]int32, b.Len)
	for i := range idx {
		idx[i] = int32(i)
	}
	sort.SliceStable(idx, func(x, y int) bool {
		a, b := idx[x], idx[y]
		return bytes.Compare(arena[off[a]:off[a+1]], arena[off[b]:off[b+1]]) < 0
	})
	return idx
}

func (s *Sort) cut() {
	idx := order(s.rows, s.Keys)
	if int64(len(idx)) > s.Keep {
		idx = idx[:s.Keep]
	}
	all := s.rows
	s.rows = all.Take(idx)
	all.Release()
}

// ProcessBarrier emits all in order.
func (s *Sort) ProcessBarrier(exec.Barrier) error {
	if s.rows == nil {
		return nil
	}
	idx := order(s.rows, s.Keys)
	if s.Keep > 0 && int64(len(idx)) > s.Keep {
		idx = idx[:s.Keep]
	}
	for len(idx) > 0 {
		n := min(len(idx), sortChunk)
		if err := s.out.Emit(s.rows.Take(idx[:n])); err != nil {
			return err
		}
		idx = idx[n:]
	}
	return nil
}

// Close frees the rows.
func (s *Sort) Close() { s.rows.Release() }

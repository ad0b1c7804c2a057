package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
)

// SessionWindow gives each row of a finite input its session's bounds as the columns
// window_start and window_end. Rows without a time or with a gap that is not above
// zero are dropped and counted.
type SessionWindow struct {
	base
	TimeCol     int
	Gap         expr.Expr
	PartitionBy []int
	Shapes      []arrowbatch.Shape

	rows *arrowbatch.Batch
	gaps []int64
}

// ProcessBatch collects rows.
func (s *SessionWindow) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	if s.rows == nil {
		s.rows = arrowbatch.NewLike(s.Shapes)
	}
	gap := s.Gap.Eval(s.rt.Eval, b, nil)
	defer gap.Release()
	if s.rt.Eval.Failed() {
		if err := s.rt.Fail(s.rt, b, s.rt.Eval.TakeErrors()); err != nil {
			return err
		}
	}
	t, null := b.Cols[s.TimeCol], 0
	for i := range b.Len {
		g := gapMicros(gap, i)
		if t.IsNull(i) || g <= 0 || !spans(t.I64[i], g) {
			null++
			continue
		}
		s.rows.Append(b, i)
		s.gaps = append(s.gaps, g)
	}
	if null > 0 {
		s.rt.Stats.NullTime(null)
	}
	return nil
}

// ProcessBarrier goes through each partition's rows by time and gives them windows.
func (s *SessionWindow) ProcessBarrier(exec.Barrier) error {
	if s.rows == nil || s.rows.Len == 0 {
		return nil
	}
	keys := make([]SortKey, 0, len(s.PartitionBy)+1)
	for _, c := range s.PartitionBy {
		keys = append(keys, SortKey{Col: c})
	}
	idx := newSortRows(s.rows, append(keys, SortKey{Col: s.TimeCol})).sorted()
	t := s.rows.Cols[s.TimeCol].I64
	start, end := arrowbatch.NewFlat(arrowbatch.Int64, len(idx)), arrowbatch.NewFlat(arrowbatch.Int64, len(idx))
	var key, last []byte
	first := 0 // where the present session begins
	of := make([]int, len(idx))
	for k, i := range idx {
		key = key[:0]
		for _, c := range s.PartitionBy {
			key = s.rows.Cols[c].AppendKey(key, int(i))
		}
		if k == 0 || !bytes.Equal(key, last) || t[i] > end.I64[first] {
			first = k
			start.I64[k], end.I64[k] = t[i], t[i]+s.gaps[i]
			last = append(last[:0], key...)
		}
		of[k] = first
		end.I64[first] = max(end.I64[first], t[i]+s.gaps[i])
	}
	for k, f := range of {
		start.I64[k], end.I64[k] = start.I64[f], end.I64[f]
	}
	out := s.rows.Take(idx)
	out.Cols = append(out.Cols, start, end)
	return s.out.Emit(out)
}

// Close frees the rows.
func (s *SessionWindow) Close() { s.rows.Release() }

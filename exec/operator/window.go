package operator

import "github.com/streamsql/streamsql/arrowbatch"

// Window gives each row once per window that it belongs to, with the columns
// window_start and window_end at the end. Rows without a time are dropped and
// counted.
type Window struct {
	base
	Windowing
	rows []int32
}

// ProcessBatch assigns windows.
func (w *Window) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	v := b.Cols[w.TimeCol]
	start, end := arrowbatch.NewFlat(arrowbatch.Int64, 0), arrowbatch.NewFlat(arrowbatch.Int64, 0)
	w.rows = w.rows[:0]
	null := 0
	for i, t := range v.I64[:b.Len] {
		if v.IsNull(i) || !w.holds(t) {
			null++
			continue
		}
		w.each(t, func(s, e int64) {
			w.rows = append(w.rows, int32(i))
			start.I64, end.I64 = append(start.I64, s), append(end.I64, e)
		})
	}
	start.N, end.N = len(w.rows), len(w.rows)
	if null > 0 {
		w.rt.Stats.NullTime(null)
	}
	out := b.Take(w.rows)
	out.Cols = append(out.Cols, start, end)
	return w.out.Emit(out)
}

package operator

import "github.com/streamsql/streamsql/arrowbatch"

// Expand gives each row once per grouping set, with those of Cols that are not
// in the set NULL and the set's number, an integer, at the end.
type Expand struct {
	base
	Cols []int
	Sets [][]int
}

// ProcessBatch emits one batch per set.
func (e *Expand) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	none := make([]int32, b.Len)
	for i := range none {
		none[i] = -1
	}
	for k, set := range e.Sets {
		if err := e.rt.Ctx.Err(); err != nil {
			return err
		}
		in := map[int]bool{}
		for _, c := range set {
			in[c] = true
		}
		out := b.Share()
		for _, c := range e.Cols {
			if !in[c] {
				v := b.Cols[c].Take(none)
				out.Cols[c].Release()
				out.Cols[c] = v
			}
		}
		num := arrowbatch.NewFlat(arrowbatch.Int32, b.Len)
		for i := range num.I32 {
			num.I32[i] = int32(k)
		}
		out.Cols = append(out.Cols, num)
		if err := e.out.Emit(out); err != nil {
			return err
		}
	}
	return nil
}

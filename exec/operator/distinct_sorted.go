package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
)

// DistinctSorted passes the first row of each run of equal Keys: DISTINCT ON of
// a finite input that is sorted so that equal keys are neighbours.
type DistinctSorted struct {
	base
	Keys []int

	last, key []byte
	begun     bool
}

// ProcessBatch passes first rows.
func (d *DistinctSorted) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	var keep []int32
	for i := range b.Len {
		d.key = d.key[:0]
		for _, k := range d.Keys {
			d.key = b.Cols[k].AppendKey(d.key, i)
		}
		if d.begun && bytes.Equal(d.key, d.last) {
			continue
		}
		d.begun = true
		d.key, d.last = d.last, d.key
		keep = append(keep, int32(i))
	}
	if len(keep) == 0 {
		return nil
	}
	return d.out.Emit(b.Take(keep))
}

package operator

import "github.com/streamsql/streamsql/arrowbatch"

// Union passes the rows of all its inputs.
type Union struct{ base }

// ProcessBatch passes the rows on.
func (u *Union) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	b.Split = 0
	return u.out.Emit(b)
}

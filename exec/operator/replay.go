package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// KeptRows are the rows of a leaf that is read many times in one statement.
type KeptRows struct {
	batches []*arrowbatch.Batch
	bytes   int
	full    bool              // batches are all rows
	tooMany bool              // they are not worth their memory
	index   map[int]*rowIndex // by column
}

// maxKept bounds what is kept of one leaf, in bytes.
const maxKept = 16 << 20

// Replay reads its leaf once and gives the same rows again from then on. It is for
// the leaves of subqueries and recursive queries, which run over and over.
type Replay struct {
	Leaf exec.Leaf
	Kept *KeptRows
}

// Run emits the rows.
func (r *Replay) Run(rt *exec.Runtime, out exec.Output) error {
	k := r.Kept
	switch {
	case k.tooMany:
		return r.Leaf.Run(rt, out)
	case k.full:
		for _, b := range k.batches {
			if err := rt.Ctx.Err(); err != nil {
				return err
			}
			if err := out.Emit(b.Share()); err != nil {
				return err
			}
		}
		return nil
	}
	k.drop() // of a run that did not come to its end
	if err := r.Leaf.Run(rt, keeping{k, out}); err != nil {
		return err
	}
	k.full = !k.tooMany
	return nil
}

func (k *KeptRows) drop() {
	for _, b := range k.batches {
		b.Release()
	}
	k.batches, k.bytes = nil, 0
}

// keeping passes batches on and keeps them.
type keeping struct {
	k   *KeptRows
	out exec.Output
}

func (o keeping) Emit(b *arrowbatch.Batch) error {
	if !o.k.tooMany {
		if o.k.bytes += b.Bytes(); o.k.bytes > maxKept {
			o.k.tooMany = true
			o.k.drop()
		} else {
			o.k.batches = append(o.k.batches, b.Share())
		}
	}
	return o.out.Emit(b)
}

package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// StandingLimit passes Limit rows after the first Offset ones of an unbounded input
// without deletes: of all that ever came, for the number of rows is part of the
// checkpoint. What comes then is dropped; the input goes on.
type StandingLimit struct {
	base
	Offset int64
	Limit  int64 // math.MaxInt64 for none

	seen  int64 // rows that came, as far as it matters
	saved int64
}

// Open restores the number of rows.
func (l *StandingLimit) Open(rt *exec.Runtime, out exec.Output) error {
	if err := l.base.Open(rt, out); err != nil || rt.Store == nil {
		return err
	}
	lo := rt.Table.Prefix()
	return rt.Store.Scan(lo, append(rt.Table.Prefix(), 0), func(_, v []byte) error {
		n, k := binary.Varint(v)
		if k <= 0 {
			return errState
		}
		l.seen, l.saved = n, n
		return nil
	})
}

// ProcessBatch passes what is wanted of a batch.
func (l *StandingLimit) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	n := int64(b.Len)
	lo := min(n, max(0, l.Offset-l.seen))
	left := l.Limit
	if l.seen > l.Offset {
		left -= min(left, l.seen-l.Offset)
	}
	hi := lo + min(left, n-lo)
	if l.Limit < noLimit || l.seen < l.Offset {
		l.seen += hi
	}
	if lo == 0 && hi == n {
		return l.out.Emit(b)
	}
	defer b.Release()
	if lo == hi {
		return nil
	}
	return l.out.Emit(b.Slice(int(lo), int(hi)))
}

// noLimit is Limit where there is none.
const noLimit = 1<<63 - 1

// ProcessBarrier saves the number of rows.
func (l *StandingLimit) ProcessBarrier(exec.Barrier) error {
	if d := l.rt.Delta(); d != nil && l.seen != l.saved {
		d.Put(l.rt.Table.Prefix(), binary.AppendVarint(nil, l.seen))
		l.saved = l.seen
	}
	l.rt.Stats.State(1, 8)
	return nil
}

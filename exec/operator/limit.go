package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Limit passes Limit rows after the first Offset ones and then stops its input.
// With ties, rows that are equal to the last one in Ties pass too.
type Limit struct {
	base
	// Limit and Offset are computed once; nil: none.
	Limit, Offset expr.Expr
	Ties          []SortKey

	skip, left int64 // left < 0: no limit
	last       []byte
	tying      bool
}

// Open computes the numbers.
func (l *Limit) Open(rt *exec.Runtime, out exec.Output) error {
	if err := l.base.Open(rt, out); err != nil {
		return err
	}
	var err error
	l.left = -1
	if l.Limit != nil {
		if l.left, err = l.count(l.Limit, -1, sqlerr.InvalidLimitValue, "LIMIT must not be negative"); err != nil {
			return err
		}
	}
	if l.Offset != nil {
		l.skip, err = l.count(l.Offset, 0, sqlerr.InvalidOffsetValue, "OFFSET must not be negative")
	}
	return err
}

// count evaluates a row count; null is what NULL stands for.
func (l *Limit) count(e expr.Expr, null int64, code sqlerr.Code, msg string) (int64, error) {
	v, err := expr.EvalConst(l.rt.Eval, e)
	if err != nil {
		return 0, err
	}
	defer v.Release()
	if v.IsNull(0) {
		return null, nil
	}
	if v.I64[0] < 0 {
		return 0, sqlerr.New(code, "%s", msg)
	}
	return v.I64[0], nil
}

// Stops marks the operator as one that ends its input.
func (l *Limit) Stops() {}

// ProcessBatch passes what is wanted of a batch.
func (l *Limit) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	if l.left == 0 && !l.tying {
		b.Release()
		return exec.ErrStop
	}
	if l.skip == 0 && (l.left < 0 || int64(b.Len) < l.left) {
		l.left = max(l.left-int64(b.Len), -1)
		return l.out.Emit(b)
	}
	defer b.Release()
	lo := int(min(l.skip, int64(b.Len)))
	l.skip -= int64(lo)
	hi := b.Len
	if l.left >= 0 {
		hi = int(min(int64(lo)+l.left, int64(b.Len)))
		l.left -= int64(hi - lo)
	}
	if l.left == 0 && len(l.Ties) > 0 {
		hi = l.ties(b, lo, hi)
	}
	if hi > lo {
		if err := l.out.Emit(b.Slice(lo, hi)); err != nil {
			return err
		}
	}
	if l.left == 0 && !l.tying {
		return exec.ErrStop
	}
	return nil
}

// ties moves hi behind the rows that are equal to the last one.
func (l *Limit) ties(b *arrowbatch.Batch, lo, hi int) int {
	key := func(i int) []byte {
		var k []byte
		for _, t := range l.Ties {
			k = appendSortKey(k, b.Cols[t.Col], i, t)
		}
		return k
	}
	if hi > lo && !l.tying {
		l.last, l.tying = key(hi-1), true
	}
	for l.tying && hi < b.Len {
		if !bytes.Equal(key(hi), l.last) {
			l.tying = false
			break
		}
		hi++
	}
	return hi
}

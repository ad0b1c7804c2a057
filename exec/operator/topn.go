package operator

import (
	"errors"
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
)

// TopN is Limit of Sort: it holds little more than the rows that are wanted.
type TopN struct {
	Keys          []SortKey
	Limit, Offset expr.Expr
	WithTies      bool
	Shapes        []arrowbatch.Shape

	sort  Sort
	limit Limit
}

// Open computes the numbers.
func (t *TopN) Open(rt *exec.Runtime, out exec.Output) error {
	t.limit = Limit{Limit: t.Limit, Offset: t.Offset}
	if t.WithTies {
		t.limit.Ties = t.Keys
	}
	if err := t.limit.Open(rt, out); err != nil {
		return err
	}
	t.sort = Sort{Keys: t.Keys, Shapes: t.Shapes, Ties: t.WithTies}
	if n := t.limit.left; n > 0 && t.limit.skip < math.MaxInt64-n {
		t.sort.Keep = n + t.limit.skip
	}
	return t.sort.Open(rt, limited{&t.limit})
}

// limited hands the sorted rows to the limit.
type limited struct{ l *Limit }

func (l limited) Emit(b *arrowbatch.Batch) error { return l.l.ProcessBatch(0, b) }

// Stops marks the operator as one that ends its input.
func (t *TopN) Stops() {}

// ProcessBatch takes rows into the sort.
func (t *TopN) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	if t.limit.left == 0 {
		b.Release()
		return exec.ErrStop
	}
	return t.sort.ProcessBatch(0, b)
}

// ProcessWatermark passes the watermark on.
func (t *TopN) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) { return w, nil }

// ProcessBarrier emits the first rows.
func (t *TopN) ProcessBarrier(bar exec.Barrier) error {
	if err := t.sort.ProcessBarrier(bar); !errors.Is(err, exec.ErrStop) {
		return err
	}
	return nil
}

// Close frees the rows.
func (t *TopN) Close() {
	t.sort.Close()
	t.limit.Close()
}

package stream

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
)

// rowErrors is every operator's Fail in a continuous query. A row that failed
// leaves the result: a sink stops at it, unless told to skip; a view notes it as a
// live error until the row is deleted or corrected.
func (q *Query) rowErrors(rt *exec.Runtime, b *arrowbatch.Batch, errs []expr.RowError) error {
	rt.Stats.Failed(len(errs))
	o, _ := q.options()
	sink := o.Kind == catalog.KindSink || o.Kind == catalog.KindFlow
	for _, e := range errs {
		op := b.OpAt(int(e.Row))
		row := arrowbatch.AppendRow(nil, b.Cols, int(e.Row))
		failed := exec.FailedRow{Operator: rt.Stats.Name, Micros: clock.Micros(rt.Clock), Code: string(e.Err.Code),
			Message: e.Err.Message, Delete: op == arrowbatch.Delete, Row: rowJSON(rt.Row, b, int(e.Row))}
		switch {
		case !sink:
			n := int64(1)
			if op == arrowbatch.Delete {
				n = -1
			}
			id := binary.BigEndian.AppendUint64([]byte{byte(rt.Table.Operator >> 8), byte(rt.Table.Operator)}, xxh3.Hash(row))
			rt.Delta().Fail(uint32(q.id), string(e.Err.Code), e.Err.Message, id, n)
		case o.Options["on_row_error"] != "skip" && op == arrowbatch.Insert:
			q.m.stopping.put(FailedRow{Query: uint32(o.ID), Name: o.Name.Name, FailedRow: failed}) // no epoch takes it
			err := *e.Err
			return err.WithDetail("%s could not compute a row: %s.", rt.Stats.Name, failed.Row).
				WithHint("Correct the query, or set on_row_error = 'skip'.").AsPermanent()
		}
		rt.KeepFailed(failed, keptRows)
	}
	return nil
}

// rowText shows one row as text without names.
func rowText(b *arrowbatch.Batch, i int) string {
	one := b.Take([]int32{int32(i)})
	defer one.Release()
	return strings.TrimSpace(strings.TrimLeft(arrowbatch.Pretty(one), "+- "))
}

// StoppingRows returns the last rows that stopped a sink.
func (m *Manager) StoppingRows() []FailedRow { return m.stopping.all() }

// ring keeps the last rows of a kind.
type ring[T any] struct {
	mu   sync.Mutex
	rows []T
}

func (r *ring[T]) put(x T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) == keptRows {
		copy(r.rows, r.rows[1:])
		r.rows = r.rows[:keptRows-1]
	}
	r.rows = append(r.rows, x)
}

func (r *ring[T]) all() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]T(nil), r.rows...)
}

// FailedRow is a row of a query whose expression failed.
type FailedRow struct {
	Query uint32
	Name  string
	exec.FailedRow
}

package stream

import (
	"sync"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
)

// rowErrors is every operator's Fail in a continuous query: rows that failed are
// counted and leave the result.
func (q *Query) rowErrors(rt *exec.Runtime, b *arrowbatch.Batch, errs []expr.RowError) error {
	rt.Stats.Failed(len(errs))
	st := q.Status()
	for _, e := range errs {
		q.m.failed.put(FailedRow{Query: st.ID, Name: st.Name, Operator: rt.Stats.Name, Micros: clock.Micros(rt.Clock),
			Code: string(e.Err.Code), Message: e.Err.Message, Delete: b.OpAt(int(e.Row)) == arrowbatch.Delete})
	}
	return nil
}

// badRows returns where the readers of a query's source put records that could
// not be decoded.
func (m *Manager) badRows(q *Query) func(object string) connector.BadRows {
	return func(object string) connector.BadRows { return &badRows{q, object} }
}

type badRows struct {
	q      *Query
	source string
}

func (b *badRows) Add(r connector.BadRow) {
	st := b.q.Status()
	b.q.m.bad.put(BadRow{BadRow: r, Query: st.ID, Name: st.Name, Source: b.source})
}

// BadRows returns the last records that could not be decoded.
func (m *Manager) BadRows() []BadRow { return m.bad.all() }

// FailedRows returns the last rows whose expressions failed.
func (m *Manager) FailedRows() []FailedRow { return m.failed.all() }

// keptRows is how many bad and failed rows each are kept for inspection.
const keptRows = 1000

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

// BadRow is a record that could not be decoded.
type BadRow struct {
	connector.BadRow
	Query  uint32
	Name   string
	Source string
}

// FailedRow is a row whose expression failed.
type FailedRow struct {
	Query    uint32
	Name     string
	Operator string
	Micros   int64
	Code     string
	Message  string
	Delete   bool
	// Row is the row as text.
	Row string
}

package stream

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/format"
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
		text := rowJSON(rt, b, e.Row)
		q.m.failed.put(FailedRow{Query: uint32(o.ID), Name: o.Name.Name, Operator: rt.Stats.Name,
			Micros: clock.Micros(rt.Clock), Code: string(e.Err.Code), Message: e.Err.Message,
			Delete: op == arrowbatch.Delete, Row: text})
		switch {
		case !sink:
			n := int64(1)
			if op == arrowbatch.Delete {
				n = -1
			}
			id := binary.BigEndian.AppendUint64([]byte{byte(rt.Table.Operator >> 8), byte(rt.Table.Operator)}, xxh3.Hash(row))
			rt.Delta().Fail(uint32(q.id), string(e.Err.Code), e.Err.Message, id, n)
		case o.Options["on_row_error"] != "skip" && op == arrowbatch.Insert:
			err := *e.Err
			return err.WithDetail("%s could not compute a row: %s.", rt.Stats.Name, text).
				WithHint("Correct the query, or set on_row_error = 'skip'.").AsPermanent()
		}
	}
	return nil
}

// rowJSON shows one row of an operator's input; without names for the columns, as
// plain text.
func rowJSON(rt *exec.Runtime, b *arrowbatch.Batch, i int32) string {
	if len(rt.Row) == len(b.Cols) {
		cols := make([]format.Column, len(rt.Row))
		for k, f := range rt.Row {
			cols[k] = format.Column{Name: f.Name, Type: f.Type}
		}
		return string(format.AppendJSONRow(nil, cols, b.Cols, int(i), nil))
	}
	one := b.Take([]int32{i})
	defer one.Release()
	return strings.TrimSpace(strings.TrimLeft(arrowbatch.Pretty(one), "+- "))
}

// lateRows is every operator's Late in a continuous query: the rows are kept for
// inspection, as far as there is room.
func (q *Query) lateRows(rt *exec.Runtime, b *arrowbatch.Batch, rows []int32, time int, w arrowbatch.EventTime) {
	if len(rows) > keptRows {
		rows = rows[len(rows)-keptRows:]
	}
	o, _ := q.options()
	for _, i := range rows {
		q.m.late.put(LateRow{Query: uint32(o.ID), Name: o.Name.Name, Operator: rt.Stats.Name, Micros: clock.Micros(rt.Clock),
			EventTime: b.Cols[time].I64[i], Watermark: w, Row: rowJSON(rt, b, i)})
	}
}

// LateRow is a row that was dropped as late.
type LateRow struct {
	Query                uint32
	Name                 string
	Operator             string
	Micros               int64
	EventTime, Watermark arrowbatch.EventTime
	// Row is the row as JSON.
	Row string
}

// LateRows returns the last rows that were dropped as late.
func (m *Manager) LateRows() []LateRow { return m.late.all() }

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

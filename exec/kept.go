package exec

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
)

// KeepAll, as a number of rows to keep, keeps all.
const KeepAll = -1

// LateRows are rows of one batch that an operator dropped as late.
type LateRows struct {
	// Operator and Name are the operator's number in the plan and its kind.
	Operator int
	Name     string
	// Fields describe the columns of Rows; they may be missing. Time is the column
	// that was tested.
	Fields []types.Field
	Rows   *arrowbatch.Batch
	Time   int
	// Watermark is the one that the rows met, Micros when they did.
	Watermark arrowbatch.EventTime
	Micros    int64
}

// FailedRow is a row whose expression failed, as it is stored.
type FailedRow struct {
	Operator string `json:"name"`
	Micros   int64  `json:"at"`
	Code     string `json:"code"`
	Message  string `json:"error"`
	// Delete: the row is the taking back of one.
	Delete bool `json:"delete,omitempty"`
	// Row is the row as JSON.
	Row string `json:"row"`
}

// BadRows has the records that a source's readers could not decode, until they are
// taken.
type BadRows interface {
	// Take returns those of a split since the last call.
	Take(split string) []connector.BadRow
}

// DropLate counts the rows of b that are late under the watermark w, and keeps them
// as far as KeepLate says; time is the column that was tested.
func (rt *Runtime) DropLate(b *arrowbatch.Batch, rows []int32, time int, w arrowbatch.EventTime) {
	if len(rows) == 0 {
		return
	}
	rt.Stats.Late(len(rows))
	if rt.KeepLate == 0 || rt.ack == nil {
		return
	}
	if rt.KeepLate > 0 && len(rows) > rt.KeepLate {
		rows = rows[len(rows)-rt.KeepLate:]
	}
	rt.ack.addLate(rt.KeepLate, LateRows{Operator: rt.Stats.ID, Name: rt.Stats.Name, Fields: rt.Row,
		Rows: b.Take(rows), Time: time, Watermark: w, Micros: clock.Micros(rt.Clock)})
}

// addLate keeps rows; where only the last keep are wanted, batches that are older
// go.
func (a *Ack) addLate(keep int, l LateRows) {
	a.Late = append(a.Late, l)
	a.lateRows += l.Rows.Len
	for keep > 0 && a.lateRows-a.Late[0].Rows.Len >= keep {
		a.lateRows -= a.Late[0].Rows.Len
		a.Late[0].Rows.Release()
		a.Late = a.Late[1:]
	}
}

// KeepFailed keeps a row that failed, of an epoch the last keep ones.
func (rt *Runtime) KeepFailed(r FailedRow, keep int) {
	if rt.ack != nil {
		rt.ack.Failed = last(append(rt.ack.Failed, r), keep)
	}
}

// last drops all but the last keep rows now and then.
func last[T any](rows []T, keep int) []T {
	if len(rows) <= 2*keep {
		return rows
	}
	return append(rows[:0:0], rows[len(rows)-keep:]...)
}

// keptBadBytes bounds the bytes of the bad records of one epoch that are kept, where not
// all are wanted: the newest are.
const keptBadBytes = 64 << 20

// addBad counts and keeps records that could not be decoded.
func (a *Ack) addBad(rows []connector.BadRow, keep int) {
	a.BadRows += int64(len(rows))
	for i := range rows {
		a.Lost += rows[i].Lost
	}
	if keep == 0 {
		return
	}
	a.Bad = append(a.Bad, rows...)
	if keep == KeepAll {
		return
	}
	for i := range a.Bad[len(a.Bad)-len(rows):] {
		r := &a.Bad[len(a.Bad)-len(rows)+i]
		r.Key, r.Headers = nil, nil
		if len(r.Bytes) > connector.KeptBytes {
			r.Bytes = append([]byte(nil), r.Bytes[:connector.KeptBytes]...)
		}
		a.badBytes += len(r.Bytes)
	}
	if len(a.Bad) <= 2*keep && a.badBytes <= 2*keptBadBytes {
		return
	}
	first := len(a.Bad)
	for a.badBytes = 0; first > max(len(a.Bad)-keep, 0); first-- {
		n := len(a.Bad[first-1].Bytes)
		if a.badBytes+n > keptBadBytes {
			break
		}
		a.badBytes += n
	}
	a.Bad = append(a.Bad[:0:0], a.Bad[first:]...)
}

// addCounts adds an operator's counters to those of the operator's other phase.
func (a *Ack) addCounts(s *OpStats) {
	c, have := s.Counts(), a.Counts[s.Key()]
	for i, n := range have {
		c[i] += n
	}
	a.Counts[s.Key()] = c
}

package connector

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// The columns of a batch of dead letters, by place.
const (
	LetterKey     = iota // bytea; NULL: the record has none
	LetterValue          // bytea; NULL: the record has none
	LetterHeaders        // array of struct (name text, value bytea), the record's own
	LetterTime           // timestamptz, the record's own; NULL: it has none
	LetterSplit          // text
	LetterOffset         // text
	LetterCode           // text, the SQLSTATE
	LetterReason         // text
	LetterMet            // timestamptz, when it was met
)

// DeadLetterColumns are the columns of the rows that a sink of dead letters is given:
// the bytes of records that could not be decoded, and what is known of them.
func DeadLetterColumns() []Column {
	header := types.StructOf(types.Field{Name: "name", Type: types.TText}, types.Field{Name: "value", Type: types.TBytea})
	return []Column{{Name: "key", Type: types.TBytea}, {Name: "value", Type: types.TBytea},
		{Name: "headers", Type: types.ArrayOf(header)}, {Name: "timestamp", Type: types.TTimestamptz},
		{Name: "split", Type: types.TText}, {Name: "offset", Type: types.TText}, {Name: "sqlstate", Type: types.TText},
		{Name: "error", Type: types.TText}, {Name: "at", Type: types.TTimestamptz}}
}

// Header is a header of a record.
type Header struct {
	Name, Value []byte // a nil value is none
}

// DeadLetters makes a batch of dead letters.
func DeadLetters(rows []BadRow) *arrowbatch.Batch {
	cols := DeadLetterColumns()
	b := &arrowbatch.Batch{Len: len(rows), Cols: make([]*arrowbatch.Vec, len(cols))}
	for i, c := range cols {
		b.Cols[i] = arrowbatch.NewVec(c.Type.Shape(), 0)
	}
	for i := range rows {
		r := &rows[i]
		bytesOrNull(b.Cols[LetterKey], r.Key)
		bytesOrNull(b.Cols[LetterValue], r.Bytes)
		elem := b.Cols[LetterHeaders].Kids[0]
		for _, h := range r.Headers {
			elem.Kids[0].AppendBytes(h.Name)
			bytesOrNull(elem.Kids[1], h.Value)
			elem.EndStruct()
		}
		b.Cols[LetterHeaders].EndList()
		if r.Time == arrowbatch.NoTime {
			b.Cols[LetterTime].AppendNull()
		} else {
			b.Cols[LetterTime].AppendInt64(r.Time)
		}
		b.Cols[LetterSplit].AppendString(r.Split)
		b.Cols[LetterOffset].AppendString(string(r.Offset))
		b.Cols[LetterCode].AppendString(r.Code)
		b.Cols[LetterReason].AppendString(r.Reason)
		b.Cols[LetterMet].AppendInt64(r.Micros)
	}
	return b
}

func bytesOrNull(v *arrowbatch.Vec, x []byte) {
	if x == nil {
		v.AppendNull()
	} else {
		v.AppendBytes(x)
	}
}

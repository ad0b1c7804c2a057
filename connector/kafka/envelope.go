package kafka

import (
	"bytes"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// The formats of a sink.
const (
	formatPlain    = "plain"    // inserts: a record for each row
	formatUpsert   = "upsert"   // the newest row of each key; a tombstone deletes it
	formatDebezium = "debezium" // {"before":…,"after":…,"op":"c|u|d"}
)

// envelope turns rows into records.
type envelope struct {
	format  string
	keyCols []int // nil: records have no key
	key     *format.Encoder
	value   *format.Encoder
	keyVecs []*arrowbatch.Vec
	beside  *mapping
	// valCols are the columns of the value, valVecs their vectors; ops, with
	// op_column, is the last of them: what each row of the batch does.
	valCols []int
	valVecs []*arrowbatch.Vec
	ops     *arrowbatch.Vec

	// Scratch for a record and for the key of the row behind it.
	rec         outRecord
	k, v, ahead []byte
}

// newEnvelope checks the spec's format and key.
func newEnvelope(s *connector.Spec, c *sinkConfig) (*envelope, error) {
	e := &envelope{format: c.format.Envelope}
	if e.format != formatPlain && c.format.Encode != format.JSON &&
		(e.format != formatUpsert || c.format.Registry == nil) {
		return nil, sqlerr.Unsupported("FORMAT %s is not written with ENCODE %s", strings.ToUpper(e.format),
			strings.ToUpper(c.format.Encode))
	}
	if e.format == formatPlain && !s.AppendOnly && c.opColumn == "" {
		return nil, sqlerr.Unsupported(`sink "%s" has rows that are changed and deleted, which FORMAT PLAIN cannot say`,
			s.Name).WithHint("Use FORMAT UPSERT or FORMAT DEBEZIUM, or op_column, or output_mode = 'append'.")
	}
	if e.format != formatPlain && c.opColumn != "" {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, `option "op_column" is for FORMAT PLAIN only`)
	}
	if err := e.readKey(s, c.key); err != nil {
		return nil, err
	}
	var keyCols []format.Column
	for _, k := range e.keyCols {
		keyCols = append(keyCols, format.Column{Name: s.Columns[k].Name, Type: s.Columns[k].Type})
	}
	if err := e.readValue(s, c); err != nil {
		return nil, err
	}
	var err error
	e.key, err = format.NewEncoder(keyCols, format.JSON, format.Options{})
	return e, err
}

// readValue divides the columns among the value and what is beside it.
func (e *envelope) readValue(s *connector.Spec, c *sinkConfig) (err error) {
	if e.beside, err = newMapping(s, c); err != nil {
		return err
	}
	if p := e.beside.partition; p >= 0 && e.format != formatPlain && !s.AppendOnly && !slices.Contains(e.keyCols, p) {
		return sqlerr.New(sqlerr.InvalidTableDefinition,
			`column "%s" named in option "partition" is not part of the key, so that a row could change its partition`,
			s.Columns[p].Name).WithHint(`Add it to option "key".`)
	}
	var cols []connector.Column
	for i, col := range s.Columns {
		if !e.beside.beside(i) {
			e.valCols, cols = append(e.valCols, i), append(cols, col)
		}
	}
	if c.opColumn != "" {
		for _, col := range cols {
			if col.Name == c.opColumn {
				return sqlerr.New(sqlerr.DuplicateColumn, `option "op_column" names column "%s", which exists`, col.Name)
			}
		}
		cols = append(cols, connector.Column{Name: c.opColumn, Type: types.TText})
		e.ops = arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	}
	if len(cols) == 0 {
		return sqlerr.New(sqlerr.InvalidTableDefinition, `no column of sink "%s" is left for the record's value`, s.Name)
	}
	e.value, err = c.format.Encoder(cols)
	return err
}

// begin readies the vectors of a batch.
func (e *envelope) begin(b *arrowbatch.Batch) {
	e.keyVecs, e.valVecs = e.keyVecs[:0], e.valVecs[:0]
	for _, k := range e.keyCols {
		e.keyVecs = append(e.keyVecs, b.Cols[k])
	}
	for _, k := range e.valCols {
		e.valVecs = append(e.valVecs, b.Cols[k])
	}
	if e.ops == nil {
		return
	}
	e.ops.Resize(0)
	for i := range b.Len {
		if b.OpAt(i) == arrowbatch.Insert {
			e.ops.AppendString("insert")
		} else {
			e.ops.AppendString("delete")
		}
	}
	e.valVecs = append(e.valVecs, e.ops)
}

func (e *envelope) close() {
	if e.ops != nil {
		e.ops.Release()
		e.ops = nil
	}
}

// readKey finds the key's columns: those named, else the stream key where the
// format needs one.
func (e *envelope) readKey(s *connector.Spec, names []string) error {
	for _, n := range names {
		i, err := namedColumn(s, "key", n)
		if err != nil {
			return err
		}
		e.keyCols = append(e.keyCols, i)
	}
	if e.keyCols == nil && e.format != formatPlain {
		e.keyCols = slices.Clone(s.Key)
	}
	if e.keyCols == nil && e.format == formatUpsert {
		return sqlerr.New(sqlerr.InvalidTableDefinition, `sink "%s" with FORMAT UPSERT needs a key`, s.Name).
			WithHint(`Name its columns in option "key".`)
	}
	if s.AppendOnly || e.format == formatPlain {
		return nil
	}
	// A key that several rows share at one time would let a deleted row take the
	// others with it.
	for _, k := range s.Key {
		if !slices.Contains(e.keyCols, k) {
			return sqlerr.New(sqlerr.InvalidTableDefinition,
				`the key of sink "%s" lacks column "%s", so that several rows would share a key`, s.Name, s.Columns[k].Name)
		}
	}
	return nil
}

// rows calls put for every record of rows lo to hi-1 of b, for which begin was called,
// and returns the next row, which is hi+1 where row hi was the second half of a change.
// The record is valid until put returns.
func (e *envelope) rows(b *arrowbatch.Batch, lo, hi int, put func(*outRecord) error) (next int, err error) {
	r := &e.rec
	for i := lo; i < hi; i++ {
		r.key = e.keyOf(&e.k, i)
		insert := b.OpAt(i) == arrowbatch.Insert
		// A row that is deleted and at once inserted again with its key is changed.
		change := !insert && r.key != nil && e.ops == nil && i+1 < b.Len && b.OpAt(i+1) == arrowbatch.Insert &&
			bytes.Equal(r.key, e.keyOf(&e.ahead, i+1))
		switch {
		case e.format == formatDebezium:
			if change {
				e.v = e.change(e.v[:0], i, i+1, 'u')
				i++
			} else if insert {
				e.v = e.change(e.v[:0], -1, i, 'c')
			} else {
				e.v = e.change(e.v[:0], i, -1, 'd')
			}
			r.value = e.v
		case insert || e.ops != nil:
			e.v = e.value.AppendRow(e.v[:0], e.valVecs, i)
			if err := e.value.Err(); err != nil {
				return i, err
			}
			r.value = e.v
		case e.format == formatPlain:
			return i, sqlerr.Internal("kafka: a row is deleted from a sink that takes inserts only")
		case change:
			continue
		default:
			r.value = nil
		}
		if err := e.beside.fill(r, b, i); err != nil {
			return i, err
		}
		if err := put(r); err != nil {
			return i, err
		}
		next = i + 1
	}
	return max(next, hi), nil
}

// keyOf encodes the key of row i into *buf; nil without key columns.
func (e *envelope) keyOf(buf *[]byte, i int) []byte {
	if e.keyCols == nil {
		return nil
	}
	*buf = e.key.AppendRow((*buf)[:0], e.keyVecs, i)
	return *buf
}

// change appends Debezium's envelope of a change; a row -1 is null.
func (e *envelope) change(dst []byte, before, after int, op byte) []byte {
	dst = append(dst, `{"before":`...)
	dst = e.rowOrNull(dst, before)
	dst = append(dst, `,"after":`...)
	dst = e.rowOrNull(dst, after)
	return append(dst, `,"op":"`+string(rune(op))+`"}`...)
}

func (e *envelope) rowOrNull(dst []byte, i int) []byte {
	if i < 0 {
		return append(dst, "null"...)
	}
	return e.value.AppendRow(dst, e.valVecs, i)
}

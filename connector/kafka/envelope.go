package kafka

import (
	"bytes"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
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

	// Scratch for a record and for the key of the row behind it.
	k, v, ahead []byte
}

// newEnvelope checks the spec's format and key.
func newEnvelope(s *connector.Spec, c *sinkConfig) (*envelope, error) {
	e := &envelope{format: c.format.Envelope}
	if e.format != formatPlain && c.format.Encode != format.JSON {
		return nil, sqlerr.Unsupported("FORMAT %s is written with ENCODE JSON only", strings.ToUpper(e.format))
	}
	if e.format == formatPlain && !s.AppendOnly {
		return nil, sqlerr.Unsupported(`sink "%s" has rows that are changed and deleted, which FORMAT PLAIN cannot say`,
			s.Name).WithHint("Use FORMAT UPSERT or FORMAT DEBEZIUM, or output_mode = 'append'.")
	}
	if err := e.readKey(s, c.key); err != nil {
		return nil, err
	}
	var keyCols []format.Column
	for _, k := range e.keyCols {
		keyCols = append(keyCols, format.Column{Name: s.Columns[k].Name, Type: s.Columns[k].Type})
	}
	var err error
	if e.value, err = c.format.Encoder(s.Columns); err != nil {
		return nil, err
	}
	e.key, err = format.NewEncoder(keyCols, format.JSON, format.Options{})
	return e, err
}

// readKey finds the key's columns: those named, else the stream key where the
// format needs one.
func (e *envelope) readKey(s *connector.Spec, names []string) error {
	for _, n := range names {
		i := slices.IndexFunc(s.Columns, func(c connector.Column) bool { return c.Name == n })
		if i < 0 {
			all := make([]string, len(s.Columns))
			for k, c := range s.Columns {
				all[k] = c.Name
			}
			return sqlerr.New(sqlerr.UndefinedColumn, `column "%s" named in option "key" does not exist`, n).
				WithHint("%s", sqlerr.Suggest(n, all))
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
	if s.AppendOnly {
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

// rows calls put for every record of rows lo to hi-1 of b and returns the next
// row, which is hi+1 where row hi was the second half of a change. key and value
// are valid until put returns.
func (e *envelope) rows(b *arrowbatch.Batch, lo, hi int, put func(key, value []byte)) (next int, err error) {
	e.keyVecs = e.keyVecs[:0]
	for _, k := range e.keyCols {
		e.keyVecs = append(e.keyVecs, b.Cols[k])
	}
	i := lo
	for ; i < hi; i++ {
		key := e.keyOf(&e.k, i)
		insert := b.OpAt(i) == arrowbatch.Insert
		// A row that is deleted and at once inserted again with its key is changed.
		change := !insert && key != nil && i+1 < b.Len && b.OpAt(i+1) == arrowbatch.Insert &&
			bytes.Equal(key, e.keyOf(&e.ahead, i+1))
		switch {
		case e.format == formatDebezium:
			if change {
				e.v = e.change(e.v[:0], b, i, i+1, 'u')
				i++
			} else if insert {
				e.v = e.change(e.v[:0], b, -1, i, 'c')
			} else {
				e.v = e.change(e.v[:0], b, i, -1, 'd')
			}
			put(key, e.v)
		case insert:
			e.v = e.value.AppendRow(e.v[:0], b.Cols, i)
			put(key, e.v)
		case e.format == formatPlain:
			return i, sqlerr.Internal("kafka: a row is deleted from a sink that takes inserts only")
		case !change:
			put(key, nil)
		}
	}
	return i, nil
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
func (e *envelope) change(dst []byte, b *arrowbatch.Batch, before, after int, op byte) []byte {
	dst = append(dst, `{"before":`...)
	dst = e.rowOrNull(dst, b, before)
	dst = append(dst, `,"after":`...)
	dst = e.rowOrNull(dst, b, after)
	return append(dst, `,"op":"`+string(rune(op))+`"}`...)
}

func (e *envelope) rowOrNull(dst []byte, b *arrowbatch.Batch, i int) []byte {
	if i < 0 {
		return append(dst, "null"...)
	}
	return e.value.AppendRow(dst, b.Cols, i)
}

package kafka

import (
	"encoding/hex"
	"unicode/utf8"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// The kinds of metadata columns.
const (
	metaKey       = "key"       // text or bytea; NULL for a record without key
	metaPartition = "partition" // integer or bigint
	metaOffset    = "offset"    // bigint
	metaTime      = "timestamp" // timestamp or timestamptz
	metaHeaders   = "headers"   // jsonb, or array of struct (name text, value bytea or text)
)

// metaColumn is a metadata column that is read.
type metaColumn struct {
	kind    string
	col     int
	t       types.Type
	name    string
	notNull bool
}

// readMeta checks the types of the metadata columns and returns those that are
// read.
func readMeta(cols []connector.Column) ([]metaColumn, error) {
	var out []metaColumn
	for i, c := range cols {
		if c.Meta == "" {
			continue
		}
		want, ok := "", false
		switch c.Meta {
		case metaKey:
			want, ok = "text or bytea", c.Type.IsString() || c.Type.ID == types.Bytea
		case metaPartition:
			want, ok = "integer", c.Type.ID == types.Int4 || c.Type.ID == types.Int8
		case metaOffset:
			want, ok = "bigint", c.Type.ID == types.Int8
		case metaTime:
			want, ok = "timestamp with time zone", c.Type.IsTimestamp()
		case metaHeaders:
			want, ok = "jsonb", c.Type.ID == types.JSONB || headerArray(c.Type)
		default:
			return nil, sqlerr.New(sqlerr.InvalidColumnDef, `connector "kafka" has no metadata "%s"`, c.Meta).
				WithHint("Known are key, partition, offset, timestamp and headers.")
		}
		if !ok {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch,
				`column "%s" holds the record's %s and must be of type %s, not %s`, c.Name, c.Meta, want, c.Type)
		}
		if !c.Unused || c.NotNull {
			out = append(out, metaColumn{kind: c.Meta, col: i, t: c.Type, name: c.Name, notNull: c.NotNull})
		}
	}
	return out, nil
}

// headerArray tells whether t is an array of struct (name text, value bytea).
func headerArray(t types.Type) bool {
	if t.ID != types.Array || t.Elem.ID != types.Struct || len(t.Elem.Fields) != 2 {
		return false
	}
	name, value := t.Elem.Fields[0].Type, t.Elem.Fields[1].Type
	return name.ID == types.Text && (value.ID == types.Bytea || value.ID == types.Text)
}

// metaWriter adds the metadata of records to a decoder's columns.
type metaWriter struct {
	cols    []metaColumn
	headers []header
	text    []byte
	json    []byte
}

// check finds what makes the record a bad row; it must pass before the record's
// value is decoded.
func (w *metaWriter) check(rec *record) *sqlerr.Error {
	for i := range w.cols {
		c := &w.cols[i]
		switch c.kind {
		case metaKey:
			if rec.key == nil && c.notNull {
				return sqlerr.New(sqlerr.NotNullViolation,
					`null value in column "%s" violates not-null constraint`, c.name)
			}
			if c.t.IsString() && !utf8.Valid(rec.key) {
				return sqlerr.New(sqlerr.CharacterNotInRepertoire,
					`invalid byte sequence for encoding "UTF8" in the record's key`)
			}
		case metaHeaders:
			var ok bool
			if w.headers, ok = appendHeaders(w.headers[:0], rec); !ok {
				return sqlerr.New(sqlerr.DataCorrupted, "the record's headers are malformed")
			}
			if err := w.checkHeaders(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *metaWriter) checkHeaders(c *metaColumn) *sqlerr.Error {
	if c.t.ID == types.JSONB {
		w.json = w.headerJSON(w.json[:0])
		var err error
		if w.text, err = types.AppendJSONB(w.text[:0], string(w.json)); err != nil {
			return sqlerr.From(err)
		}
		return nil
	}
	for _, h := range w.headers {
		if !utf8.Valid(h.name) || c.t.Elem.Fields[1].Type.ID == types.Text && !utf8.Valid(h.value) {
			return sqlerr.New(sqlerr.CharacterNotInRepertoire,
				`invalid byte sequence for encoding "UTF8" in the record's headers`)
		}
	}
	return nil
}

// headerJSON prints the headers as an object; of several with one name the last
// counts. A value that is no UTF-8 text is printed as bytea is.
func (w *metaWriter) headerJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, h := range w.headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(format.AppendJSONString(dst, textOf(h.name)), ':')
		if h.value == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst = format.AppendJSONString(dst, textOf(h.value))
	}
	return append(dst, '}')
}

func textOf(b []byte) []byte {
	for _, c := range b {
		if c == 0 { // jsonb has no such character
			return hex.AppendEncode([]byte(`\x`), b)
		}
	}
	if utf8.Valid(b) {
		return b
	}
	return hex.AppendEncode([]byte(`\x`), b)
}

// add appends a row to every metadata column; check must have passed.
func (w *metaWriter) add(d *format.Decoder, rec *record, partition int32, offset, ms int64) {
	for i := range w.cols {
		c := &w.cols[i]
		v := d.Col(c.col)
		switch c.kind {
		case metaKey:
			if rec.key == nil {
				v.AppendNull()
			} else {
				v.AppendBytes(rec.key)
			}
		case metaPartition:
			if c.t.ID == types.Int4 {
				v.AppendInt32(partition)
			} else {
				v.AppendInt64(int64(partition))
			}
		case metaOffset:
			v.AppendInt64(offset)
		case metaTime:
			if ms < 0 {
				v.AppendNull()
			} else {
				v.AppendInt64(ms * 1000)
			}
		case metaHeaders:
			w.addHeaders(c, v)
		}
	}
}

func (w *metaWriter) addHeaders(c *metaColumn, v *arrowbatch.Vec) {
	if c.t.ID == types.JSONB {
		v.AppendBytes(w.text)
		return
	}
	elem := v.Kids[0]
	for _, h := range w.headers {
		elem.Kids[0].AppendBytes(h.name)
		if h.value == nil {
			elem.Kids[1].AppendNull()
		} else {
			elem.Kids[1].AppendBytes(h.value)
		}
		elem.EndStruct()
	}
	v.EndList()
}

package format

import (
	"bytes"
	"fmt"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Column is a column that a decoder fills.
type Column struct {
	Name string
	Type types.Type
	// Meta columns are not part of the record: whoever calls Append adds a row to
	// Col of them, or leaves them NULL.
	Meta string
	// Unused columns are skipped in the input and delivered as NULLs.
	Unused bool
	// NotNull: a record with a NULL here is refused.
	NotNull bool
}

// The encodings.
const (
	JSON  = "json"
	CSV   = "csv"
	Text  = "text"  // one line (or message), one text column
	Bytes = "bytes" // one message, one bytea or text column
	Avro  = "avro"  // Avro's binary encoding, messages only
	Proto = "protobuf"
)

// Encodings are all names that New takes.
var Encodings = []string{JSON, CSV, Text, Bytes, Avro, Proto}

// Options say how bytes are read or written.
type Options struct {
	// TimestampFormat is the unit of JSON numbers in timestamp columns: "epoch_s",
	// "epoch_ms" or "epoch_us". With "" such a number is refused.
	TimestampFormat string
	CSV             CSVOptions
	// Parquet says how files of it are written.
	Parquet ParquetOptions
	// Schema is that of all records of a binary encoding; nil: each record names
	// its own, which the caller of Append gives to AddSchema.
	Schema *Schema
	// SchemaName is the name of the record in the schema that an Encoder makes, or
	// that of the message in Schema, the first if "".
	SchemaName string
	// Env holds the settings that text input and output depend on; nil: defaults.
	Env *types.Env
	// Changes says what records do to rows; Key is what identifies a row.
	Changes Changes
	Key     KeyOptions

	// wrapped: JSON may stand within {"schema": …, "payload": …}; events: values are as
	// Debezium writes them where no schema says more; alone: a record may be the value of
	// the one column by itself.
	wrapped, events, alone bool
}

// CSVOptions are the dialect of CSV. The zero value is not usable: begin with
// DefaultCSV.
type CSVOptions struct {
	Delimiter, Quote, Escape byte
	// Null is what an unquoted field must be to mean NULL.
	Null string
	// Header: the first line names the columns; without it fields stand for the
	// columns in their order.
	Header bool
}

// DefaultCSV is RFC 4180 with a header; an empty unquoted field is NULL.
var DefaultCSV = CSVOptions{Delimiter: ',', Quote: '"', Escape: '"', Header: true}

// RecordError tells why a record was refused.
type RecordError struct {
	// Start and End are the record's bytes in the buffer given to Decode or Append.
	Start, End int
	// Before is where the record before it ends; between the two are separators.
	Before int
	// Column is the column at fault, "" where the record itself is malformed.
	Column string
	Err    *sqlerr.Error

	inKey bool // the fault is in the record's key
}

// Error returns the reason, with the column.
func (e *RecordError) Error() string {
	s := e.Err.Error()
	if e.Err.Detail != "" {
		s += " (" + e.Err.Detail + ")"
	}
	if e.Column != "" {
		s = fmt.Sprintf(`column "%s": %s`, e.Column, s)
	}
	if e.inKey {
		s = "the record's key: " + s
	}
	return s
}

// Unwrap returns the error with its SQLSTATE.
func (e *RecordError) Unwrap() error { return e.Err }

// codec is the part of a decoder that knows one encoding.
type codec interface {
	// begin reads what stands before a file's records; see Decoder.Begin.
	begin(head []byte, final, resume bool) (int, error)
	// end tells whether a file may end where it was read to.
	end() error
	// next decodes the record at the front of b into row d.n, if it is one.
	// end is what was read; 0 without bad: b does not hold a whole record.
	next(b []byte, final bool) (end int, row bool, bad *RecordError)
	// record decodes all of b as one record.
	record(b []byte) *RecordError
}

// Decoder fills columns with records. It is used by one goroutine.
type Decoder struct {
	rows
	codec codec
	// keyed and events are there where records are changes; see Changes.
	keyed  *keyed
	events *events
}

// New returns a decoder of the encoding enc; the error is 0A000 or 42804 for
// columns that the encoding cannot fill.
func New(cols []Column, enc string, o Options) (*Decoder, error) {
	switch o.Changes {
	case Upserts:
		return newUpserts(cols, enc, o)
	case Events:
		return newEvents(cols, enc, o)
	}
	d := &Decoder{}
	d.init(cols)
	var err error
	switch enc {
	case JSON:
		d.codec, err = newJSON(&d.rows, o)
	case CSV:
		d.codec, err = newCSV(&d.rows, o)
	case Text, Bytes:
		d.codec, err = newText(&d.rows, enc == Text, o)
	case Avro:
		d.codec, err = newAvro(&d.rows, o)
	case Proto:
		d.codec, err = newProto(&d.rows, o)
	default:
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, `encoding "%s" is not known`, enc).
			WithHint("%s", sqlerr.Suggest(enc, Encodings))
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Begin tells the decoder that a file begins with head (all of it if final)
// and returns how many bytes stand before the first record: a byte order mark, a
// header line, the bracket of a JSON array. -1: head is too short to tell. With
// resume, reading goes on behind some record of the file, not at the first. A
// file whose header does not fit the columns is refused with a *RecordError.
func (d *Decoder) Begin(head []byte, final, resume bool) (int, error) {
	return d.codec.begin(head, final, resume)
}

// End tells whether a file may end here; else the *RecordError says why not.
func (d *Decoder) End() error { return d.codec.end() }

// Decode reads records from the front of buf until limit rows are in, or a bad
// record, or the end of the whole records. n is the number of bytes consumed; a
// bad record, told by a *RecordError, is consumed as well. Bytes are left over
// when limit is reached or buf ends within a record; final says that nothing
// follows buf, so that the last record is whole without a line end.
func (d *Decoder) Decode(buf []byte, final bool, limit int) (n int, err error) {
	for n < len(buf) && d.n < limit {
		end, row, bad := d.codec.next(buf[n:], final)
		if row && bad == nil && d.events != nil {
			if row, bad = d.event(); bad != nil {
				bad.Start, bad.End = max(bytes.IndexByte(buf[n:n+end], '{'), 0), end
			}
		}
		if bad != nil {
			d.undo()
			// A record is never empty: a reader that skips bad ones moves on.
			end = max(end, 1)
			bad.Start, bad.Before = bad.Start+n, n
			bad.End = n + min(bad.End, end)
			return n + end, bad
		}
		if end == 0 {
			d.undo()
			return n, nil
		}
		if row {
			d.n++
		} else if d.events != nil {
			d.undo()
		}
		n += end
	}
	return n, nil
}

// Append decodes one message into one row; the error is a *RecordError, or an
// *UnknownSchema, and nothing of the message is in the columns then. A message that says
// that it is no change of a row, or that it has no value, adds nothing.
func (d *Decoder) Append(record []byte) error {
	if c, ok := d.codec.(schemaCodec); ok {
		if id, missing := c.unknown(record); missing {
			return &UnknownSchema{ID: id}
		}
	}
	bad := d.codec.record(record)
	row := !d.null()
	if bad == nil && row {
		bad = d.endRow(0, 0)
	}
	if bad == nil && row && d.events != nil {
		row, bad = d.event()
	}
	if bad != nil || !row {
		d.undo()
	}
	if bad != nil {
		bad.Start, bad.End = 0, len(record)
		return bad
	}
	if row {
		d.n++
	}
	return nil
}

// null tells whether the record in work says that it has no value.
func (d *Decoder) null() bool {
	c, ok := d.codec.(*jsonCodec)
	return ok && c.null
}

// Len returns the number of records that were appended since the last Take: of rows,
// where records are no changes.
func (d *Decoder) Len() int { return d.n }

// Col returns the vector of column i, to which the caller of Append adds a row
// for a Meta column. It is another one after each Take.
func (d *Decoder) Col(i int) *arrowbatch.Vec {
	if d.events != nil {
		i = d.events.meta[i]
	}
	return d.nodes[i].v
}

// AppendNull adds a row of NULLs; NOT NULL is not checked.
func (d *Decoder) AppendNull() { d.n++ }

// Truncate drops the records from n on.
func (d *Decoder) Truncate(n int) {
	if n >= d.n {
		return
	}
	d.n = n
	d.undo()
	switch {
	case d.keyed != nil:
		d.keyed.dec.Truncate(n)
		d.keyed.ops = d.keyed.ops[:n]
	case d.events != nil:
		d.events.truncate(n)
	}
}

// Take returns the rows since the last Take and begins the next batch. Where records are
// changes it has ops, and a row that is deleted has its key alone.
func (d *Decoder) Take() *arrowbatch.Batch {
	b := d.take()
	switch {
	case d.keyed != nil:
		return d.keyed.take(b)
	case d.events != nil:
		return d.events.take(b)
	}
	return b
}

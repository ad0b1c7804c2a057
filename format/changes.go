package format

import (
	"bytes"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Changes says what records do to rows.
type Changes uint8

const (
	// Rows: each record is a row that is added.
	Rows Changes = iota
	// Upserts: a record is the newest row of its key; one without value deletes it.
	Upserts
	// Events: a record is a change as Debezium writes it.
	Events
)

// KeyOptions say how the keys of Upserts are read.
type KeyOptions struct {
	// Columns are those that identify a row, and that an Upsert's key fills; for Events,
	// too.
	Columns []int
	// Encode is the key's encoding; Schema and SchemaName as in Options.
	Encode     string
	Schema     *Schema
	SchemaName string
}

// keyed is the part of an Upserts decoder that reads keys. The decoder's own rows are
// the values, in which the key's columns stay NULL.
type keyed struct {
	dec *Decoder
	at  []int // of the key's columns among all
	ops []arrowbatch.Op
}

// keyMeta marks the key's columns in the decoder of values, which does not fill them.
const keyMeta = "key column"

// newUpserts returns a decoder that takes keys and values.
func newUpserts(cols []Column, enc string, o Options) (*Decoder, error) {
	k := &keyed{at: o.Key.Columns}
	values := append([]Column(nil), cols...)
	var keys []Column
	for _, c := range k.at {
		key := cols[c]
		key.NotNull, key.Unused = true, false
		keys = append(keys, key)
		values[c].Meta, values[c].Unused, values[c].NotNull = keyMeta, true, false
	}
	ko := o
	ko.Changes, ko.Schema, ko.SchemaName = Rows, o.Key.Schema, o.Key.SchemaName
	ko.wrapped, ko.alone = true, len(keys) == 1
	var err error
	if k.dec, err = New(keys, o.Key.Encode, ko); err != nil {
		return nil, err
	}
	o.Changes, o.wrapped = Rows, true
	d, err := New(values, enc, o)
	if err != nil {
		k.dec.Take().Release()
		return nil, err
	}
	d.keyed = k
	return d, nil
}

// AppendRecord decodes one message of a topic, of which key and value may be nil. Upserts
// take both. Of others the key means nothing, and a message without value is no row.
// There is one row more or none (Len tells), an error is that of Append.
func (d *Decoder) AppendRecord(key, value []byte) error {
	switch {
	case d.keyed != nil:
		return d.upsert(key, value)
	case value == nil:
		return nil
	}
	return d.Append(value)
}

func (d *Decoder) upsert(key, value []byte) error {
	k := d.keyed
	if key == nil {
		return &RecordError{Err: sqlerr.New(sqlerr.NotNullViolation, "the record has no key").
			WithDetail("With FORMAT UPSERT the key says which row a record is.")}
	}
	n := k.dec.Len()
	if err := k.dec.Append(key); err != nil {
		switch e := err.(type) {
		case *UnknownSchema:
			e.Key = true
		case *RecordError:
			e.inKey = true
		}
		return err
	}
	if k.dec.Len() == n {
		return &RecordError{Err: sqlerr.New(sqlerr.NotNullViolation, "the record's key is null")}
	}
	op := arrowbatch.Delete
	if value != nil {
		before := d.n
		if err := d.Append(value); err != nil {
			k.dec.Truncate(n)
			return err
		}
		if d.n > before {
			op = arrowbatch.Insert
		}
	}
	if op == arrowbatch.Delete {
		d.n++
	}
	k.ops = append(k.ops, op)
	return nil
}

// take puts the key's columns into the batch of values.
func (k *keyed) take(b *arrowbatch.Batch) *arrowbatch.Batch {
	keys := k.dec.Take()
	for i, c := range k.at {
		b.Cols[c].Release()
		b.Cols[c] = keys.Cols[i]
	}
	if slices.Contains(k.ops, arrowbatch.Delete) {
		b.Ops, k.ops = k.ops, nil
	}
	k.ops = k.ops[:0]
	return b
}

// events is the part of an Events decoder that makes rows of changes. The decoder's own
// columns are before, after, op and status, then those of metadata; they have a row for
// each record.
type events struct {
	cols []Column
	key  []int
	// kid is where a declared column is in after; -1: it is not read. meta is where a
	// metadata column is among the decoder's.
	kid, meta []int
	checked   []int // declared columns that are NOT NULL
	// does tells for each record what it does.
	does       []uint8
	dels       int
	old1, new1 []byte
}

// What a record does: it deletes the row before, inserts the row after, or both.
const (
	delBefore uint8 = 1 << iota
	insAfter
)

// The decoder's columns in an Events decoder.
const (
	eventBefore = iota
	eventAfter
	eventOp
	eventStatus
	eventWidth
)

// newEvents returns a decoder of Debezium's records.
func newEvents(cols []Column, enc string, o Options) (*Decoder, error) {
	e := &events{cols: cols, key: o.Key.Columns}
	inner := eventColumns(e)
	o.Changes, o.wrapped, o.events = Rows, true, true
	d, err := New(inner, enc, o)
	if err != nil {
		return nil, err
	}
	d.events = e
	return d, nil
}

// event notes what the record in work does; row is false if it is no change.
func (d *Decoder) event() (row bool, bad *RecordError) {
	e := d.events
	op := d.textAt(eventOp)
	switch {
	case len(op) == 0:
		if s := d.textAt(eventStatus); string(s) == "BEGIN" || string(s) == "END" {
			return false, nil // of a transaction
		}
		return false, badEvent(`the record has no "op"`, "Debezium's records of changes are expected.")
	case len(op) > 1:
		return false, badEvent(`the record's "op" is not known`, "")
	}
	does := uint8(0)
	switch op[0] {
	case 'c', 'r':
		does = insAfter
	case 'u':
		does = insAfter
		if e.hasKey(d.nodes[eventBefore], d.n) && e.otherKey(d) {
			does |= delBefore
		}
	case 'd':
		does = delBefore
	case 'm': // a message, not a row
		return false, nil
	case 't':
		return false, &RecordError{Err: sqlerr.Unsupported("a TRUNCATE cannot be followed").
			WithHint("Leave such records out where they are made (skipped.operations = 't'), or by on_error = 'skip'.")}
	default:
		return false, badEvent(`the record's "op" is not known`, "")
	}
	if does&delBefore != 0 && !e.hasKey(d.nodes[eventBefore], d.n) {
		return false, badEvent(`the record's "before" does not have the key of the row`,
			"The key's columns are expected there.")
	}
	if does&insAfter != 0 {
		if bad := e.checkAfter(d); bad != nil {
			return false, bad
		}
	}
	e.does = append(e.does, does)
	if does&delBefore != 0 {
		e.dels++
	}
	return true, nil
}

func badEvent(msg, detail string) *RecordError {
	err := sqlerr.New(sqlerr.DataCorrupted, "%s", msg)
	if detail != "" {
		err = err.WithDetail("%s", detail)
	}
	return &RecordError{Err: err}
}

// textAt returns the text of the record in work in a column; nil: there is none.
func (d *Decoder) textAt(col int) []byte {
	v := d.nodes[col].v
	if v.N <= d.n || v.IsNull(d.n) {
		return nil
	}
	return v.BytesAt(d.n)
}

// there tells whether row row of the node has a value.
func (n *node) there(row int) bool { return n.v.N > row && !n.v.IsNull(row) }

// hasKey tells whether the row before has all columns of the key.
func (e *events) hasKey(before *node, row int) bool {
	if !before.there(row) {
		return false
	}
	for _, k := range before.kids {
		if !k.there(row) {
			return false
		}
	}
	return true
}

// otherKey tells whether the record in work gives its row another key.
func (e *events) otherKey(d *Decoder) bool {
	after := d.nodes[eventAfter]
	e.old1, e.new1 = e.old1[:0], e.new1[:0]
	for i, c := range e.key {
		now := after.kids[e.kid[c]]
		if !now.there(d.n) {
			return false // which is a fault of its own
		}
		e.old1 = d.nodes[eventBefore].kids[i].v.AppendKey(e.old1, d.n)
		e.new1 = now.v.AppendKey(e.new1, d.n)
	}
	return !bytes.Equal(e.old1, e.new1)
}

func (e *events) checkAfter(d *Decoder) *RecordError {
	after := d.nodes[eventAfter]
	if !after.there(d.n) {
		return badEvent(`the record has no "after"`, "")
	}
	for _, c := range e.checked {
		if !after.kids[e.kid[c]].there(d.n) {
			name := e.cols[c].Name
			return &RecordError{Column: name, Err: sqlerr.New(sqlerr.NotNullViolation,
				`null value in column "%s" violates not-null constraint`, name)}
		}
	}
	return nil
}

// truncate drops the records from n on.
func (e *events) truncate(n int) {
	if n >= len(e.does) {
		return
	}
	for _, x := range e.does[n:] {
		e.dels -= int(x & delBefore)
	}
	e.does = e.does[:n]
}

package format

import (
	"bytes"
	"encoding/json"
	"math"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// protoCodec decodes protobuf's binary encoding. Each record begins with the id of
// its schema in a registry and the message's place in it, unless one schema is
// given for all.
type protoCodec struct {
	rows    *rows
	names   []string
	nodes   []*node
	in      scalarInput
	entries map[int32]*protoEntry
	fixed   *protoMessage
	path    []int64

	err    *sqlerr.Error
	column string
}

// protoEntry is what is known of a schema.
type protoEntry struct {
	file  protoreflect.FileDescriptor
	plans map[protoreflect.FullName]*protoMessage
	// first is the plan of the first message, which nearly all records are of.
	first *protoMessage
	err   *sqlerr.Error
}

func newProto(r *rows, o Options) (*protoCodec, error) {
	d := &protoCodec{rows: r, in: scalarInput{text: newTextInput(o)}, entries: map[int32]*protoEntry{}}
	for i, c := range r.cols {
		if c.Meta == "" {
			d.names, d.nodes = append(d.names, c.Name), append(d.nodes, r.nodes[i])
		}
	}
	if o.Schema == nil {
		return d, nil
	}
	f, err := parseProto(o.Schema)
	if err != nil {
		return nil, err
	}
	m, err := messageNamed(f, o.SchemaName)
	if err != nil {
		return nil, err
	}
	d.fixed = planProto(m, "", d.names, d.nodes)
	for _, k := range d.fixed.fields {
		if k.err != nil {
			e := *k.err
			e.Message = `column "` + k.column + `": ` + e.Message
			return nil, &e
		}
	}
	return d, nil
}

func (d *protoCodec) learn(id int32, writer, _ *Schema, why *sqlerr.Error) {
	e := &protoEntry{err: why, plans: map[protoreflect.FullName]*protoMessage{}}
	if len(d.entries) >= MaxSchemas {
		clear(d.entries)
	}
	d.entries[id] = e
	switch {
	case why != nil:
		return
	case writer.Type != "PROTOBUF":
		e.err = sqlerr.New(sqlerr.DatatypeMismatch, "the schema is of type %s, not PROTOBUF", writer.Type)
		return
	}
	f, err := parseProto(writer)
	if err != nil {
		e.err = sqlerr.From(err)
		return
	}
	e.file = f
	if m := messageAt(f, []int64{0}); m != nil {
		e.first = d.plan(e, m)
	}
}

func (d *protoCodec) plan(e *protoEntry, m protoreflect.MessageDescriptor) *protoMessage {
	p := e.plans[m.FullName()]
	if p == nil {
		p = planProto(m, "", d.names, d.nodes)
		e.plans[m.FullName()] = p
	}
	return p
}

func (d *protoCodec) unknown(b []byte) (int32, bool) {
	if d.fixed != nil {
		return 0, false
	}
	id, err := schemaID(b)
	if err != nil {
		return 0, false
	}
	return id, d.entries[id] == nil
}

func (d *protoCodec) begin([]byte, bool, bool) (int, error) { return 0, nil }
func (d *protoCodec) end() error                            { return nil }

// next is not called: messages have no ends to find them by in a file.
func (d *protoCodec) next(b []byte, _ bool) (int, bool, *RecordError) {
	return len(b), false, &RecordError{End: len(b), Err: badBinary("messages cannot be read from a file of records")}
}

func (d *protoCodec) record(b []byte) *RecordError {
	d.err, d.column = nil, ""
	m := d.fixed
	if m == nil {
		var err *sqlerr.Error
		if m, b, err = d.head(b); err != nil {
			return &RecordError{Err: err}
		}
	}
	if !d.message(m, b, d.rows.n, 0) {
		return &RecordError{Err: d.err, Column: d.column}
	}
	return nil
}

// head reads the schema's id and the message's place in it.
func (d *protoCodec) head(b []byte) (*protoMessage, []byte, *sqlerr.Error) {
	id, err := schemaID(b)
	if err != nil {
		return nil, nil, err
	}
	e := d.entries[id]
	if e == nil {
		return nil, nil, badBinary("schema %d is not known", id)
	}
	if e.err != nil {
		return nil, nil, e.err
	}
	if b = b[frame:]; len(b) > 0 && b[0] == 0 && e.first != nil {
		return e.first, b[1:], nil
	}
	count, n := protowire.ConsumeVarint(b)
	if n < 0 || protowire.DecodeZigZag(count) < 0 || protowire.DecodeZigZag(count) > maxDepth {
		return nil, nil, badBinary("the record does not tell which message of the schema it is")
	}
	b = b[n:]
	d.path = d.path[:0]
	for range protowire.DecodeZigZag(count) {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, nil, badBinary("the record does not tell which message of the schema it is")
		}
		b = b[n:]
		d.path = append(d.path, protowire.DecodeZigZag(x))
	}
	if len(d.path) == 0 {
		d.path = append(d.path, 0)
	}
	m := messageAt(e.file, d.path)
	if m == nil {
		return nil, nil, badBinary("the schema has no message %d", d.path)
	}
	return d.plan(e, m), b, nil
}

func (d *protoCodec) fail(f *protoField, err *sqlerr.Error) bool {
	d.err = err
	if f != nil {
		d.column = f.column
	}
	return false
}

// message reads a message into row row: first the fields are found, for they come
// in any order and the last of several counts, then the columns are filled.
func (d *protoCodec) message(m *protoMessage, b []byte, row, depth int) bool {
	for _, f := range m.fields {
		f.clear()
	}
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return d.fail(nil, badBinary("the message is malformed: %v", protowire.ParseError(n)))
		}
		size := protowire.ConsumeFieldValue(num, wire, b[n:])
		if size < 0 {
			return d.fail(nil, badBinary("the message is malformed: %v", protowire.ParseError(size)))
		}
		if f := m.find(num); f != nil {
			f.take(wire, b[n:n+size])
		}
		b = b[n+size:]
	}
	for _, f := range m.fields {
		if !d.field(f, row, depth) {
			return false
		}
	}
	return true
}

func (f *protoField) clear() {
	f.found, f.parts = false, f.parts[:0]
}

// take notes an occurrence of the field; v is its value as it stands.
func (f *protoField) take(wire protowire.Type, v []byte) {
	var bits uint64
	switch wire {
	case protowire.VarintType:
		bits, _ = protowire.ConsumeVarint(v)
	case protowire.Fixed32Type:
		x, _ := protowire.ConsumeFixed32(v)
		bits = uint64(x)
	case protowire.Fixed64Type:
		bits, _ = protowire.ConsumeFixed64(v)
	case protowire.BytesType:
		v, _ = protowire.ConsumeBytes(v)
	case protowire.StartGroupType:
		v, _ = protowire.ConsumeGroup(f.desc.Number(), v)
	}
	packed := f.desc.IsList() && wire == protowire.BytesType && f.wire != wire
	if wire != f.wire && !packed {
		return // as a field that is not known
	}
	for _, r := range f.rivals {
		r.clear()
	}
	f.found = true
	switch {
	case packed, f.way == protoJSON, f.list, f.kid != nil:
		f.parts = append(f.parts, v) // one number is a packed list of one
	default:
		f.bits, f.last = bits, v
		if f.way == protoInstant || f.way == protoSpan {
			f.parts = append(f.parts, v)
		}
	}
}

// field fills the column of a field that was read to its end.
func (d *protoCodec) field(f *protoField, row, depth int) bool {
	n := f.n
	switch {
	case n.kind == kindSkip:
		if f.found || !f.presence {
			n.seen = row + 1
		}
		return true
	case !f.found && f.presence:
		return true
	case f.err != nil:
		return d.fail(f, f.err)
	}
	if n.v.N != row {
		n.place(row)
	}
	switch {
	case f.list:
		return d.list(f, depth)
	case !f.found && f.way == protoScalar:
		return d.put(f, row, f.absent)
	case f.way == protoScalar:
		return d.put(f, row, f.scalarOf(f.bits, f.last))
	case f.way == protoJSON:
		return d.json(f, row)
	}
	return d.item(f, f.joined(), row, depth)
}

func (d *protoCodec) put(f *protoField, row int, s scalar) bool {
	if err := d.in.put(f.item, row, &s); err != nil {
		return d.fail(f, err)
	}
	return true
}

// joined returns the message: several occurrences of one are merged, which is what
// their bytes one behind the other mean.
func (f *protoField) joined() []byte {
	if len(f.parts) == 1 {
		return f.parts[0]
	}
	f.joint = f.joint[:0]
	for _, p := range f.parts {
		f.joint = append(f.joint, p...)
	}
	return f.joint
}

// list fills an array.
func (d *protoCodec) list(f *protoField, depth int) bool {
	row := f.item.v.N
	more := func(ok bool) bool {
		row++
		if ok {
			fillNull(f.item.v, row)
		}
		return ok
	}
	for _, b := range f.parts {
		if f.wire == protowire.BytesType || f.wire == protowire.StartGroupType {
			if !more(d.item(f, b, row, depth)) {
				return false
			}
			continue
		}
		for len(b) > 0 {
			x, n := consumeBits(f.wire, b)
			if n < 0 {
				return d.fail(f, badBinary("the message is malformed: %v", protowire.ParseError(n)))
			}
			b = b[n:]
			if !more(d.put(f, row, f.scalarOf(x, nil))) {
				return false
			}
		}
	}
	f.n.v.EndList()
	return true
}

func consumeBits(wire protowire.Type, b []byte) (uint64, int) {
	switch wire {
	case protowire.Fixed32Type:
		x, n := protowire.ConsumeFixed32(b)
		return uint64(x), n
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(b)
	}
	return protowire.ConsumeVarint(b)
}

// item fills one row of the field's values from bytes: a text, or a message.
func (d *protoCodec) item(f *protoField, b []byte, row, depth int) bool {
	if depth > maxDepth {
		return d.fail(f, sqlerr.New(sqlerr.StatementTooComplex, "the message is nested deeper than %d levels", maxDepth))
	}
	switch f.way {
	case protoStruct:
		if !d.message(f.kid, b, row, depth+1) {
			return false
		}
		f.item.v.EndStruct()
		return true
	case protoWrapped:
		return d.message(f.kid, b, row, depth+1)
	case protoInstant, protoSpan:
		return d.time(f, b, row)
	case protoJSON:
		m := dynamicpb.NewMessage(f.desc.Message())
		return d.document(f, m, b, row, "")
	}
	return d.put(f, row, f.scalarOf(0, b))
}

// time reads google.protobuf.Timestamp or Duration: seconds and nanoseconds.
func (d *protoCodec) time(f *protoField, b []byte, row int) bool {
	var seconds, nanos int64
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeField(b)
		if n < 0 {
			return d.fail(f, badBinary("the message is malformed: %v", protowire.ParseError(n)))
		}
		if wire == protowire.VarintType && (num == 1 || num == 2) {
			_, _, tag := protowire.ConsumeTag(b)
			x, _ := protowire.ConsumeVarint(b[tag:])
			if num == 1 {
				seconds = int64(x)
			} else {
				nanos = int64(int32(x))
			}
		}
		b = b[n:]
	}
	const most = math.MaxInt64 / 1_000_000
	us, ok := int64(0), seconds < most && seconds > -most
	if ok {
		if us = seconds*1_000_000 + nanos/1000; nanos%1000 < 0 {
			us--
		}
	}
	s := scalar{class: f.class, i: us, ivl: arrowbatch.IntervalValue{Micros: us}}
	if f.way == protoInstant && ok {
		_, ok = micros(us, 6)
	}
	if !ok {
		return d.fail(f, sqlerr.New(sqlerr.NumericValueOutOfRange, "a %s is out of range", f.desc.Message().Name()))
	}
	return d.put(f, row, s)
}

// json fills a json or jsonb column with protobuf's own JSON of the field.
func (d *protoCodec) json(f *protoField, row int) bool {
	if !f.desc.IsList() && !f.desc.IsMap() {
		return d.item(f, f.joined(), row, 0)
	}
	// The field alone, as the one member of its message.
	f.joint = f.joint[:0]
	for _, x := range f.parts {
		if f.wire == protowire.StartGroupType {
			f.joint = protowire.AppendTag(f.joint, f.desc.Number(), f.wire)
			f.joint = protowire.AppendGroup(f.joint, f.desc.Number(), x)
			continue
		}
		// Numbers may always be packed.
		f.joint = protowire.AppendTag(f.joint, f.desc.Number(), protowire.BytesType)
		f.joint = protowire.AppendBytes(f.joint, x)
	}
	empty := "[]"
	if f.desc.IsMap() {
		empty = "{}"
	}
	return d.document(f, dynamicpb.NewMessage(f.desc.ContainingMessage()), f.joint, row, empty)
}

// document puts the JSON of a message into a column; with empty the column is for
// its one member, and empty what it is when the member is not there.
func (d *protoCodec) document(f *protoField, m *dynamicpb.Message, b []byte, row int, empty string) bool {
	if err := (proto.UnmarshalOptions{AllowPartial: true, RecursionLimit: maxDepth}).Unmarshal(b, m); err != nil {
		return d.fail(f, badBinary("the message is malformed: %v", err))
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}.Marshal(m)
	if err != nil {
		return d.fail(f, badBinary("the message has no JSON: %v", err))
	}
	var doc bytes.Buffer // its blanks are not the same every time
	if err := json.Compact(&doc, text); err != nil {
		return d.fail(f, badBinary("the message has no JSON: %v", err))
	}
	out := doc.Bytes()
	if empty != "" {
		if i := bytes.IndexByte(out, ':'); i > 0 {
			out = out[i+1 : len(out)-1]
		} else {
			out = []byte(empty)
		}
	}
	if err := d.in.text.put(f.item, row, out); err != nil {
		return d.fail(f, err)
	}
	return true
}

package format

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// wire says what a JSON value stands for that is not the value itself.
type wire struct {
	what  wireKind
	scale int // of wireDecimal
}

type wireKind uint8

const (
	// wireNone: the value is what it looks like.
	wireNone wireKind = iota
	// wireAuto: as Debezium writes values of the column's type.
	wireAuto
	wireDays
	wireTimeMillis // of the day
	wireTimeMicros
	wireTimeNanos
	wireMillis // since 1970-01-01
	wireMicros
	wireNanos
	wireDuration // microseconds
	wireDecimal  // base64 of a big-endian integer
	wireVariable // {"scale": …, "value": base64}
	wireBytes    // base64
	wireJSON     // a string that holds JSON
)

// wires are the names that Kafka Connect's schemas give to what values stand for.
var wires = map[string]wireKind{
	"io.debezium.time.Date": wireDays, "org.apache.kafka.connect.data.Date": wireDays,
	"io.debezium.time.Time": wireTimeMillis, "org.apache.kafka.connect.data.Time": wireTimeMillis,
	"io.debezium.time.MicroTime": wireTimeMicros, "io.debezium.time.NanoTime": wireTimeNanos,
	"io.debezium.time.Timestamp": wireMillis, "org.apache.kafka.connect.data.Timestamp": wireMillis,
	"io.debezium.time.MicroTimestamp": wireMicros, "io.debezium.time.NanoTimestamp": wireNanos,
	"io.debezium.time.MicroDuration":        wireDuration,
	"org.apache.kafka.connect.data.Decimal": wireDecimal, "io.debezium.data.VariableScaleDecimal": wireVariable,
	"io.debezium.data.Json": wireJSON,
}

// wrapping reads records as the JSON converter of Kafka Connect writes them: the value
// alone, or with its schema before it.
type wrapping struct {
	// events: values are as Debezium writes them where no schema says more.
	events bool
	in     scalarInput
	// head is the beginning of the last record, up to its payload; schema is the text that
	// the columns' wires were set by.
	head, schema []byte
	buf          []byte
}

func (d *jsonCodec) initWrapping(names []string) {
	for _, n := range names {
		if (n == "schema" || n == "payload") && !d.opts.events {
			return // the members are columns
		}
	}
	d.wrap = &wrapping{events: d.opts.events, in: scalarInput{text: newTextInput(d.opts)}}
	d.unwire()
}

// unwire sets the columns' wires to what is true without a schema.
func (d *jsonCodec) unwire() {
	for i := range d.root.fields {
		d.rewire(d.root.fields[i].node)
	}
}

func (d *jsonCodec) rewire(n *node) {
	for _, k := range n.kids {
		d.rewire(k)
	}
	what := wireNone
	if d.wrap.events && len(n.kids) == 0 {
		what = wireAuto
	}
	n.setWire(wire{what: what})
}

// setWire says what the node's values stand for.
func (n *node) setWire(w wire) {
	if n.kind == kindSkip {
		return
	}
	if n.kind == kindWire {
		n.kind = n.base
	}
	if w.what == wireNone || w.what == wireAuto && !wiredType(n.kind, n.t) {
		return
	}
	n.base, n.kind, n.wire = n.kind, kindWire, w
}

// wiredType tells whether Debezium's values of a type need a look.
func wiredType(k kind, t types.Type) bool {
	switch k {
	case kindText, kindTimestamp, kindTimestamptz, kindDate, kindJSON, kindJSONB, kindNumeric:
		return true
	}
	switch t.ID {
	case types.Bytea, types.Time, types.Interval, types.Numeric, types.Varchar, types.Bpchar:
		return true
	}
	return false
}

// unwrap returns the value of a record that begins with a brace; ok is false for a fault.
// A record that is no {"schema": …, "payload": …} is the value itself.
func (d *jsonCodec) unwrap(b []byte) (value []byte, ok bool) {
	w := d.wrap
	if len(w.head) > 0 && bytes.HasPrefix(b, w.head) {
		return d.payload(b[len(w.head):])
	}
	w.head = w.head[:0]
	var schema, payload []byte
	i, named := 1, 0
	for {
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != '"' {
			break
		}
		e, flags := scanString(b, i+1)
		if e < 0 || flags != 0 {
			break
		}
		name := b[i+1 : e]
		if i = skipSpace(b, e+1); i >= len(b) || b[i] != ':' {
			break
		}
		i = skipSpace(b, i+1)
		isSchema, isPayload := string(name) == "schema", string(name) == "payload"
		if !isSchema && !isPayload || i >= len(b) {
			return d.plainRecord(b)
		}
		start := i
		if i = d.skip(b, i, 0); i < 0 {
			return nil, false
		}
		if named++; isSchema {
			schema = b[start:i]
		} else {
			payload = b[start:i]
			if named == 2 {
				w.head = append(w.head, b[:start]...)
			}
		}
		if i = skipSpace(b, i); i < len(b) && b[i] == ',' {
			i++
			continue
		}
		break
	}
	if payload == nil || i >= len(b) || b[i] != '}' || skipSpace(b, i+1) < len(b) {
		return d.plainRecord(b)
	}
	if !d.learnWires(schema) {
		w.head = w.head[:0]
		return nil, false
	}
	d.null = string(payload) == "null"
	return payload, true
}

// plainRecord is unwrap for a record without schema.
func (d *jsonCodec) plainRecord(b []byte) ([]byte, bool) {
	d.wrap.head = d.wrap.head[:0]
	return b, d.learnWires(nil)
}

// payload is unwrap for the rest of a record whose beginning is known.
func (d *jsonCodec) payload(b []byte) ([]byte, bool) {
	e := len(b)
	for e > 0 && isSpace(b[e-1]) {
		e--
	}
	if e == 0 || b[e-1] != '}' {
		d.fail(jsonError("The object around the payload is not closed."))
		return nil, false
	}
	b = b[:e-1]
	d.null = string(bytes.TrimSpace(b)) == "null"
	return b, true
}

// connectSchema is a schema of Kafka Connect as its JSON converter writes it.
type connectSchema struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Field      string            `json:"field"`
	Fields     []connectSchema   `json:"fields"`
	Items      *connectSchema    `json:"items"`
	Parameters map[string]string `json:"parameters"`
}

// learnWires sets what values stand for by the text of a schema; false is a fault.
func (d *jsonCodec) learnWires(schema []byte) bool {
	w := d.wrap
	if string(schema) == "null" {
		schema = nil
	}
	if bytes.Equal(schema, w.schema) {
		return true
	}
	d.unwire()
	w.schema = w.schema[:0]
	if schema == nil {
		return true
	}
	var s connectSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		d.fail(sqlerr.New(sqlerr.DataCorrupted, "the record's schema is not one of Kafka Connect").WithDetail("%v.", err))
		return false
	}
	w.schema = append(w.schema, schema...)
	if d.alone != nil && s.Type != "struct" {
		d.alone.applySchema(&s)
		return true
	}
	d.root.applySchema(s.Fields)
	return true
}

func (o *object) applySchema(fields []connectSchema) {
	for k := range fields {
		if f, _ := o.find([]byte(fields[k].Field)); f != nil {
			f.node.applySchema(&fields[k])
		}
	}
}

func (n *node) applySchema(s *connectSchema) {
	what, known := wires[s.Name]
	switch {
	case n.kind == kindSkip:
	case n.kind == kindStruct && n.obj != nil:
		n.obj.applySchema(s.Fields)
	case n.kind == kindList && s.Items != nil:
		n.kids[0].applySchema(s.Items)
	case known:
		scale, _ := strconv.Atoi(s.Parameters["scale"])
		n.setWire(wire{what, scale})
	case s.Type == "bytes":
		n.setWire(wire{what: wireBytes})
	case n.kind == kindWire && n.base != kindText: // the automatic wire of text looks for what is missing
		n.setWire(wire{})
	}
}

// unavailable is what Debezium writes for a value that the database's log lacks.
var unavailable = []byte("__debezium_unavailable_value")

// wired reads a value that stands for something else.
func (d *jsonCodec) wired(n *node, b []byte, i, row int) int {
	end := 0
	switch c := b[i]; {
	case c == '-' || c-'0' <= 9:
		end = d.wiredNumber(n, b, i, row)
	case c == '"':
		end = d.wiredString(n, b, i, row)
	case c == '{' && (n.wire.what == wireVariable || n.wire.what == wireAuto && n.t.ID == types.Numeric):
		end = d.wiredVariable(n, b, i, row)
	}
	if end != 0 {
		return end
	}
	return d.unwired(n, b, i, row)
}

// unwired reads a value as it looks.
func (d *jsonCodec) unwired(n *node, b []byte, i, row int) int {
	n.kind = n.base
	end := d.value(n, b, i, row)
	n.kind = kindWire
	return end
}

// putWired gives a value to the column; end is the place behind it.
func (d *jsonCodec) putWired(n *node, row, end int, s *scalar) int {
	if !takes(n.t, s.class) {
		return d.fail(sqlerr.New(sqlerr.DatatypeMismatch, "type %s cannot take what the record's schema says", n.t))
	}
	n.kind = n.base
	err := d.wrap.in.put(n, row, s)
	n.kind = kindWire
	if err != nil {
		return d.fail(err)
	}
	return end
}

// wireOf is what a node's numbers count.
func (n *node) wireOf() wireKind {
	if n.wire.what != wireAuto {
		return n.wire.what
	}
	// Debezium's time.precision.mode 'adaptive' goes by the column's digits.
	few := n.t.Mod == -1 || n.t.Mod > 0 && n.t.Mod <= 3
	switch n.t.ID {
	case types.Date:
		return wireDays
	case types.Time:
		if few {
			return wireTimeMillis
		}
		return wireTimeMicros
	case types.Timestamp, types.Timestamptz:
		if few {
			return wireMillis
		}
		return wireMicros
	case types.Interval:
		return wireDuration
	}
	return wireNone
}

// wiredNumber reads a whole number; 0: it is to be read as it looks.
func (d *jsonCodec) wiredNumber(n *node, b []byte, i, row int) int {
	what := n.wireOf()
	if what == wireNone || n.wire.what == wireAuto && d.epoch >= 0 && n.t.IsTimestamp() {
		return 0
	}
	end := d.skip(b, i, 0)
	if end < 0 {
		return -1
	}
	x, err := strconv.ParseInt(string(b[i:end]), 10, 64)
	if err != nil {
		return 0
	}
	s := scalar{i: x, class: classTime}
	ok := true
	switch what {
	case wireDays:
		s.class = classDate
		ok = x >= minTimestamp/dayMicros && x == int64(int32(x))
	case wireTimeMillis:
		ok = x >= 0 && x <= dayMicros/1000
		s.i = x * 1000
	case wireTimeMicros:
		ok = x >= 0 && x <= dayMicros
	case wireTimeNanos:
		ok = x >= 0 && x <= dayMicros*1000
		s.i = x / 1000
	case wireDuration:
		s.class, s.ivl = classInterval, arrowbatch.IntervalValue{Micros: x}
	case wireMillis, wireMicros, wireNanos:
		s.class = classLocal
		if n.t.ID == types.Timestamptz {
			s.class = classInstant
		}
		s.i, ok = micros(x, map[wireKind]int{wireMillis: 3, wireMicros: 6, wireNanos: 9}[what])
	default:
		return 0
	}
	if !ok {
		return d.fail(sqlerr.New(sqlerr.DatetimeFieldOverflow, `value %d is out of range for type %s`, x, n.t))
	}
	return d.putWired(n, row, end, &s)
}

// wiredString reads a string; 0: it is to be read as it looks.
func (d *jsonCodec) wiredString(n *node, b []byte, i, row int) int {
	e, flags := scanString(b, i+1)
	if e < 0 {
		return 0
	}
	text := b[i+1 : e]
	if d.wrap.events && bytes.Equal(text, unavailable) {
		return d.lacking()
	}
	what := n.wire.what
	if what == wireAuto {
		switch {
		case n.t.ID == types.Bytea && flags == 0:
			what = wireBytes
		case n.base == kindJSON || n.base == kindJSONB:
			what = wireJSON
		}
	}
	switch what {
	case wireDecimal, wireBytes:
		return d.wiredBytes(n, text, e+1, row, what, n.wire.scale)
	case wireJSON:
		return d.wiredJSON(n, b, i, row)
	}
	return 0
}

func (d *jsonCodec) lacking() int {
	return d.fail(sqlerr.New(sqlerr.DataCorrupted, "the record lacks the column's value").
		WithDetail("PostgreSQL does not log a long value that an UPDATE leaves as it is.").
		WithHint("ALTER TABLE ... REPLICA IDENTITY FULL in the database that the changes come from."))
}

// wiredBytes reads base64: bytes, or a decimal's integer.
func (d *jsonCodec) wiredBytes(n *node, text []byte, end, row int, what wireKind, scale int) int {
	w := d.wrap
	var err error
	if w.buf, err = base64.StdEncoding.AppendDecode(w.buf[:0], text); err != nil {
		return d.fail(sqlerr.New(sqlerr.InvalidTextRepresentation, `invalid base64: "%s"`, clean(text[:min(len(text), 20)])))
	}
	s := scalar{class: classBytes, b: w.buf}
	if what == wireDecimal {
		var ok bool
		s.class = classDecimal
		if s.d, ok = bigEndian(w.buf, scale); !ok {
			return d.fail(sqlerr.New(sqlerr.NumericValueOutOfRange, "a decimal has more digits than numeric holds"))
		}
	} else if w.events && bytes.Equal(w.buf, unavailable) {
		return d.lacking()
	}
	return d.putWired(n, row, end, &s)
}

// wiredVariable reads a decimal that has its scale beside it.
func (d *jsonCodec) wiredVariable(n *node, b []byte, i, row int) int {
	end := d.skip(b, i, 0)
	if end < 0 {
		return -1
	}
	var v struct {
		Scale *int   `json:"scale"`
		Value []byte `json:"value"`
	}
	if err := json.Unmarshal(b[i:end], &v); err != nil || v.Scale == nil {
		return 0
	}
	s := scalar{class: classDecimal}
	var ok bool
	if s.d, ok = bigEndian(v.Value, *v.Scale); !ok {
		return d.fail(sqlerr.New(sqlerr.NumericValueOutOfRange, "a decimal has more digits than numeric holds"))
	}
	return d.putWired(n, row, end, &s)
}

// wiredJSON reads a string that holds JSON. One that does not is a string of JSON.
func (d *jsonCodec) wiredJSON(n *node, b []byte, i, row int) int {
	e, flags := scanString(b, i+1)
	text, ok := d.text(b, i+1, e, flags)
	if !ok {
		return -1
	}
	if !json.Valid(text) {
		return 0
	}
	n.kind = n.base
	err := d.wrap.in.text.put(n, row, text)
	n.kind = kindWire
	if err != nil {
		return d.fail(err)
	}
	return e + 1
}

package format

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// avroCodec decodes Avro's binary encoding. Each record begins with the id of its
// schema in a registry, unless one schema is given for all.
type avroCodec struct {
	rows  *rows
	names []string
	nodes []*node
	in    scalarInput
	plans map[int32]*avroEntry
	// fixed is the plan where records have no id; last that of the record before.
	fixed  *avroEntry
	last   *avroEntry
	lastID int32

	// alone: a schema that is no record is that of the one column.
	alone bool

	doc   []byte // a jsonb value in the making
	empty int64  // items without bytes in the record in work

	// The fault of the record in work.
	err    *sqlerr.Error
	column string
}

// avroEntry is what is known of a schema: how to read it, or why that is not
// possible.
type avroEntry struct {
	plan *avroPlan
	err  *sqlerr.Error
}

func newAvro(r *rows, o Options) (*avroCodec, error) {
	d := &avroCodec{rows: r, in: scalarInput{text: newTextInput(o)}, plans: map[int32]*avroEntry{}, alone: o.alone}
	for i, c := range r.cols {
		if c.Meta == "" {
			d.names, d.nodes = append(d.names, c.Name), append(d.nodes, r.nodes[i])
		}
	}
	if o.Schema == nil {
		return d, nil
	}
	d.fixed = d.entry(o.Schema, nil)
	if d.fixed.err != nil {
		return nil, d.fixed.err
	}
	// One schema for all: a column that it cannot fill is a fault of the statement.
	if column, err := d.fixed.plan.mismatch(); err != nil {
		e := *err
		e.Message = `column "` + column + `": ` + e.Message
		return nil, &e
	}
	return d, nil
}

// mismatch finds a column that cannot take what the schema has for it.
func (p *avroPlan) mismatch() (string, *sqlerr.Error) {
	if p.err != nil {
		return p.column, p.err
	}
	for _, k := range p.kids {
		if k.n == nil {
			continue
		}
		if column, err := k.mismatch(); err != nil {
			return column, err
		}
	}
	return "", nil
}

func (d *avroCodec) entry(writer, reader *Schema) *avroEntry {
	if writer.Type != "AVRO" {
		return &avroEntry{err: sqlerr.New(sqlerr.DatatypeMismatch, "the schema is of type %s, not AVRO", writer.Type)}
	}
	w, err := parseAvro(writer)
	if err != nil {
		return &avroEntry{err: sqlerr.From(err)}
	}
	names := d.names
	if w.op != avroRecord && d.alone {
		// A record of one field has the same bytes.
		if w, err = parseAvro(fieldOf(writer)); err != nil {
			return &avroEntry{err: sqlerr.From(err)}
		}
		names, reader = []string{"value"}, nil
	}
	if w.op != avroRecord {
		return &avroEntry{err: sqlerr.New(sqlerr.DatatypeMismatch, "the schema is a %s, not a record", w.describe())}
	}
	r := w
	if reader != nil {
		// A reader's schema that cannot be read has no defaults to give.
		if t, err := parseAvro(reader); err == nil && t.op == avroRecord {
			r = t
		}
	}
	var b avroPlanner
	p := b.record(w, r, nil, "", names, d.nodes)
	return &avroEntry{plan: p, err: b.err}
}

// fieldOf is the schema of a record whose one field has the schema s.
func fieldOf(s *Schema) *Schema {
	text := s.Text
	if !json.Valid([]byte(text)) {
		text = strconv.Quote(text)
	}
	return &Schema{Type: s.Type, References: s.References,
		Text: `{"type":"record","name":"key","fields":[{"name":"value","type":` + text + `}]}`}
}

func (d *avroCodec) learn(id int32, writer, reader *Schema, why *sqlerr.Error) {
	e := &avroEntry{err: why}
	if why == nil {
		e = d.entry(writer, reader)
	}
	if len(d.plans) >= MaxSchemas {
		clear(d.plans)
	}
	d.plans[id] = e
	d.last = nil
}

func (d *avroCodec) unknown(b []byte) (int32, bool) {
	if d.fixed != nil {
		return 0, false
	}
	id, err := schemaID(b)
	if err != nil {
		return 0, false
	}
	return id, d.plans[id] == nil
}

func (d *avroCodec) begin([]byte, bool, bool) (int, error) { return 0, nil }
func (d *avroCodec) end() error                            { return nil }

// next is not called: Avro's records have no ends to find them by in a file.
func (d *avroCodec) next(b []byte, _ bool) (int, bool, *RecordError) {
	return len(b), false, &RecordError{End: len(b), Err: badBinary("Avro records cannot be read from a file of records")}
}

func (d *avroCodec) record(b []byte) *RecordError {
	d.err, d.column, d.empty = nil, "", 0
	e, i := d.fixed, 0
	if e == nil {
		id, err := schemaID(b)
		if err != nil {
			return &RecordError{Err: err}
		}
		if e = d.last; e == nil || d.lastID != id {
			e = d.plans[id]
			d.last, d.lastID = e, id
		}
		if e == nil {
			return &RecordError{Err: badBinary("schema %d is not known", id)}
		}
		i = frame
	}
	if e.err != nil {
		return &RecordError{Err: e.err}
	}
	if i = d.fields(e.plan, b, i, d.rows.n); i >= 0 && i != len(b) {
		d.fail(badBinary("%d bytes are left over behind the record", len(b)-i))
	}
	if d.err != nil {
		return &RecordError{Err: d.err, Column: d.column}
	}
	return nil
}

func (d *avroCodec) fail(err *sqlerr.Error) int {
	d.err = err
	return -1
}

func (d *avroCodec) cut() int { return d.fail(badBinary("the record ends within a value")) }

// fields reads a record's fields into row row, then the defaults of those that it
// does not have.
func (d *avroCodec) fields(p *avroPlan, b []byte, i, row int) int {
	for _, k := range p.kids {
		if i = d.value(k, b, i, row); i < 0 {
			return -1
		}
	}
	for k := range p.absent {
		if d.value(p.absent[k].plan, p.absent[k].data, 0, row) < 0 {
			return -1
		}
	}
	return i
}

// value reads the value at byte i into row row and returns the place behind it, or
// -1. A null leaves the row to lag (invariant F4).
func (d *avroCodec) value(p *avroPlan, b []byte, i, row int) int {
	for p.w.op == avroUnion {
		branch, e := d.long(b, i)
		if e < 0 {
			return -1
		}
		if branch < 0 || branch >= int64(len(p.w.kids)) {
			return d.fail(badBinary("a union of %d branches has no branch %d", len(p.w.kids), branch))
		}
		if i = e; p.n == nil {
			return d.skip(p.w.kids[branch], b, i, 1)
		}
		p = p.kids[branch]
	}
	switch {
	case p.n == nil:
		return d.skip(p.w, b, i, 0)
	case p.w.op == avroNull:
		return i
	case p.n.kind == kindSkip:
		p.n.seen = row + 1
		return d.skip(p.w, b, i, 0)
	case p.err != nil:
		d.column = p.column
		return d.fail(p.err)
	}
	if p.n.v.N != row {
		p.n.place(row)
	}
	switch p.w.op {
	case avroArray, avroMap, avroRecord:
		return d.nested(p, b, i, row)
	}
	var s scalar
	if i = d.scalar(p.w, p.symbols, p.class, b, i, &s); i < 0 {
		d.column = p.column
		return -1
	}
	if err := d.in.put(p.n, row, &s); err != nil {
		d.column = p.column
		return d.fail(err)
	}
	return i
}

func (d *avroCodec) nested(p *avroPlan, b []byte, i, row int) int {
	switch p.n.kind {
	case kindStruct:
		if i = d.fields(p, b, i, row); i >= 0 {
			p.n.v.EndStruct()
		}
		return i
	case kindList:
		return d.list(p, b, i)
	}
	var ok bool
	if d.doc, i, ok = d.json(d.doc[:0], p.w, b, i, 0); !ok {
		d.column = p.column
		return -1
	}
	if err := d.in.text.put(p.n, row, d.doc); err != nil {
		d.column = p.column
		return d.fail(err)
	}
	return i
}

func (d *avroCodec) list(p *avroPlan, b []byte, i int) int {
	item := p.kids[0]
	row := item.n.v.N
	for {
		count, e := d.block(p.w.kids[0], b, i)
		if i = e; i < 0 {
			return -1
		}
		if count == 0 {
			p.n.v.EndList()
			return i
		}
		for ; count > 0; count-- {
			if i = d.value(item, b, i, row); i < 0 {
				return -1
			}
			row++
			fillNull(item.n.v, row)
		}
	}
}

// maxEmpty bounds how many items that take no bytes a record may have.
const maxEmpty = 1 << 16

// block reads the head of a block of an array or map whose items are of type item
// and returns how many follow; 0 ends the value.
func (d *avroCodec) block(item *avroType, b []byte, i int) (count int64, next int) {
	count, i = d.long(b, i)
	if i >= 0 && count < 0 {
		// The block's size in bytes follows, for readers that skip it.
		count = -count
		_, i = d.long(b, i)
	}
	if i < 0 {
		return 0, -1
	}
	left := int64(len(b) - i)
	limit := left
	if item.size == 0 {
		limit = maxEmpty - d.empty
		d.empty += min(max(count, 0), maxEmpty)
	}
	if count < 0 || count > limit {
		return 0, d.fail(badBinary("a block of %d items does not fit into %d bytes", count, left))
	}
	return count, i
}

// long reads a zigzag number.
func (d *avroCodec) long(b []byte, i int) (x int64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	x, n := binary.Varint(b[i:])
	switch {
	case n == 0:
		return 0, d.cut()
	case n < 0:
		return 0, d.fail(badBinary("a number is longer than ten bytes"))
	}
	return x, i + n
}

// bytes reads a length and as many bytes.
func (d *avroCodec) bytes(b []byte, i int) (s []byte, next int) {
	n, i := d.long(b, i)
	if i < 0 {
		return nil, -1
	}
	if n < 0 || n > int64(len(b)-i) {
		return nil, d.cut()
	}
	return b[i : i+int(n)], i + int(n)
}

// scalar reads a value of a scalar type.
func (d *avroCodec) scalar(t *avroType, symbols [][]byte, c class, b []byte, i int, s *scalar) int {
	s.class = c
	switch t.op {
	case avroBool:
		if i >= len(b) {
			return d.cut()
		}
		if s.i = int64(b[i]); s.i > 1 {
			return d.fail(badBinary("a boolean is %d, not 0 or 1", s.i))
		}
		return i + 1
	case avroInt, avroLong:
		if s.i, i = d.long(b, i); i < 0 {
			return -1
		}
		if t.op == avroInt && s.i != int64(int32(s.i)) {
			return d.fail(badBinary("an int is %d, outside of 32 bits", s.i))
		}
		return d.meaning(t, s, i)
	case avroFloat:
		if len(b)-i < 4 {
			return d.cut()
		}
		s.f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
		return i + 4
	case avroDouble:
		if len(b)-i < 8 {
			return d.cut()
		}
		s.f = math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
		return i + 8
	case avroEnum:
		k, e := d.long(b, i)
		if e < 0 {
			return -1
		}
		if k < 0 || k >= int64(len(symbols)) {
			return d.fail(badBinary("an enum of %d symbols has no symbol %d", len(symbols), k))
		}
		s.b = symbols[k]
		return e
	case avroFixed:
		if len(b)-i < t.size {
			return d.cut()
		}
		s.b = b[i : i+t.size]
		i += t.size
	default:
		if s.b, i = d.bytes(b, i); i < 0 {
			return -1
		}
	}
	return d.meaning(t, s, i)
}

// meaning applies the logical type to a value that was read.
func (d *avroCodec) meaning(t *avroType, s *scalar, i int) int {
	ok := true
	switch s.class {
	case classInstant, classLocal:
		digits := 6
		if t.logical == avro.TimestampMillis || t.logical == avro.LocalTimestampMillis {
			digits = 3
		}
		s.i, ok = micros(s.i, digits)
	case classTime:
		if t.logical == avro.TimeMillis {
			s.i *= 1000
		}
		ok = s.i >= 0 && s.i <= dayMicros
	case classDate:
		ok = s.i >= minTimestamp/dayMicros || s.i == int64(types.NegInfDate)
	case classDecimal:
		s.d, ok = bigEndian(s.b, t.scale)
	case classInterval:
		months, days := binary.LittleEndian.Uint32(s.b), binary.LittleEndian.Uint32(s.b[4:])
		ok = months <= math.MaxInt32 && days <= math.MaxInt32
		s.ivl = arrowbatch.IntervalValue{Months: int32(months), Days: int32(days),
			Micros: int64(binary.LittleEndian.Uint32(s.b[8:])) * 1000}
	}
	if !ok {
		return d.fail(sqlerr.New(sqlerr.NumericValueOutOfRange, "a %s is out of range", t.describe()))
	}
	return i
}

// skip reads over a value.
func (d *avroCodec) skip(t *avroType, b []byte, i, depth int) int {
	if depth > maxDepth {
		return d.fail(sqlerr.New(sqlerr.StatementTooComplex, "the record is nested deeper than %d levels", maxDepth))
	}
	switch t.op {
	case avroNull:
		return i
	case avroInt, avroLong, avroEnum:
		_, i = d.long(b, i)
		return i
	case avroBool, avroFloat, avroDouble, avroFixed:
		if len(b)-i < t.size {
			return d.cut()
		}
		return i + t.size
	case avroBytes, avroString:
		_, i = d.bytes(b, i)
		return i
	case avroRecord:
		for _, k := range t.kids {
			if i = d.skip(k, b, i, depth+1); i < 0 {
				return -1
			}
		}
		return i
	case avroUnion:
		branch, e := d.long(b, i)
		if e < 0 {
			return -1
		}
		if branch < 0 || branch >= int64(len(t.kids)) {
			return d.fail(badBinary("a union of %d branches has no branch %d", len(t.kids), branch))
		}
		return d.skip(t.kids[branch], b, e, depth+1)
	}
	for {
		count, e := d.block(t.kids[0], b, i)
		if i = e; i < 0 || count == 0 {
			return i
		}
		for ; count > 0 && i >= 0; count-- {
			if t.op == avroMap {
				_, i = d.bytes(b, i)
			}
			if i >= 0 {
				i = d.skip(t.kids[0], b, i, depth+1)
			}
		}
		if i < 0 {
			return -1
		}
	}
}

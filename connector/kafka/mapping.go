package kafka

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// The options that name a column whose value goes beside the record's value.
const (
	optPartition = "partition"
	optTime      = "timestamp"
	optHeaders   = "headers"
	optOp        = "op_column" // adds one to the value
)

// outRecord is a record to be sent; its slices are valid until it is taken.
type outRecord struct {
	key, value []byte // nil: no key, a tombstone
	headers    []byte // their number and themselves, as in a record; nil: none
	ms         int64  // -1: now
	part       int    // -1: by the key, or in turn
}

// mapping takes from the rows what goes beside the value: columns by number, -1
// for none.
type mapping struct {
	partition, time, headers int

	cols []connector.Column
	buf  []byte
	list []header
}

// newMapping finds the columns that options name.
func newMapping(s *connector.Spec, c *sinkConfig) (*mapping, error) {
	m := &mapping{partition: -1, time: -1, headers: -1, cols: s.Columns}
	for _, o := range []struct {
		option, name, want string
		at                 *int
		ok                 func(types.Type) bool
	}{
		{optPartition, c.partitionColumn, "integer", &m.partition,
			func(t types.Type) bool { return t.ID == types.Int2 || t.ID == types.Int4 || t.ID == types.Int8 }},
		{optTime, c.timeColumn, "timestamp with time zone", &m.time, types.Type.IsTimestamp},
		{optHeaders, c.headersColumn, "jsonb", &m.headers,
			func(t types.Type) bool { return t.ID == types.JSONB || headerArray(t) }},
	} {
		if o.name == "" {
			continue
		}
		i, err := namedColumn(s, o.option, o.name)
		if err != nil {
			return nil, err
		}
		if t := s.Columns[i].Type; !o.ok(t) {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, `column "%s" named in option "%s" must be of type %s, not %s`,
				o.name, o.option, o.want, t)
		}
		*o.at = i
	}
	return m, nil
}

// namedColumn returns the place of the column that an option names.
func namedColumn(s *connector.Spec, option, name string) (int, error) {
	i := slices.IndexFunc(s.Columns, func(c connector.Column) bool { return c.Name == name })
	if i >= 0 {
		return i, nil
	}
	all := make([]string, len(s.Columns))
	for k, c := range s.Columns {
		all[k] = c.Name
	}
	return 0, sqlerr.New(sqlerr.UndefinedColumn, `column "%s" named in option "%s" does not exist`, name, option).
		WithHint("%s", sqlerr.Suggest(name, all))
}

// beside tells whether a column goes beside the value and not into it.
func (m *mapping) beside(i int) bool { return i == m.partition || i == m.time || i == m.headers }

// fill puts row i's values into r.
func (m *mapping) fill(r *outRecord, b *arrowbatch.Batch, i int) error {
	r.part, r.ms, r.headers = -1, -1, nil
	if m.partition >= 0 && !b.Cols[m.partition].IsNull(i) {
		n := integerAt(b.Cols[m.partition], i)
		if n < 0 || n > 1<<30 {
			return m.wrong(m.partition, n, "no partition")
		}
		r.part = int(n)
	}
	if m.time >= 0 && !b.Cols[m.time].IsNull(i) {
		us := b.Cols[m.time].I64[i]
		if us < 0 || us > 1<<62 {
			return m.wrong(m.time, us, "no time that a record can have: it is not between 1970 and infinity")
		}
		r.ms = us / 1000
	}
	if m.headers >= 0 && !b.Cols[m.headers].IsNull(i) {
		return m.fillHeaders(r, b.Cols[m.headers], i)
	}
	return nil
}

func (m *mapping) wrong(col int, n int64, what string) error {
	return sqlerr.New(sqlerr.NumericValueOutOfRange, `value %d of column "%s" is %s`, n, m.cols[col].Name, what).
		AsPermanent()
}

func integerAt(v *arrowbatch.Vec, i int) int64 {
	switch v.Layout {
	case arrowbatch.Int16:
		return int64(v.I16[i])
	case arrowbatch.Int32:
		return int64(v.I32[i])
	}
	return v.I64[i]
}

func (m *mapping) fillHeaders(r *outRecord, v *arrowbatch.Vec, i int) error {
	m.list = m.list[:0]
	if m.cols[m.headers].Type.ID == types.JSONB {
		if err := m.objectHeaders(v.BytesAt(i)); err != nil {
			return err
		}
	} else {
		names, values := v.Kids[0].Kids[0], v.Kids[0].Kids[1]
		for k := int(v.Off[i]); k < int(v.Off[i+1]); k++ {
			if v.Kids[0].IsNull(k) || names.IsNull(k) {
				return sqlerr.New(sqlerr.NullValueNotAllowed, `a header in column "%s" has no name`,
					m.cols[m.headers].Name).AsPermanent()
			}
			h := header{name: names.BytesAt(k)}
			if !values.IsNull(k) {
				h.value = values.BytesAt(k)
			}
			m.list = append(m.list, h)
		}
	}
	m.buf = binary.AppendVarint(m.buf[:0], int64(len(m.list)))
	for _, h := range m.list {
		m.buf = appendBytes(m.buf, h.name)
		m.buf = appendBytes(m.buf, h.value)
	}
	r.headers = m.buf
	return nil
}

// objectHeaders reads the headers of a JSON object: text as it is, null as no value,
// anything else as its JSON text.
func (m *mapping) objectHeaders(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return sqlerr.New(sqlerr.InvalidParameterValue, `headers in column "%s" are no JSON object: %s`,
			m.cols[m.headers].Name, shorten(doc)).AsPermanent()
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "headers are unreadable")
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "headers are unreadable")
		}
		h := header{name: []byte(name.(string)), value: raw}
		var text *string
		if raw[0] == 'n' {
			h.value = nil
		} else if json.Unmarshal(raw, &text) == nil {
			h.value = append([]byte{}, *text...)
		}
		m.list = append(m.list, h)
	}
	return nil
}

package postgres

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// cellKind picks the encoder of a column; the frequent ones are inlined in the
// loop over a row's columns.
type cellKind uint8

const (
	cellBinary cellKind = iota // by types.AppendBinary
	cellBytes                  // texts and bytea, as they are
	cellInt4
	cellInt8
	cellJSON // what the server has no type for
)

func cellOf(t types.Type) cellKind {
	switch {
	case isJSON(t):
		return cellJSON
	case t.ID == types.Int4:
		return cellInt4
	case t.ID == types.Int8:
		return cellInt8
	}
	switch t.ID {
	case types.Text, types.Varchar, types.Bpchar, types.Name, types.JSON, types.Unknown, types.Void, types.Bytea:
		return cellBytes
	}
	return cellBinary
}

// encoder writes rows as tuples of COPY's binary format.
type encoder struct {
	spec  *connector.Spec
	cells []cellKind
	texts []int // columns with texts, in which no zero byte may be
	// isKey marks the columns that the tuple of a removed key has; nil without an op.
	isKey []bool
	env   types.Env
}

// newEncoder returns an encoder of the sink's columns. key nil: rows are inserted
// only and have no op in front.
func newEncoder(s *connector.Spec, key []int) *encoder {
	e := &encoder{spec: s}
	for i, c := range s.Columns {
		e.cells = append(e.cells, cellOf(c.Type))
		if hasText(c.Type) {
			e.texts = append(e.texts, i)
		}
	}
	if key != nil {
		e.isKey = make([]bool, len(s.Columns))
		for _, k := range key {
			e.isKey[k] = true
		}
	}
	return e
}

func hasText(t types.Type) bool {
	switch t.ID {
	case types.Text, types.Varchar, types.Bpchar, types.Name, types.Unknown:
		return true
	case types.Array:
		return t.Elem != nil && hasText(*t.Elem)
	}
	return false // json and structs escape it
}

// check refuses texts that the server cannot hold.
func (e *encoder) check(b *arrowbatch.Batch) error {
	for _, c := range e.texts {
		v := b.Cols[c]
		for v.Layout == arrowbatch.List {
			v = v.Kids[0]
		}
		if bytes.IndexByte(v.Data, 0) < 0 {
			continue
		}
		for i := range b.Len {
			if zeroIn(b.Cols[c], i) {
				return sqlerr.New(sqlerr.CharacterNotInRepertoire, `column "%s" of a row has a text with a zero byte, which `+
					"PostgreSQL cannot hold", e.spec.Columns[c].Name).WithDetail("Row: %s", e.row(b, i)).
					WithHint("Leave it out in the query, or write the column as bytea.").AsPermanent()
			}
		}
	}
	return nil
}

func zeroIn(v *arrowbatch.Vec, i int) bool {
	if v.IsNull(i) {
		return false
	}
	if v.Layout == arrowbatch.Bytes {
		return bytes.IndexByte(v.BytesAt(i), 0) >= 0
	}
	lo, hi := v.ListAt(i)
	for k := lo; k < hi; k++ {
		if zeroIn(v.Kids[0], k) {
			return true
		}
	}
	return false
}

// row shows a row in messages, as a JSON object.
func (e *encoder) row(b *arrowbatch.Batch, i int) string {
	out := []byte{'{'}
	for k, c := range e.spec.Columns {
		if k > 0 {
			out = append(out, ", "...)
		}
		out = append(format.AppendJSONString(out, []byte(c.Name)), ": "...)
		out = format.AppendJSONValue(out, c.Type, b.Cols[k], i, &e.env)
		if len(out) > 1000 {
			return string(out[:1000]) + "…"
		}
	}
	return string(append(out, '}'))
}

var nullCell = []byte{0xff, 0xff, 0xff, 0xff}

// append writes row i of b as a tuple; gone: as the key of a row to be removed.
func (e *encoder) append(dst []byte, b *arrowbatch.Batch, i int, gone bool) []byte {
	be := binary.BigEndian
	n := len(e.cells)
	if e.isKey == nil {
		dst = be.AppendUint16(dst, uint16(n))
	} else {
		dst = append(be.AppendUint16(dst, uint16(n+1)), 0, 0, 0, 1, 0)
		if gone {
			dst[len(dst)-1] = 1
		}
	}
	for k, kind := range e.cells {
		v := b.Cols[k]
		if gone && !e.isKey[k] || v.IsNull(i) {
			dst = append(dst, nullCell...)
			continue
		}
		switch kind {
		case cellInt4:
			dst = be.AppendUint32(append(dst, 0, 0, 0, 4), uint32(v.I32[i]))
		case cellInt8:
			dst = be.AppendUint64(append(dst, 0, 0, 0, 8), uint64(v.I64[i]))
		case cellBytes:
			p := v.Data[v.Off[i]:v.Off[i+1]]
			dst = append(be.AppendUint32(dst, uint32(len(p))), p...)
		default:
			at := len(dst)
			dst = append(dst, 0, 0, 0, 0)
			if t := e.spec.Columns[k].Type; kind == cellJSON {
				dst = format.AppendJSONValue(dst, t, v, i, &e.env)
			} else {
				dst = types.AppendBinary(dst, t, v, i)
			}
			be.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
	}
	return dst
}

// maxTuple is the size in bytes of the longest row that the server takes.
const maxTuple = 1<<30 - 2

// tooLong is the error of a row of n bytes, nil if that is not too long.
func (e *encoder) tooLong(n int, b *arrowbatch.Batch, i int) error {
	if n <= maxTuple {
		return nil
	}
	return sqlerr.New(sqlerr.ProgramLimitExceeded, "row of %d bytes exceeds the limit of %d bytes", n, maxTuple).
		WithDetail("Row: %s", e.row(b, i)).AsPermanent()
}

// A piece of the outbox is tuples that are copied at once, with a head in front.
const pieceHead = 16

// copyHeader and copyTrailer stand around the tuples of a copy.
var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// piece is one, read back.
type piece struct {
	rows, gone, goneNulls uint32 // tuples; those that are keys of removed rows; those of them with a NULL
	tuples                []byte
}

func (p *piece) head() []byte {
	be := binary.BigEndian
	h := be.AppendUint32(make([]byte, 0, pieceHead), uint32(pieceVersion))
	h = be.AppendUint32(h, p.rows)
	h = be.AppendUint32(h, p.gone)
	return be.AppendUint32(h, p.goneNulls)
}

const pieceVersion = 1

func readPiece(raw []byte) (*piece, error) {
	be := binary.BigEndian
	if len(raw) < pieceHead || be.Uint32(raw) != pieceVersion {
		return nil, sqlerr.New(sqlerr.DataCorrupted, "a piece of the outbox is damaged").AsPermanent()
	}
	return &piece{be.Uint32(raw[4:]), be.Uint32(raw[8:]), be.Uint32(raw[12:]), raw[pieceHead:]}, nil
}

// starts returns where each tuple of a piece begins, and the end of the last one.
func (p *piece) starts() []int {
	be := binary.BigEndian
	at, out := 0, []int{0}
	for at+2 <= len(p.tuples) {
		fields := be.Uint16(p.tuples[at:])
		at += 2
		for range fields {
			if at+4 > len(p.tuples) {
				return out
			}
			size := be.Uint32(p.tuples[at:])
			at += 4
			if size != math.MaxUint32 {
				at += int(size)
			}
		}
		if at > len(p.tuples) {
			return out
		}
		out = append(out, at)
	}
	return out
}

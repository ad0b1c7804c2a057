package pgwire

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// maxColumns is the largest count that the protocol's int16 can carry.
const maxColumns = math.MaxInt16

// describeRow sends RowDescription.
func (c *conn) describeRow(cols []Column, formats []int16) error {
	if len(cols) > maxColumns {
		return sqlerr.New(sqlerr.TooManyColumns, "a result can have at most %d columns, not %d", maxColumns, len(cols))
	}
	c.out.room()
	b := c.out.buf
	at := len(b) + 1
	b = append(b, 'T', 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(cols)))
	for i, col := range cols {
		t := col.Type
		if t.ID == types.Unknown {
			t = types.TText // as PostgreSQL resolves it in a result
		}
		b = append(append(b, clean(col.Name)...), 0)
		b = binary.BigEndian.AppendUint32(b, col.TableOID)
		b = binary.BigEndian.AppendUint16(b, uint16(col.AttNum))
		b = binary.BigEndian.AppendUint32(b, t.OID())
		b = binary.BigEndian.AppendUint16(b, uint16(t.Size()))
		b = binary.BigEndian.AppendUint32(b, uint32(t.TypMod()))
		b = binary.BigEndian.AppendUint16(b, uint16(codeAt(formats, i)))
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	c.out.buf = b
	return nil
}

// cellKind picks the encoder of a column; the frequent ones are inlined in the
// loop over the rows.
type cellKind uint8

const (
	cellText cellKind = iota // by types.AppendText
	cellBinary
	cellInt4Text
	cellInt8Text
	cellBytes // text and binary of the text types
	cellInt4Binary
	cellInt8Binary
)

type cellEncoder struct {
	kind cellKind
	t    types.Type
}

// rowEncoder writes DataRow messages of one result.
type rowEncoder struct {
	cells []cellEncoder
	env   *types.Env
}

func newRowEncoder(cols []Column, formats []int16, env *types.Env) *rowEncoder {
	e := &rowEncoder{cells: make([]cellEncoder, len(cols)), env: env}
	for i, col := range cols {
		e.cells[i] = cellEncoder{kindOf(col.Type, codeAt(formats, i)), col.Type}
	}
	return e
}

func kindOf(t types.Type, code int16) cellKind {
	switch t.ID {
	case types.Text, types.Varchar, types.Name, types.JSON, types.Unknown:
		return cellBytes
	}
	if code == formatBinary {
		switch t.ID {
		case types.Int4:
			return cellInt4Binary
		case types.Int8:
			return cellInt8Binary
		}
		return cellBinary
	}
	switch t.ID {
	case types.Int4:
		return cellInt4Text
	case types.Int8:
		return cellInt8Text
	}
	return cellText
}

// appendRows is a rowAppender of DataRow messages.
func (e *rowEncoder) appendRows(dst []byte, b *arrowbatch.Batch, from int) ([]byte, int, error) {
	if len(b.Cols) != len(e.cells) {
		return dst, from, sqlerr.Internal("batch has %d columns, the result %d", len(b.Cols), len(e.cells))
	}
	row := from
	for ; row < b.Len && len(dst) < flushBytes; row++ {
		start := len(dst)
		dst = append(dst, 'D', 0, 0, 0, 0, byte(len(e.cells)>>8), byte(len(e.cells)))
		for k := range e.cells {
			v := b.Cols[k]
			if v.IsNull(row) {
				dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			at := len(dst)
			dst = append(dst, 0, 0, 0, 0)
			dst = e.appendCell(dst, &e.cells[k], v, row)
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		n := len(dst) - start - 1
		if n > maxEncoded {
			return dst[:start], row, rowTooLong(n)
		}
		binary.BigEndian.PutUint32(dst[start+1:], uint32(n))
	}
	return dst, row, nil
}

func (e *rowEncoder) appendCell(dst []byte, c *cellEncoder, v *arrowbatch.Vec, row int) []byte {
	switch c.kind {
	case cellInt4Text:
		return strconv.AppendInt(dst, int64(v.I32[row]), 10)
	case cellInt8Text:
		return strconv.AppendInt(dst, v.I64[row], 10)
	case cellBytes:
		return append(dst, v.Data[v.Off[row]:v.Off[row+1]]...)
	case cellInt4Binary:
		return binary.BigEndian.AppendUint32(dst, uint32(v.I32[row]))
	case cellInt8Binary:
		return binary.BigEndian.AppendUint64(dst, uint64(v.I64[row]))
	case cellBinary:
		return types.AppendBinary(dst, c.t, v, row)
	}
	return types.AppendText(dst, c.t, v, row, e.env)
}

// maxEncoded is the size of a message in bytes that clients still take
// (libpq's limit of 1 GiB).
const maxEncoded = 1<<30 - 2

func rowTooLong(n int) error {
	return sqlerr.New(sqlerr.ProgramLimitExceeded, "row of %d bytes exceeds the limit of %d bytes", n, maxEncoded)
}

// appendCopyData is a rowAppender of CopyData messages, one for each row of the
// one column.
func appendCopyData(dst []byte, b *arrowbatch.Batch, from int) ([]byte, int, error) {
	if len(b.Cols) != 1 || b.Cols[0].Layout != arrowbatch.Bytes {
		return dst, from, sqlerr.Internal("COPY TO STDOUT returned something else than bytes")
	}
	v := b.Cols[0]
	row := from
	for ; row < b.Len && len(dst) < flushBytes; row++ {
		data := v.Data[v.Off[row]:v.Off[row+1]]
		if len(data) > maxEncoded-4 {
			return dst, row, rowTooLong(len(data))
		}
		dst = append(dst, 'd')
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)+4))
		dst = append(dst, data...)
	}
	return dst, row, nil
}

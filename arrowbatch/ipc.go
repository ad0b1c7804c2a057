package arrowbatch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// opField is the column of ops behind the batch's own.
var opField = arrow.Field{Name: "op", Type: arrow.PrimitiveTypes.Int16}

// IPC turns batches of one schema into messages of Arrow's IPC format and back.
// The schema goes into none of them. Not safe for concurrent use.
type IPC struct {
	shapes []Shape
	schema *arrow.Schema // with the column of ops
	sink   payloads
	writer *ipc.Writer
	reader *ipc.Reader
	source messages
	bound  bounded
}

// bounded is an allocator that gives a reader no more at once than its message
// is long: a damaged message may claim anything.
type bounded struct{ max int }

const boundSlack = 128

func (a *bounded) Allocate(n int) []byte {
	if n > a.max {
		panic("arrowbatch: the message claims more bytes than it has")
	}
	return make([]byte, n)
}

func (a *bounded) Reallocate(n int, b []byte) []byte {
	return append(a.Allocate(n)[:0], b...)[:n]
}

func (*bounded) Free([]byte) {}

// NewIPC returns a codec for batches of the given shapes; schema says how their
// columns appear, nil as Schema has them.
func NewIPC(shapes []Shape, schema *arrow.Schema) (*IPC, error) {
	if schema == nil {
		schema = Schema(shapes)
	}
	if schema.NumFields() != len(shapes) {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "the schema has %d fields for %d columns",
			schema.NumFields(), len(shapes))
	}
	c := &IPC{shapes: append(shapes[:len(shapes):len(shapes)], Shape{Layout: Int16})}
	c.schema = arrow.NewSchema(append(schema.Fields(), opField), nil)
	c.writer = ipc.NewWriterWithPayloadWriter(&c.sink, ipc.WithSchema(c.schema))
	return c, nil
}

// SchemaMessage returns the message that goes before the batches where a reader
// of Arrow's streams is to understand them.
func (c *IPC) SchemaMessage() ([]byte, error) {
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(c.schema))
	if err := w.Close(); err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.InternalError, "cannot encode the Arrow schema")
	}
	// The stream's end mark goes: batches follow.
	return bytes.TrimSuffix(buf.Bytes(), endOfStream), nil
}

var endOfStream, _ = hex.DecodeString("ffffffff00000000")

// Encode appends b as one message: its columns and, behind them, its ops.
func (c *IPC) Encode(dst []byte, b *Batch) ([]byte, error) {
	ops := NewFlat(Int16, b.Len)
	defer ops.Release()
	for i := range ops.I16 {
		ops.I16[i] = int16(b.OpAt(i))
	}
	all := Batch{Cols: append(b.Cols[:len(b.Cols):len(b.Cols)], ops), Len: b.Len}
	rec, err := all.Record(c.schema)
	if err != nil {
		return dst, err
	}
	defer rec.Release()
	c.sink.buf.Reset()
	if err := c.writer.Write(rec); err != nil {
		return dst, sqlerr.Wrap(err, sqlerr.InternalError, "cannot encode the batch")
	}
	return append(dst, c.sink.buf.Bytes()...), nil
}

// payloads keeps the record batch of what an ipc.Writer writes.
type payloads struct {
	buf  bytes.Buffer
	seen bool // the schema, which comes first
}

func (*payloads) Start() error { return nil }

func (*payloads) Close() error { return nil }

func (p *payloads) WritePayload(pl ipc.Payload) error {
	if !p.seen {
		p.seen = true
		return nil
	}
	meta := pl.Meta()
	defer meta.Release()
	n := (meta.Len() + 7) &^ 7
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], 0xffffffff)
	binary.LittleEndian.PutUint32(head[4:], uint32(n))
	p.buf.Write(head[:])
	p.buf.Write(meta.Bytes())
	p.buf.Write(make([]byte, n-meta.Len()))
	return pl.SerializeBody(&p.buf)
}

func malformed(err error) error {
	return sqlerr.Wrap(err, sqlerr.DataCorrupted, "malformed Arrow message")
}

// Decode reads one message that Encode wrote with the same schema; XX001 for
// other bytes. src is not kept.
func (c *IPC) Decode(src []byte) (b *Batch, err error) {
	// Arrow's readers trust the offsets that they are given.
	defer func() {
		if p := recover(); p != nil {
			b, c.reader, err = nil, nil, malformed(io.ErrUnexpectedEOF)
		}
	}()
	if len(src) < 8 || binary.LittleEndian.Uint32(src) != 0xffffffff {
		return nil, malformed(io.ErrUnexpectedEOF)
	}
	n := int(binary.LittleEndian.Uint32(src[4:]))
	if n < 8 || n > len(src)-8 {
		return nil, malformed(io.ErrUnexpectedEOF)
	}
	rec, err := c.read(src[8:8+n], src[8+n:])
	if err != nil {
		return nil, err
	}
	if b, err = FromRecord(rec, c.shapes); err != nil {
		return nil, malformed(err)
	}
	last := len(b.Cols) - 1
	ops := b.Cols[last]
	b.Cols = b.Cols[:last]
	for i, o := range ops.I16[:b.Len] {
		if o != int16(Insert) && b.Ops == nil {
			b.Ops = make([]Op, b.Len)
		}
		if b.Ops != nil {
			b.Ops[i] = Op(o)
		}
	}
	ops.Release()
	return b, nil
}

// read passes one message through the ipc.Reader, which lives as long as it has
// met no error.
func (c *IPC) read(meta, body []byte) (arrow.Record, error) {
	if c.reader == nil {
		head, err := c.SchemaMessage()
		if err != nil {
			return nil, err
		}
		schema, err := ipc.NewMessageReader(bytes.NewReader(head)).Message()
		if err != nil {
			return nil, malformed(err)
		}
		c.source.next = schema
		if c.reader, err = ipc.NewReaderFromMessageReader(&c.source, ipc.WithAllocator(&c.bound)); err != nil {
			return nil, malformed(err)
		}
	}
	c.bound.max = len(body) + boundSlack
	c.source.next = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	if !c.reader.Next() {
		err := c.reader.Err()
		c.reader = nil
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, malformed(err)
	}
	return c.reader.Record(), nil
}

// messages hands an ipc.Reader one message at a time.
type messages struct{ next *ipc.Message }

func (m *messages) Message() (*ipc.Message, error) {
	msg := m.next
	m.next = nil
	if msg == nil {
		return nil, io.EOF
	}
	return msg, nil
}

func (*messages) Retain() {}

func (*messages) Release() {}

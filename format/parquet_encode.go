package format

import (
	"io"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// ParquetOptions say how a Parquet file is written.
type ParquetOptions struct {
	// Compression is one of ParquetCompressions.
	Compression string
	// RowGroup is the number of rows of a row group.
	RowGroup int
}

// ParquetCompressions are the names of compressions, the usual one first.
var ParquetCompressions = []string{"snappy", "zstd", "gzip", "none"}

// ParquetRowGroup is the usual number of rows of a row group.
const ParquetRowGroup = 128 << 10

const (
	// parquetSlice is how many rows are given to the library at once: it looks behind
	// them whether a page is full.
	parquetSlice = 1024
	// parquetHeld ends a row group that takes more memory, whatever its rows.
	parquetHeld = 64 << 20
)

var parquetCodecs = map[string]compress.Compression{"snappy": compress.Codecs.Snappy, "zstd": compress.Codecs.Zstd,
	"gzip": compress.Codecs.Gzip, "none": compress.Codecs.Uncompressed}

// ParquetSchema is what all files of some columns have in common. Every column can be
// NULL in them.
type ParquetSchema struct {
	root *schema.GroupNode
	// leaves are copied for each file.
	leaves []parquetLeaf
	opts   Options
	props  *parquet.WriterProperties
}

// NewParquetSchema makes the schema of columns; 42701 where two have one name.
func NewParquetSchema(cols []Column, o Options) (*ParquetSchema, error) {
	fields := make([]types.Field, len(cols))
	for i, c := range cols {
		fields[i] = types.Field{Name: c.Name, Type: c.Type}
	}
	s := &ParquetSchema{opts: o}
	nodes, err := s.fields(fields, nil, 0, 0)
	if err != nil {
		return nil, err
	}
	if s.root, err = schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1); err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.InvalidColumnDef, "the columns make no schema of Parquet")
	}
	// A slice is one batch for the library, so that pages end between rows.
	s.props = parquet.NewWriterProperties(parquet.WithCompression(parquetCodecs[o.Parquet.Compression]),
		parquet.WithBatchSize(1<<40), parquet.WithCreatedBy("streamsql"))
	return s, nil
}

// fields makes the nodes of columns or of a struct's fields, at a path from the row.
func (s *ParquetSchema) fields(fields []types.Field, path []int, def, rep int16) (schema.FieldList, error) {
	var out schema.FieldList
	seen := map[string]bool{}
	for i, f := range fields {
		if seen[f.Name] {
			return nil, sqlerr.New(sqlerr.DuplicateColumn, `column "%s" specified more than once`, f.Name)
		}
		seen[f.Name] = true
		n, err := s.node(f.Name, f.Type, append(path[:len(path):len(path)], i), def, rep)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// inList is the step of a path into a list.
const inList = -1

// node makes the node of a value that can be NULL; def is the level of what it is in.
func (s *ParquetSchema) node(name string, t types.Type, path []int, def, rep int16) (schema.Node, error) {
	var n schema.Node
	var err error
	optional := parquet.Repetitions.Optional
	switch t.ID {
	case types.Array:
		var e schema.Node
		if e, err = s.node("element", *t.Elem, append(path[:len(path):len(path)], inList), def+2, rep+1); err != nil {
			return nil, err
		}
		n, err = schema.ListOfWithName(name, e, optional, -1)
	case types.Struct:
		var kids schema.FieldList
		if kids, err = s.fields(t.Fields, path, def+1, rep); err != nil {
			return nil, err
		}
		if len(kids) == 0 {
			return nil, sqlerr.Unsupported(`column "%s" of type %s is not possible in a Parquet file`, name, t)
		}
		n, err = schema.NewGroupNode(name, optional, kids, -1)
	default:
		l := parquetLeaf{t: t, path: path, def: def + 1, rep: rep}
		l.phys, l.size, l.text = parquetStored(t)
		s.leaves = append(s.leaves, l)
		n, err = schema.NewPrimitiveNodeLogical(name, optional, parquetLogical(t), l.phys, l.size, -1)
	}
	if err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.InvalidColumnDef,
			`column "%s" of type %s is not possible in a Parquet file`, name, t)
	}
	return n, nil
}

// parquetStored tells how values of a scalar type are stored, as text if that is what
// SQL prints.
func parquetStored(t types.Type) (phys parquet.Type, size int, text bool) {
	switch t.ID {
	case types.Bool:
		return parquet.Types.Boolean, 0, false
	case types.Int2, types.Int4, types.Date:
		return parquet.Types.Int32, 0, false
	case types.Int8, types.OID, types.Time, types.Timestamp, types.Timestamptz:
		return parquet.Types.Int64, 0, false
	case types.Float4:
		return parquet.Types.Float, 0, false
	case types.Float8:
		return parquet.Types.Double, 0, false
	case types.Numeric:
		switch {
		case !parquetDecimal(t):
		case t.Mod <= 9:
			return parquet.Types.Int32, 0, false
		case t.Mod <= 18:
			return parquet.Types.Int64, 0, false
		default:
			return parquet.Types.FixedLenByteArray, decimalBytes(int(t.Mod)), false
		}
	case types.UUID:
		return parquet.Types.FixedLenByteArray, 16, false
	case types.Text, types.Varchar, types.Bytea, types.JSON, types.JSONB:
		return parquet.Types.ByteArray, 0, false
	}
	return parquet.Types.ByteArray, 0, true
}

// parquetDecimal tells whether a numeric has what a decimal of Parquet needs.
func parquetDecimal(t types.Type) bool { return t.Mod > 0 && t.Scale >= 0 && t.Scale <= t.Mod }

// decimalBytes is the least number of bytes that hold digits digits and a sign.
func decimalBytes(digits int) int {
	// log2(10) bits for a digit.
	return int((float64(digits)*3.3219280948873626+1)/8) + 1
}

func parquetLogical(t types.Type) schema.LogicalType {
	switch t.ID {
	case types.Bool, types.Int4, types.Int8, types.OID, types.Float4, types.Float8, types.Bytea:
		return schema.NoLogicalType{}
	case types.Int2:
		return schema.NewIntLogicalType(16, true)
	case types.Date:
		return schema.DateLogicalType{}
	case types.Time:
		return schema.NewTimeLogicalType(false, schema.TimeUnitMicros)
	case types.Timestamp:
		return schema.NewTimestampLogicalType(false, schema.TimeUnitMicros)
	case types.Timestamptz:
		return schema.NewTimestampLogicalType(true, schema.TimeUnitMicros)
	case types.UUID:
		return schema.UUIDLogicalType{}
	case types.JSON, types.JSONB:
		return schema.JSONLogicalType{}
	case types.Numeric:
		if parquetDecimal(t) {
			return schema.NewDecimalLogicalType(int32(t.Mod), int32(t.Scale))
		}
	}
	return schema.StringLogicalType{}
}

// ParquetWriter writes one file. It is used by one goroutine.
type ParquetWriter struct {
	*ParquetSchema
	out    *counted
	file   *file.Writer
	group  file.BufferedRowGroupWriter
	leaves []parquetLeaf
	rows   int // of the row group in work
	closed bool
}

// counted counts the bytes of a file and remembers the error that the library may
// forget.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
	return n, err
}

// Create begins a file whose bytes go to w.
func (s *ParquetSchema) Create(w io.Writer) (*ParquetWriter, error) {
	p := &ParquetWriter{ParquetSchema: s, out: &counted{w: w}, leaves: append([]parquetLeaf(nil), s.leaves...)}
	err := p.guard(func() error {
		p.file = file.NewParquetWriter(p.out, s.root, file.WithWriterProps(s.props))
		return nil
	})
	return p, err
}

// guard runs fn, which calls the library, and returns what went wrong: what w says if
// it was w.
func (p *ParquetWriter) guard(fn func() error) error {
	err := spawn.Call("parquet", fn)
	if p.out.err != nil {
		return p.out.err
	}
	if _, ours := err.(*sqlerr.Error); err == nil || ours {
		return err
	}
	return sqlerr.Wrap(err, sqlerr.InternalError, "could not write a Parquet file")
}

// Write adds rows, numbers of rows of the columns' vectors, in their order, until Size
// is at or above limit. It returns how many it took: at least one.
func (p *ParquetWriter) Write(vs []*arrowbatch.Vec, rows []int32, limit int64) (n int, err error) {
	err = p.guard(func() error {
		for n < len(rows) {
			k := min(parquetSlice, len(rows)-n, p.opts.Parquet.RowGroup-p.rows)
			if err := p.slice(vs, rows[n:n+k]); err != nil {
				return err
			}
			n += k
			if p.rows += k; p.rows >= p.opts.Parquet.RowGroup || p.Held() > parquetHeld {
				if err := p.endGroup(); err != nil {
					return err
				}
			}
			if p.Size() >= limit {
				return nil
			}
		}
		return nil
	})
	return n, err
}

// slice gives rows to the library, column by column.
func (p *ParquetWriter) slice(vs []*arrowbatch.Vec, rows []int32) error {
	if p.group == nil {
		p.group = p.file.AppendBufferedRowGroup()
	}
	for i := range p.leaves {
		c, err := p.group.Column(i)
		if err != nil {
			return err
		}
		l := &p.leaves[i]
		if err := l.fill(vs, rows, p.opts.Env); err != nil {
			return err
		}
		if err := l.give(c); err != nil {
			return err
		}
	}
	return nil
}

// endGroup writes the row group in work.
func (p *ParquetWriter) endGroup() error {
	if p.group == nil {
		return nil
	}
	err := p.group.Close()
	p.group, p.rows = nil, 0
	return err
}

// Size is how many bytes the file has, with what is held.
func (p *ParquetWriter) Size() int64 { return p.out.n + int64(p.Held()) }

// Held is how many bytes are in memory.
func (p *ParquetWriter) Held() int {
	if p.group == nil {
		return 0
	}
	n := p.group.TotalCompressedBytes()
	for i := range p.leaves {
		c, err := p.group.Column(i)
		if err != nil {
			continue
		}
		e := c.CurrentEncoder()
		n += e.EstimatedDataEncodedSize()
		if d, ok := e.(interface{ DictEncodedSize() int }); ok {
			n += int64(d.DictEncodedSize())
		}
	}
	return int(n)
}

// Flush writes what is held and ends the row group.
func (p *ParquetWriter) Flush() error { return p.guard(p.endGroup) }

// Close writes the end of the file. It leaves w open.
func (p *ParquetWriter) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	return p.guard(func() error {
		// The library's own Close forgets errors.
		if err := p.endGroup(); err != nil {
			return err
		}
		return p.file.FlushWithFooter()
	})
}

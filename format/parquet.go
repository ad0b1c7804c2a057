package format

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Parquet is an encoding of whole files: a ParquetReader and a ParquetWriter do what
// a Decoder and an Encoder do for records.
const Parquet = "parquet"

// ParquetReader reads the rows of one Parquet file in batches. Of each column that is
// wanted a page at a time is in memory. It is used by one goroutine.
//
// Its errors are a *sqlerr.Error for what is wrong with the file, and that of the
// file system where it cannot be read.
type ParquetReader struct {
	rows
	r    io.ReaderAt
	size int64
	meta *metadata.FileMetaData
	id   string
	// extra bytes may belong to a column chunk: an old writer forgot them.
	extra int64
	// columns are those of the file that are read; bound is what fills each of rows'
	// columns, nil where nothing does.
	columns []*column
	bound   []*binding
	in      scalarInput
	zstd    *zstd.Decoder
	// group is the row group in work, from 0; before the first -1. place is the number
	// of the next row in the file, left how many the group has from there on.
	group       int
	place, left int64
	perRow      int // bytes of a row of the last batch, or what the file says
	bad         []BadValue
}

// BadValue is a row that has a value which its column cannot take.
type BadValue struct {
	Row int // in the batch
	// Err has no bytes of a record.
	Err *RecordError
}

// NewParquetReader reads the description at the end of a file of size bytes. The
// error is 42804 for a column that cannot take the file's values, XX001 for a file that
// is damaged.
func NewParquetReader(r io.ReaderAt, size int64, cols []Column, o Options) (*ParquetReader, error) {
	p := &ParquetReader{r: r, size: size, group: -1, in: scalarInput{text: newTextInput(o)}}
	p.init(cols)
	if err := p.describe(); err != nil {
		return nil, err
	}
	if err := p.bind(); err != nil {
		return nil, err
	}
	return p, nil
}

// describe reads the description.
func (p *ParquetReader) describe() error {
	size := p.size
	var tail [8]byte
	if size < 12 {
		return damaged("it is no Parquet file: it has %d bytes", size)
	}
	if err := p.readAt(tail[:], size-8); err != nil {
		return err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return sqlerr.Unsupported("encrypted Parquet files are not supported")
	default:
		return damaged("it is no Parquet file, or its end is missing")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 {
		return damaged("the description at its end is longer than the file")
	}
	b := make([]byte, n)
	if err := p.readAt(b, size-8-n); err != nil {
		return err
	}
	if err := checkFooter(b); err != nil {
		return err
	}
	p.id = strconv.FormatUint(xxh3.Hash(b), 16)
	var err error
	if e := spawn.Call("parquet", func() error { p.meta, err = metadata.NewFileMetaData(b, nil); return err }); e != nil {
		return damaged("the description at its end is malformed")
	}
	if p.meta.WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		p.extra = 100 // the header of a dictionary
	}
	return p.checkGroups()
}

func (p *ParquetReader) readAt(b []byte, at int64) error {
	n, err := p.r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return damaged("the file became shorter while it was read")
	}
	return err
}

// checkGroups tells whether the row groups can be what the description says.
func (p *ParquetReader) checkGroups() error {
	size, leaves, total := p.size, p.meta.Schema.NumColumns(), int64(0)
	for g, rg := range p.meta.RowGroups {
		if len(rg.Columns) != leaves || rg.NumRows < 0 || rg.NumRows > 1<<48 {
			return damaged("row group %d has %d columns of %d", g, len(rg.Columns), leaves)
		}
		total += rg.NumRows
		for k, c := range rg.Columns {
			d := p.meta.Schema.Column(k)
			m := c.MetaData
			switch {
			case c.CryptoMetadata != nil || m == nil:
				return sqlerr.Unsupported("encrypted Parquet files are not supported")
			case c.FilePath != nil && *c.FilePath != "":
				return sqlerr.Unsupported("columns in files of their own are not supported")
			case m.NumValues < rg.NumRows || d.MaxRepetitionLevel() == 0 && m.NumValues != rg.NumRows:
				return damaged(`column "%s" has %d values for %d rows in row group %d`, d.Path(), m.NumValues, rg.NumRows, g)
			}
			at := chunkStart(m.DataPageOffset, m.DictionaryPageOffset)
			if rg.NumRows == 0 {
				continue // some writers give it no place
			}
			if at < 4 || m.TotalCompressedSize < 0 || at > size || m.TotalCompressedSize > size-at {
				return damaged(`column "%s" of row group %d lies outside of the file`, d.Path(), g)
			}
		}
	}
	if total != p.meta.NumRows {
		return damaged("it has %d rows for %d in its row groups", p.meta.NumRows, total)
	}
	return nil
}

func chunkStart(data int64, dictionary *int64) int64 {
	if dictionary != nil && *dictionary > 0 && *dictionary < data {
		return *dictionary
	}
	return data
}

// NumRows returns the number of rows of the file.
func (p *ParquetReader) NumRows() int64 { return p.meta.NumRows }

// Place returns the number of the next row in the file, from 0.
func (p *ParquetReader) Place() int64 { return p.place }

// Group returns the number of the row group in work, from 0.
func (p *ParquetReader) Group() int { return max(p.group, 0) }

// ID tells files apart: it is a hash of the description, which names every place
// and, as most writers make it, what is there.
func (p *ParquetReader) ID() string { return p.id }

// SeekRow goes to a row of the file, 0 to NumRows.
func (p *ParquetReader) SeekRow(row int64) error {
	err := p.seek(row, skipRows)
	if _, damage := err.(*sqlerr.Error); damage {
		// It may lie behind the row: lists are read ahead, but not where one row is wanted.
		return p.seek(row, 1)
	}
	return err
}

// skipRows is how many rows are skipped at once.
const skipRows = 8192

func (p *ParquetReader) seek(row int64, step int) error {
	p.group, p.place, p.left = -1, 0, 0
	for p.place < row {
		if p.left == 0 {
			if err := p.next(); err != nil {
				return err
			}
			if p.left <= row-p.place {
				p.place, p.left = p.place+p.left, 0
				continue
			}
		}
		n := row - p.place
		for _, c := range p.columns {
			if err := c.skip(int(n), step); err != nil {
				return p.within(err)
			}
		}
		p.place, p.left = row, p.left-n
	}
	return nil
}

// SkipGroup goes to the end of the row group in work.
func (p *ParquetReader) SkipGroup() { p.place, p.left = p.place+p.left, 0 }

// next goes to the next row group.
func (p *ParquetReader) next() error {
	if p.group+1 >= len(p.meta.RowGroups) {
		return damaged("it has no row %d", p.place)
	}
	p.group++
	g := p.meta.RowGroups[p.group]
	if p.left = g.NumRows; p.left == 0 {
		return nil
	}
	size := int64(0)
	for _, c := range p.columns {
		m := g.Columns[c.t.leaf].MetaData
		c.begin(m.NumValues)
		at := chunkStart(m.DataPageOffset, m.DictionaryPageOffset)
		c.pages.reset(p.r, at, min(m.TotalCompressedSize+p.extra, p.size-at), compression(m.Codec), &p.zstd)
		size += m.TotalUncompressedSize
	}
	p.perRow = int(min(max(size/p.left, 1), 1<<30))
	return nil
}

// within says which row group an error is about.
func (p *ParquetReader) within(err error) error {
	if e, ok := err.(*sqlerr.Error); ok {
		named := *e
		named.Message = "row group " + strconv.Itoa(p.group) + ": " + e.Message
		return &named
	}
	return err
}

// Read returns the next rows, at most limit of about size bytes, within a row group;
// io.EOF at the end. Rows that have a value that their column cannot take are told
// beside, with NULL for the value. Such rows come in the batch's order.
func (p *ParquetReader) Read(limit, size int) (b *arrowbatch.Batch, bad []BadValue, err error) {
	for p.left == 0 {
		if p.group+1 >= len(p.meta.RowGroups) {
			return nil, nil, io.EOF
		}
		if err := p.next(); err != nil {
			return nil, nil, err
		}
	}
	n := int(min(int64(limit), p.left, int64(max(size/p.perRow, 1))))
	for _, c := range p.columns {
		if err := c.fill(n); err != nil {
			return nil, nil, p.within(err)
		}
	}
	for _, c := range p.columns {
		n = c.within(n, max(size, 4096))
	}
	for _, c := range p.columns {
		c.take(n)
	}
	p.bad = nil
	if err := p.build(n); err != nil {
		p.undo()
		return nil, nil, p.within(err)
	}
	for _, c := range p.columns {
		c.drop()
	}
	p.n = n
	b = p.rows.take()
	p.place, p.left = p.place+int64(n), p.left-int64(n)
	if p.left > 0 {
		p.perRow = max(b.Bytes()/n, 1)
	}
	slices.SortStableFunc(p.bad, func(a, b BadValue) int { return a.Row - b.Row })
	return b, slices.CompactFunc(p.bad, func(a, b BadValue) bool { return a.Row == b.Row }), nil
}

// Close lets go of what is in memory; the file is the caller's.
func (p *ParquetReader) Close() {
	if p.zstd != nil {
		p.zstd.Close()
		p.zstd = nil
	}
	p.columns, p.group, p.left = nil, len(p.meta.RowGroups), 0
}

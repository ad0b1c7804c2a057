package file

import (
	"io"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
)

// encoding makes the files of one format. It belongs to one writer of a sink and is
// used by one goroutine.
type encoding interface {
	// ext is the end of the names of its files, without the dot in front.
	ext() string
	// cuttable tells whether a file may be cut to the length that it had after a flush
	// and is whole then. A file of a format that ends in a footer is not: it is closed
	// at each barrier.
	cuttable() bool
	// create returns the writer of a new file whose bytes go to w.
	create(w io.Writer) (fileWriter, error)
}

// fileWriter writes the rows of one file. One that is given up is not closed.
type fileWriter interface {
	// write takes rows, numbers of rows of the columns, in their order, until the size
	// is at or above limit. It returns how many it took: at least one.
	write(cols []*arrowbatch.Vec, rows []int32, limit int64) (int, error)
	// size is how many bytes the file would have if it was closed now, or about that.
	size() int64
	// held is how many bytes are in memory and not written yet.
	held() int
	// flush writes them. Nothing is held then where the encoding is cuttable.
	flush() error
	// close writes all that belongs to the file, to its end. It does not close the
	// io.Writer.
	close() error
}

// newEncoding returns the encoding of a sink's files.
func newEncoding(f *connector.Format, cols []connector.Column, compression string) (encoding, error) {
	if f.Encode == format.Parquet {
		s, err := format.NewParquetSchema(connector.FormatColumns(cols), f.Options)
		return parquetEncoding{s}, err
	}
	enc, err := f.Encoder(cols)
	if err != nil {
		return nil, err
	}
	p, err := newPacker(compression)
	if err != nil {
		return nil, err
	}
	return &lineEncoding{enc: enc, name: f.Encode, pack: p}, nil
}

// lineEncoding is the encoding of files with a row on each line.
type lineEncoding struct {
	enc  *format.Encoder
	name string
	pack packer // nil: the lines as they are
}

func (l *lineEncoding) ext() string {
	ext := l.name
	if ext == format.Text {
		ext = "txt"
	}
	if l.pack != nil {
		ext += "." + l.pack.ext()
	}
	return ext
}

func (l *lineEncoding) cuttable() bool { return true }

func (l *lineEncoding) create(w io.Writer) (fileWriter, error) {
	f := &lineFile{lineEncoding: l, w: w}
	f.buf = l.enc.AppendHeader(f.buf)
	return f, nil
}

// lineFile writes one file of lines.
type lineFile struct {
	*lineEncoding
	w io.Writer
	// buf are lines that are not written yet; raw bytes of lines became out bytes of the
	// file.
	buf      []byte
	raw, out int64
}

// flushBytes is when lines are written out. Packed, they are a frame of their own, so
// that no row of the file needs what comes after it.
const flushBytes = 256 << 10

func (f *lineFile) write(cols []*arrowbatch.Vec, rows []int32, limit int64) (int, error) {
	for n, i := range rows {
		f.buf = f.enc.AppendLine(f.buf, cols, int(i))
		if len(f.buf) >= flushBytes {
			if err := f.flush(); err != nil {
				return n + 1, err
			}
		}
		if f.size() >= limit {
			return n + 1, nil
		}
	}
	return len(rows), nil
}

// size takes what is held to become as much as what was written did.
func (f *lineFile) size() int64 {
	n := int64(len(f.buf))
	if f.pack != nil && f.raw > 0 {
		n = n * f.out / f.raw
	}
	return f.out + n
}

func (f *lineFile) held() int { return cap(f.buf) }

func (f *lineFile) flush() error {
	if len(f.buf) == 0 {
		f.buf = nil
		return nil
	}
	b := f.buf
	if f.pack != nil {
		b = f.pack.pack(b)
	}
	if _, err := f.w.Write(b); err != nil {
		return err
	}
	f.raw += int64(len(f.buf))
	f.out += int64(len(b))
	if f.buf = f.buf[:0]; cap(f.buf) < flushBytes { // one of many files
		f.buf = nil
	}
	return nil
}

func (f *lineFile) close() error { return f.flush() }

package file

import (
	"io"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/format"
)

// parquetEncoding is the encoding of Parquet files, which end in a footer.
type parquetEncoding struct{ schema *format.ParquetSchema }

func (parquetEncoding) ext() string    { return "parquet" }
func (parquetEncoding) cuttable() bool { return false }

func (e parquetEncoding) create(w io.Writer) (fileWriter, error) {
	p, err := e.schema.Create(w)
	return parquetFile{p}, err
}

// parquetFile writes one Parquet file.
type parquetFile struct{ w *format.ParquetWriter }

func (f parquetFile) write(cols []*arrowbatch.Vec, rows []int32, limit int64) (int, error) {
	return f.w.Write(cols, rows, limit)
}

func (f parquetFile) size() int64  { return f.w.Size() }
func (f parquetFile) held() int    { return f.w.Held() }
func (f parquetFile) flush() error { return f.w.Flush() }
func (f parquetFile) close() error { return f.w.Close() }

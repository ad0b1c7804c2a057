package format

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

var benchColumns = []Column{col("a", types.TInt8), col("t", types.TText), col("f", types.TFloat8), col("i", types.TInt4),
	col("b", types.TBool)}

func benchVecs(n int) []*arrowbatch.Vec {
	var vs []*arrowbatch.Vec
	for _, c := range benchColumns {
		vs = append(vs, arrowbatch.NewVec(c.Type.Shape(), 0))
	}
	for i := range n {
		vs[0].AppendInt64(int64(i) * 1000)
		vs[1].AppendString("text " + strconv.Itoa(100_000+i%5000))
		vs[2].AppendFloat64(float64(i) / 7)
		if i%10 == 0 {
			vs[3].AppendNull()
		} else {
			vs[3].AppendInt32(int32(i % 1000))
		}
		vs[4].AppendBool(i%3 == 0)
	}
	return vs
}

func BenchmarkParquetRead(b *testing.B) {
	const rows = 256 << 10
	for _, c := range ParquetCompressions {
		b.Run(c, func(b *testing.B) {
			data := parquetFile(b, benchColumns, benchVecs(rows), upTo(rows), 1, ParquetOptions{Compression: c})
			b.ReportAllocs()
			for b.Loop() {
				p, err := NewParquetReader(bytes.NewReader(data), int64(len(data)), benchColumns, Options{})
				if err != nil {
					b.Fatal(err)
				}
				for {
					batch, _, err := p.Read(8192, 1<<20)
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					batch.Release()
				}
				p.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

func BenchmarkParquetWrite(b *testing.B) {
	const rows = 256 << 10
	vs, all := benchVecs(rows), upTo(rows)
	for _, c := range ParquetCompressions {
		b.Run(c, func(b *testing.B) {
			s, err := NewParquetSchema(benchColumns, Options{Parquet: ParquetOptions{Compression: c, RowGroup: ParquetRowGroup}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				w, err := s.Create(io.Discard)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := w.Write(vs, all, math.MaxInt64); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

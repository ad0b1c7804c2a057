package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// readDamaged reads as much of a file as can be had, group by group as on_error = 'skip'
// does. What is wrong must be told with an error of the file's, and columns must be
// whole.
func readDamaged(t testing.TB, data []byte, cols []Column) (rows int) {
	p, err := NewParquetReader(bytes.NewReader(data), int64(len(data)), cols, Options{})
	if err != nil {
		checkDamage(t, err)
		return 0
	}
	defer p.Close()
	if p.NumRows() > 100_000 {
		return 0 // NULLs take no room: there may be any number
	}
	for {
		b, bad, err := p.Read(50, 1<<20)
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			checkDamage(t, err)
			p.SkipGroup()
			continue
		}
		for i, c := range b.Cols {
			checkVec(t, cols[i].Name, c, b.Len)
		}
		for _, x := range bad {
			if x.Row < 0 || x.Row >= b.Len || x.Err == nil {
				t.Fatalf("row %d of %d is bad: %v", x.Row, b.Len, x.Err)
			}
		}
		rows += b.Len
		b.Release()
	}
}

func checkDamage(t testing.TB, err error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code == sqlerr.InternalError {
		t.Fatalf("an error of no file: %v", err)
	}
}

// jsonColumns are the columns of pyarrowColumns as json, all but the unused ones.
func jsonColumns() []Column {
	var out []Column
	for _, c := range pyarrowColumns {
		c.Type, c.NotNull = types.TJSON, false
		out = append(out, c)
	}
	return out
}

var damagedFiles = []string{"snappy", "none", "zstd_v2", "gzip_crc", "brotli_v2nodict", "lz4", "lists", "delta", "int96"}

// Bytes of files are changed, dropped and moved about: no input makes the reader panic,
// hang or make room without end.
func TestParquetDamage(t *testing.T) {
	times := 30
	if testing.Short() {
		times = 10
	}
	cols := jsonColumns()
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range damagedFiles {
		data := parquetData(t, name+".parquet")
		foot := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
		for n := range times {
			bad := bytes.Clone(data)
			// The description of the file half of the times, and pages.
			lo, hi := 4, foot
			if n%2 == 0 {
				lo, hi = foot, len(data)
			}
			for range 1 + r.IntN(4) {
				at := lo + r.IntN(hi-lo)
				switch r.IntN(3) {
				case 0:
					bad[at] ^= 1 << r.IntN(8)
				case 1:
					bad[at] = byte(r.IntN(256))
				default:
					copy(bad[at:], data[r.IntN(len(data)):][:min(8, len(data)-at)])
				}
			}
			readDamaged(t, bad, pyarrowColumns)
			readDamaged(t, bad, cols)
		}
		for range times {
			readDamaged(t, data[:r.IntN(len(data))], cols)
			// The end is there, something before it is not.
			at := r.IntN(foot)
			readDamaged(t, append(bytes.Clone(data[:at]), data[at+r.IntN(foot-at):]...), cols)
		}
	}
}

// FuzzParquet: no input makes the reader panic or leave a part of a row.
func FuzzParquet(f *testing.F) {
	cols := jsonColumns()
	for _, name := range damagedFiles {
		f.Add(parquetData(f, name+".parquet"))
	}
	vs := encodeVecs(f, encodeColumns, encodeRows)
	f.Add(parquetFile(f, encodeColumns, vs, upTo(3), 2, ParquetOptions{Compression: "none", RowGroup: 2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		readDamaged(t, data, pyarrowColumns)
		readDamaged(t, data, cols)
		readDamaged(t, data, encodeColumns)
	})
}

// FuzzParquetPages changes bytes of pages alone, which the fuzzer does not find behind
// what describes them.
func FuzzParquetPages(f *testing.F) {
	f.Add(uint8(0), uint16(4), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, file uint8, at uint16, with []byte) {
		data := parquetData(t, damagedFiles[int(file)%len(damagedFiles)]+".parquet")
		copy(data[int(at)%len(data):], with)
		readDamaged(t, data, pyarrowColumns)
	})
}

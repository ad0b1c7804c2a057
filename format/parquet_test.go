package format

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/sql/types"
)

// readParquet reads a file from a row on as JSON lines, in batches of limit rows; rows
// with a bad value are lines that begin with "! ".
func readParquet(t testing.TB, data []byte, cols []Column, from int64, limit int) (string, error) {
	t.Helper()
	p, err := NewParquetReader(bytes.NewReader(data), int64(len(data)), cols, Options{})
	if err != nil {
		return "", err
	}
	defer p.Close()
	if err := p.SeekRow(from); err != nil {
		return "", err
	}
	var out strings.Builder
	for {
		at := p.Place()
		b, bad, err := p.Read(limit, 1<<20)
		if errors.Is(err, io.EOF) {
			if p.Place() != p.NumRows() {
				t.Errorf("it ends at row %d of %d", p.Place(), p.NumRows())
			}
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		if b.Len == 0 || b.Len > limit || p.Place() != at+int64(b.Len) {
			t.Fatalf("%d rows of at most %d, from row %d to %d", b.Len, limit, at, p.Place())
		}
		for i, c := range b.Cols {
			checkVec(t, cols[i].Name, c, b.Len)
		}
		lines := strings.SplitAfter(show(cols, b), "\n")
		for _, x := range bad {
			lines[x.Row] = "! " + x.Err.Error() + "\n"
		}
		out.WriteString(strings.Join(lines, ""))
		b.Release()
	}
}

func parquetData(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "parquet", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pyarrowColumns are those of the files that testdata/parquet/write.py makes.
var pyarrowColumns = []Column{col("b", types.TBool), col("i8", types.TInt2), col("u8", types.TInt4), col("i16", types.TInt2),
	col("u16", types.TInt4), col("i32", types.TInt4), col("u32", types.TInt8), col("i64", types.TInt8),
	col("u64", types.TNumeric), col("f16", types.TFloat4), col("f32", types.TFloat4), col("f64", types.TFloat8),
	col("s", types.TText), col("ls", types.TText), col("bin", types.TBytea), col("fix", types.TBytea),
	col("dec9", types.TNumeric), col("dec18", types.Type{ID: types.Numeric, Mod: 18, Scale: 3}), col("dec38", types.TNumeric),
	col("d", types.TDate), col("t32", types.TTime), col("t64", types.TTime), col("tns", types.TTime),
	col("ts_ms", types.TTimestamp), col("ts_us", types.TTimestamp), col("ts_ns", types.TTimestamp),
	col("tz_ms", types.TTimestamptz), col("tz_us", types.TTimestamptz), col("tz_ns", types.TTimestamptz),
	col("u", types.TUUID), col("j", types.TJSONB), col("dict", types.TText), col("l", types.ArrayOf(types.TInt4)),
	col("ll", types.TJSON), col("ls2", types.ArrayOf(types.TText)), col("m", types.TJSON),
	col("mi", types.ArrayOf(types.StructOf(types.Field{Name: "key", Type: types.TInt4}, types.Field{Name: "value", Type: types.TText}))),
	col("st", types.StructOf(types.Field{Name: "q", Type: types.TText}, types.Field{Name: "X", Type: types.TInt8},
		types.Field{Name: "none", Type: types.TText}, types.Field{Name: "in", Type: types.StructOf(
			types.Field{Name: "y", Type: types.ArrayOf(types.TInt2)})})),
	col("ls3", types.ArrayOf(types.StructOf(types.Field{Name: "b", Type: types.TText}, types.Field{Name: "a", Type: types.TInt8}))),
	col("!req", types.TInt8), col("nul", types.TInt4), col("gone", types.TText)}

// Files of all encodings, compressions and versions hold the same rows, which can be
// read from each on and in batches of any size.
func TestParquetPyarrow(t *testing.T) {
	want, err := os.ReadFile("testdata/parquet/rows.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(want), "\n")
	for _, name := range []string{"snappy", "none", "zstd_v2", "gzip_crc", "brotli_v2nodict", "lz4", "lists", "delta"} {
		data := parquetData(t, name+".parquet")
		for from := range int64(len(lines)) {
			for _, limit := range []int{1, 2, 100} {
				got, err := readParquet(t, data, pyarrowColumns, from, limit)
				if want := strings.Join(lines[from:], ""); err != nil || got != want {
					t.Fatalf("%s from row %d: %v\ngot\n%swant\n%s", name, from, err, got, want)
				}
			}
		}
	}
	for _, name := range []string{"empty", "nogroups"} {
		if got, err := readParquet(t, parquetData(t, name+".parquet"), pyarrowColumns, 0, 10); err != nil || got != "" {
			t.Errorf("%s: %v %s", name, err, got)
		}
	}
}

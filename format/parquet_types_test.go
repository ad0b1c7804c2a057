package format

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Each file's values become what the columns are, or the row is bad, or the file.
func TestParquetColumns(t *testing.T) {
	data := parquetData(t, "snappy.parquet")
	varchar2 := types.Type{ID: types.Varchar, Mod: 2}
	for _, c := range []struct {
		col  Column
		want string // of the first row
	}{
		{col("I32", types.TInt8), `-2147483648`}, {col("i32", types.TNumeric), `-2147483648`},
		{col("i32", types.TFloat8), `-2147483648`}, {col("i32", types.TText), `"-2147483648"`},
		{col("i32", types.TInt2), `! column "i32": value "-2147483648" is out of range for type smallint`},
		{col("i8", types.TInt4), `-8`}, {col("u8", types.TInt2), `200`}, {col("u32", types.TNumeric), `4294967295`},
		{col("u32", types.TInt4), `! column "u32": value "4294967295" is out of range for type integer`},
		{col("u64", types.TInt8), `! column "u64": value "18446744073709551615" is out of range for type bigint`},
		{col("u64", types.TText), `"18446744073709551615"`}, {col("u64", types.TJSON), `18446744073709551615`},
		{col("f16", types.TFloat8), `1.5`}, {col("f32", types.TFloat8), `1.5`}, {col("f32", types.TNumeric), `1.5`},
		{col("f64", types.TFloat4), `0.1`}, {col("f64", types.TInt4), `! column "f64": ` +
			`invalid input syntax for type integer: "0.1"`},
		{col("s", varchar2), `"é😀"`}, {col("s", types.TInt4), `! column "s": invalid input syntax for type integer: "é😀"`},
		{col("s", types.TJSON), `! column "s": invalid input syntax for type json (Token "é😀" is invalid.)`},
		{col("bin", types.TText), `! column "bin": invalid byte sequence for encoding "UTF8"`},
		{col("fix", types.TText), `"abcd"`}, {col("dec9", types.TInt4), `! column "dec9": ` +
			`invalid input syntax for type integer: "-1234.56"`},
		{col("dec9", types.TFloat8), `-1234.56`}, {col("dec9", types.Type{ID: types.Numeric, Mod: 5, Scale: 1}), `-1234.6`},
		{col("dec9", types.Type{ID: types.Numeric, Mod: 3, Scale: 1}), `! column "dec9": numeric field overflow ` +
			`(A field with precision 3, scale 1 must round to an absolute value less than 10^2.)`},
		{col("d", types.TTimestamp), `"2026-01-02T00:00:00"`}, {col("d", types.TText), `"2026-01-02"`},
		{col("ts_ms", types.TTimestamptz), `"2026-01-02T03:04:05.678+00:00"`},
		{col("tz_ns", types.Type{ID: types.Timestamp, Mod: 2}), `"2026-01-02T03:04:05.68"`},
		{col("u", types.TText), `"00112233-4455-6677-8899-aabbccddeeff"`}, {col("u", types.TJSON),
			`"00112233-4455-6677-8899-aabbccddeeff"`},
		{col("j", types.TText), `"{\"a\": 1}"`}, {col("l", types.TJSONB), `[1, null, 3]`},
		{col("l", types.ArrayOf(types.TText)), `["1",null,"3"]`}, {col("ls3", types.TJSON), `[{"a":1,"b":"x"},null,{"a":null,"b":null}]`},
		{col("mi", types.TJSON), `{"1":"x"}`}, {col("st", types.TJSON), `{"x":1,"q":"z","in":{"y":[1,2]}}`},
		{col("st", types.StructOf(types.Field{Name: "none", Type: types.TText})), `{"none":null}`},
		{col("bin", types.TJSON), `"AP8="`}, {col("nul", types.ArrayOf(types.TText)), `null`},
		{col("b", types.TText), `"true"`}, {col("t64", types.TText), `"23:59:59.999999"`},
	} {
		got, err := readParquet(t, data, []Column{c.col}, 0, 1)
		first, _, _ := strings.Cut(got, "\n")
		first = strings.TrimSuffix(strings.TrimPrefix(first, `{"`+c.col.Name+`":`), "}")
		if err != nil || first != c.want {
			t.Errorf("%s as %s: %v\ngot  %s\nwant %s", c.col.Name, c.col.Type, err, first, c.want)
		}
	}
	for _, c := range []Column{col("b", types.TInt4), col("l", types.TInt4), col("l", types.ArrayOf(types.TUUID)),
		col("st", types.ArrayOf(types.TInt4)), col("i32", types.TDate), col("s", types.ArrayOf(types.TText)),
		col("m", types.StructOf(types.Field{Name: "key", Type: types.TText})), col("t64", types.TTimestamp)} {
		if _, err := readParquet(t, data, []Column{c}, 0, 1); sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch {
			t.Errorf("%s as %s: %v", c.Name, c.Type, err)
		}
	}
}

// INT96 is a time of UTC.
func TestParquetInt96(t *testing.T) {
	cols := []Column{col("ts_ns", types.TTimestamp), col("tz_ns", types.TTimestamptz), col("i64", types.TInt8)}
	got, err := readParquet(t, parquetData(t, "int96.parquet"), cols, 3, 1)
	const want = `{"ts_ns":"1969-12-31T23:59:59.999999","tz_ns":"1969-12-31T23:59:59.999999+00:00","i64":9223372036854775807}`
	if first, _, _ := strings.Cut(got, "\n"); err != nil || first != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, first, want)
	}
}

// A NULL in a NOT NULL column makes a bad row, whether or not anybody reads the column.
func TestParquetNotNull(t *testing.T) {
	data := parquetData(t, "gzip_crc.parquet")
	for _, name := range []string{"!i64", "!l", "!st", "!m", "!nul", "!none"} {
		for _, unused := range []bool{false, true} {
			c := col(name, types.TJSON)
			c.Unused = unused
			got, err := readParquet(t, data, []Column{col("req", types.TInt8), c}, 1, 2)
			bad := `! column "` + c.Name + `": null value in column "` + c.Name + `" violates not-null constraint`
			rows := strings.Split(got, "\n")
			none := c.Name == "nul" || c.Name == "none"
			if err != nil || rows[0] != bad || rows[3] != bad || (rows[1] == bad) != none {
				t.Errorf("%s, unused %t: %v\n%s", name, unused, err, got)
			}
		}
	}
	req := col("!req", types.TInt8)
	req.Unused = true
	if got, err := readParquet(t, data, []Column{req}, 0, 9); err != nil || strings.Contains(got, "!") {
		t.Errorf("a column that cannot be NULL: %v %s", err, got)
	}
}

// reads counts the bytes read.
type reads struct {
	*bytes.Reader
	n int
}

func (r *reads) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(b, off)
	r.n += n
	return n, err
}

// Columns that nobody reads are not read, nor are the pages before a place; what is in
// memory does not grow with the row group.
func TestParquetReadsLittle(t *testing.T) {
	const rows = 40_000
	a, b := arrowbatch.NewFlat(arrowbatch.Int64, 0), arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := range rows {
		a.AppendInt64(int64(i))
		b.AppendString(strings.Repeat("0123456789", i%20) + strconv.Itoa(i))
	}
	cols := []Column{col("a", types.TInt8), col("b", types.TText)}
	data := parquetFile(t, cols, []*arrowbatch.Vec{a, b}, upTo(rows), 1, ParquetOptions{Compression: "none", RowGroup: rows})
	open := func(cols ...Column) (*ParquetReader, *reads) {
		r := &reads{Reader: bytes.NewReader(data)}
		p, err := NewParquetReader(r, int64(len(data)), cols, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p, r
	}
	unused := cols[1]
	unused.Unused = true
	for _, c := range []struct {
		cols []Column
		most int
	}{{[]Column{cols[0], unused}, 600_000}, {cols[1:], len(data) / 2}} {
		p, r := open(c.cols...)
		if err := p.SeekRow(rows - 10); err != nil {
			t.Fatal(err)
		}
		batch, _, err := p.Read(100, 1<<20)
		if err != nil || batch.Len != 10 || r.n > c.most {
			t.Fatalf("%d rows, %d of %d bytes read, %v", batch.Len, r.n, len(data), err)
		}
	}
	// Batches are about as long as they shall be.
	p, _ := open(cols...)
	seen := 0
	for {
		batch, _, err := p.Read(8192, 1<<20)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if size := batch.Bytes(); size > 3<<20 || batch.Len < 100 && seen+batch.Len < rows {
			t.Fatalf("%d rows with %d bytes", batch.Len, size)
		}
		seen += batch.Len
		batch.Release()
	}
	if seen != rows {
		t.Error(seen)
	}
}

// A dictionary makes a short page of long values: batches are cut by what they hold.
func TestParquetLongValues(t *testing.T) {
	v := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for range 200 {
		v.AppendString(strings.Repeat("x", 100_000))
	}
	cols := []Column{col("t", types.TText)}
	data := parquetFile(t, cols, []*arrowbatch.Vec{v}, upTo(200), 1, ParquetOptions{RowGroup: 200})
	if len(data) > 100_000 {
		t.Fatalf("%d bytes: there is no dictionary", len(data))
	}
	p, err := NewParquetReader(bytes.NewReader(data), int64(len(data)), cols, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for rows < 200 {
		b, _, err := p.Read(8192, 1<<20)
		if err != nil || b.Bytes() > 2<<20 {
			t.Fatal(err, b.Bytes())
		}
		rows += b.Len
		b.Release()
	}
}

package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// parquetFile writes rows of the vectors times times.
func parquetFile(t testing.TB, cols []Column, vs []*arrowbatch.Vec, rows []int32, times int, o ParquetOptions) []byte {
	t.Helper()
	if o.Compression == "" {
		o.Compression = "snappy"
	}
	if o.RowGroup == 0 {
		o.RowGroup = ParquetRowGroup
	}
	s, err := NewParquetSchema(cols, Options{Parquet: o})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := s.Create(&out)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		if n, err := w.Write(vs, rows, math.MaxInt64); err != nil || n != len(rows) {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) || w.Held() != 0 {
		t.Errorf("size %d, held %d of %d", w.Size(), w.Held(), out.Len())
	}
	return out.Bytes()
}

func upTo(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// lines is what readParquet returns of rows of the vectors.
func lines(cols []Column, vs []*arrowbatch.Vec, rows []int32) string {
	return show(cols, arrowbatch.NewBatch(vs[0].N, vs...).Take(rows))
}

func TestParquetRoundTrip(t *testing.T) {
	vs := encodeVecs(t, encodeColumns, encodeRows)
	want := strings.SplitAfter(lines(encodeColumns, vs, []int32{2, 0, 1, 2, 0, 1, 2, 0, 1}), "\n")
	for _, c := range ParquetCompressions {
		for _, group := range []int{2, 100} {
			data := parquetFile(t, encodeColumns, vs, []int32{2, 0, 1}, 3, ParquetOptions{Compression: c, RowGroup: group})
			for from := range int64(10) {
				got, err := readParquet(t, data, encodeColumns, from, 2)
				if w := strings.Join(want[from:], ""); err != nil || got != w {
					t.Fatalf("%s, groups of %d, from %d: %v\ngot\n%swant\n%s", c, group, from, err, got, w)
				}
			}
		}
	}
	none := parquetFile(t, encodeColumns, vs, nil, 0, ParquetOptions{})
	if got, err := readParquet(t, none, encodeColumns, 0, 2); err != nil || got != "" {
		t.Errorf("a file without rows: %v %s", err, got)
	}
}

func TestParquetWriteLimit(t *testing.T) {
	cols := []Column{col("t", types.TText)}
	v := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := range 10_000 {
		v.AppendString(fmt.Sprint(i, strings.Repeat("x", 100)))
	}
	s, err := NewParquetSchema(cols, Options{Parquet: ParquetOptions{Compression: "none", RowGroup: ParquetRowGroup}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := s.Create(&out)
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.Write([]*arrowbatch.Vec{v}, upTo(v.N), 300_000)
	if err != nil || n < 2500 || n > 4500 {
		t.Fatal(n, err)
	}
	size := w.Size()
	if err := w.Flush(); err != nil || w.Held() != 0 || out.Len() < 300_000 {
		t.Error(err, w.Held(), out.Len())
	}
	if err := w.Close(); err != nil || math.Abs(float64(size)/float64(out.Len())-1) > 0.1 {
		t.Errorf("%d bytes were told, there are %d, %v", size, out.Len(), err)
	}
}

// failing takes some bytes and no more.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// Whenever the file cannot be written, the error is that of the file.
func TestParquetWriteErrors(t *testing.T) {
	vs := encodeVecs(t, encodeColumns, encodeRows)
	s, err := NewParquetSchema(encodeColumns, Options{Parquet: ParquetOptions{Compression: "none", RowGroup: 2}})
	if err != nil {
		t.Fatal(err)
	}
	whole := len(parquetFile(t, encodeColumns, vs, upTo(3), 1, ParquetOptions{Compression: "none", RowGroup: 2}))
	for n := 0; n < whole; n += 61 {
		f := failing(n)
		w, err := s.Create(&f)
		if err == nil {
			_, err = w.Write(vs, upTo(3), math.MaxInt64)
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("%d of %d bytes: %v", n, whole, err)
		}
	}
	d := types.Type{ID: types.Numeric, Mod: 20, Scale: 2}
	nan := encodeVecs(t, []Column{col("d", d)}, [][]string{{"NaN"}})
	if s, err = NewParquetSchema([]Column{col("d", d)}, Options{Parquet: ParquetOptions{Compression: "none", RowGroup: 2}}); err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(nan, upTo(1), math.MaxInt64); sqlerr.CodeOf(err) != sqlerr.NumericValueOutOfRange {
		t.Error(err)
	}
	two := []Column{col("a", types.TInt4), col("a", types.TText)}
	if _, err := NewParquetSchema(two, Options{Parquet: ParquetOptions{}}); sqlerr.CodeOf(err) != sqlerr.DuplicateColumn {
		t.Error(err)
	}
}

// randomVec appends random values of a type, many of them NULL, empty or the same.
func randomVec(r *rand.Rand, t types.Type, v *arrowbatch.Vec, n int) {
	for range n {
		if r.IntN(5) == 0 {
			v.AppendNull()
			continue
		}
		switch t.ID {
		case types.Array:
			randomVec(r, *t.Elem, v.Kids[0], r.IntN(4))
			v.EndList()
		case types.Struct:
			for i, f := range t.Fields {
				randomVec(r, f.Type, v.Kids[i], 1)
			}
			v.EndStruct()
		default:
			if err := types.ParseString(t, randomText(r, t), v, nil); err != nil {
				panic(err)
			}
		}
	}
}

func randomText(r *rand.Rand, t types.Type) string {
	small := r.IntN(2) == 0
	switch t.ID {
	case types.Bool:
		return fmt.Sprint(small)
	case types.Int2:
		return fmt.Sprint(int16(r.Uint32()))
	case types.Int4:
		return fmt.Sprint(int32(r.Uint32()))
	case types.Int8:
		if small {
			return fmt.Sprint(r.IntN(3))
		}
		return fmt.Sprint(int64(r.Uint64()))
	case types.Float4:
		return fmt.Sprint(float32(r.NormFloat64()))
	case types.Float8:
		return fmt.Sprint(r.NormFloat64())
	case types.Numeric:
		return fmt.Sprintf("%d.%02d", r.IntN(1_000_000)-500_000, r.IntN(100))
	case types.Date:
		return fmt.Sprintf("%04d-%02d-%02d", 1+r.IntN(3000), 1+r.IntN(12), 1+r.IntN(28))
	case types.Time:
		return fmt.Sprintf("%02d:%02d:%02d.%06d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000))
	case types.Timestamp, types.Timestamptz:
		return fmt.Sprintf("%04d-%02d-%02d 01:02:%02d.%06d+00", 1+r.IntN(3000), 1+r.IntN(12), 1+r.IntN(28), r.IntN(60), r.IntN(1_000_000))
	case types.UUID:
		return fmt.Sprintf("%08x-0000-0000-0000-%012x", r.Uint32(), r.IntN(1<<40))
	case types.Interval:
		return fmt.Sprintf("%d mons %d days %d us", r.IntN(50)-25, r.IntN(50)-25, r.IntN(1e9)-500_000_000)
	case types.Bytea:
		return fmt.Sprintf(`\x%x`, strings.Repeat("a", r.IntN(9)))
	case types.JSONB:
		return fmt.Sprintf(`{"k": [%d, null, "%s"]}`, r.IntN(10), strings.Repeat("é", r.IntN(3)))
	}
	if small {
		return []string{"", "a", "b", "NULL", "é😀"}[r.IntN(5)]
	}
	return strings.Repeat("long text ", r.IntN(20)) + fmt.Sprint(r.Uint64())
}

// Generated rows of all types are the same through Parquet and through lines of JSON,
// however they are cut.
func TestParquetAgainstJSON(t *testing.T) {
	x := types.StructOf(types.Field{Name: "p", Type: types.TInt8}, types.Field{Name: "q", Type: types.ArrayOf(types.TText)},
		types.Field{Name: "r", Type: types.StructOf(types.Field{Name: "s", Type: types.TTimestamptz})})
	cols := []Column{col("b", types.TBool), col("i2", types.TInt2), col("i4", types.TInt4), col("i8", types.TInt8),
		col("f4", types.TFloat4), col("f8", types.TFloat8), col("n", types.TNumeric),
		col("d9", types.Type{ID: types.Numeric, Mod: 9, Scale: 2}), col("d18", types.Type{ID: types.Numeric, Mod: 18, Scale: 2}),
		col("d30", types.Type{ID: types.Numeric, Mod: 30, Scale: 2}), col("t", types.TText), col("y", types.TBytea),
		col("day", types.TDate), col("tm", types.TTime), col("ts", types.TTimestamp), col("tz", types.TTimestamptz),
		col("u", types.TUUID), col("iv", types.TInterval), col("j", types.TJSONB), col("a", types.ArrayOf(types.TInt8)),
		col("as", types.ArrayOf(x)), col("st", x)}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 1 + r.IntN(1500)
		var vs []*arrowbatch.Vec
		for _, c := range cols {
			v := arrowbatch.NewVec(c.Type.Shape(), 0)
			randomVec(r, c.Type, v, n)
			vs = append(vs, v)
		}
		e, err := NewEncoder(cols, JSON, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := mustNew(t, JSON, Options{}, cols...)
		for i := range n {
			if err := d.Append(e.AppendRow(nil, vs, i)); err != nil {
				t.Fatal(err)
			}
		}
		want := show(cols, d.Take())
		o := ParquetOptions{Compression: ParquetCompressions[r.IntN(4)], RowGroup: 1 + r.IntN(2*n)}
		data := parquetFile(t, cols, vs, upTo(n), 1, o)
		from := r.IntN(n)
		got, err := readParquet(t, data, cols, int64(from), 1+r.IntN(n))
		if err != nil || got != strings.Join(strings.SplitAfter(want, "\n")[from:], "") {
			t.Fatalf("seed %d, %+v, from %d: %v", seed, o, from, err)
		}
	}
}

package file

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// parquetRows makes a file with row groups of group rows of the columns id and t, as
// lines does.
func parquetRows(t testing.TB, from, to, group int) string {
	t.Helper()
	id, text := arrowbatch.NewFlat(arrowbatch.Int64, 0), arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := from; i <= to; i++ {
		id.AppendInt64(int64(i))
		text.AppendString(fmt.Sprintf("row %d", i))
	}
	return parquetColumns(t, group, []format.Column{{Name: "id", Type: types.TInt8}, {Name: "t", Type: types.TText}}, id, text)
}

func parquetColumns(t testing.TB, group int, cols []format.Column, vs ...*arrowbatch.Vec) string {
	t.Helper()
	s, err := format.NewParquetSchema(cols, format.Options{Parquet: format.ParquetOptions{Compression: "none", RowGroup: group}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := s.Create(&out)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int32, vs[0].N)
	for i := range rows {
		rows[i] = int32(i)
	}
	if _, err := w.Write(vs, rows, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func newParquet(t *testing.T, opts ...string) *fixture {
	f := newFixture(t, opts...)
	f.spec.Encode = "parquet"
	return f
}

// numbers are the ids from from to to.
func numbers(from, to int) string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, " ")
}

// From every place that a reader tells, the rest is read once.
func TestParquetFromEveryOffset(t *testing.T) {
	f := newParquet(t, "batch_rows", "3", "watch", "false")
	f.write("a.parquet", parquetRows(t, 1, 11, 4))
	f.write("b.parquet", parquetRows(t, 12, 11, 4)) // without rows
	f.write("c.parquet", parquetRows(t, 12, 30, 100))
	src := f.source()
	r := f.open(src, "")
	var at []connector.Offset
	seen := 0
	for {
		b, next, err := r.Read(ctx, "")
		if err == connector.ErrEnd {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen += b.Len
		b.Release()
		at = append(at, next)
		rows, _, end, err := f.drain(f.open(f.source(), next), "")
		f.want("from "+string(next), rows, err, numbers(seen+1, 30))
		if !end {
			t.Error("a directory that is not watched did not end")
		}
	}
	if seen != 30 || len(at) < 11 {
		t.Errorf("%d rows in %d batches", seen, len(at))
	}
	// A bound within a file, as another reader told it.
	rows, to, end, err := f.drain(f.open(f.source(), at[0]), at[5])
	from, bound := rows, at[5]
	rows, _, _, err2 := f.drain(f.open(f.source(), to), "")
	f.want("up to a bound and on", append(from, rows...), err2, numbers(4, 30))
	if err != nil || !end || to != bound {
		t.Errorf("%v, end %t, at %s, not %s", err, end, to, bound)
	}
}

func TestParquetIsWatched(t *testing.T) {
	f := newParquet(t, "max_files_per_trigger", "1")
	f.write("b.parquet", parquetRows(t, 3, 4, 1))
	f.write("a.parquet", parquetRows(t, 1, 2, 9))
	src := f.source()
	r := f.open(src, "")
	for _, want := range []string{"1 2", "3 4", ""} {
		rows, _, end, err := f.drain(r, f.latest(src))
		f.want("an epoch", rows, err, want)
		if !end {
			t.Error("a bound was not reached")
		}
	}
}

// A file that is not what it was is an error.
func TestParquetChanges(t *testing.T) {
	f := newParquet(t, "batch_rows", "2")
	f.write("a.parquet", parquetRows(t, 1, 9, 4))
	b, at, err := f.open(f.source(), "").Read(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	for name, text := range map[string]string{"other rows": parquetRows(t, 11, 19, 4), "shorter": parquetRows(t, 1, 1, 4),
		"no table": "x"} {
		f.write("a.parquet", text)
		_, err := f.source().Open(ctx, connector.Split{ID: "files-0"}, at)
		if sqlerr.CodeOf(err) != sqlerr.DataCorrupted || !strings.Contains(err.Error(), "was replaced") {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.write("a.parquet", parquetRows(t, 1, 9, 4))
	r := f.open(f.source(), "")
	if b, _, err = r.Read(ctx, ""); err != nil {
		t.Fatal(err)
	}
	b.Release()
	f.add("a.parquet", "x")
	if _, _, _, err := f.drain(r, ""); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Error(err)
	}
}

// damageAt changes the page that holds the text, which is then no page.
func damageAt(t *testing.T, data, text string) string {
	t.Helper()
	i := strings.Index(data, text)
	if i < 0 {
		t.Fatal("no " + text)
	}
	b := []byte(data)
	b[i-4] = 0xff // the length of the value
	b[i-1] = 0x7f
	return string(b)
}

// What is damaged fails the query with the file's name, or is left out: always the same
// rows, however they are cut.
func TestParquetDamaged(t *testing.T) {
	good := parquetRows(t, 1, 12, 4)
	bad := damageAt(t, good, "row 7")
	for name, c := range map[string]struct{ text, message, ids, reason string }{
		"a page": {bad, `could not read file "%s": row group 1: column "t": a value is longer than its page`,
			"1 2 3 4 9 10 11 12", `the rest of the row group cannot be read: row group 1: column "t": a value is longer`},
		"no end": {good[:len(good)-9], `could not read file "%s": it is no Parquet file, or its end is missing`, "",
			"no row of the file can be read: it is no Parquet file"},
		"no table": {"x", `could not read file "%s": it is no Parquet file: it has 1 bytes`, "", "no row of the file"},
		"a gap":    {good[:40] + good[60:], `could not read file "%s": `, "", ""},
	} {
		f := newParquet(t)
		f.write("a.parquet", c.text)
		f.write("b.parquet", parquetRows(t, 13, 14, 4))
		_, _, _, err := f.drain(f.open(f.source(), ""), "")
		want := fmt.Sprintf(c.message, filepath.Join(f.dir, "a.parquet"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !sqlerr.From(err).Permanent {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
		if c.reason == "" {
			continue
		}
		for _, batch := range []string{"1", "3", "100"} {
			f.spec.FormatOptions = map[string]string{"on_error": "skip"}
			f.spec.Options["batch_rows"] = batch
			f.bad.rows = nil
			rows, at, _, err := f.drain(f.open(f.source(), ""), "")
			f.want(name, rows, err, strings.TrimSpace(c.ids+" 13 14"))
			if len(f.bad.rows) != 1 || !strings.HasPrefix(f.bad.rows[0].Reason, c.reason) ||
				!strings.Contains(string(f.bad.rows[0].Offset), `"file":"a.parquet"`) {
				t.Errorf("%s: %+v", name, f.bad.rows)
			}
			if rows, _, _, err := f.drain(f.open(f.source(), at), ""); err != nil || len(rows) > 0 {
				t.Errorf("%s: again %v %v", name, rows, err)
			}
		}
	}
}

// Rows before the damage are read, up to the same one from every offset.
func TestParquetDamagedWithin(t *testing.T) {
	const n = 5000
	id, text := arrowbatch.NewFlat(arrowbatch.Int64, 0), arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	for i := range n {
		id.AppendInt64(int64(i))
		text.AppendString(fmt.Sprintf("row %d %s", i, strings.Repeat("x", 1000)))
	}
	data := damageAt(t, parquetColumns(t, n, []format.Column{{Name: "id", Type: types.TInt8},
		{Name: "t", Type: types.TText}}, id, text), "row 4100 ")
	var first string
	for _, batch := range []string{"700", "8192"} {
		f := newParquet(t, "batch_rows", batch, "batch_bytes", "64 MB")
		f.spec.FormatOptions = map[string]string{"on_error": "skip"}
		f.write("a.parquet", data)
		rows, _, _, err := f.drain(f.open(f.source(), ""), "")
		got := ids(rows)
		if first == "" {
			first = got
		}
		if err != nil || got != first || len(rows) < 1000 || len(rows) > 4100 || len(f.bad.rows) != 1 {
			t.Fatalf("batches of %s: %d rows, %d bad, %v", batch, len(rows), len(f.bad.rows), err)
		}
		// A restart just before the damage.
		r := f.open(f.source(), "")
		seen := 0
		var at connector.Offset
		for seen < len(rows)-1 {
			b, to, err := r.Read(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			seen += b.Len
			b.Release()
			if seen >= len(rows) {
				break
			}
			at = to
		}
		rest, _, _, err := f.drain(f.open(f.source(), at), "")
		if err != nil || len(rest) == 0 || !strings.HasSuffix(first, ids(rest)) {
			t.Errorf("batches of %s: after a restart %d rows, %v", batch, len(rest), err)
		}
	}
}

// Values that their columns cannot take make bad rows, with the rest of the row.
func TestParquetBadRows(t *testing.T) {
	f := newParquet(t, "watch", "false")
	f.spec.Columns = []connector.Column{{Name: "id", Type: types.TInt2}, {Name: "t", Type: types.TText}}
	f.write("a.parquet", parquetRows(t, 32766, 32769, 3))
	r := f.open(f.source(), "")
	rows, at, _, err := f.drain(r, "")
	want := fmt.Sprintf(`could not read row 2 of file "%s": column "id": value "32768" is out of range for type smallint`,
		filepath.Join(f.dir, "a.parquet"))
	if err == nil || err.Error() != want || ids(rows) != "32766 32767" || !strings.Contains(string(at), `"at":2`) {
		t.Errorf("%v, rows %s, at %s", err, ids(rows), at)
	}
	f.spec.FormatOptions = map[string]string{"on_error": "skip"}
	rows, _, _, err = f.drain(f.open(f.source(), ""), "")
	f.want("skipped", rows, err, "32766 32767")
	if len(f.bad.rows) != 2 || string(f.bad.rows[1].Bytes) != `{"id":null,"t":"row 32769"}` ||
		f.bad.rows[1].Offset != `{"file":"a.parquet","at":3}` {
		t.Errorf("%+v", f.bad.rows)
	}
}

// Files of one directory may have other columns, and other types of the same values.
func TestParquetEvolution(t *testing.T) {
	f := newParquet(t, "watch", "false")
	f.spec.Columns = append(f.spec.Columns, connector.Column{Name: "n", Type: types.TFloat8})
	f.write("1.parquet", parquetRows(t, 1, 1, 3))
	id, n := arrowbatch.NewFlat(arrowbatch.Int32, 0), arrowbatch.NewFlat(arrowbatch.Float32, 0)
	id.AppendInt32(2)
	n.AppendFloat32(0.5)
	f.write("2.parquet", parquetColumns(t, 3, []format.Column{{Name: "ID", Type: types.TInt4}, {Name: "more", Type: types.TInt4},
		{Name: "n", Type: types.TFloat4}}, id, id, n))
	text := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	text.AppendString("3")
	f.write("3.parquet", parquetColumns(t, 3, []format.Column{{Name: "id", Type: types.TText}, {Name: "n", Type: types.TText}},
		text, text))
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	want := []string{`{"id":1,"t":"row 1","n":null}`, `{"id":2,"t":null,"n":0.5}`, `{"id":3,"t":null,"n":3}`}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v\n%s", err, strings.Join(rows, "\n"))
	}
	list := arrowbatch.NewVec(types.ArrayOf(types.TInt4).Shape(), 0)
	list.EndList()
	f.write("4.parquet", parquetColumns(t, 3, []format.Column{{Name: "id", Type: types.ArrayOf(types.TInt4)}}, list))
	_, _, _, err = f.drain(f.open(f.source(), ""), "")
	if sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch ||
		!strings.HasSuffix(err.Error(), `4.parquet": column "id": type bigint cannot take the file's LIST`) {
		t.Error(err)
	}
}

func TestParquetSink(t *testing.T) {
	for _, c := range append(slices.Clone(format.ParquetCompressions), "") {
		f := newSink(t, "op_column", "op", "row_group_size", "2")
		if c != "" {
			f.spec.Options["compression"] = c
		}
		f.spec.Encode, f.spec.AppendOnly = "parquet", false
		w := f.recover(0).writer(0)
		f.write(w, 1, -1, 2)
		f.write(w, 3)
		f.commit(1, f.prepare(w, 1))
		f.write(w, 4)
		f.commit(2, f.prepare(w, 2))
		in := newParquet(t, "watch", "false")
		in.spec.Options["path"] = f.dir
		in.spec.Columns = append(in.spec.Columns, connector.Column{Name: "op", Type: types.TText})
		rows, _, _, err := in.drain(in.open(in.source(), ""), "")
		in.want(c, rows, err, "1 1 2 3 4")
		if rows[1] != `{"id":1,"t":"row, x","op":"delete"}` {
			t.Error(rows[1])
		}
		if _, err := os.Stat(filepath.Join(f.dir, "part-0000000002-000.parquet")); err != nil {
			t.Error(err)
		}
	}
}

func TestParquetOptions(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"tail", "true", `option "tail" is not for ENCODE PARQUET`},
		{"max_record_bytes", "1 MB", `option "max_record_bytes" is not for ENCODE PARQUET`},
		{"row_group_size", "5", `unrecognized option "row_group_size"`},
	} {
		f := newParquet(t, c.name, c.value)
		if err := Factory.CheckSource(f.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	d := newParquet(t)
	d.spec.Format, d.spec.Key = connector.Debezium, []int{0}
	if err := Factory.CheckSource(d.spec); err == nil || !strings.Contains(fmt.Sprint(err, sqlerr.From(err).Detail), "PARQUET") {
		t.Error(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"compression", "lz4", `invalid value for option "compression": "lz4"`},
		{"row_group_size", "0", `option "row_group_size"`},
		{"roll_interval", "1 min", "complete with its footer only"},
	} {
		f := newSink(t, c.name, c.value)
		f.spec.Encode = "parquet"
		if err := Factory.CheckSink(ctx, f.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	f := newSink(t)
	f.spec.Encode = "parquet"
	f.spec.Columns[1].Name = "id"
	if err := Factory.CheckSink(ctx, f.spec); sqlerr.CodeOf(err) != sqlerr.DuplicateColumn {
		t.Error(err)
	}
}

package format

import (
	"testing"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// encodeColumns are columns of all that an encoding with a schema tells apart.
var encodeColumns = []Column{col("b", types.TBool), col("i2", types.TInt2), col("i4", types.TInt4), col("i8", types.TInt8),
	col("f4", types.TFloat4), col("f8", types.TFloat8), col("n", types.TNumeric),
	col("d", types.Type{ID: types.Numeric, Mod: 12, Scale: 3}), col("t", types.TText), col("y", types.TBytea),
	col("day", types.TDate), col("tm", types.TTime), col("ts", types.TTimestamp), col("tz", types.TTimestamptz),
	col("iv", types.TInterval), col("u", types.TUUID), col("j", types.TJSONB), col("a", types.ArrayOf(types.TInt4)),
	col("st", types.ArrayOf(types.StructOf(types.Field{Name: "x", Type: types.TInt4},
		types.Field{Name: "y", Type: types.ArrayOf(types.TText)})))}

// encodeRows are their rows, nil a row of NULLs.
var encodeRows = [][]string{
	{"t", "-3", "70000", "-9223372036854775808", "1.5", "0.1", "12345678901234567890.5", "-123.45", "é", `\x00ff`,
		"2026-01-02", "01:02:03.000004", "2026-01-02 03:04:05.678901", "1969-12-31 23:59:59+00", "1 mon 2 days 00:00:03",
		"00112233-4455-6677-8899-aabbccddeeff", `{"k": [1, null]}`, "{1,NULL,3}", `{"(1,\"{a,b}\")",NULL}`},
	{"f", "0", "0", "0", "NaN", "Infinity", "NaN", "0.128", "", `\x`, "infinity", "00:00:00", "infinity", "-infinity",
		"00:00:00", "00000000-0000-0000-0000-000000000000", "null", "{}", "{}"},
	nil,
}

func encodeVecs(t testing.TB, cols []Column, rows [][]string) []*arrowbatch.Vec {
	t.Helper()
	var vs []*arrowbatch.Vec
	for i, c := range cols {
		v := arrowbatch.NewVec(c.Type.Shape(), 0)
		for _, row := range rows {
			if row == nil {
				v.AppendNull()
			} else if err := types.ParseString(c.Type, row[i], v, nil); err != nil {
				t.Fatal(c.Name, err)
			}
		}
		vs = append(vs, v)
	}
	return vs
}

// TestAvroRoundTrip: what is written is read back, by the schema that it was
// written with; another implementation reads it too.
func TestAvroRoundTrip(t *testing.T) {
	vs := encodeVecs(t, encodeColumns, encodeRows)
	e, err := NewEncoder(encodeColumns, Avro, Options{SchemaName: "my.ns.Thing"})
	if err != nil {
		t.Fatal(err)
	}
	e.SetSchemaID(5)
	d := mustNew(t, Avro, Options{}, encodeColumns...)
	d.AddSchema(5, e.Schema(), nil)
	other, err := avro.ParseWithCache(e.Schema().Text, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range encodeRows {
		rec := e.AppendRow(nil, vs, i)
		if err := e.Err(); err != nil {
			t.Fatal(err)
		}
		if err := d.Append(rec); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		var all map[string]any
		if err := avro.Unmarshal(other, rec[frame:], &all); err != nil || len(all) != len(encodeColumns) {
			t.Errorf("row %d: %v", i, err)
		}
	}
	got, want := show(encodeColumns, d.Take()), show(encodeColumns, arrowbatch.NewBatch(len(encodeRows), vs...))
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAvroEncodeRefuses(t *testing.T) {
	for _, name := range []string{"a b", "1a", "", "é"} {
		if _, err := NewEncoder([]Column{col(name, types.TInt4)}, Avro, Options{}); sqlerr.CodeOf(err) != sqlerr.InvalidName {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := NewEncoder([]Column{col("a", types.TInt4), col("a", types.TInt4)}, Avro, Options{})
	if sqlerr.CodeOf(err) != sqlerr.DuplicateColumn {
		t.Error(err)
	}
	n := types.Type{ID: types.Numeric, Mod: 12, Scale: 3}
	e, err := NewEncoder([]Column{col("a", n)}, Avro, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := encodeVecs(t, []Column{col("a", n)}, [][]string{{"NaN"}})
	e.AppendRow(nil, v, 0)
	if sqlerr.CodeOf(e.Err()) != sqlerr.NumericValueOutOfRange || e.Err() != nil {
		t.Error("a NaN was written, or told twice")
	}
}

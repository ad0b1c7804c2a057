package format

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// marshalAvro encodes v by the schema, by another implementation, with the schema's
// id in front.
func marshalAvro(t testing.TB, id int32, schema string, v any) []byte {
	t.Helper()
	s, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := avro.Marshal(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return append(appendFrame(nil, id), b...)
}

func record(fields string) *Schema {
	return &Schema{Type: "AVRO", Text: `{"type":"record","name":"R","namespace":"n","fields":[` + fields + `]}`}
}

const allFields = `{"name":"b","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":"long"},
	{"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"s","type":"string"},{"name":"y","type":"bytes"},
	{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}},
	{"name":"fdec","type":{"type":"fixed","name":"F","size":9,"logicalType":"decimal","precision":20,"scale":3}},
	{"name":"day","type":{"type":"int","logicalType":"date"}},
	{"name":"tm","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"tu","type":{"type":"long","logicalType":"time-micros"}},
	{"name":"tsm","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"tsu","type":{"type":"long","logicalType":"timestamp-micros"}},
	{"name":"loc","type":{"type":"long","logicalType":"local-timestamp-micros"}},
	{"name":"u","type":{"type":"string","logicalType":"uuid"}},
	{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
	{"name":"n","type":["null","string"]},{"name":"m","type":["null","long"]},
	{"name":"a","type":{"type":"array","items":["null","int"]}},
	{"name":"mp","type":{"type":"map","values":"double"}},
	{"name":"st","type":{"type":"record","name":"S","fields":[{"name":"x","type":"int"},{"name":"q","type":"string"}]}},
	{"name":"tree","type":{"type":"record","name":"T","fields":[{"name":"v","type":"int"},
		{"name":"kids","type":{"type":"array","items":"T"}}]}}`

func allValues() map[string]any {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	return map[string]any{"b": true, "i": -7, "l": int64(1) << 60, "f": float32(1.5), "d": 0.1, "s": "é😀",
		"y": []byte{0, 255}, "dec": big.NewRat(-12345, 100), "fdec": big.NewRat(1234567890123, 1000),
		"day": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "tm": 90 * time.Minute, "tu": 90*time.Minute + 5*time.Microsecond,
		"tsm": at, "tsu": at, "loc": at, "u": "00112233-4455-6677-8899-aabbccddeeff", "e": "B", "n": nil,
		"m": map[string]any{"long": int64(5)}, "a": []any{1, nil, 3}, "mp": map[string]any{"k": 2.5},
		"st": map[string]any{"x": 1, "q": "z"}, "tree": map[string]any{"v": 1,
			"kids": []any{map[string]any{"v": 2, "kids": []any{}}}}}
}

var allColumns = []Column{col("b", types.TBool), col("i", types.TInt4), col("l", types.TInt8), col("f", types.TFloat4),
	col("d", types.TFloat8), col("s", types.TText), col("y", types.TBytea), col("dec", types.TNumeric),
	col("fdec", types.TNumeric), col("day", types.TDate), col("tm", types.TTime), col("tu", types.TTime),
	col("tsm", types.TTimestamptz), col("tsu", types.TTimestamp), col("loc", types.TTimestamp), col("u", types.TUUID),
	col("e", types.TText), col("n", types.TText), col("m", types.TInt2), col("a", types.ArrayOf(types.TInt4)),
	col("mp", types.TJSONB), col("st", types.StructOf(types.Field{Name: "q", Type: types.TText},
		types.Field{Name: "none", Type: types.TInt4}, types.Field{Name: "x", Type: types.TInt8})),
	col("tree", types.TJSON), col("none", types.TText)}

func TestAvroTypes(t *testing.T) {
	d := mustNew(t, Avro, Options{}, allColumns...)
	s := record(allFields)
	rec := marshalAvro(t, 7, s.Text, allValues())
	var unknown *UnknownSchema
	if err := d.Append(rec); !errors.As(err, &unknown) || unknown.ID != 7 {
		t.Fatal(err)
	}
	d.AddSchema(7, s, nil)
	for range 2 {
		if err := d.Append(rec); err != nil {
			t.Fatal(err)
		}
	}
	b := d.Take()
	const row = `{"b":true,"i":-7,"l":1152921504606846976,"f":1.5,"d":0.1,"s":"é😀","y":"\\x00ff","dec":-123.45,` +
		`"fdec":1234567890.123,"day":"2026-01-02","tm":"01:30:00","tu":"01:30:00.000005",` +
		`"tsm":"2026-01-02T03:04:05.678+00:00","tsu":"2026-01-02T03:04:05.678","loc":"2026-01-02T03:04:05.678",` +
		`"u":"00112233-4455-6677-8899-aabbccddeeff","e":"B","n":null,"m":5,"a":[1,null,3],"mp":{"k": 2.5},` +
		`"st":{"q":"z","none":null,"x":1},"tree":{"v":1,"kids":[{"v":2,"kids":[]}]},"none":null}` + "\n"
	if got := show(allColumns, b); got != row+row {
		t.Errorf("got  %s\nwant %s", got, row)
	}
	for i, c := range b.Cols {
		checkVec(t, allColumns[i].Name, c, b.Len)
	}
	// A record that ends early anywhere is bad, and leaves nothing.
	for n := range rec {
		if err := d.Append(rec[:n]); err == nil || d.Len() != 0 {
			t.Fatalf("%d of %d bytes were taken", n, len(rec))
		}
	}
	if err := d.Append(append(rec, 0)); err == nil || !strings.Contains(err.Error(), "left over") {
		t.Fatal(err)
	}
}

// avroCase reads one value of a field v, written as writer, into a column.
func avroCase(t *testing.T, writer, reader string, v any, c Column) (string, error) {
	t.Helper()
	d := mustNew(t, Avro, Options{}, c)
	w := record(writer)
	var r *Schema
	if reader != "" {
		r = record(reader)
	}
	d.AddSchema(1, w, r)
	if err := d.Append(marshalAvro(t, 1, w.Text, v)); err != nil {
		return "", err
	}
	return strings.TrimSpace(show([]Column{c}, d.Take())), nil
}

func TestAvroResolution(t *testing.T) {
	type m = map[string]any
	const e = `{"name":"v","type":{"type":"enum","name":"E",`
	for _, c := range []struct {
		name, writer, reader string
		v                    any
		col                  Column
		want                 string
	}{
		{"default", `{"name":"x","type":"int"}`, `{"name":"x","type":"int"},{"name":"v","type":"long","default":42}`,
			m{"x": 1}, col("v", types.TInt8), `{"v":42}`},
		{"default null", `{"name":"x","type":"int"}`, `{"name":"v","type":["null","long"],"default":null}`,
			m{"x": 1}, col("v", types.TInt8), `{"v":null}`},
		{"default of union", `{"name":"x","type":"int"}`, `{"name":"v","type":["string","null"],"default":"d"}`,
			m{"x": 1}, col("v", types.TText), `{"v":"d"}`},
		{"default bytes", `{"name":"x","type":"int"}`, `{"name":"v","type":"bytes","default":"\u00ffA"}`,
			m{"x": 1}, col("v", types.TBytea), `{"v":"\\xff41"}`},
		{"default record", `{"name":"x","type":"int"}`, `{"name":"v","type":{"type":"record","name":"S","fields":[
			{"name":"a","type":{"type":"array","items":"int"}},{"name":"b","type":"double","default":2.5}]},
			"default":{"a":[1,2]}}`, m{"x": 1}, col("v", types.TJSON), `{"v":{"a":[1,2],"b":2.5}}`},
		{"alias", `{"name":"old","type":"int"}`, `{"name":"v","type":"int","aliases":["old"]}`,
			m{"old": 9}, col("v", types.TInt8), `{"v":9}`},
		{"newer than the reader", `{"name":"v","type":"int"}`, `{"name":"x","type":"int","default":0}`,
			m{"v": 9}, col("v", types.TInt8), `{"v":9}`},
		{"int to double", `{"name":"v","type":"int"}`, `{"name":"v","type":"double"}`, m{"v": 9},
			col("v", types.TFloat8), `{"v":9}`},
		{"long to numeric", `{"name":"v","type":"long"}`, "", m{"v": int64(1) << 62}, col("v", types.TNumeric),
			`{"v":4611686018427387904}`},
		{"bytes to text", `{"name":"v","type":"bytes"}`, `{"name":"v","type":"string"}`, m{"v": []byte("x")},
			col("v", types.TText), `{"v":"x"}`},
		{"union with int first", `{"name":"v","type":["int","string","null"]}`, "", m{"v": m{"string": "12"}},
			col("v", types.TInt8), `{"v":12}`},
		{"enum default", e + `"symbols":["A","B"]}}`, e + `"symbols":["A"],"default":"A"}}`, m{"v": "B"},
			col("v", types.TText), `{"v":"A"}`},
		{"logical type added", `{"name":"v","type":"int"}`, `{"name":"v","type":{"type":"int","logicalType":"date"}}`,
			m{"v": 1}, col("v", types.TDate), `{"v":"1970-01-02"}`},
		{"letter case", `{"name":"V","type":"int"}`, "", m{"V": 1}, col("v", types.TInt4), `{"v":1}`},
		{"modifiers", `{"name":"v","type":"double"}`, "", m{"v": 1.256},
			col("v", types.Type{ID: types.Numeric, Mod: 5, Scale: 2}), `{"v":1.26}`},
		{"json in text", `{"name":"v","type":"string"}`, "", m{"v": `{"a":1}`}, col("v", types.TJSON), `{"v":{"a":1}}`},
		{"number to text", `{"name":"v","type":"double"}`, "", m{"v": 0.5}, col("v", types.TText), `{"v":"0.5"}`},
	} {
		got, err := avroCase(t, c.writer, c.reader, c.v, c.col)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestAvroRefuses(t *testing.T) {
	type m = map[string]any
	for _, c := range []struct {
		writer string
		v      any
		col    Column
		code   sqlerr.Code
		msg    string
	}{
		{`{"name":"v","type":"long"}`, m{"v": int64(1) << 40}, col("v", types.TInt4), sqlerr.NumericValueOutOfRange,
			`value "1099511627776" is out of range for type integer`},
		{`{"name":"v","type":"boolean"}`, m{"v": true}, col("v", types.TInt4), sqlerr.DatatypeMismatch,
			"type integer cannot take the schema's boolean"},
		{`{"name":"v","type":{"type":"array","items":"int"}}`, m{"v": []any{1}}, col("v", types.TText),
			sqlerr.DatatypeMismatch, "type text cannot take the schema's array"},
		{`{"name":"v","type":"string"}`, m{"v": "x\x00"}, col("v", types.TText), sqlerr.CharacterNotInRepertoire, "0x00"},
		{`{"name":"v","type":["null","int"]}`, m{"v": nil}, col("!v", types.TInt4), sqlerr.NotNullViolation, "null value"},
		{`{"name":"v","type":["null","int"]}`, m{"v": nil}, col("-!v", types.TInt4), sqlerr.NotNullViolation, "null value"},
		{`{"name":"v","type":"string"}`, m{"v": "abc"}, col("v", types.TInt4), sqlerr.InvalidTextRepresentation, "abc"},
		{`{"name":"v","type":{"type":"long","logicalType":"time-micros"}}`, m{"v": 25 * time.Hour},
			col("v", types.TTime), sqlerr.NumericValueOutOfRange, "time-micros is out of range"},
	} {
		_, err := avroCase(t, c.writer, "", c.v, c.col)
		if sqlerr.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.msg) {
			t.Errorf("%s: %v (%s)", c.writer, err, sqlerr.CodeOf(err))
		}
	}
	d := mustNew(t, Avro, Options{}, col("v", types.TInt4))
	for id, s := range []*Schema{{Type: "JSON", Text: "{}"}, {Type: "AVRO", Text: `{"type":"nope"}`},
		{Type: "AVRO", Text: `"int"`}, {Type: "AVRO", Text: ""}} {
		d.AddSchema(int32(id), s, nil)
		if err := d.Append(appendFrame(nil, int32(id))); err == nil || d.Len() != 0 {
			t.Errorf("%v was taken", s)
		}
	}
	d.RefuseSchema(9, sqlerr.New(sqlerr.UndefinedObject, "schema 9 is away"))
	if err := d.Append(appendFrame(nil, 9)); err == nil || !strings.Contains(err.Error(), "schema 9 is away") {
		t.Error(err)
	}
	if err := d.Append([]byte("x")); sqlerr.CodeOf(err) != sqlerr.InvalidBinaryRepresentation {
		t.Error(err)
	}
	_, err := New([]Column{col("v", types.TInt4)}, Avro, Options{Schema: record(`{"name":"v","type":"boolean"}`)})
	if sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch || !strings.Contains(err.Error(), `column "v"`) {
		t.Error(err)
	}
}

// TestSchemasAreForgotten: of more schemas than are remembered the earlier ones are to be
// looked up again.
func TestSchemasAreForgotten(t *testing.T) {
	for _, encode := range []string{Avro, Proto} {
		d := mustNew(t, encode, Options{}, col("v", types.TInt4))
		id := func(n int32) []byte { return append(appendFrame(nil, n), 0) }
		for n := range int32(MaxSchemas) + 1 {
			var unknown *UnknownSchema
			if err := d.Append(id(n)); !errors.As(err, &unknown) || unknown.ID != n {
				t.Fatalf("%s: schema %d: %v", encode, n, err)
			}
			d.RefuseSchema(n, sqlerr.New(sqlerr.UndefinedObject, "there is none"))
			if err := d.Append(id(n)); err == nil || !strings.Contains(err.Error(), "there is none") {
				t.Fatalf("%s: refused schema %d: %v", encode, n, err)
			}
		}
		var unknown *UnknownSchema
		if err := d.Append(id(0)); !errors.As(err, &unknown) {
			t.Errorf("%s: the first of %d schemas is still known: %v", encode, MaxSchemas+1, err)
		}
		d.Take().Release()
	}
}

func TestAvroReferences(t *testing.T) {
	d := mustNew(t, Avro, Options{}, col("st", types.StructOf(types.Field{Name: "x", Type: types.TInt4})))
	inner := `{"type":"record","name":"S","namespace":"n","fields":[{"name":"x","type":"int"}]}`
	s := record(`{"name":"st","type":"n.S"}`)
	s.References = []Reference{{"n.S", inner}}
	d.AddSchema(1, s, nil)
	if err := d.Append(append(appendFrame(nil, 1), 6)); err != nil {
		t.Fatal(err)
	}
	if got := show([]Column{{Name: "st", Type: d.cols[0].Type}}, d.Take()); got != `{"st":{"x":3}}`+"\n" {
		t.Error(got)
	}
}

// Items without bytes must not let three bytes stand for millions of values.
func TestAvroEmptyItems(t *testing.T) {
	d := mustNew(t, Avro, Options{}, col("v", types.ArrayOf(types.TInt4)))
	d.AddSchema(1, record(`{"name":"v","type":{"type":"array","items":"null"}}`), nil)
	block := []byte{0x80, 0x80, 0x04} // 32768
	in := appendFrame(nil, 1)
	for range 2 {
		in = append(in, block...)
	}
	if err := d.Append(append(in, 0)); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(append(append(in, block...), 0)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Fatal(err)
	}
}

// FuzzAvro: no input makes the decoder panic or leave a part of a row.
func FuzzAvro(f *testing.F) {
	s := record(allFields)
	rec := marshalAvro(f, 7, s.Text, allValues())
	f.Add(rec[frame:], s.Text)
	f.Add([]byte{2}, `{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"]}]}`)
	f.Add([]byte{2, 0, 1}, `{"type":"record","name":"R","fields":[{"name":"tree","type":{"type":"map","values":"R"}}]}`)
	d := mustNew(f, Avro, Options{}, allColumns...)
	f.Fuzz(func(t *testing.T, in []byte, schema string) {
		if len(schema) > 4096 || len(in) > 4096 {
			return
		}
		own := mustNew(t, Avro, Options{}, allColumns...)
		own.AddSchema(1, &Schema{Type: "AVRO", Text: schema}, s)
		d.AddSchema(7, s, nil)
		d.AddSchema(8, s, &Schema{Type: "AVRO", Text: schema})
		for _, x := range []*Decoder{own, d} {
			for _, id := range []int32{1, 7, 8} {
				n := x.Len()
				if err := x.Append(append(appendFrame(nil, id), in...)); err != nil && x.Len() != n {
					t.Fatal("a bad record left a row")
				}
			}
			b := x.Take()
			for i, c := range b.Cols {
				checkVec(t, allColumns[i].Name, c, b.Len)
			}
			b.Release()
		}
	})
}

func BenchmarkAvro(b *testing.B) {
	s := record(`{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"price","type":"double"},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"q","type":["null","int"]}`)
	cols := []Column{col("id", types.TInt8), col("name", types.TText), col("price", types.TFloat8),
		col("at", types.TTimestamp), col("q", types.TInt4)}
	d := mustNew(b, Avro, Options{}, cols...)
	d.AddSchema(1, s, nil)
	rec := marshalAvro(b, 1, s.Text, map[string]any{"id": int64(123456), "name": "some name", "price": 12.5,
		"at": time.Unix(1_700_000_000, 0), "q": map[string]any{"int": 5}})
	var out *arrowbatch.Batch
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Append(rec); err != nil {
			b.Fatal(err)
		}
		if d.Len() == 8192 {
			out = d.Take()
			out.Release()
		}
	}
}

package format

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// col makes a column; the name may begin with ! (not null) or - (unused).
func col(name string, t types.Type) Column {
	c := Column{Type: t}
	for strings.HasPrefix(name, "!") || strings.HasPrefix(name, "-") {
		c.NotNull = c.NotNull || name[0] == '!'
		c.Unused = c.Unused || name[0] == '-'
		name = name[1:]
	}
	c.Name = name
	return c
}

func mustNew(t testing.TB, enc string, o Options, cols ...Column) *Decoder {
	t.Helper()
	if enc == CSV && o.CSV.Delimiter == 0 {
		o.CSV = DefaultCSV
	}
	d, err := New(cols, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// show prints a batch a row a line, as JSON.
func show(cols []Column, b *arrowbatch.Batch) string {
	var out []byte
	for i := range b.Len {
		out = AppendJSONRow(out, cols, b.Cols, i, nil)
		out = append(out, '\n')
	}
	return string(out)
}

// decodeFile decodes text as a file in chunks of size bytes and prints rows and
// bad records.
func decodeFile(t testing.TB, d *Decoder, cols []Column, text string, size int) string {
	t.Helper()
	var out strings.Builder
	flush := func() {
		b := d.Take()
		out.WriteString(show(cols, b))
		b.Release()
	}
	have := min(size, len(text))
	at := -1
	for at < 0 {
		var err error
		if at, err = d.Begin([]byte(text[:have]), have == len(text), false); err != nil {
			return fmt.Sprintf("! %v\n", err)
		}
		if at < 0 {
			have = min(have+size, len(text))
		}
	}
	for {
		n, err := d.Decode([]byte(text[at:have]), have == len(text), 1000)
		var bad *RecordError
		if errors.As(err, &bad) {
			flush()
			fmt.Fprintf(&out, "! %v <%s>\n", err, text[at+bad.Start:at+bad.End])
		}
		at += n
		if at == len(text) {
			break
		}
		if n == 0 || at == have {
			if have == len(text) && n == 0 {
				t.Fatalf("stuck at byte %d of %q", at, text)
			}
			have = min(have+size, len(text))
		}
	}
	flush()
	if err := d.End(); err != nil {
		fmt.Fprintf(&out, "! %v\n", err)
	}
	return out.String()
}

var oneOfEach = []Column{
	col("i", types.TInt8), col("t", types.TText), col("f", types.TFloat8), col("n", types.TNumeric),
	col("b", types.TBool), col("ts", types.TTimestamp), col("tz", types.TTimestamptz), col("d", types.TDate),
	col("j", types.TJSONB), col("a", types.ArrayOf(types.TInt4)),
	col("s", types.StructOf(types.Field{Name: "x", Type: types.TInt2}, types.Field{Name: "y", Type: types.TText})),
}

func TestJSONValues(t *testing.T) {
	for _, c := range []struct{ col, in, want string }{
		{"i", `12`, `12`},
		{"i", `-0`, `0`},
		{"i", `9223372036854775807`, `9223372036854775807`},
		{"i", `-9223372036854775808`, `-9223372036854775808`},
		{"i", `9223372036854775808`, `! column "i": value "9223372036854775808" is out of range for type bigint`},
		{"i", `1.5`, `! column "i": invalid input syntax for type bigint: "1.5"`},
		{"i", `" 42 "`, `42`},
		{"i", `true`, `! column "i": invalid input syntax for type bigint: "true"`},
		{"i", `null`, `null`},
		{"i", `01`, `! invalid input syntax for type json (Expected JSON value, but found "01".)`},
		{"i", `-`, `! invalid input syntax for type json (Expected JSON value, but found "-".)`},
		{"t", `"a"`, `"a"`},
		{"t", `""`, `""`},
		{"t", `"grüße, 世界"`, `"grüße, 世界"`},
		{"t", `"a\n\t\"\\\/\u00e9\ud83d\ude00z"`, `"a\n\t\"\\/é😀z"`},
		{"t", `"\ud83d"`, `! invalid input syntax for type json (Unicode low surrogate must follow a high surrogate.)`},
		{"t", `"\u0000"`, `! column "t": unsupported Unicode escape sequence (\u0000 cannot be converted to text.)`},
		{"t", `"\x"`, `! invalid input syntax for type json (Escape sequence "\x" is invalid.)`},
		{"t", "\"a\x01b\"", `! invalid input syntax for type json (A control character must be escaped in a string.)`},
		{"t", "\"\xff\"", `! column "t": invalid byte sequence for encoding "UTF8"`},
		{"t", `1.50`, `"1.50"`},
		{"t", `12345678901234567890123`, `"12345678901234567890123"`},
		{"t", `true`, `"true"`},
		{"t", `{"k": [1]}`, `"{\"k\": [1]}"`},
		{"f", `1.5`, `1.5`},
		{"f", `-0.1`, `-0.1`},
		{"f", `1e3`, `1000`},
		{"f", `123456789012345678901`, `1.2345678901234568e+20`},
		{"f", `"NaN"`, `"NaN"`},
		{"f", `1e999`, `! column "f": "1e999" is out of range for type double precision`},
		{"n", `1.50`, `1.50`},
		{"n", `-0.001`, `-0.001`},
		{"n", `123456789012345678901234567890.12`, `123456789012345678901234567890.12`},
		{"n", `1e-7`, `0.0000001`},
		{"b", `true`, `true`},
		{"b", `false`, `false`},
		{"b", `"yes"`, `true`},
		{"b", `1`, `true`},
		{"b", `2`, `! column "b": invalid input syntax for type boolean: "2"`},
		{"b", `truex`, `! invalid input syntax for type json (Expected JSON value, but found "truex".)`},
		{"ts", `"2001-01-01 00:47:00"`, `"2001-01-01T00:47:00"`},
		{"ts", `"2001/01/01 00:47"`, `"2001-01-01T00:47:00"`},
		{"ts", `"2015-07-15T00:00:01.25Z"`, `"2015-07-15T00:00:01.25"`},
		{"ts", `"2001-02-30 00:00:00"`, `! column "ts": date/time field value out of range: "2001-02-30 00:00:00"`},
		{"ts", `1517966773840`, `! column "ts": ` +
			`invalid input syntax for type timestamp: "1517966773840" (A number is no time by itself.)`},
		{"tz", `"2001-01-01T00:47:00.5+00:00"`, `"2001-01-01T00:47:00.5+00:00"`},
		{"tz", `"2001-01-01 00:47:00+02"`, `"2000-12-31T22:47:00+00:00"`},
		{"tz", `"2001-01-01"`, `"2001-01-01T00:00:00+00:00"`},
		{"d", `"2024-02-29"`, `"2024-02-29"`},
		{"j", `{"bb":1,"a": [true,null]}`, `{"a": [true, null], "bb": 1}`},
		{"j", `null`, `null`},
		{"j", `"x"`, `"x"`},
		{"a", `[1, null ,3]`, `[1,null,3]`},
		{"a", `[]`, `[]`},
		{"a", `"{4,5}"`, `[4,5]`},
		{"a", `[1,"x"]`, `! column "a": invalid input syntax for type integer: "x"`},
		{"s", `{"x":1,"y":"q"}`, `{"x":1,"y":"q"}`},
		{"s", `{"y":"q","z":[{}]}`, `{"x":null,"y":"q"}`},
		{"s", `{}`, `{"x":null,"y":null}`},
		{"s", `null`, `null`},
		{"s", `7`, `! column "s": invalid input syntax for type struct<x smallint, y text>: "7" (An object is expected.)`},
		{"s", `{"x":40000}`, `! column "s.x": value "40000" is out of range for type smallint`},
	} {
		d := mustNew(t, JSON, Options{}, oneOfEach...)
		got := appendOne(d, fmt.Sprintf(`{"%s":%s}`, c.col, c.in), c.col)
		if got != c.want {
			t.Errorf("%s: %s\n got  %s\n want %s", c.col, c.in, got, c.want)
		}
		// The same with blanks, where no prediction holds.
		if got := appendOne(d, fmt.Sprintf("\n{ \"%s\"\t: %s }\r\n", c.col, c.in), c.col); got != c.want {
			t.Errorf("%s: %s with blanks\n got  %s\n want %s", c.col, c.in, got, c.want)
		}
	}
}

func appendOne(d *Decoder, record, name string) string {
	if err := d.Append([]byte(record)); err != nil {
		if d.Len() != 0 {
			return "a bad record left a row"
		}
		return "! " + err.Error()
	}
	b := d.Take()
	defer b.Release()
	for i, c := range d.cols {
		if c.Name == name {
			return string(AppendJSONValue(nil, c.Type, b.Cols[i], 0, nil))
		}
	}
	return "no such column"
}

func TestJSONFiles(t *testing.T) {
	cols := []Column{col("id", types.TInt8), col("t", types.TText)}
	for _, c := range []struct{ name, in, want string }{
		{"lines", "{\"id\":1,\"t\":\"a\"}\n{\"t\":\"b\",\"id\":2}\r\n\n{\"id\":3}", `
{"id":1,"t":"a"}
{"id":2,"t":"b"}
{"id":3,"t":null}
`},
		{"concatenated", `{"id":1}{"id":2} {"id":3}`, `
{"id":1,"t":null}
{"id":2,"t":null}
{"id":3,"t":null}
`},
		{"pretty", "{\n  \"id\": 1,\n  \"t\": \"x\"\n}\n{\n  \"id\": 2,\n  \"t\": \"y\"\n}\n", `
{"id":1,"t":"x"}
{"id":2,"t":"y"}
`},
		{"array", "\xef\xbb\xbf [ {\"id\":1},\n{\"id\":2,\"t\":\"]\"} ]\n ", `
{"id":1,"t":null}
{"id":2,"t":"]"}
`},
		{"empty array", `[]`, "\n"},
		{"empty", ``, "\n"},
		{"array not closed", `[{"id":1}, `, `
{"id":1,"t":null}
! invalid input syntax for type json (The input string ended unexpectedly.) <,>
`},
		{"behind the array", `[{"id":1}] {"id":2}`, `
{"id":1,"t":null}
! invalid input syntax for type json (Expected nothing behind the array, but found "{".) <{"id":2}>
`},
		{"bad value keeps its neighbours", "{\"id\":7}\n{\"id\":\"x\",\"t\":\"\\n\"}\n{\"id\":8}", `
{"id":7,"t":null}
! column "id": invalid input syntax for type bigint: "x" <{"id":"x","t":"\n"}>
{"id":8,"t":null}
`},
		{"malformed keeps the next line", "{\"id\":7x,\"t\":1}\n{\"id\":8}\n{\"id\":\n{\"id\":9}\n", `
! invalid input syntax for type json (Expected JSON value, but found "7x".) <{"id":7x,"t":1}>
{"id":8,"t":null}
! invalid input syntax for type json (The input string ended unexpectedly.) <{"id":>
{"id":9,"t":null}
`},
		{"no object", "17\n{\"id\":1}\n[1]\n", `
! invalid input syntax for type json (Expected an object, but found "17".) <17>
{"id":1,"t":null}
! invalid input syntax for type json (Expected an object, but found "[".) <[1]>
`},
		{"malformed pretty", "{\n \"id\": x,\n \"t\": {\n}}\n{\"id\":1}", `
! invalid input syntax for type json (Expected JSON value, but found "x".) <{
 "id": x,
 "t": {
}}>
{"id":1,"t":null}
`},
		{"trailing garbage on a line", "{\"id\":1} tail\n{\"id\":2}", `
{"id":1,"t":null}
! invalid input syntax for type json (Expected an object, but found "tail".) <tail>
{"id":2,"t":null}
`},
	} {
		want := strings.TrimPrefix(c.want, "\n")
		for _, size := range []int{1, 2, 7, 1000} {
			got := decodeFile(t, mustNew(t, JSON, Options{}, cols...), cols, c.in, size)
			if got != want {
				t.Errorf("%s in chunks of %d:\n got\n%s\n want\n%s", c.name, size, got, want)
			}
		}
	}
}

func TestJSONNames(t *testing.T) {
	cols := []Column{col("id", types.TInt8), col("Id", types.TInt8), col("magtype", types.TText)}
	for _, c := range []struct{ in, want string }{
		{`{"id":1,"Id":2,"magType":"ml"}`, `{"id":1,"Id":2,"magtype":"ml"}`},
		{`{"ID":1}`, `{"id":1,"Id":null,"magtype":null}`},
		{`{"id":1,"ID":9}`, `{"id":1,"Id":null,"magtype":null}`},
		{`{"ID":9,"id":1}`, `{"id":1,"Id":null,"magtype":null}`},
		{`{"id":1,"id":2}`, `{"id":2,"Id":null,"magtype":null}`},
		{`{"id":1,"id":null}`, `{"id":null,"Id":null,"magtype":null}`},
		{`{"magtype":"long","magtype":"x"}`, `{"id":null,"Id":null,"magtype":"x"}`},
		{`{"\u0069d":5}`, `{"id":5,"Id":null,"magtype":null}`},
		{`{"x":{"id":3},"y":[{"id":4}]}`, `{"id":null,"Id":null,"magtype":null}`},
	} {
		d := mustNew(t, JSON, Options{}, cols...)
		for range 2 { // with and without prediction
			if err := d.Append([]byte(c.in)); err != nil {
				t.Errorf("%s: %v", c.in, err)
			}
		}
		b := d.Take()
		if got := show(cols, b); got != c.want+"\n"+c.want+"\n" {
			t.Errorf("%s:\n got\n%s want twice\n%s", c.in, got, c.want)
		}
		b.Release()
	}
}

func TestJSONUnusedAndNotNull(t *testing.T) {
	cols := []Column{col("!-a", types.TInt8), col("!b", types.TText), col("-c", types.TText)}
	d := mustNew(t, JSON, Options{}, cols...)
	for _, c := range []struct{ in, want string }{
		{`{"a":1,"b":"x","c":"y"}`, ""},
		{`{"a":"no number, not looked at","b":"x"}`, ""},
		{`{"b":"x"}`, `column "a": null value in column "a" violates not-null constraint`},
		{`{"a":null,"b":"x"}`, `column "a": null value in column "a" violates not-null constraint`},
		{`{"a":1,"b":null}`, `column "b": null value in column "b" violates not-null constraint`},
		{`{"a":1,"b":"x","c":"\q"}`, `invalid input syntax for type json (Escape sequence "\q" is invalid.)`},
	} {
		got := ""
		if err := d.Append([]byte(c.in)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
	b := d.Take()
	want := "{\"a\":null,\"b\":\"x\",\"c\":null}\n"
	if got := show(cols, b); got != want+want {
		t.Errorf("rows:\n%s", got)
	}
}

func TestJSONTimestampFormat(t *testing.T) {
	for _, c := range []struct{ unit, in, want string }{
		{"epoch_ms", `1517966773840`, `"2018-02-07T01:26:13.84+00:00"`},
		{"epoch_s", `1517966773.8405`, `"2018-02-07T01:26:13.8405+00:00"`},
		{"epoch_us", `-1`, `"1969-12-31T23:59:59.999999+00:00"`},
		{"epoch_ms", `"2018-02-07 01:26:13.84Z"`, `"2018-02-07T01:26:13.84+00:00"`},
		{"epoch_s", `1e30`, `! column "tz": timestamp out of range: "1e30"`},
	} {
		d := mustNew(t, JSON, Options{TimestampFormat: c.unit}, oneOfEach...)
		if got := appendOne(d, `{"tz":`+c.in+`}`, "tz"); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.unit, c.in, got, c.want)
		}
	}
}

func TestJSONDepth(t *testing.T) {
	d := mustNew(t, JSON, Options{}, col("j", types.TJSON))
	deep := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	if err := d.Append([]byte(deep(maxDepth))); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	if err := d.Append([]byte(deep(maxDepth + 1))); err == nil {
		t.Errorf("%d levels were taken", maxDepth+1)
	}
	if err := d.Append([]byte(deep(10_000_000))); err == nil {
		t.Error("ten million levels were taken")
	}
}

// Structs and lists that come and go keep their rows apart.
func TestJSONNested(t *testing.T) {
	ev := types.StructOf(types.Field{Name: "k", Type: types.TText},
		types.Field{Name: "v", Type: types.ArrayOf(types.TInt8)})
	cols := []Column{col("e", ev), col("l", types.ArrayOf(ev))}
	d := mustNew(t, JSON, Options{}, cols...)
	in := []string{
		`{"e":null,"l":null}`,
		`{"e":{"k":"a","v":[1,2]},"l":[{"k":"x"},null,{"v":[3]}]}`,
		`{"l":[]}`,
		`{"e":{"v":[],"k":"b"},"e":{"k":"c"}}`,
		`{"e":{"k":"bad","v":[1,"x"]},"l":[{"k":"y"}]}`,
		`{"l":[{"k":"p","v":[7]},{"k":5x}]}`,
		`{"e":{"k":"d","v":[9,null]},"l":[{"k":"z","v":[8]}]}`,
	}
	var bad int
	for _, r := range in {
		if d.Append([]byte(r)) != nil {
			bad++
		}
	}
	b := d.Take()
	want := `{"e":null,"l":null}
{"e":{"k":"a","v":[1,2]},"l":[{"k":"x","v":null},null,{"k":null,"v":[3]}]}
{"e":null,"l":[]}
{"e":{"k":"c","v":null},"l":null}
{"e":{"k":"d","v":[9,null]},"l":[{"k":"z","v":[8]}]}
`
	if got := show(cols, b); got != want || bad != 2 {
		t.Errorf("%d bad, rows:\n%s", bad, got)
	}
	for i, c := range b.Cols {
		checkVec(t, fmt.Sprint(i), c, b.Len)
	}
}

// checkVec checks the invariants of a vector of n rows.
func checkVec(t testing.TB, path string, v *arrowbatch.Vec, n int) {
	t.Helper()
	if v.N != n {
		t.Errorf("column %s has %d rows, want %d", path, v.N, n)
		return
	}
	if v.Valid != nil && len(v.Valid) < arrowbatch.BitmapWords(n) {
		t.Errorf("column %s has a short bitmap", path)
	}
	switch v.Layout {
	case arrowbatch.Bytes:
		if len(v.Off) != n+1 || v.Off[0] != 0 || int(v.Off[n]) != len(v.Data) {
			t.Errorf("column %s has wrong offsets", path)
		}
	case arrowbatch.List:
		if len(v.Off) != n+1 || v.Off[0] != 0 {
			t.Errorf("column %s has wrong offsets", path)
		}
		checkVec(t, path+"[]", v.Kids[0], int(v.Off[n]))
	case arrowbatch.Struct:
		for i, k := range v.Kids {
			checkVec(t, fmt.Sprint(path, ".", i), k, n)
		}
	case arrowbatch.Int64:
		if len(v.I64) != n {
			t.Errorf("column %s has %d values", path, len(v.I64))
		}
	}
}

func TestTruncateAndMeta(t *testing.T) {
	cols := []Column{col("a", types.TInt8), {Name: "off", Type: types.TInt8, Meta: "offset"}}
	d := mustNew(t, JSON, Options{}, cols...)
	for i := range 4 {
		if err := d.Append(fmt.Appendf(nil, `{"a":%d,"off":77}`, i)); err != nil {
			t.Fatal(err)
		}
		if i != 1 {
			for d.Col(1).N < i {
				d.Col(1).AppendNull()
			}
			d.Col(1).AppendInt64(int64(100 + i))
		}
	}
	d.AppendNull()
	d.Truncate(3)
	b := d.Take()
	want := "{\"a\":0,\"off\":100}\n{\"a\":1,\"off\":null}\n{\"a\":2,\"off\":102}\n"
	if got := show(cols, b); got != want {
		t.Errorf("got\n%s", got)
	}
}

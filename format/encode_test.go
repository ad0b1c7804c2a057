package format

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/sql/types"
)

// The forms are those that PostgreSQL 15 prints for
// select to_json(x) with TimeZone UTC.
func TestEncodeJSON(t *testing.T) {
	for _, c := range []struct {
		t        types.Type
		in, want string
	}{
		{types.TInt2, "-5", `-5`},
		{types.TFloat8, "Infinity", `"Infinity"`},
		{types.TFloat8, "1e21", `1e+21`},
		{types.TFloat4, "0.1", `0.1`},
		{types.TNumeric, "1.500", `1.500`},
		{types.TNumeric, "NaN", `"NaN"`},
		{types.TBool, "t", `true`},
		{types.TTimestamp, "2001-01-01 00:47", `"2001-01-01T00:47:00"`},
		{types.TTimestamp, "infinity", `"infinity"`},
		{types.TTimestamp, "0044-03-15 10:00 BC", `"0044-03-15T10:00:00 BC"`},
		{types.TTimestamptz, "2001-01-01 00:47:00.25+02", `"2000-12-31T22:47:00.25+00:00"`},
		{types.TTimestamptz, "0044-03-15 10:00+00 BC", `"0044-03-15T10:00:00+00:00 BC"`},
		{types.TDate, "2024-02-29", `"2024-02-29"`},
		{types.TTime, "10:00:00.5", `"10:00:00.5"`},
		{types.TInterval, "1 day 02:00", `"1 day 02:00:00"`},
		{types.TBytea, `\x00ff`, `"\\x00ff"`},
		{types.TUUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{types.TJSON, "{\"a\":\n 1}", `{"a":  1}`},
		{types.TJSONB, `{"b":1,"a":2}`, `{"a": 2, "b": 1}`},
		{types.TOID, "7", `"7"`},
		{types.TText, "a\"b\\c\n\x01\x7fé😀, long enough to be scanned by words", `"a\"b\\c\n\u0001` + "\x7f" +
			`é😀, long enough to be scanned by words"`},
		{types.ArrayOf(types.TText), `{a,NULL,"b c"}`, `["a",null,"b c"]`},
		{types.ArrayOf(types.TTimestamp), `{2001-01-01}`, `["2001-01-01T00:00:00"]`},
	} {
		d := mustNew(t, JSON, Options{}, col("v", c.t))
		n := d.nodes[0]
		if err := types.ParseText(c.t, []byte(c.in), n.v, nil); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := string(AppendJSONValue(nil, c.t, n.v, 0, nil)); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.t, c.in, got, c.want)
		}
	}
}

// What an encoder writes a decoder reads back.
func TestRoundTrip(t *testing.T) {
	cols := []Column{col("t", types.TText), col("n", types.TNumeric), col("ts", types.TTimestamptz),
		col("b", types.TBytea), col("x y", types.TBool), col("iv", types.TInterval)}
	rows := []string{
		`{"t":"a,b\"c\nd","n":1.50,"ts":"2001-01-01T00:47:00.000001+00:00","b":"\\x00ff","x y":true,"iv":"1 mon -02:00:00"}`,
		`{"t":"","n":null,"ts":null,"b":"\\x","x y":false,"iv":null}`,
		`{"t":null,"n":-0.001,"ts":"infinity","b":null,"x y":null,"iv":"00:00:01"}`,
		`{"t":"NULL","n":12345678901234567890,"ts":"1969-12-31T23:59:59+00:00","b":"\\x2c","x y":null,"iv":"1 year"}`,
	}
	all := strings.Join(rows, "\n") + "\n"
	d := mustNew(t, JSON, Options{}, cols...)
	if n, err := d.Decode([]byte(all), true, 100); err != nil || n != len(all) {
		t.Fatal(n, err)
	}
	b := d.Take()
	tab := CSVOptions{Delimiter: '\t', Quote: '\'', Escape: '\\', Null: "NULL"}
	for _, c := range []struct {
		enc string
		o   Options
	}{{JSON, Options{}}, {CSV, Options{CSV: DefaultCSV}}, {CSV, Options{CSV: tab}}} {
		e, err := NewEncoder(cols, c.enc, c.o)
		if err != nil {
			t.Fatal(err)
		}
		text := e.AppendHeader(nil)
		for i := range b.Len {
			text = e.AppendLine(text, b.Cols, i)
		}
		got := decodeFile(t, mustNew(t, c.enc, c.o, cols...), cols, string(text), 11)
		if got != all {
			t.Errorf("%s: got\n%s from\n%s", c.enc, got, text)
		}
	}
}

func TestEncodeCSV(t *testing.T) {
	cols := []Column{col("a b", types.TText), col("c,d", types.TBool)}
	e, err := NewEncoder(cols, CSV, Options{CSV: DefaultCSV})
	if err != nil {
		t.Fatal(err)
	}
	d := mustNew(t, JSON, Options{}, cols...)
	for _, r := range []string{`{"a b":"x\"y","c,d":true}`, `{"a b":""}`, `{}`} {
		if err := d.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	b := d.Take()
	got := string(e.AppendHeader(nil))
	for i := range b.Len {
		got = string(e.AppendLine([]byte(got), b.Cols, i))
	}
	if want := "a b,\"c,d\"\n\"x\"\"y\",t\n\"\",\n,\n"; got != want {
		t.Errorf("got\n%s want\n%s", got, want)
	}
}

package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamsql/streamsql/sql/types"
)

var jsonSeeds = []string{
	`{"i":1,"t":"a","f":1.5,"n":1e3,"b":true,"ts":"2015-07-15 00:00:01.25","a":[1,2],"s":{"x":1,"y":"q"},"j":{"k":[]}}`,
	`{"i":-0,"t":"é😀\ud83d\ude00\n","s":null,"a":[null],"x":{"y":[{"z":0.5e-7}]}}`,
	`[{"i":1},{"i":2}]`, "{}\n{}", `{"i":1,"i":2}`, `{"t":"\u0000"}`, `{"s":{"s":{}},"a":[[1]]}`, "{\n \"i\" : 7 }",
	`{"i":01}`, `{"i":1,}`, `{"i" 1}`, `{"t":"` + "\xff" + `"}`, `{"j":nul}`, `{"a":"{1,2}","ts":"infinity"}`,
	`{"n":123456789012345678901234567890.5,"f":1e400,"i":9223372036854775808}`,
}

// FuzzJSON holds the decoder against encoding/json: one accepts what the other
// does, texts and numbers are the same, and no input makes it panic or leave a
// part of a row.
func FuzzJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	cols := []Column{col("t", types.TText), col("j", types.TJSON), col("f", types.TFloat8), col("-u", types.TText)}
	d := mustNew(f, JSON, Options{}, cols...)
	all := mustNew(f, JSON, Options{}, oneOfEach...)
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return // chunks of three bytes take quadratic time
		}
		checkAgainstStd(t, d, in)
		rows := all.Len()
		if err := all.Append(in); err != nil && all.Len() != rows {
			t.Fatal("a bad record left a row")
		}
		b := all.Take()
		for i, c := range b.Cols {
			checkVec(t, oneOfEach[i].Name, c, b.Len)
		}
		b.Release()
		whole := decodeFile(t, mustNew(t, JSON, Options{}, oneOfEach...), oneOfEach, string(in), len(in)+1)
		if parts := decodeFile(t, mustNew(t, JSON, Options{}, oneOfEach...), oneOfEach, string(in), 3); parts != whole {
			t.Fatalf("in chunks:\n%s\nat once:\n%s", parts, whole)
		}
	})
}

func checkAgainstStd(t *testing.T, d *Decoder, in []byte) {
	t.Helper()
	err := d.Append(in)
	b := d.Take()
	defer b.Release()
	var std map[string]json.RawMessage
	valid := json.Valid(in) && json.Unmarshal(in, &std) == nil && std != nil
	if err == nil && !valid {
		t.Fatalf("%q was taken", in)
	}
	if err != nil {
		// What is well-formed may still not fit: bytes that are no UTF-8, lone
		// surrogates and NUL in texts, numbers out of range, deep nesting.
		e := err.(*RecordError).Err
		if valid && utf8.Valid(in) && e.Message == malformed && !strings.Contains(e.Detail, "surrogate") {
			t.Fatalf("%q was refused: %v", in, err)
		}
		return
	}
	if len(std) != distinct(std) {
		return // names that differ in letter case alone: whose value is taken is another matter
	}
	for i, name := range []string{"t", "f"} {
		var raw json.RawMessage
		for k, v := range std {
			if strings.ToLower(k) == name {
				raw = v
			}
		}
		v := b.Cols[[]int{0, 2}[i]]
		if raw == nil || string(raw) == "null" {
			if !v.IsNull(0) {
				t.Fatalf("%q: %s is not NULL", in, name)
			}
			continue
		}
		if v.IsNull(0) {
			t.Fatalf("%q: %s is NULL", in, name)
		}
		var s string
		if name == "t" && json.Unmarshal(raw, &s) == nil && string(v.BytesAt(0)) != s {
			t.Fatalf("%q: text %q, want %q", in, v.BytesAt(0), s)
		}
		var x float64
		if name == "f" && json.Unmarshal(raw, &x) == nil && v.F64[0] != x {
			t.Fatalf("%q: number %v, want %v", in, v.F64[0], x)
		}
	}
}

// distinct counts names by their lower-case form.
func distinct(m map[string]json.RawMessage) int {
	seen := map[string]bool{}
	for k := range m {
		seen[strings.ToLower(k)] = true
	}
	return len(seen)
}

// FuzzCSV holds the decoder against encoding/csv on input that both take.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"a,b\n1,2\n", "a,b\n\"x\ny\",\"\"\"q\"\"\"\n", "a,b\r\n1\r\n1,2,3\r\n", "b,a\n,\n",
		"a,b\n\"1,2\n3,4", "a,b"} {
		f.Add([]byte(s))
	}
	cols := []Column{col("a", types.TText), col("b", types.TText)}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return // chunks of three bytes take quadratic time
		}
		whole := decodeFile(t, mustNew(t, CSV, Options{}, cols...), cols, string(in), len(in)+1)
		if parts := decodeFile(t, mustNew(t, CSV, Options{}, cols...), cols, string(in), 3); parts != whole {
			t.Fatalf("in chunks:\n%s\nat once:\n%s", parts, whole)
		}
		if !utf8.Valid(in) || bytes.ContainsAny(in, "\x00\r") || strings.Contains(whole, "! ") {
			return
		}
		r := csv.NewReader(bytes.NewReader(in))
		r.FieldsPerRecord = 2
		head, err := r.Read()
		if err != nil || !(head[0] == "a" && head[1] == "b") {
			return
		}
		var want []byte
		for {
			rec, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			want = append(want, rec[0]...)
			want = append(append(want, '|'), rec[1]...)
			want = append(want, '\n')
		}
		d := mustNew(t, CSV, Options{}, cols...)
		n, err := d.Begin(in, true, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode(in[n:], true, 1<<30); err != nil {
			t.Fatal(err)
		}
		b := d.Take()
		var got []byte
		for i := range b.Len {
			got = append(append(append(got, b.Cols[0].BytesAt(i)...), '|'), b.Cols[1].BytesAt(i)...)
			got = append(got, '\n')
		}
		if string(got) != string(want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// Generated objects, in all their spellings, are read as encoding/json reads them.
func TestJSONAgainstStd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cols := []Column{col("t", types.TText), col("j", types.TJSON), col("f", types.TFloat8), col("-u", types.TText)}
	d := mustNew(t, JSON, Options{}, cols...)
	for range 20_000 {
		in := randomObject(r, 0)
		checkAgainstStd(t, d, in)
		// Damage: a byte changed, dropped or repeated.
		at := r.IntN(len(in))
		switch r.IntN(3) {
		case 0:
			in[at] = byte(r.IntN(256))
		case 1:
			in = append(in[:at:at], in[at+1:]...)
		default:
			in = append(in[:at:at], append([]byte{in[at]}, in[at:]...)...)
		}
		checkAgainstStd(t, d, in)
	}
}

func randomObject(r *rand.Rand, depth int) []byte {
	blank := func(b []byte) []byte { return append(b, strings.Repeat(" ", max(0, r.IntN(8)-6))...) }
	b := []byte{'{'}
	for k := range r.IntN(5) {
		if k > 0 {
			b = append(b, ',')
		}
		b = blank(b)
		b = append(b, []string{`"t"`, `"j"`, `"f"`, `"u"`, `"x"`, `"\u0074"`, `"F"`}[r.IntN(7)]...)
		b = append(blank(b), ':')
		b = randomValue(r, blank(b), depth)
		b = blank(b)
	}
	return append(b, '}')
}

func randomValue(r *rand.Rand, b []byte, depth int) []byte {
	k := r.IntN(8)
	if depth > 3 {
		k = r.IntN(6)
	}
	switch k {
	case 0:
		return append(b, []string{"null", "true", "false"}[r.IntN(3)]...)
	case 1:
		return strconv.AppendInt(b, r.Int64()-r.Int64(), 10)
	case 2:
		return strconv.AppendFloat(b, r.NormFloat64(), 'g', r.IntN(20), 64)
	case 3, 4, 5:
		b = append(b, '"')
		for range r.IntN(30) {
			b = append(b, []string{
				"a", "zz", "é", "世", "😀", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "/", "{", ",", `\/`,
			}[r.IntN(14)]...)
		}
		return append(b, '"')
	case 6:
		b = append(b, '[')
		for i := range r.IntN(4) {
			if i > 0 {
				b = append(b, ',')
			}
			b = randomValue(r, b, depth+1)
		}
		return append(b, ']')
	}
	return append(b, randomObject(r, depth+1)...)
}

package connector

import (
	"testing"
	"time"

	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestOptionsGetters(t *testing.T) {
	o := NewOptions(`connector "x"`, map[string]string{
		"s": "text", "i": " 42 ", "b": "on", "d": "1 min 30 s", "z": "1.5 kB", "e": "LATEST", "f": "0.5",
		"l": "a, b,,c ", "sub.a": "1", "sub.b": "2"})
	if got := o.String("s", ""); got != "text" {
		t.Errorf("string %q", got)
	}
	if got := o.Int("i", 0, 0, 100); got != 42 {
		t.Errorf("int %d", got)
	}
	if !o.Bool("b", false) {
		t.Error("bool")
	}
	if got := o.Duration("d", 0); got != 90*time.Second {
		t.Errorf("duration %v", got)
	}
	if got := o.Size("z", 0); got != 1536 {
		t.Errorf("size %d", got)
	}
	if got := o.Enum("e", "earliest", "earliest", "latest"); got != "latest" {
		t.Errorf("enum %q", got)
	}
	if got := o.Float("f", 0); got != 0.5 {
		t.Errorf("float %v", got)
	}
	if got := o.List("l"); len(got) != 3 || got[1] != "b" {
		t.Errorf("list %q", got)
	}
	if got := o.Prefix("sub."); len(got) != 2 || got["b"] != "2" {
		t.Errorf("prefix %q", got)
	}
	if o.Int("none", 7, 0, 10) != 7 || o.Duration("none", 3) != 3 || o.Has("none") {
		t.Error("defaults")
	}
	if err := o.Err(); err != nil {
		t.Error(err)
	}
}

func TestOptionsFaults(t *testing.T) {
	for _, c := range []struct{ name, value, want, hint string }{
		{"topicc", "x", `unrecognized option "topicc" of connector "x"`, `Perhaps you meant "topic".`},
		{"zzz", "x", `unrecognized option "zzz" of connector "x"`,
			`Valid options are: b, d, e, f, i, password, topic, z, properties.*.`},
		{"i", "4x", `invalid value for option "i": "4x"`, "A whole number is expected."},
		{"i", "101", `101 is outside the valid range for option "i" (0 .. 100)`, ""},
		{"b", "maybe", `invalid value for option "b": "maybe"`, "A boolean is expected: true or false."},
		{"d", "5", `invalid value for option "d": "5"`,
			`A duration is expected, such as "5 s"; units are us, ms, s, min, h and d.`},
		{"d", "-5 s", `invalid value for option "d": "-5 s"`,
			`A duration is expected, such as "5 s"; units are us, ms, s, min, h and d.`},
		{"z", "5 XB", `invalid value for option "z": "5 XB"`,
			`A size is expected, such as "64 MB"; units are B, kB, MB, GB and TB.`},
		{"e", "latst", `invalid value for option "e": "latst"`,
			`Perhaps you meant "latest". Valid values are: earliest, latest.`},
		{"f", "NaN", `invalid value for option "f": "NaN"`, "A number is expected."},
		{"password", "hunter2", `invalid value for option "password"`, ""},
	} {
		given := map[string]string{"topic": "t", c.name: c.value}
		o := NewOptions(`connector "x"`, given)
		o.Required("topic")
		o.Int("i", 0, 0, 100)
		o.Bool("b", false)
		o.Duration("d", 0)
		o.Size("z", 0)
		o.Enum("e", "earliest", "earliest", "latest")
		o.Float("f", 0)
		o.Enum("password", "", "none") // to see that a value is not shown
		o.Prefix("properties.")
		e := sqlerr.From(o.Err())
		if e == nil || e.Code != sqlerr.InvalidParameterValue || e.Message != c.want || e.Hint != c.hint {
			t.Errorf("%s = %s: got %+v, want %s, hint %s", c.name, c.value, e, c.want, c.hint)
		}
	}
}

func TestOptionsReportEveryFault(t *testing.T) {
	o := NewOptions(`connector "x"`, map[string]string{"tpic": "t", "n": "x"})
	o.Required("topic")
	o.Int("n", 0, 0, 9)
	e := sqlerr.From(o.Err())
	want := `connector "x" requires option "topic".
invalid value for option "n": "x". A whole number is expected.
unrecognized option "tpic" of connector "x". Perhaps you meant "topic".`
	if e == nil || e.Detail != want {
		t.Errorf("got %+v", e)
	}
}

func TestMasked(t *testing.T) {
	in := map[string]string{"sasl.password": "x", "properties.ssl.key.password": "x", "Auth_Token": "x", "topic": "t",
		"key": "id", "ssl.private_key": "x"}
	out := Masked(in)
	if out["topic"] != "t" || out["key"] != "id" {
		t.Errorf("%q", out)
	}
	for _, name := range []string{"sasl.password", "properties.ssl.key.password", "Auth_Token", "ssl.private_key"} {
		if out[name] == "x" {
			t.Errorf("%s is shown", name)
		}
	}
	if in["sasl.password"] != "x" {
		t.Error("the options themselves were changed")
	}
}

func TestParseDurationAndSize(t *testing.T) {
	for s, want := range map[string]time.Duration{"0": 0, "5 s": 5 * time.Second, "100ms": 100 * time.Millisecond,
		"1.5min": 90 * time.Second, "2 hours": 2 * time.Hour, "1 d": 24 * time.Hour, "250 us": 250 * time.Microsecond} {
		if got, ok := ParseDuration(s); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "s", "5", "5 x", "1e9 h", "999999999 d", "5 s 3", ".", "-1 s"} {
		if got, ok := ParseDuration(s); ok {
			t.Errorf("%q was taken as %v", s, got)
		}
	}
	for s, want := range map[string]int64{"0": 0, "4096": 4096, "64 MB": 64 << 20, "1GiB": 1 << 30, "2k": 2048} {
		if got, ok := ParseSize(s); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "MB", "-1", "5 XB", "99999999 TB"} {
		if got, ok := ParseSize(s); ok {
			t.Errorf("%q was taken as %v", s, got)
		}
	}
}

func TestReadFormat(t *testing.T) {
	can := FormatSupport{Envelopes: []string{"plain", "upsert"}, Encodes: []string{"json", "csv"},
		OnError: []string{"fail", "skip"}}
	s := &Spec{Format: "upsert", Encode: "csv", Key: []int{0}, Options: map[string]string{"delimiter": `\t`, "header": "off"},
		FormatOptions: map[string]string{"on_error": "skip", "null": "NULL", "delimiter": `\t`}}
	o := NewOptions("x", s.Options)
	f := ReadFormat(s, o, can)
	if err := o.Err(); err != nil {
		t.Fatal(err)
	}
	want := format.CSVOptions{Delimiter: '\t', Quote: '"', Escape: '"', Null: "NULL"}
	if f.Envelope != "upsert" || f.Encode != "csv" || f.OnError != "skip" || f.Options.CSV != want {
		t.Errorf("%+v", f)
	}
	s = &Spec{Options: map[string]string{"quote": "'"}}
	o = NewOptions("x", s.Options)
	if f = ReadFormat(s, o, can); f.Encode != "json" || f.Envelope != "plain" || f.OnError != "fail" {
		t.Errorf("%+v", f)
	}
	if err := o.Err(); err == nil || err.Error() != `unrecognized option "quote" of x` {
		t.Errorf("a CSV option of JSON: %v", err)
	}
}

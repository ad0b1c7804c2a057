package format

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

const protoText = `syntax = "proto3";
package p;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "other.proto";
message First { string a = 1; message Inner { int32 x = 1; } }
enum Color { RED = 0; BLUE = 2; }
message All {
  bool b = 1; int32 i = 2; int64 l = 3; uint64 u = 4; sint32 s = 5; fixed64 f64 = 6; sfixed32 f32 = 7;
  float f = 8; double d = 9; string t = 10; bytes y = 11; Color c = 12; Color cn = 13;
  optional int32 o = 14; repeated int32 r = 15; repeated string rs = 16; map<string, int32> m = 17;
  Sub sub = 18; repeated Sub subs = 19; google.protobuf.Timestamp ts = 20; google.protobuf.Duration du = 21;
  google.protobuf.Int64Value w = 22; oneof one { int32 x = 23; string z = 24; } All tree = 100;
  repeated Sub js = 101; other.Far far = 102;
  message Sub { int64 q = 1; optional string n = 2; }
}`

var protoSchema = &Schema{Type: "PROTOBUF", Text: protoText, References: []Reference{
	{"other.proto", `syntax = "proto3"; package other; message Far { int32 v = 1; }`}}}

var protoColumns = []Column{col("b", types.TBool), col("i", types.TInt4), col("l", types.TInt8), col("u", types.TNumeric),
	col("s", types.TInt4), col("f64", types.TInt8), col("f32", types.TInt4), col("f", types.TFloat4), col("d", types.TFloat8),
	col("t", types.TText), col("y", types.TBytea), col("c", types.TText), col("cn", types.TInt4), col("o", types.TInt4),
	col("r", types.ArrayOf(types.TInt8)), col("rs", types.ArrayOf(types.TText)), col("m", types.TJSONB),
	col("sub", types.StructOf(types.Field{Name: "n", Type: types.TText}, types.Field{Name: "q", Type: types.TInt8})),
	col("subs", types.ArrayOf(types.StructOf(types.Field{Name: "q", Type: types.TInt8}))), col("ts", types.TTimestamptz),
	col("du", types.TInterval), col("w", types.TInt8), col("x", types.TInt4), col("z", types.TText), col("tree", types.TJSON),
	col("js", types.TJSON), col("far", types.StructOf(types.Field{Name: "v", Type: types.TInt4})), col("none", types.TText)}

// marshalProto encodes a message given as protobuf's JSON, by another implementation.
func marshalProto(t testing.TB, name, text string) []byte {
	t.Helper()
	f, err := parseProto(protoSchema)
	if err != nil {
		t.Fatal(err)
	}
	md, err := messageNamed(f, name)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(md)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const protoAll = `{"b":true,"i":-5,"l":"9223372036854775807","u":"18446744073709551615","s":-3,"f64":"7","f32":-9,"f":1.5,
	"d":0.1,"t":"é","y":"AP8=","c":"BLUE","cn":"BLUE","o":0,"r":[1,-2],"rs":["a",""],"m":{"k":1},"sub":{"q":"4"},
	"subs":[{"q":"1"},{}],"ts":"1969-12-31T23:59:58.999999Z","du":"-1.5s","w":"0","z":"zz","tree":{"i":1,"rs":["q"]},
	"js":[{"q":"3"}],"far":{"v":8}}`

func TestProtoTypes(t *testing.T) {
	d := mustNew(t, Proto, Options{}, protoColumns...)
	body := marshalProto(t, "All", protoAll)
	rec := append(append(appendFrame(nil, 3), 2, 2), body...) // one index: 1
	var unknown *UnknownSchema
	if err := d.Append(rec); !errors.As(err, &unknown) || unknown.ID != 3 {
		t.Fatal(err)
	}
	d.AddSchema(3, protoSchema, nil)
	if err := d.Append(rec); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(append(appendFrame(nil, 3), 2, 2)); err != nil { // an empty message
		t.Fatal(err)
	}
	got := show(protoColumns, d.Take())
	const want = `{"b":true,"i":-5,"l":9223372036854775807,"u":18446744073709551615,"s":-3,"f64":7,"f32":-9,"f":1.5,"d":0.1,` +
		`"t":"é","y":"\\x00ff","c":"BLUE","cn":2,"o":0,"r":[1,-2],"rs":["a",""],"m":{"k": 1},"sub":{"n":null,"q":4},` +
		`"subs":[{"q":1},{"q":0}],"ts":"1969-12-31T23:59:58.999999+00:00","du":"-00:00:01.5","w":0,"x":null,"z":"zz",` +
		`"tree":{"i":1,"rs":["q"]},"js":[{"q":"3"}],"far":{"v":8},"none":null}` + "\n" +
		`{"b":false,"i":0,"l":0,"u":0,"s":0,"f64":0,"f32":0,"f":0,"d":0,"t":"","y":"\\x","c":"RED","cn":0,"o":null,"r":[],` +
		`"rs":[],"m":{},"sub":null,"subs":[],"ts":null,"du":null,"w":null,"x":null,"z":null,"tree":null,"js":[],"far":null,` +
		`"none":null}` + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProtoHead(t *testing.T) {
	c := col("a", types.TText)
	d := mustNew(t, Proto, Options{}, c, col("x", types.TInt4))
	d.AddSchema(1, protoSchema, nil)
	for _, head := range []string{"\x00", "\x02\x00", "\x04\x00\x00"} {
		body := marshalProto(t, "First", `{"a":"q"}`)
		if len(head) == 3 {
			body = marshalProto(t, "First.Inner", `{"x":5}`)
		}
		if err := d.Append(append(append(appendFrame(nil, 1), head...), body...)); err != nil {
			t.Fatal(err)
		}
	}
	if got := show(d.cols, d.Take()); got != `{"a":"q","x":null}`+"\n"+`{"a":"q","x":null}`+"\n"+`{"a":null,"x":5}`+"\n" {
		t.Error(got)
	}
	for _, head := range []string{"", "\x01", "\x02\x09", "\x02\x28", "\x04\x00\x08", "\x80", "\x04\x02"} {
		if err := d.Append(append(appendFrame(nil, 1), head...)); sqlerr.CodeOf(err) != sqlerr.InvalidBinaryRepresentation {
			t.Errorf("%q: %v", head, err)
		}
	}
	d.AddSchema(2, &Schema{Type: "PROTOBUF", Text: "message {"}, nil)
	d.AddSchema(3, &Schema{Type: "AVRO", Text: `"int"`}, nil)
	for id := range int32(2) {
		if err := d.Append(append(appendFrame(nil, id+2), 0)); err == nil {
			t.Errorf("schema %d was taken", id+2)
		}
	}
}

// TestProtoWire: fields in any order, the last of several, packed or not, merged
// messages, and what is not known.
func TestProtoWire(t *testing.T) {
	c := []Column{col("i", types.TInt4), col("r", types.ArrayOf(types.TInt4)), col("x", types.TInt4), col("z", types.TText),
		col("sub", types.StructOf(types.Field{Name: "q", Type: types.TInt8}, types.Field{Name: "n", Type: types.TText}))}
	d, err := New(c, Proto, Options{Schema: protoSchema, SchemaName: "p.All"})
	if err != nil {
		t.Fatal(err)
	}
	v := func(b []byte, num protowire.Number, x uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), x)
	}
	s := func(b []byte, num protowire.Number, x string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), x)
	}
	b := s(nil, 18, string(s(v(nil, 1, 5), 2, "n"))) // sub
	b = v(b, 15, 1)
	b = s(b, 24, "gone")         // of the oneof
	b = s(b, 15, "\x02\x03")     // packed
	b = v(v(b, 999, 1), 2, 1)    // unknown; i
	b = s(b, 2, "of other wire") // as if unknown
	b = v(v(b, 23, 7), 2, 9)
	b = v(b, 15, 4)
	b = s(b, 18, string(v(nil, 1, 6)))
	if err := d.Append(b); err != nil {
		t.Fatal(err)
	}
	if got := show(c, d.Take()); got != `{"i":9,"r":[1,2,3,4],"x":7,"z":null,"sub":{"q":6,"n":"n"}}`+"\n" {
		t.Error(got)
	}
	for n := range b {
		if err := d.Append(b[:n]); err == nil {
			d.Take().Release()
		}
	}
}

func TestProtoRefuses(t *testing.T) {
	for _, x := range []struct {
		c    Column
		want string
	}{{col("b", types.TInt4), `column "b": type integer cannot take the schema's bool`},
		{col("r", types.TText), "cannot take the schema's repeated int32"},
		{col("m", types.ArrayOf(types.TText)), "cannot take the schema's map"},
		{col("sub", types.TText), "cannot take the schema's message p.All.Sub"}} {
		_, err := New([]Column{x.c}, Proto, Options{Schema: protoSchema, SchemaName: "All"})
		if sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v", err)
		}
	}
	_, err := New([]Column{col("b", types.TBool)}, Proto, Options{Schema: protoSchema, SchemaName: "Al"})
	if sqlerr.CodeOf(err) != sqlerr.UndefinedObject {
		t.Error(err)
	}
	d, err := New([]Column{col("!o", types.TInt2), col("l", types.TInt4)}, Proto, Options{Schema: protoSchema, SchemaName: "All"})
	if err != nil {
		t.Fatal(err)
	}
	for text, code := range map[string]sqlerr.Code{`{}`: sqlerr.NotNullViolation, `{"o":70000}`: sqlerr.NumericValueOutOfRange,
		`{"o":1,"l":"9999999999"}`: sqlerr.NumericValueOutOfRange} {
		if err := d.Append(marshalProto(t, "All", text)); sqlerr.CodeOf(err) != code || d.Len() != 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzProto: no input makes the decoder panic or leave a part of a row, and what it
// takes another implementation takes.
func FuzzProto(f *testing.F) {
	f.Add(marshalProto(f, "All", protoAll))
	f.Add(marshalProto(f, "All", `{"tree":{"tree":{"subs":[{},{}]}}}`))
	file, err := parseProto(protoSchema)
	if err != nil {
		f.Fatal(err)
	}
	md, err := messageNamed(file, "All")
	if err != nil {
		f.Fatal(err)
	}
	d, err := New(protoColumns, Proto, Options{Schema: protoSchema, SchemaName: "All"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		err := d.Append(in)
		if err != nil && d.Len() != 0 {
			t.Fatal("a bad record left a row")
		}
		b := d.Take()
		for i, c := range b.Cols {
			checkVec(t, protoColumns[i].Name, c, b.Len)
		}
		b.Release()
		if std := proto.Unmarshal(in, dynamicpb.NewMessage(md)); std == nil && err != nil &&
			sqlerr.CodeOf(err) == sqlerr.InvalidBinaryRepresentation {
			t.Fatalf("%x was refused: %v", in, err)
		}
	})
}

func BenchmarkProto(b *testing.B) {
	c := []Column{col("i", types.TInt4), col("l", types.TInt8), col("t", types.TText), col("d", types.TFloat8),
		col("ts", types.TTimestamptz)}
	d, err := New(c, Proto, Options{Schema: protoSchema, SchemaName: "All"})
	if err != nil {
		b.Fatal(err)
	}
	rec := marshalProto(b, "All", `{"i":-5,"l":"922337203685","t":"some name","d":0.1,"ts":"2026-01-01T00:00:00Z"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Append(rec); err != nil {
			b.Fatal(err)
		}
		if d.Len() == 8192 {
			d.Take().Release()
		}
	}
}

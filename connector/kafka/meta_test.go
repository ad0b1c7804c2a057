package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func headersType(value types.Type) types.Type {
	return types.ArrayOf(types.StructOf(types.Field{Name: "name", Type: types.TText},
		types.Field{Name: "value", Type: value}))
}

func TestMetadataColumns(t *testing.T) {
	_, addr := cluster(t, 1)
	at := time.UnixMilli(1_700_000_000_123)
	recs := []*kgo.Record{
		{Topic: "t", Key: []byte("ключ"), Value: []byte(`{"id":1}`), Timestamp: at, Headers: []kgo.RecordHeader{
			{Key: "trace", Value: []byte("a\"b")}, {Key: "bin", Value: []byte{0xff, 0}}, {Key: "z", Value: nil},
			{Key: "trace", Value: []byte("last")}}},
		{Topic: "t", Value: []byte(`{"id":2}`), Timestamp: at.Add(time.Hour)},
	}
	if err := kgoClient(t, addr).ProduceSync(testContext(t), recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	spec := idSpec(addr)
	spec.Columns = append(spec.Columns,
		connector.Column{Name: "k", Type: types.TText, Meta: "key"},
		connector.Column{Name: "kb", Type: types.TBytea, Meta: "key"},
		connector.Column{Name: "p", Type: types.TInt4, Meta: "partition"},
		connector.Column{Name: "o", Type: types.TInt8, Meta: "offset"},
		connector.Column{Name: "ts", Type: types.TTimestamptz, Meta: "timestamp"},
		connector.Column{Name: "h", Type: types.TJSONB, Meta: "headers"},
		connector.Column{Name: "ha", Type: headersType(types.TBytea), Meta: "headers"},
		connector.Column{Name: "unread", Type: types.TInt8, Meta: "offset", Unused: true})
	r := openReader(t, open(t, spec), 0, "")
	var got strings.Builder
	for n := 0; n < 2; {
		b, _, err := r.Read(testContext(t), "")
		if err == connector.ErrIdle {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len {
			for c, v := range b.Cols {
				text := "NULL"
				if !v.IsNull(i) {
					text = string(types.AppendText(nil, spec.Columns[c].Type, v, i, nil))
				}
				fmt.Fprintf(&got, "%s=%s\n", spec.Columns[c].Name, text)
			}
		}
		n += b.Len
		b.Release()
	}
	want := `id=1
k=ключ
kb=\xd0bad0bbd18ed187
p=0
o=0
ts=2023-11-14 22:13:20.123+00
h={"z": null, "bin": "\\xff00", "trace": "last"}
ha={"(trace,\"\\\\x612262\")","(bin,\"\\\\xff00\")","(z,)","(trace,\"\\\\x6c617374\")"}
unread=NULL
id=2
k=NULL
kb=NULL
p=0
o=1
ts=2023-11-14 23:13:20.123+00
h={}
ha={}
unread=NULL
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestKeyThatIsNoText(t *testing.T) {
	_, addr := cluster(t, 1)
	recs := []*kgo.Record{{Topic: "t", Key: []byte{0xff}, Value: []byte(`{"id":1}`)},
		{Topic: "t", Key: []byte("ok"), Value: []byte(`{"id":2}`)}, {Topic: "t", Value: []byte(`{"id":3}`)}}
	if err := kgoClient(t, addr).ProduceSync(testContext(t), recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	spec := idSpec(addr, "on_error", "skip")
	spec.Columns = append(spec.Columns, connector.Column{Name: "k", Type: types.TText, Meta: "key", NotNull: true})
	got, _, err := readTo(t, openReader(t, open(t, spec), 0, ""), "3")
	if err != nil || !equal(got, 2) {
		t.Fatal(got, err)
	}
	bad := spec.BadRows.(*badRows).rows
	if len(bad) != 2 || !strings.Contains(bad[0].Reason, "UTF8") || !strings.Contains(bad[1].Reason, `"k"`) {
		t.Fatalf("%+v", bad)
	}
}

func TestMetadataTypes(t *testing.T) {
	for _, c := range []struct {
		meta string
		t    types.Type
		ok   bool
	}{
		{"key", types.TInt8, false}, {"key", types.TVarchar, true}, {"partition", types.TInt8, true},
		{"partition", types.TText, false}, {"offset", types.TInt4, false}, {"timestamp", types.TTimestamp, true},
		{"timestamp", types.TInt8, false}, {"headers", types.TText, false},
		{"headers", headersType(types.TText), true}, {"headers", headersType(types.TInt8), false},
		{"colour", types.TText, false},
	} {
		spec := idSpec("b:1")
		spec.Columns = []connector.Column{{Name: "c", Type: c.t, Meta: c.meta}}
		err := Factory().CheckSource(spec)
		if (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.meta, c.t, err)
		}
		if code := sqlerr.CodeOf(err); err != nil && code != sqlerr.DatatypeMismatch && code != sqlerr.InvalidColumnDef {
			t.Errorf("%s %s: code %s", c.meta, c.t, code)
		}
	}
}

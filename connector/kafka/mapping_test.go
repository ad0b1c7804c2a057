package kafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// mapSpec is a sink of (id bigint, p int, ts timestamptz, h jsonb, hs array of
// struct (name text, value bytea)).
func mapSpec(brokers, format string, options ...string) *connector.Spec {
	hs := types.ArrayOf(types.StructOf(types.Field{Name: "name", Type: types.TText},
		types.Field{Name: "value", Type: types.TBytea}))
	s := kvSpec(brokers, format, options...)
	s.Clock = clock.NewManual(clock.System{}.Now())
	s.Columns = []connector.Column{{Name: "id", Type: types.TInt8}, {Name: "p", Type: types.TInt4},
		{Name: "ts", Type: types.TTimestamptz}, {Name: "h", Type: types.TJSONB}, {Name: "hs", Type: hs}}
	return s
}

// mapRows makes a batch of text such as "+ 1 0 1500000 {} [{a b}]".
func mapRows(t *testing.T, s *connector.Spec, text string) *arrowbatch.Batch {
	t.Helper()
	var shapes []arrowbatch.Shape
	for _, c := range s.Columns {
		shapes = append(shapes, c.Type.Shape())
	}
	b, err := arrowbatch.ParsePretty(shapes, text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMapping(t *testing.T) {
	_, addr := cluster(t, 3)
	s := mapSpec(addr, formatPlain, "partition", "p", "timestamp", "ts", "headers", "h")
	s.Columns = s.Columns[:4]
	w := openWriter(t, s)
	b := mapRows(t, s, `+ 1 2 1500000 "{\"a\": \"x\", \"n\": 5, \"none\": null, \"o\": {\"b\": [1]}}"
+ 2 0 2500999 NULL
+ 3 1 0 "{}"`)
	defer b.Release()
	if err := w.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prepare(testContext(t), 1); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range consume(t, addr, 3) {
		line := fmt.Sprintf("%d %d", r.Partition, r.Timestamp.UnixMilli())
		for _, h := range r.Headers {
			if h.Value == nil {
				line += " " + h.Key
				continue
			}
			line += fmt.Sprintf(" %s=%s", h.Key, h.Value)
		}
		got[string(r.Value)] = line
	}
	for v, want := range map[string]string{`{"id":1}`: `2 1500 a=x n=5 none o={"b": [1]}`, `{"id":2}`: "0 2500", `{"id":3}`: "1 0"} {
		if got[v] != want {
			t.Errorf("%s: %q, want %q", v, got[v], want)
		}
	}
}

func TestRefusedMappings(t *testing.T) {
	for _, c := range []struct {
		format  string
		options []string
		want    string
	}{
		{formatPlain, []string{"partition", "pp"}, `column "pp" named in option "partition" does not exist`},
		{formatPlain, []string{"partition", "ts"}, "must be of type integer"},
		{formatPlain, []string{"timestamp", "id"}, "must be of type timestamp"},
		{formatPlain, []string{"headers", "id"}, "must be of type jsonb"},
		{formatUpsert, []string{"partition", "p"}, "is not part of the key"},
		{formatUpsert, []string{"op_column", "op"}, "FORMAT PLAIN only"},
		{formatPlain, []string{"op_column", "id"}, "which exists"},
	} {
		err := Factory().CheckSink(t.Context(), mapSpec("b:1", c.format, c.options...))
		if err == nil || !strings.Contains(err.Error(), c.want) || sqlerr.CodeOf(err) == sqlerr.InternalError {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

func TestMappingErrors(t *testing.T) {
	for row, want := range map[string]string{
		`+ 1 3 0 "{}"`:                   "which has 3",
		`+ 1 -1 0 "{}"`:                  `value -1 of column "p" is no partition`,
		`+ 1 0 -1 "{}"`:                  `value -1 of column "ts"`,
		`+ 1 0 0 "[1]"`:                  `headers in column "h" are no JSON object`,
		`+ 1 0 9223372036854775807 "{}"`: `value 9223372036854775807 of column "ts"`,
	} {
		_, addr := cluster(t, 3)
		s := mapSpec(addr, formatPlain, "partition", "p", "timestamp", "ts", "headers", "h")
		s.Columns = s.Columns[:4]
		w := openWriter(t, s)
		b := mapRows(t, s, row)
		err := w.Write(testContext(t), b)
		b.Release()
		if err == nil || !strings.Contains(err.Error(), want) || !sqlerr.From(err).Permanent {
			t.Errorf("%s: %v", row, err)
		}
	}
}

// Plain records tell what a row does where a column is named for it; a halved batch
// keeps its headers.
func TestOpColumn(t *testing.T) {
	_, addr := cluster(t, 1)
	s := kvSpec(addr, formatPlain, "op_column", "op")
	s.AppendOnly = false
	write(t, openWriter(t, s), 1, "+ a 1", "- a 1", "+ a 2")
	want := `- {"k":"a","v":1,"op":"insert"}
- {"k":"a","v":1,"op":"delete"}
- {"k":"a","v":2,"op":"insert"}
`
	if got := show(consume(t, addr, 3)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSplitKeepsHeaders(t *testing.T) {
	o := newOutBatch(0)
	for i := range 5 {
		o.add([]byte("k"), []byte{byte(i)}, []byte{2, 2, 'h', 2, byte(i)}, int64(i))
	}
	a, b, err := o.split()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, half := range []*outBatch{a, b} {
		rest := half.buf[batchStart:]
		for range half.count {
			var r record
			var ok bool
			if rest, ok = nextRecord(rest, &r); !ok {
				t.Fatal("malformed")
			}
			hs, ok := appendHeaders(nil, &r)
			if !ok || len(hs) != 1 || string(hs[0].name) != "h" || hs[0].value[0] != byte(n) || r.value[0] != byte(n) ||
				half.baseTime+r.timeDelta != int64(n) {
				t.Fatal(n, hs)
			}
			n++
		}
	}
	if n != 5 {
		t.Fatal(n)
	}
}

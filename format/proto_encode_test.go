package format

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// TestProtoRoundTrip: what is written is read back, by the schema that it was
// written with; another implementation reads it too.
func TestProtoRoundTrip(t *testing.T) {
	rows := [][]string{append([]string(nil), encodeRows[0]...), append([]string(nil), encodeRows[1]...)}
	at := func(name string) int {
		for i, c := range encodeColumns {
			if c.Name == name {
				return i
			}
		}
		t.Fatal(name)
		return 0
	}
	// What protobuf has no room for: NULLs in arrays, infinite timestamps.
	rows[0][at("a")], rows[0][at("st")] = "{1,-2,3}", `{"(1,\"{a,b}\")","(,{})"}`
	rows[1][at("ts")], rows[1][at("tz")] = "1960-01-01 00:00:00.5", "0001-01-01 00:00:00+00"
	vs := encodeVecs(t, encodeColumns, rows)
	e, err := NewEncoder(encodeColumns, Proto, Options{SchemaName: "my.ns.Thing"})
	if err != nil {
		t.Fatal(err)
	}
	e.SetSchemaID(5)
	d := mustNew(t, Proto, Options{}, encodeColumns...)
	d.AddSchema(5, e.Schema(), nil)
	file, err := parseProto(e.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rec := e.AppendRow(nil, vs, i)
		if err := e.Err(); err != nil {
			t.Fatal(err)
		}
		if err := d.Append(rec); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		m := dynamicpb.NewMessage(file.Messages().Get(0))
		if err := proto.Unmarshal(rec[frame+1:], m); err != nil || len(m.GetUnknown()) > 0 {
			t.Errorf("row %d: %v", i, err)
		}
	}
	got, want := show(encodeColumns, d.Take()), show(encodeColumns, arrowbatch.NewBatch(len(rows), vs...))
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// A row of NULLs is the empty message.
	if rec := e.AppendRow(nil, encodeVecs(t, encodeColumns, [][]string{nil}), 0); len(rec) != frame+1 {
		t.Errorf("%x", rec)
	}
}

func TestProtoEncodeRefuses(t *testing.T) {
	for _, cols := range [][]Column{{col("a b", types.TInt4)}, {col("a", types.TInt4), col("a", types.TInt4)},
		{col("a_b", types.TInt4), col("aB", types.TInt4)}} {
		if _, err := NewEncoder(cols, Proto, Options{}); sqlerr.CodeOf(err) != sqlerr.InvalidName {
			t.Errorf("%v: %v", cols, err)
		}
	}
	for _, c := range []struct {
		t    types.Type
		text string
		code sqlerr.Code
	}{{types.ArrayOf(types.TInt4), "{1,NULL}", sqlerr.NullValueNotAllowed},
		{types.TTimestamp, "infinity", sqlerr.DatetimeFieldOverflow}} {
		cols := []Column{col("a", c.t)}
		e, err := NewEncoder(cols, Proto, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e.AppendRow(nil, encodeVecs(t, cols, [][]string{{c.text}}), 0)
		if sqlerr.CodeOf(e.Err()) != c.code || e.Err() != nil {
			t.Errorf("%s was written, or told twice", c.text)
		}
	}
	if e, err := NewEncoder([]Column{col("ts", types.TTimestamp)}, Proto, Options{}); err != nil ||
		!strings.Contains(e.Schema().Text, "optional google.protobuf.Timestamp ts = 1;") {
		t.Error(err)
	}
}

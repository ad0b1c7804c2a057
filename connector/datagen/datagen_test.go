package datagen

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
)

var ctx = context.Background()

var columns = []connector.Column{
	{Name: "id", Type: types.TInt8}, {Name: "small", Type: types.TInt2}, {Name: "f", Type: types.TFloat8},
	{Name: "price", Type: types.Type{ID: types.Numeric, Mod: 8, Scale: 3}}, {Name: "Name", Type: types.TText},
	{Name: "kind", Type: types.TVarchar}, {Name: "ts", Type: types.TTimestamptz}, {Name: "d", Type: types.TDate},
	{Name: "ok", Type: types.TBool}, {Name: "u", Type: types.TUUID},
}

func spec(opts ...string) *connector.Spec {
	s := &connector.Spec{Name: "g", Clock: clock.System{}, Columns: slices.Clone(columns),
		Options: map[string]string{"number_of_rows": "10", "fields.id.kind": "sequence", "fields.id.start": "5",
			"fields.id.end": "8", "fields.small.min": "-3", "fields.small.max": "3", "fields.name.length": "5",
			"fields.kind.values": "a,bb", "fields.ts.step": "1500 ms", "fields.ts.jitter": "1 s",
			"fields.d.kind": "random", "fields.d.start": "2020-02-28", "fields.d.end": "2020-03-01",
			"fields.ok.null_rate": "0.5"}}
	for i := 0; i < len(opts); i += 2 {
		s.Options[opts[i]] = opts[i+1]
	}
	return s
}

// rows reads a source, one split after the other, and puts the rows in order.
func rows(t *testing.T, s *connector.Spec) []string {
	t.Helper()
	src, err := Factory.Source(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	splits, _ := src.Splits(ctx)
	out := map[int]string{}
	cols := connector.FormatColumns(s.Columns)
	for k, sp := range splits {
		r, err := src.Open(ctx, sp, "")
		if err != nil {
			t.Fatal(err)
		}
		at := k
		for {
			b, _, err := r.Read(ctx, "")
			if errors.Is(err, connector.ErrEnd) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Len {
				out[at] = string(format.AppendJSONRow(nil, cols, b.Cols, i, nil))
				at += len(splits)
			}
		}
	}
	list := make([]string, len(out))
	for i := range list {
		list[i] = out[i]
	}
	return list
}

func TestGolden(t *testing.T) {
	got := strings.Join(rows(t, spec())[:3], "\n")
	want := strings.Join([]string{
		`{"id":5,"small":0,"f":0.6455010337390141,"price":66102.656,"Name":"awjmz","kind":"bb",` +
			`"ts":"2023-12-31T23:59:59.096457+00:00","d":"2020-02-29","ok":true,"u":"5dfcb79c-593e-4e79-bc02-19bc9011cd8a"}`,
		`{"id":6,"small":-2,"f":0.10588649715267617,"price":93005.866,"Name":"gybnj","kind":"bb",` +
			`"ts":"2024-01-01T00:00:00.998978+00:00","d":"2020-02-29","ok":null,"u":"5bfd8eca-fb9f-4511-bedb-393360592890"}`,
		`{"id":7,"small":-1,"f":0.2579723983854142,"price":58504.628,"Name":"onzss","kind":"bb",` +
			`"ts":"2024-01-01T00:00:02.989844+00:00","d":"2020-02-29","ok":null,"u":"dc246e8e-6794-4c80-b7cb-23ff5b6de47b"}`,
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPure(t *testing.T) {
	want := rows(t, spec("number_of_rows", "9000"))
	if len(want) != 9000 {
		t.Fatalf("%d rows", len(want))
	}
	if got := rows(t, spec("number_of_rows", "9000", "splits", "3")); !slices.Equal(got, want) {
		t.Error("three splits give other rows")
	}
	if got := rows(t, spec("number_of_rows", "9000", "seed", "1")); got[0] == want[0] {
		t.Error("another seed gives the same rows")
	}
	// From the middle, and without the other columns.
	s := spec("number_of_rows", "9000")
	s.Columns[0].Unused = true
	src, err := Factory.Source(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Open(ctx, connector.Split{ID: "0"}, "7000")
	if err != nil {
		t.Fatal(err)
	}
	b, next, err := r.Read(ctx, "7001")
	if err != nil || next != "7001" || b.Len != 1 {
		t.Fatal(next, err)
	}
	got := string(format.AppendJSONRow(nil, connector.FormatColumns(s.Columns), b.Cols, 0, nil))
	if w := `{"id":null,` + want[7000][len(`{"id":5,`):]; got != w {
		t.Errorf("row 7000: got %s, want %s", got, w)
	}
}

func TestRanges(t *testing.T) {
	nulls := 0
	var ids []byte
	for i, r := range rows(t, spec("number_of_rows", "5000")) {
		if i < 5 {
			ids = append(ids, r[len(`{"id":`)])
		}
		if strings.Contains(r, `"ok":null`) {
			nulls++
		}
		if !strings.Contains(r, `"kind":"a"`) && !strings.Contains(r, `"kind":"bb"`) {
			t.Fatal(r)
		}
		if !strings.Contains(r, `"d":"2020-02-28"`) && !strings.Contains(r, `"d":"2020-02-29"`) &&
			!strings.Contains(r, `"d":"2020-03-01"`) {
			t.Fatal(r)
		}
	}
	if string(ids) != "56785" {
		t.Errorf("sequence 5 to 8: %s", ids)
	}
	if nulls < 2300 || nulls > 2700 {
		t.Errorf("%d of 5000 are NULL, half were wanted", nulls)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"fields.nam.kind", "random", `option "fields.nam.kind" names no column of the source`},
		{"fields.id.kinds", "random", `unrecognized option "fields.id.kinds" of connector "datagen"`},
		{"fields.u.kind", "sequence", `invalid value for option "fields.u.kind": "sequence"`},
		{"fields.small.min", "99999", `99999 is outside the valid range for option "fields.small.min" (-32768 .. 32767)`},
		{"fields.small.min", "4", `option "fields.small.max" is below "fields.small.min"`},
		{"fields.ok.null_rate", "2", `option "fields.ok.null_rate" must be from 0 to 1`},
		{"fields.d.start", "x", `invalid value for option "fields.d.start": invalid input syntax for type date: "x"`},
		{"rows_per_second", "-1", `-1 is outside the valid range for option "rows_per_second" (0 .. 1000000000)`},
	} {
		if err := Factory.CheckSource(spec(c.option, c.value)); err == nil || err.Error() != c.want {
			t.Errorf("%s = %s: got %v, want %s", c.option, c.value, err, c.want)
		}
	}
	s := spec()
	s.Columns = append(s.Columns, connector.Column{Name: "j", Type: types.TJSONB})
	err := Factory.CheckSource(s)
	if err == nil || err.Error() != `connector "datagen" cannot make column "j" of type jsonb` {
		t.Error(err)
	}
}

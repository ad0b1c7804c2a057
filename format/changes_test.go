package format

import (
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// changesOf prints the rows of a batch: the op, then each column's text.
func changesOf(cols []Column, b *arrowbatch.Batch) string {
	defer b.Release()
	var out strings.Builder
	for i := range b.Len {
		out.WriteByte("+-"[b.OpAt(i)])
		for k, c := range cols {
			out.WriteByte(' ')
			if b.Cols[k].IsNull(i) {
				out.WriteString("NULL")
				continue
			}
			out.Write(types.AppendText(nil, c.Type, b.Cols[k], i, nil))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func eventDecoder(t *testing.T, cols []Column, key ...int) *Decoder {
	t.Helper()
	d, err := New(cols, JSON, Options{Changes: Events, Key: KeyOptions{Columns: key}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var cityCols = []Column{{Name: "id", Type: types.TInt8}, {Name: "city", Type: types.TText}}

func TestEvents(t *testing.T) {
	d := eventDecoder(t, cityCols, 0)
	for _, r := range []string{
		`{"before":null,"after":{"id":1,"city":"Lima"},"source":{"snapshot":"true"},"op":"r","ts_ms":1}`,
		`{"before":{"id":1,"city":"Lima"},"after":{"id":1,"city":"Oslo"},"op":"u"}`,
		`{"op":"u","after":{"city":"Rome","id":2},"before":{"city":"Oslo","id":1}}`,
		`{"before":null,"after":{"id":2,"city":null},"op":"u"}`,
		`{"before":{"id":2,"city":null},"after":null,"op":"d"}`,
		`{"status":"BEGIN","id":"571","event_count":null}`,
		`{"op":"m","message":{"prefix":"x","content":"eA=="}}`,
	} {
		if err := d.AppendRecord(nil, []byte(r)); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	if err := d.AppendRecord(nil, nil); err != nil {
		t.Error(err)
	}
	want := "+ 1 Lima\n+ 1 Oslo\n- 1 NULL\n+ 2 Rome\n+ 2 NULL\n- 2 NULL\n"
	if got := changesOf(cityCols, d.Take()); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestEventsWithSchema: a record's schema says what values stand for, with or without it
// before the record.
func TestEventsWithSchema(t *testing.T) {
	cols := []Column{{Name: "id", Type: types.TInt4}, {Name: "price", Type: types.TNumeric}, {Name: "day", Type: types.TDate},
		{Name: "at", Type: types.TTimestamp}, {Name: "zoned", Type: types.TTimestamptz}, {Name: "t", Type: types.TTime},
		{Name: "raw", Type: types.TBytea}, {Name: "doc", Type: types.TJSONB}, {Name: "free", Type: types.TNumeric},
		{Name: "tags", Type: types.Type{ID: types.Array, Elem: &types.TDate}}}
	const row = `{"type":"struct","optional":true,"field":"%","fields":[{"type":"int32","field":"id"},` +
		`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"},"field":"price"},` +
		`{"type":"int32","name":"io.debezium.time.Date","field":"day"},` +
		`{"type":"int64","name":"io.debezium.time.NanoTimestamp","field":"at"},` +
		`{"type":"string","name":"io.debezium.time.ZonedTimestamp","field":"zoned"},` +
		`{"type":"int32","name":"io.debezium.time.Time","field":"t"},{"type":"bytes","field":"raw"},` +
		`{"type":"string","name":"io.debezium.data.Json","field":"doc"},` +
		`{"type":"struct","name":"io.debezium.data.VariableScaleDecimal","field":"free"},` +
		`{"type":"array","items":{"type":"int32","name":"io.debezium.time.Date"},"field":"tags"}]}`
	schema := `{"schema":{"type":"struct","fields":[` + strings.Replace(row, "%", "before", 1) + `,` +
		strings.Replace(row, "%", "after", 1) + `,{"type":"string","field":"op"}]},"payload":`
	d := eventDecoder(t, cols, 0)
	for _, r := range []string{
		schema + `{"before":null,"after":{"id":1,"price":"ANI=","day":20454,"at":1767225600123456789,` +
			`"zoned":"2026-01-01T00:00:00.5Z","t":3600001,"raw":"AP8=","doc":"{\"a\": [1]}",` +
			`"free":{"scale":3,"value":"AQA="},"tags":[0,1]},"op":"c"}}`,
		schema + `{"before":null,"after":{"id":2,"price":"/w==","day":-1},"op":"c"}} `,
		// Without a schema: by the columns' types, at six digits.
		`{"before":null,"after":{"id":3,"price":12.50,"day":0,"at":1767225600123456,"zoned":"2026-01-01T00:00:00+01:00",` +
			`"t":1500000,"raw":"\\x00ff","doc":{"b":2},"free":"1.25","tags":["2026-01-01"]},"op":"c"}`,
		schema + `null}`,
		schema + `{"before":{"id":1},"after":null,"op":"d"}}`,
	} {
		if err := d.Append([]byte(r)); err != nil {
			t.Errorf("%s: %v", r[max(0, len(r)-200):], err)
		}
	}
	want := "+ 1 2.10 2026-01-01 2026-01-01 00:00:00.123456 2026-01-01 00:00:00.5+00 01:00:00.001 \\x00ff " +
		"{\"a\": [1]} 0.256 {1970-01-01,1970-01-02}\n" +
		"+ 2 -0.01 1969-12-31 NULL NULL NULL NULL NULL NULL NULL\n" +
		"+ 3 12.50 1970-01-01 2026-01-01 00:00:00.123456 2025-12-31 23:00:00+00 00:00:01.5 \\x00ff {\"b\": 2} 1.25 {2026-01-01}\n" +
		"- 1 NULL NULL NULL NULL NULL NULL NULL NULL NULL\n"
	if got := changesOf(cols, d.Take()); got != want {
		t.Errorf("got\n%swanted\n%s", got, want)
	}
}

// TestEventTimes: without a schema numbers in time columns count by their digits.
func TestEventTimes(t *testing.T) {
	milli := func(x types.Type) types.Type { x.Mod = 3; return x }
	cols := []Column{{Name: "id", Type: types.TInt4}, {Name: "at", Type: milli(types.TTimestamp)},
		{Name: "t", Type: milli(types.TTime)}, {Name: "span", Type: types.TInterval}}
	const r = `{"after":{"id":1,"at":1767225600123,"t":1500,"span":60000000},"op":"c"}`
	d := eventDecoder(t, cols, 0)
	if err := d.Append([]byte(r)); err != nil {
		t.Fatal(err)
	}
	if got := changesOf(cols, d.Take()); got != "+ 1 2026-01-01 00:00:00.123 00:00:01.5 00:01:00\n" {
		t.Error(got)
	}
	d, err := New(cols, JSON, Options{Changes: Events, Key: KeyOptions{Columns: []int{0}}, TimestampFormat: "epoch_s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Append([]byte(`{"after":{"id":1,"at":1767225600},"op":"c"}`)); err != nil {
		t.Fatal(err)
	}
	if got := changesOf(cols, d.Take()); got != "+ 1 2026-01-01 00:00:00 NULL NULL\n" {
		t.Error(got)
	}
}

// TestBadEvents: a bad record leaves nothing, and the records around it are read.
func TestBadEvents(t *testing.T) {
	cols := []Column{{Name: "id", Type: types.TInt8}, {Name: "city", Type: types.TText, NotNull: true},
		{Name: "doc", Type: types.TBytea}, {Name: "n", Type: types.TInt2, Unused: true}}
	d := eventDecoder(t, cols, 0)
	good := `{"after":{"id":%,"city":"a"},"op":"c"}`
	for i, c := range []struct{ record, want string }{
		{`{"after":{"id":1,"city":"x"}}`, `the record has no "op"`},
		{`{"op":"x"}`, `the record's "op" is not known`},
		{`{"op":"cc"}`, `the record's "op" is not known`},
		{`{"op":"t","before":null,"after":null}`, `a TRUNCATE cannot be followed`},
		{`{"op":"d","before":null,"after":null}`, `the record's "before" does not have the key`},
		{`{"op":"d","before":{"city":"x"}}`, `the record's "before" does not have the key`},
		{`{"op":"c","before":{"id":1,"city":"x"}}`, `the record has no "after"`},
		{`{"op":"c","after":{"id":null,"city":"x"}}`, `column "id": null value`},
		{`{"op":"u","before":{"id":1},"after":{"city":"x"}}`, `column "id": null value`},
		{`{"op":"u","after":{"id":1}}`, `column "city": null value`},
		{`{"op":"c","after":{"id":1,"city":"__debezium_unavailable_value"}}`, `column "after.city": the record lacks`},
		{`{"op":"c","after":{"id":1,"city":"x","doc":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}}`, `column "after.doc": the record lacks`},
		{`{"op":"c","after":{"id":1,"city":"x","doc":"*"}}`, `column "after.doc": invalid base64`},
		{`{"op":"c","after":{"id":"one","city":"x"}}`, `column "after.id": invalid input syntax for type bigint`},
		{`{"schema":7,"payload":{"op":"c"}}`, "the record's schema is not one of Kafka Connect"},
		{`{"schema":{},"payload":{"op":"c"`, "invalid input syntax for type json"},
		{`{"op":"c","after":{"id":1,"city":"x"}} x`, "invalid input syntax for type json"},
		{`[]`, "invalid input syntax for type json"},
		{``, "invalid input syntax for type json"},
	} {
		err := d.Append([]byte(c.record))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, wanted %s", c.record, err, c.want)
		}
		if err := d.Append([]byte(strings.Replace(good, "%", strconv.Itoa(i), 1))); err != nil {
			t.Error(err)
		}
		if d.Len() != i+1 {
			t.Fatalf("%s: %d records", c.record, d.Len())
		}
	}
	d.Truncate(2)
	if got := changesOf(cols, d.Take()); got != "+ 0 a NULL NULL\n+ 1 a NULL NULL\n" {
		t.Error(got)
	}
}

// TestEventsInFile: records are read from a file's lines, however they are cut.
func TestEventsInFile(t *testing.T) {
	const text = `{"op":"c","after":{"id":1,"city":"Lima"}}` + "\n" + `{"status":"BEGIN"}` + "\n" +
		`{"schema":null,"payload":{"op":"u","before":{"id":1},"after":{"id":2,"city":"Oslo"}}}` + "\n" +
		`{"op":"z"}` + "\n" + `{"op":"d","before":{"id":2}}`
	for cut := 1; cut < len(text); cut += 7 {
		d := eventDecoder(t, cityCols, 0)
		if _, err := d.Begin([]byte(text), true, false); err != nil {
			t.Fatal(err)
		}
		bad := 0
		for at, end := 0, cut; at < len(text); end = min(end+cut, len(text)) {
			n, err := d.Decode([]byte(text)[at:end], end == len(text), 100)
			if rec, ok := err.(*RecordError); ok {
				if got := text[at+rec.Start : at+rec.End]; got != `{"op":"z"}` {
					t.Errorf("cut by %d: the bad record is %q", cut, got)
				}
				bad++
			}
			at += n
		}
		if got := changesOf(cityCols, d.Take()); got != "+ 1 Lima\n- 1 NULL\n+ 2 Oslo\n- 2 NULL\n" || bad != 1 {
			t.Errorf("cut by %d: %d bad and\n%s", cut, bad, got)
		}
	}
}

func TestUpsertKeys(t *testing.T) {
	two := []Column{{Name: "a", Type: types.TText}, {Name: "v", Type: types.TInt4}, {Name: "b", Type: types.TDate}}
	for _, c := range []struct {
		cols       []Column
		key        []int
		enc        string
		k, v, want string
	}{
		{cityCols, []int{0}, JSON, `7`, `{"city":"Lima"}`, "+ 7 Lima\n"},
		{cityCols, []int{0}, JSON, ` -7 `, `{"city":"Lima","id":9}`, "+ -7 Lima\n"},
		{cityCols, []int{0}, JSON, `"7"`, `{}`, "+ 7 NULL\n"},
		{cityCols, []int{0}, JSON, `{"schema":{"type":"int64"},"payload":7}`, `{"schema":null,"payload":{"city":"x"}}`, "+ 7 x\n"},
		{cityCols, []int{0}, JSON, `{"schema":{"type":"struct","fields":[]},"payload":{"id":7}}`,
			`{"schema":null,"payload":null}`, "- 7 NULL\n"},
		{cityCols, []int{0}, Text, `7`, `{"city":"Lima"}`, "+ 7 Lima\n"},
		{two, []int{0, 2}, JSON, `{"b":"2026-01-01","a":"x"}`, `{"v":1}`, "+ x 1 2026-01-01\n"},
		{two, []int{2, 0}, CSV, `2026-01-01,x`, `{"v":1,"b":5}`, "+ x 1 2026-01-01\n"},
	} {
		d, err := New(c.cols, JSON, Options{Changes: Upserts, Key: KeyOptions{Columns: c.key, Encode: c.enc},
			CSV: CSVOptions{Delimiter: ',', Quote: '"', Escape: '"'}})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.AppendRecord([]byte(c.k), []byte(c.v)); err != nil {
			t.Errorf("%s: %v", c.k, err)
		}
		if got := changesOf(c.cols, d.Take()); got != c.want {
			t.Errorf("%s: got %s, wanted %s", c.k, got, c.want)
		}
	}
}

// TestBadUpserts: a bad key or value leaves nothing of either.
func TestBadUpserts(t *testing.T) {
	d, err := New(cityCols, JSON, Options{Changes: Upserts, Key: KeyOptions{Columns: []int{0}, Encode: JSON}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]string{{`1`, `{"city":"a"}`}, {`null`, `{"city":"b"}`}, {`{`, `{"city":"b"}`}, {`[1]`, `{"city":"b"}`},
		{`2`, `{"city":`}, {`3 4`, `{"city":"b"}`}, {`5`, `6`}, {`6`, ``}, {`7`, `{"city":"c"}`}} {
		err := d.AppendRecord([]byte(r[0]), []byte(r[1]))
		if good := r[0] == "1" || r[0] == "7"; good != (err == nil) {
			t.Errorf("%s: %v", r, err)
		}
	}
	if got := changesOf(cityCols, d.Take()); got != "+ 1 a\n+ 7 c\n" {
		t.Error(got)
	}
}

func FuzzChanges(f *testing.F) {
	f.Add([]byte(`{"schema":{"type":"struct","fields":[{"field":"after","type":"struct","fields":[{"field":"d",`+
		`"name":"io.debezium.time.Date"}]}]},"payload":{"op":"c","after":{"id":1,"d":5}}}`), []byte(`{"id":1}`))
	f.Add([]byte(`{"op":"u","before":{"id":1},"after":{"id":2,"n":{"scale":1,"value":"AQ=="},"j":"[1]"}}`), []byte(`7`))
	cols := []Column{{Name: "id", Type: types.TInt8}, {Name: "d", Type: types.TDate}, {Name: "n", Type: types.TNumeric},
		{Name: "j", Type: types.TJSONB}, {Name: "a", Type: types.Type{ID: types.Array, Elem: &types.TTimestamp}, NotNull: true},
		{Name: "m", Type: types.TInt8, Meta: "offset"}}
	f.Fuzz(func(t *testing.T, value, key []byte) {
		for _, o := range []Options{{Changes: Events, Key: KeyOptions{Columns: []int{0}}},
			{Changes: Upserts, Key: KeyOptions{Columns: []int{0}, Encode: JSON}}} {
			d, err := New(cols, JSON, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_ = d.AppendRecord(key, value)
				_ = d.AppendRecord(key, nil)
				_ = d.AppendRecord(value, key)
			}
			n := d.Len()
			b := d.Take()
			if b.Len < n || b.Ops != nil && len(b.Ops) != b.Len {
				t.Fatalf("%d rows with %d ops of %d records", b.Len, len(b.Ops), n)
			}
			for k, c := range cols {
				if b.Cols[k].N != b.Len {
					t.Fatalf("column %s has %d rows of %d", c.Name, b.Cols[k].N, b.Len)
				}
				for i := range b.Len {
					types.AppendText(nil, c.Type, b.Cols[k], i, nil)
				}
			}
			b.Release()
		}
	})
}

package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// citySpec is a source of (id bigint, city text) with key id and the records' offsets.
func citySpec(brokers, envelope string, options ...string) *connector.Spec {
	s := idSpec(brokers, options...)
	s.Format, s.Key = envelope, []int{0}
	s.Columns = append(s.Columns, connector.Column{Name: "city", Type: types.TText, NotNull: true},
		connector.Column{Name: "at", Type: types.TInt8, Meta: metaOffset})
	return s
}

// produceKeyed writes records, of which each is key and value with a blank between; "-"
// stands for none.
func produceKeyed(t testing.TB, c *kgo.Client, records ...string) {
	t.Helper()
	bytesOf := func(s string) []byte {
		if s == "-" {
			return nil
		}
		return []byte(s)
	}
	for _, r := range records {
		key, value, _ := strings.Cut(r, " ")
		rec := &kgo.Record{Topic: "t", Key: bytesOf(key), Value: bytesOf(value)}
		if err := c.ProduceSync(testContext(t), rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// changesTo reads to the bound and prints the changes.
func changesTo(t testing.TB, cols []connector.Column, r connector.Reader, until connector.Offset) (string, error) {
	t.Helper()
	var out strings.Builder
	for {
		b, _, err := r.Read(testContext(t), until)
		switch {
		case errors.Is(err, connector.ErrIdle):
			continue
		case errors.Is(err, connector.ErrEnd):
			return out.String(), nil
		case err != nil:
			return out.String(), err
		}
		for i := range b.Len {
			out.WriteByte("+-"[b.OpAt(i)])
			for k, c := range cols {
				text := []byte("NULL")
				if !b.Cols[k].IsNull(i) {
					text = types.AppendText(nil, c.Type, b.Cols[k], i, nil)
				}
				fmt.Fprintf(&out, " %s", text)
			}
			out.WriteByte('\n')
		}
		b.Release()
	}
}

func wantChanges(t *testing.T, s *connector.Spec, want string) {
	t.Helper()
	src := open(t, s)
	got, err := changesTo(t, s.Columns, openReader(t, src, 0, ""), latest(t, src, 0))
	if err != nil || got != want {
		t.Errorf("got\n%swanted\n%s(%v)", got, want, err)
	}
}

func TestUpserts(t *testing.T) {
	_, brokers := cluster(t, 1)
	c := kgoClient(t, brokers)
	produceKeyed(t, c, `{"id":1} {"id":1,"city":"Lima"}`, `{"id":2} {"city":"Oslo"}`, `{"id":1} -`, `3 {"city":"Rome"}`, `3 -`)
	wantChanges(t, citySpec(brokers, connector.Upsert), "+ 1 Lima 0\n+ 2 Oslo 1\n- 1 NULL 2\n+ 3 Rome 3\n- 3 NULL 4\n")
}

func TestUpsertsWithTextKey(t *testing.T) {
	_, brokers := cluster(t, 1)
	c := kgoClient(t, brokers)
	produceKeyed(t, c, `17 {"city":"Lima"}`, `17 -`)
	s := citySpec(brokers, connector.Upsert)
	s.FormatOptions["key.encode"] = "text"
	wantChanges(t, s, "+ 17 Lima 0\n- 17 NULL 1\n")
}

func TestBadUpserts(t *testing.T) {
	_, brokers := cluster(t, 1)
	c := kgoClient(t, brokers)
	produceKeyed(t, c, `1 {"city":"Lima"}`, `- {"city":"Oslo"}`, `{} {"city":"Oslo"}`, `"x" -`, `2 {"city":null}`, `3 {"city":`,
		`4 {"city":"Rome"}`)
	s := citySpec(brokers, connector.Upsert, "on_error", "skip")
	wantChanges(t, s, "+ 1 Lima 0\n+ 4 Rome 6\n")
	bad := s.BadRows.(*badRows).rows
	for i, want := range []string{"1 the record has no key", `2 the record's key: column "id": null value`,
		`3 the record's key: invalid input syntax for type bigint: "x"`,
		`4 column "city": null value in column "city" violates not-null constraint`, "5 invalid input syntax for type json"} {
		if got := string(bad[i].Offset) + " " + bad[i].Reason; !strings.HasPrefix(got, want) {
			t.Errorf("got %s, wanted %s", got, want)
		}
	}
	if string(bad[2].Bytes) != `"x"` {
		t.Errorf("bytes of the record without value are %q", bad[2].Bytes)
	}
	s = citySpec(brokers, connector.Upsert)
	src := open(t, s)
	got, err := changesTo(t, s.Columns, openReader(t, src, 0, ""), latest(t, src, 0))
	if got != "+ 1 Lima 0\n" || sqlerr.CodeOf(err) != sqlerr.NotNullViolation {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDebezium(t *testing.T) {
	_, brokers := cluster(t, 1)
	c := kgoClient(t, brokers)
	produceKeyed(t, c, `{"id":1} {"before":null,"after":{"id":1,"city":"Lima"},"op":"r"}`,
		`{"id":1} {"before":{"id":1},"after":{"id":2,"city":"Oslo"},"op":"u"}`,
		`{"id":2} {"before":{"id":2},"after":null,"op":"d"}`, `{"id":2} -`,
		`- {"status":"BEGIN","id":"5"}`, `{"id":3} {"before":null,"after":{"id":3,"city":"Rome"},"op":"c"}`)
	wantChanges(t, citySpec(brokers, connector.Debezium),
		"+ 1 Lima 0\n- 1 NULL 1\n+ 2 Oslo 1\n- 2 NULL 2\n+ 3 Rome 5\n")
}

// TestUpsertsInAvro: key and value have schemas of their own; a key may be a bare value.
func TestUpsertsInAvro(t *testing.T) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	const city = `{"type":"record","name":"V","fields":[{"name":"city","type":"string"}]}`
	const id = `{"type":"record","name":"K","fields":[{"name":"id","type":"long"}]}`
	reg.add("t-value", map[string]any{"schema": city})
	reg.add("t-key", map[string]any{"schema": id})
	reg.add("t-key", map[string]any{"schema": `"int"`})
	value := func(name string) string { return avroRecord(t, 1, city, map[string]any{"city": name}) }
	c := kgoClient(t, brokers)
	for _, r := range [][2]string{{avroRecord(t, 2, id, map[string]any{"id": int64(7)}), value("Lima")},
		{avroRecord(t, 3, `"int"`, 8), value("Oslo")}, {avroRecord(t, 3, `"int"`, 7), ""}} {
		rec := &kgo.Record{Topic: "t", Key: []byte(r[0]), Value: []byte(r[1])}
		if r[1] == "" {
			rec.Value = nil
		}
		if err := c.ProduceSync(testContext(t), rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s := citySpec(brokers, connector.Upsert)
	s.Encode, s.FormatOptions["schema_registry_url"] = "avro", reg.url
	wantChanges(t, s, "+ 7 Lima 0\n+ 8 Oslo 1\n- 7 NULL 2\n")
}

// TestReadBackChanges: what a sink writes of changes, a source reads as the same.
func TestReadBackChanges(t *testing.T) {
	for _, format := range []string{connector.Upsert, connector.Debezium} {
		_, brokers := cluster(t, 1)
		write(t, openWriter(t, kvSpec(brokers, format)), 1, "+ a 1", "+ b 2", "- a 1", "+ a 3", "- b 2")
		s := kvSpec(brokers, format)
		s.Options = map[string]string{"brokers": brokers, "topic": "t"}
		s.BadRows = &badRows{}
		src := open(t, s)
		got, err := changesTo(t, s.Columns, openReader(t, src, 0, ""), latest(t, src, 0))
		if want := "+ a 1\n+ b 2\n+ a 3\n- b NULL\n"; err != nil || got != want {
			t.Errorf("%s: got\n%swanted\n%s(%v)", format, got, want, err)
		}
	}
}

func TestKeyOptions(t *testing.T) {
	two := citySpec("b:1", connector.Upsert)
	two.Key = []int{0, 1}
	two.FormatOptions["key.encode"] = "text"
	plain := idSpec("b:1")
	plain.FormatOptions["key.encode"] = "text"
	other := citySpec("b:1", connector.Upsert)
	other.FormatOptions["key.encode"] = "xml"
	option := citySpec("b:1", connector.Upsert)
	option.FormatOptions["key.delimiter"], option.FormatOptions["key.encode"] = ";", "json"
	schema := citySpec("b:1", connector.Upsert)
	schema.FormatOptions["key.encode"] = "avro"
	sink := kvSpec("b:1", formatUpsert)
	sink.FormatOptions = map[string]string{"key.encode": "text"}
	for want, err := range map[string]error{
		"KEY ENCODE TEXT is for a key of one column":                      Factory().CheckSource(two),
		"reads keys with FORMAT UPSERT only":                              Factory().CheckSource(plain),
		"does not support KEY ENCODE XML":                                 Factory().CheckSource(other),
		`unrecognized option "delimiter" of KEY ENCODE JSON`:              Factory().CheckSource(option),
		`ENCODE AVRO needs option "schema_registry_url" or "schema"`:      Factory().CheckSource(schema),
		"does not take KEY ENCODE: the key of a sink is a JSON object":    Factory().CheckSink(t.Context(), sink),
		`connector "kafka" does not read FORMAT DEBEZIUM with ENCODE CSV`: Factory().CheckSource(csvEvents()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, wanted %s", err, want)
		}
	}
}

func csvEvents() *connector.Spec {
	s := citySpec("b:1", connector.Debezium)
	s.Encode = "csv"
	return s
}

// Parquet is a format of files.
func TestNoParquet(t *testing.T) {
	s, k := idSpec("b:1"), kvSpec("b:1", formatPlain)
	s.Encode, k.Encode = "parquet", "parquet"
	for _, err := range []error{Factory().CheckSource(s), Factory().CheckSink(t.Context(), k)} {
		if err == nil || !strings.Contains(err.Error(), `connector "kafka" does not support ENCODE PARQUET; it supports: JSON, `) {
			t.Error(err)
		}
	}
}

// TestReadBackAvro: what a sink writes in Avro under keys in JSON, a source reads.
func TestReadBackAvro(t *testing.T) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	k := kvSpec(brokers, formatUpsert)
	k.Encode, k.FormatOptions = "avro", map[string]string{"schema_registry_url": reg.url}
	write(t, openWriter(t, k), 1, "+ a 1", "+ b 2", "- b 2")
	s := kvSpec(brokers, connector.Upsert)
	s.Options, s.BadRows = map[string]string{"brokers": brokers, "topic": "t"}, &badRows{}
	s.Encode, s.FormatOptions = "avro", map[string]string{"schema_registry_url": reg.url, "key.encode": "json"}
	wantChanges(t, s, "+ a 1\n+ b 2\n- b NULL\n")
}

// TestUpsertsInProtobuf: key and value are messages of schemas in the statement.
func TestUpsertsInProtobuf(t *testing.T) {
	_, brokers := cluster(t, 1)
	c := kgoClient(t, brokers)
	produceKeyed(t, c, "\x08\x07 \x0a\x04Lima", "\x08\x07 -")
	s := citySpec(brokers, connector.Upsert)
	s.Encode, s.FormatOptions = "protobuf", map[string]string{
		"schema":     `syntax = "proto3"; message V { string city = 1; }`,
		"key.schema": `syntax = "proto3"; message K { int64 id = 1; }`, "key.encode": "protobuf"}
	wantChanges(t, s, "+ 7 Lima 0\n- 7 NULL 1\n")
}

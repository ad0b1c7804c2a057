package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamba/avro/v2"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// fakeRegistry keeps schemas by id; those of a subject are its versions.
type fakeRegistry struct {
	url  string
	away atomic.Bool
	// asked counts the requests.
	asked atomic.Int64

	mu       sync.Mutex
	schemas  []map[string]any // by id-1
	subjects map[string][]int
}

func newRegistry(t testing.TB) *fakeRegistry {
	r := &fakeRegistry{subjects: map[string][]int{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// add makes the schema the subject's newest.
func (r *fakeRegistry) add(subject string, schema map[string]any) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.subjects[subject] {
		if fmt.Sprint(r.schemas[id-1]) == fmt.Sprint(schema) {
			return id
		}
	}
	r.schemas = append(r.schemas, schema)
	r.subjects[subject] = append(r.subjects[subject], len(r.schemas))
	return len(r.schemas)
}

func (r *fakeRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.asked.Add(1)
	if r.away.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	part := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	var id int
	switch {
	case req.Method == http.MethodPost:
		var body map[string]any
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"id":%d}`, r.add(part[1], body))
		return
	case part[0] == "schemas":
		fmt.Sscan(part[2], &id)
	default:
		r.mu.Lock()
		if ids := r.subjects[part[1]]; len(ids) > 0 {
			id = ids[len(ids)-1]
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 1 || id > len(r.schemas) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	json.NewEncoder(w).Encode(r.schemas[id-1])
}

// avroRecord encodes v behind the schema's id.
func avroRecord(t testing.TB, id int, schema string, v any) string {
	t.Helper()
	s, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := avro.Marshal(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return "\x00\x00\x00\x00" + string(rune(id)) + string(b)
}

const (
	firstSchema  = `{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`
	secondSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},
		{"name":"city","type":"string","default":"none"}]}`
)

func avroSpec(brokers, registry string, options ...string) *connector.Spec {
	s := idSpec(brokers, options...)
	s.Encode = "avro"
	s.FormatOptions["schema_registry_url"] = registry
	s.Columns = append(s.Columns, connector.Column{Name: "city", Type: types.TText})
	return s
}

// TestAvroEvolution: a schema that appears in the stream is looked up, and older
// records have the newer one's defaults.
func TestAvroEvolution(t *testing.T) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	reg.add("t-value", map[string]any{"schema": firstSchema})
	c := kgoClient(t, brokers)
	produceTo(t, c, 0, avroRecord(t, 1, firstSchema, map[string]any{"id": 1}), avroRecord(t, 1, firstSchema, map[string]any{"id": 2}))
	s := open(t, avroSpec(brokers, reg.url))
	r := openReader(t, s, 0, "")
	got, _, err := readTo(t, r, latest(t, s, 0))
	if err != nil || !equal(got, 1, 2) {
		t.Fatal(got, err)
	}
	reg.add("t-value", map[string]any{"schema": secondSchema})
	produceTo(t, c, 0, avroRecord(t, 2, secondSchema, map[string]any{"id": int64(1) << 40, "city": "Lima"}),
		avroRecord(t, 1, firstSchema, map[string]any{"id": 4}))
	got, _, err = readTo(t, r, latest(t, s, 0))
	if err != nil || !equal(got, 1<<40, 4) {
		t.Fatal(got, err)
	}
	if n := reg.asked.Load(); n != 4 {
		t.Errorf("%d requests", n)
	}
	// A reader that begins now knows the default from the start.
	s = open(t, avroSpec(brokers, reg.url))
	r = openReader(t, s, 0, "0")
	var cities []string
	for len(cities) < 4 {
		b, _, err := r.Read(testContext(t), "4")
		if err != nil && !errors.Is(err, connector.ErrIdle) {
			t.Fatal(err)
		}
		if b == nil {
			continue
		}
		for i := range b.Len {
			cities = append(cities, string(b.Cols[1].BytesAt(i)))
		}
		b.Release()
	}
	if strings.Join(cities, " ") != "none none Lima none" {
		t.Error(cities)
	}
}

// TestRegistryAway: reading waits for a registry that is away, tells it, and does
// not count the partition as idle.
func TestRegistryAway(t *testing.T) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	reg.add("t-value", map[string]any{"schema": firstSchema})
	reg.away.Store(true)
	produceTo(t, kgoClient(t, brokers), 0, avroRecord(t, 1, firstSchema, map[string]any{"id": 1}))
	var told reports
	spec := avroSpec(brokers, reg.url)
	spec.Report = told.add
	s := open(t, spec)
	r := openReader(t, s, 0, "")
	for deadline := time.Now().Add(10 * time.Second); ; {
		b, _, err := r.Read(testContext(t), "")
		if err != nil && !errors.Is(err, connector.ErrIdle) {
			t.Fatal(err)
		}
		if b != nil {
			b.Release()
		}
		if _, last := told.last(); last != nil {
			if !strings.Contains(last.Error(), "503") || err != nil {
				t.Fatal(last, err)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was told")
		}
	}
	reg.away.Store(false)
	got, _, err := readTo(t, r, "1")
	if err != nil || !equal(got, 1) {
		t.Fatal(got, err)
	}
	if _, last := told.last(); last != nil {
		t.Error(last)
	}
}

// TestAvroBadRecords: a record that has no schema, or whose schema the registry does
// not know, is a bad row.
func TestAvroBadRecords(t *testing.T) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	reg.add("t-value", map[string]any{"schema": firstSchema})
	produceTo(t, kgoClient(t, brokers), 0, avroRecord(t, 1, firstSchema, map[string]any{"id": 1}), "{}",
		avroRecord(t, 9, firstSchema, map[string]any{"id": 2}), avroRecord(t, 1, firstSchema, map[string]any{"id": 3}))
	spec := avroSpec(brokers, reg.url, "on_error", "skip")
	s := open(t, spec)
	got, _, err := readTo(t, openReader(t, s, 0, ""), latest(t, s, 0))
	if err != nil || !equal(got, 1, 3) {
		t.Fatal(got, err)
	}
	bad := spec.BadRows.(*badRows).rows
	if len(bad) != 2 || !strings.Contains(bad[1].Reason, "schema 9 is not in the schema registry") {
		t.Errorf("%+v", bad)
	}
	s = open(t, avroSpec(brokers, reg.url))
	if _, _, err = readTo(t, openReader(t, s, 0, "1"), "4"); sqlerr.CodeOf(err) != sqlerr.InvalidBinaryRepresentation {
		t.Error(err)
	}
}

func TestSchemaOptions(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, `ENCODE AVRO needs option "schema_registry_url" or "schema"`},
		{map[string]string{"schema_registry_url": "ftp://x"}, `invalid value for option "schema_registry_url"`},
		{map[string]string{"schema": firstSchema, "schema_registry_url": "http://x"}, "exclude each other"},
		{map[string]string{"schema": firstSchema, "schema_registry_username": "x"}, "without"},
		{map[string]string{"schema": "{}"}, "the schema cannot be read"},
		{map[string]string{"schema": firstSchema}, ""},
		{map[string]string{"schema_registry_url": "http://x, http://y:8081/", "schema_registry_password": "x"}, ""},
	} {
		s := idSpec("b:1")
		s.Encode, s.FormatOptions = "avro", c.options
		err := Factory().CheckSource(s)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

// TestSchemaSink: the schema is registered, and what is written is read back.
func TestSchemaSink(t *testing.T) {
	for _, encode := range []string{"avro", "protobuf"} {
		t.Run(encode, func(t *testing.T) { testSchemaSink(t, encode) })
	}
}

func testSchemaSink(t *testing.T, encode string) {
	_, brokers := cluster(t, 1)
	reg := newRegistry(t)
	reg.away.Store(true)
	time.AfterFunc(100*time.Millisecond, func() { reg.away.Store(false) })
	spec := kvSpec(brokers, formatUpsert)
	spec.Encode, spec.FormatOptions = encode, map[string]string{"schema_registry_url": reg.url, "schema_name": "n.kv"}
	var told reports
	spec.Report = told.add
	write(t, openWriter(t, spec), 1, "+ a 1", "+ b 2", "- a 1")
	if n, last := told.last(); n < 2 || last != nil {
		t.Errorf("the registry was away, and this was told: %d %v", n, last)
	}
	if rs := consume(t, brokers, 3); rs[2].Value != nil || string(rs[0].Key) != `{"k":"a"}` {
		t.Errorf("%+v", rs)
	}
	read := avroSpec(brokers, reg.url)
	read.Encode = encode
	read.Columns = []connector.Column{{Name: "v", Type: types.TInt8}, {Name: "k", Type: types.TText, NotNull: true}}
	s := open(t, read)
	got, _, err := readTo(t, openReader(t, s, 0, ""), "3")
	if err != nil || !equal(got, 1, 2) {
		t.Fatal(got, err)
	}
	spec.Format = formatDebezium
	if err := Factory().CheckSink(t.Context(), spec); sqlerr.CodeOf(err) != sqlerr.FeatureNotSupported {
		t.Error(err)
	}
}

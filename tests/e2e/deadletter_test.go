package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// send writes records to partition 0 in one request.
func (b *broker) send(topic string, rs ...*kgo.Record) {
	b.t.Helper()
	for _, r := range rs {
		r.Topic, r.Partition = topic, 0
	}
	if err := b.kc.ProduceSync(testContext(b.t), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// TestBlankAndCutRecords: blank and cut records are counted with their places, a
// tombstone is no row; a query that is to fail at them stops, with the place of the
// first, and the others run on.
func TestBlankAndCutRecords(t *testing.T) {
	k := kafka(t)
	topic := k.topic(1)
	k.send(topic, &kgo.Record{Value: []byte(`{"id":1}`)}, &kgo.Record{Value: []byte{}}, &kgo.Record{Value: []byte(`{"id":`)},
		&kgo.Record{Value: []byte(`{"id":2}`)}, &kgo.Record{Key: []byte("gone")})
	c := serve(t, t.TempDir()).connect()
	for _, how := range []string{"skip", "fail"} {
		c.exec(fmt.Sprintf(`CREATE SOURCE src_%[1]s (id bigint) WITH (connector = 'kafka', brokers = '%s', topic = '%s')
			FORMAT PLAIN ENCODE JSON (on_error = '%[1]s')`, how, k.addr, topic))
		c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW m_%[1]s AS SELECT count(*) AS n, max(id) AS top FROM src_%[1]s", how))
	}
	c.until("SELECT n, top FROM m_skip", "2|2")
	c.until(`SELECT split, "offset", code, bytes FROM streamsql.bad_rows WHERE query = 'm_skip' ORDER BY "offset"`,
		"0|1|22P02|\\x\n0|2|22P02|\\x7b226964223a")
	c.until("SELECT rows_in, bad_rows, dead_letters FROM streamsql.reads WHERE query = 'm_skip'", "2|2|0")
	c.until("SELECT state FROM streamsql.queries WHERE name = 'm_fail'", "failed")
	if e := c.value("SELECT error FROM streamsql.queries WHERE name = 'm_fail'"); !strings.Contains(e, "offset 1 of partition 0") {
		t.Error(e)
	}
	k.send(topic, &kgo.Record{Value: []byte(`{"id":3}`)})
	c.until("SELECT n, top FROM m_skip", "3|3")
	c.until("SELECT state FROM streamsql.queries WHERE name = 'm_skip'", "running")
}

// TestDeadLetterTopic: the good records behind a bad one in the same fetch are read, and
// the bad one is in the topic for it to the byte with what is known of it, once, though
// the server is killed.
func TestDeadLetterTopic(t *testing.T) {
	k := kafka(t)
	topic, dead := k.topic(1), k.topic(1)
	bad := `{"t":7x,"w":1}`
	k.send(topic, &kgo.Record{Key: []byte("k\x00"), Value: []byte(bad), Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("h")}}},
		&kgo.Record{Value: []byte(`{"t":8,"w":2}`)}, &kgo.Record{Value: []byte(`{"t":9,"w":3}`)})
	dir := t.TempDir()
	s := serve(t, dir)
	c := s.connect()
	c.exec(fmt.Sprintf(`CREATE SOURCE src (t bigint, w int) WITH (connector = 'kafka', brokers = '%s', topic = '%s')
		FORMAT PLAIN ENCODE JSON (on_error = 'dead_letter', dead_letter = '%s')`, k.addr, topic, dead))
	c.exec("CREATE MATERIALIZED VIEW m AS SELECT w FROM src WHERE t > 0")
	want := "2\n3"
	for range 3 {
		c.until("SELECT w FROM m ORDER BY w", want)
		s.kill()
		s = serve(t, dir)
		c = s.connect()
	}
	k.send(topic, &kgo.Record{Value: []byte(`{"t":10,"w":4}`)})
	c.until("SELECT w FROM m ORDER BY w", want+"\n4")
	letters := k.read(dead)
	if len(letters) != 1 || string(letters[0].Value) != bad || string(letters[0].Key) != "k\x00" {
		t.Fatalf("%d letters: %+v", len(letters), letters)
	}
	got := map[string]string{}
	for _, h := range letters[0].Headers {
		got[h.Key] = string(h.Value)
	}
	for name, want := range map[string]string{"own": "h", "streamsql.source": "src", "streamsql.query": "m",
		"streamsql.topic": topic, "streamsql.partition": "0", "streamsql.offset": "0", "streamsql.sqlstate": "22P02"} {
		if got[name] != want {
			t.Errorf("header %s is %q, want %q", name, got[name], want)
		}
	}
	if !strings.Contains(got["streamsql.error"], "json") || len(got["streamsql.time"]) != len("2026-01-01T00:00:00.000000Z") {
		t.Errorf("%q", got)
	}
	c.until("SELECT rows_in, bad_rows, dead_letters FROM streamsql.reads", "3|1|1")
	c.until("SELECT bad_rows, dead_letters FROM streamsql.queries", "1|1")
}

// TestDeadLetterSink: rows that a topic does not take are in another, in the same
// transactions, though the server is killed; without one the sink names key and size.
func TestDeadLetterSink(t *testing.T) {
	k := kafka(t)
	out, dead := k.topic(1), k.topic(1)
	dir := t.TempDir()
	s := serve(t, dir)
	c := s.connect()
	c.exec("CREATE TABLE rows (id int PRIMARY KEY, v text) ")
	sink := func(name, topic, more string) {
		c.exec(fmt.Sprintf(`CREATE SINK %s WITH (connector = 'kafka', brokers = '%s', topic = '%s'%s) FORMAT UPSERT ENCODE JSON
			AS SELECT id, v FROM rows`, name, k.addr, topic, more))
	}
	sink("lenient", out, ", dead_letter = '"+dead+"'")
	c.exec("INSERT INTO rows SELECT i, CASE WHEN i % 10 = 7 THEN repeat('x', 2000000) ELSE 'small' END FROM generate_series(1, 40) AS g(i)")
	s.kill()
	s = serve(t, dir)
	c = s.connect()
	c.exec("INSERT INTO rows SELECT i, CASE WHEN i % 10 = 7 THEN repeat('x', 2000000) ELSE 'small' END FROM generate_series(41, 60) AS g(i)")
	c.exec("FLUSH")
	seen := map[string]int{}
	for _, r := range k.read(out) {
		seen[string(r.Key)]++
	}
	var large []string
	for _, r := range k.read(dead) {
		if !strings.Contains(string(r.Value), `"value_bytes":2000015}`) && !strings.Contains(string(r.Value), `"value_bytes":2000016}`) {
			t.Errorf("%s", r.Value)
		}
		seen[string(r.Key)]++
		large = append(large, string(r.Key))
	}
	same(t, "large rows", large, []string{`{"id":7}`, `{"id":17}`, `{"id":27}`, `{"id":37}`, `{"id":47}`, `{"id":57}`})
	for i := 1; i <= 60; i++ {
		if key := fmt.Sprintf(`{"id":%d}`, i); seen[key] != 1 {
			t.Errorf("%s is written %d times", key, seen[key])
		}
	}
	c.until("SELECT dead_letters FROM streamsql.queries WHERE name = 'lenient'", "6")
	c.until("SELECT dead_letters FROM streamsql.operators WHERE query = 'lenient' AND dead_letters > 0", "6")
	sink("strict", k.topic(1), "")
	c.until("SELECT state FROM streamsql.queries WHERE name = 'strict'", "failed")
	e := c.value("SELECT error_code, error FROM streamsql.queries WHERE name = 'strict'")
	if !strings.HasPrefix(e, "54000|a record of 2000") || !strings.Contains(e, `with key {"id":7}`) {
		t.Error(e)
	}
	c.until("SELECT state FROM streamsql.queries WHERE name = 'lenient'", "running")
}

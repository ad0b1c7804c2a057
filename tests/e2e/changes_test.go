package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteBefore removes the records of partition 0 before an offset, as compaction would.
func (b *broker) deleteBefore(topic string, offset int64) {
	b.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rt.Partitions = append(rt.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: 0, Offset: offset})
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 10_000
	res, err := req.RequestWith(testContext(b.t), b.kc)
	if err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		b.t.Fatal(res, err)
	}
}

// TestCompactedTopic: of a compacted topic, which begins with the second of three records,
// no read shows a state that never was: with B and without A.
func TestCompactedTopic(t *testing.T) {
	k := kafka(t)
	topic := k.topic(1)
	k.send(topic, &kgo.Record{Key: []byte(`"A"`), Value: []byte(`{"v":1}`)})
	k.send(topic, &kgo.Record{Key: []byte(`"B"`), Value: []byte(`{"v":2}`)})
	k.send(topic, &kgo.Record{Key: []byte(`"A"`), Value: []byte(`{"v":3}`)})
	k.deleteBefore(topic, 1)
	c := serve(t, t.TempDir()).connect()
	for _, kind := range []string{"TABLE", "SOURCE"} {
		c.exec(fmt.Sprintf(`CREATE %s up_%[1]s (k text PRIMARY KEY, v int)
			WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT UPSERT ENCODE JSON`, kind, k.addr, topic))
		c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW view_%s AS SELECT * FROM up_%[1]s", kind))
	}
	const want = "A|3,B|2"
	for _, rel := range []string{"up_table", "view_table", "up_source", "view_source"} {
		begin := time.Now()
		for n := 0; ; n++ {
			got := strings.Join(c.rows("SELECT k, v FROM "+rel+" ORDER BY k"), ",")
			if got == want && n >= 5 {
				break
			}
			if got != want && (got != "" || rel == "up_source") || time.Since(begin) > testTime {
				t.Fatalf("read %d of %s shows %q", n, rel, got)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	c.until(`SELECT "offset" FROM streamsql.splits WHERE query = 'view_source'`, "3")
}

// TestChangesRoundTrip: what sinks write of a table's changes, upserts and Debezium's
// events, comes back as equal tables and sources, though the server is killed in between.
func TestChangesRoundTrip(t *testing.T) {
	k := kafka(t)
	dir := t.TempDir()
	s := serve(t, dir)
	c := s.connect()
	const cols = "id bigint PRIMARY KEY, name text, v numeric(14,4), at timestamptz, doc jsonb, flag boolean"
	c.exec("CREATE TABLE t (" + cols + ")")
	for _, format := range []string{"upsert", "debezium"} {
		topic := k.topic(3)
		at := fmt.Sprintf("connector = 'kafka', brokers = '%s', topic = '%s'", k.addr, topic)
		c.exec(fmt.Sprintf("CREATE SINK out_%s WITH (%s) FORMAT %[1]s ENCODE JSON FROM t", format, at))
		c.exec(fmt.Sprintf("CREATE TABLE table_%s (%s) WITH (%s) FORMAT %[1]s ENCODE JSON", format, cols, at))
		c.exec(fmt.Sprintf("CREATE SOURCE source_%s (%s) WITH (%s) FORMAT %[1]s ENCODE JSON", format, cols, at))
		c.exec(fmt.Sprintf(`CREATE MATERIALIZED VIEW view_%s WITH (parallelism = 2, trigger = 'real_time') AS
			SELECT flag, count(*) AS n, sum(v) AS s, max(name) AS m FROM source_%[1]s GROUP BY flag`, format))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for round := range 4 {
		for range 40 {
			id := rng.IntN(60)
			switch rng.IntN(4) {
			case 0:
				c.exec(fmt.Sprintf("DELETE FROM t WHERE id = %d", id))
			case 1:
				c.exec(fmt.Sprintf("UPDATE t SET v = v * 1.5, doc = NULL, flag = NOT flag WHERE id %% 7 = %d", id%7))
			default:
				c.exec(fmt.Sprintf(`INSERT INTO t VALUES (%d, 'näme "%d"', %d.0625, '2026-01-0%d 12:00:00.123456Z',
					'{"a": [%[1]d, "x"]}', %[5]t) ON CONFLICT (id) DO UPDATE SET name = excluded.name, at = excluded.at, doc = excluded.doc`,
					id, round, rng.IntN(1000), 1+rng.IntN(9), id%2 == 0))
			}
		}
		if round < 3 {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			s.kill()
			s = serve(t, dir)
			c = s.connect()
		}
	}
	want := strings.Join(c.rows("SELECT * FROM t ORDER BY id"), "\n")
	groups := strings.Join(c.rows("SELECT flag, count(*) AS n, sum(v) AS s, max(name) AS m FROM t GROUP BY flag ORDER BY flag"), "\n")
	for _, format := range []string{"upsert", "debezium"} {
		c.until("SELECT * FROM table_"+format+" ORDER BY id", want)
		c.until("SELECT * FROM source_"+format+" ORDER BY id", want)
		c.until("SELECT * FROM view_"+format+" ORDER BY flag", groups)
	}
	if states := c.rows("SELECT name, state, error FROM streamsql.queries WHERE state <> 'running'"); len(states) > 0 {
		t.Errorf("queries that do not run: %q", states)
	}
}

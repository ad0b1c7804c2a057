package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/tests/testenv"
)

// numbered are rows {"id":n} from lo to hi-1.
func numbered(lo, hi int) (out []string) {
	for i := lo; i < hi; i++ {
		out = append(out, fmt.Sprintf(`{"id":%d}`, i))
	}
	return out
}

// idSource is a source of such rows.
func idSource(name string, k *broker, topic string, options ...string) string {
	with := ""
	for i := 0; i < len(options); i += 2 {
		with += fmt.Sprintf(", %s = '%s'", options[i], options[i+1])
	}
	return fmt.Sprintf(`CREATE SOURCE %s (id bigint) WITH (connector = 'kafka', brokers = '%s', topic = '%s'%s)
		FORMAT PLAIN ENCODE JSON`, name, k.addr, topic, with)
}

// grow gives a topic more partitions.
func (b *broker) grow(topic string, partitions int32) {
	b.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: partitions})
	if res, err := req.RequestWith(testContext(b.t), b.kc); err != nil || res.Topics[0].ErrorCode != 0 {
		b.t.Fatal(res, err)
	}
}

// remove deletes a topic and waits until it is gone.
func (b *broker) remove(topic string) {
	b.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.TopicNames = append(req.Topics, rt), []string{topic}
	if res, err := req.RequestWith(testContext(b.t), b.kc); err != nil || res.Topics[0].ErrorCode != 0 {
		b.t.Fatal(res, err)
	}
}

// recreate deletes a topic and makes it anew under the same name.
func (b *broker) recreate(topic string, partitions int32) {
	b.t.Helper()
	b.remove(topic)
	b.create(topic, partitions)
}

// create makes a topic, as soon as one of its name is gone.
func (b *broker) create(topic string, partitions int32, settings ...string) {
	b.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	for i := 0; i < len(settings); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = settings[i], kmsg.StringPtr(settings[i+1])
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	for ctx := testContext(b.t); ; time.Sleep(20 * time.Millisecond) {
		res, err := req.RequestWith(ctx, b.kc)
		if err != nil {
			b.t.Fatal(err)
		}
		if res.Topics[0].ErrorCode == 0 {
			return
		}
	}
}

// freshProduce writes with a client that knows nothing of a topic's past.
func (b *broker) freshProduce(topic string, partition int32, values ...string) {
	b.t.Helper()
	kc, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer kc.Close()
	(&broker{b.t, b.addr, kc}).produceTo(topic, partition, values...)
}

// within is until with a limit of its own.
func (d *db) within(limit time.Duration, sql, want string) {
	d.t.Helper()
	begin := time.Now()
	d.until(sql, want)
	if took := time.Since(begin); took > limit {
		d.t.Errorf("%s gave %q after %v", sql, want, took)
	}
}

// TestTopicGrowsAndIsRecreated (P14): a topic that grows is read on; one that is
// deleted and made anew under its name stops the queries over it, and no others,
// until somebody says what is to become of them.
func TestTopicGrowsAndIsRecreated(t *testing.T) {
	k := kafka(t)
	topic := k.topic(3)
	k.produce(topic, 3, numbered(0, 30)...)
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(idSource("s", k, topic))
	c.exec("CREATE TABLE t (id int PRIMARY KEY); CREATE MATERIALIZED VIEW other AS SELECT count(*) AS n FROM t")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.exec("CREATE MATERIALIZED VIEW live WITH (trigger = 'real_time') AS SELECT count(*) AS n FROM s")
	both := "SELECT (SELECT n FROM v), (SELECT n FROM live)"
	c.until(both, "30|30")
	k.grow(topic, 6)
	for p := range int32(6) {
		k.freshProduce(topic, p, numbered(30+int(p), 31+int(p))...)
	}
	c.within(30*time.Second, both, "36|36")

	k.recreate(topic, 1)
	k.freshProduce(topic, 0, numbered(100, 105)...)
	states := "SELECT name, state, error_code FROM streamsql.queries ORDER BY name"
	c.within(30*time.Second, states, "live|failed|55000\nother|running|∅\nv|failed|55000")
	for _, e := range c.rows("SELECT error FROM streamsql.queries WHERE state = 'failed'") {
		if !strings.Contains(e, `topic "`+topic+`" was recreated`) {
			t.Error(e)
		}
	}
	same(t, "counts", c.rows(both), []string{"36|36"})
	c.exec("INSERT INTO t VALUES (1)")
	c.until("SELECT n FROM other", "1")

	// Neither a restart of the query nor one of the server makes it forget.
	c.exec("RESTART v")
	c.within(30*time.Second, states, "live|failed|55000\nother|running|∅\nv|failed|55000")
	s.kill()
	s = serve(t, s.dir)
	c = s.connect()
	c.within(30*time.Second, states, "live|failed|55000\nother|running|∅\nv|failed|55000")
	same(t, "counts", c.rows(both), []string{"36|36"})

	c.exec("ALTER SOURCE s SET (on_data_loss = 'continue'); RESTART v; RESTART live")
	c.until(both, "41|41")
	reason := "the topic was recreated: reading goes on at its start, offset 0"
	c.until("SELECT query, split, reason FROM streamsql.bad_rows ORDER BY query", "live|0|"+reason+"\nv|0|"+reason)
	k.freshProduce(topic, 0, numbered(105, 106)...)
	c.until(both, "42|42")
	// From now on it needs nobody.
	k.recreate(topic, 2)
	k.freshProduce(topic, 1, numbered(200, 203)...)
	c.until(both, "45|45")
	c.exec("FLUSH")
	if r := c.rows("SELECT name FROM streamsql.queries WHERE state <> 'running'"); len(r) > 0 {
		t.Error(r)
	}
}

// TestTopicIsRecreatedWhileTheServerIsDown: the checkpoint tells it, though all its
// offsets are there.
func TestTopicIsRecreatedWhileTheServerIsDown(t *testing.T) {
	k := kafka(t)
	topic := k.topic(2)
	k.produce(topic, 2, numbered(0, 10)...)
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(idSource("s", k, topic))
	c.exec("CREATE MATERIALIZED VIEW v WITH (parallelism = 2) AS SELECT count(*) AS n FROM s")
	c.until("SELECT n FROM v", "10")
	s.kill()
	k.recreate(topic, 2)
	for p := range int32(2) {
		k.freshProduce(topic, p, numbered(100, 150)...)
	}
	c = serve(t, s.dir).connect()
	c.within(30*time.Second, "SELECT state, error_code FROM streamsql.queries", "failed|55000")
	if e := c.value("SELECT error FROM streamsql.queries"); !strings.Contains(e, "was recreated") {
		t.Error(e)
	}
	same(t, "count", c.rows("SELECT n FROM v"), []string{"10"})
	c.exec("DROP MATERIALIZED VIEW v; CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.until("SELECT n FROM v", "100")
}

// TestTopicIsDeleted: a topic that is gone fails the query, which goes on from where
// it was only with the same topic.
func TestTopicIsDeleted(t *testing.T) {
	k := kafka(t)
	topic := k.topic(1)
	k.produceTo(topic, 0, numbered(0, 10)...)
	c := serve(t, t.TempDir()).connect()
	c.exec(idSource("s", k, topic))
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.until("SELECT n FROM v", "10")
	k.remove(topic)
	c.within(30*time.Second, "SELECT state, error_code FROM streamsql.queries", "failed|42704")
	if e := c.value("SELECT error FROM streamsql.queries"); !strings.Contains(e, `topic "`+topic+`" does not exist`) {
		t.Error(e)
	}
	k.create(topic, 1)
	k.freshProduce(topic, 0, numbered(0, 3)...)
	c.exec("RESTART v")
	c.within(30*time.Second, "SELECT state, error_code FROM streamsql.queries", "failed|55000")
	c.exec("ALTER SOURCE s SET (on_data_loss = 'continue'); RESTART v")
	c.until("SELECT n FROM v", "13")
}

// TestRecordsAreLost: records removed before they were read stop the query, or are
// counted.
func TestRecordsAreLost(t *testing.T) {
	k := kafka(t)
	topic := k.topic(2)
	k.produce(topic, 2, numbered(0, 20)...)
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(idSource("s", k, topic))
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.until("SELECT n FROM v", "20")
	c.exec("PAUSE v")
	k.produce(topic, 2, numbered(20, 40)...) // 10 to 19 of each partition
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic,
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 1, Offset: 17}}})
	if _, err := req.RequestWith(context.Background(), k.kc); err != nil {
		t.Fatal(err)
	}
	c.exec("RESUME v")
	c.until("SELECT state, error_code FROM streamsql.queries", "failed|55000")
	if e := c.value("SELECT error FROM streamsql.queries"); !strings.Contains(e, "wanted 10, earliest 17, latest 20") {
		t.Error(e)
	}
	c.exec("ALTER SOURCE s SET (on_data_loss = 'continue'); RESTART v")
	c.until("SELECT n FROM v", "33")
	c.exec("FLUSH")
	c.until("SELECT rows_in, bad_rows, lost_offsets FROM streamsql.reads", "33|1|7")
	c.until(`SELECT split, "offset", reason FROM streamsql.bad_rows`,
		"1|10|offset out of range: wanted 10, earliest 17, latest 20; reading goes on at 17")
	s.kill()
	c = serve(t, s.dir).connect()
	c.until("SELECT rows_in, bad_rows, lost_offsets FROM streamsql.reads", "33|1|7")
}

// TestLag: how far a query is behind is told by split, in records that may be read
// and in those that may not.
func TestLag(t *testing.T) {
	k := kafka(t)
	topic := k.topic(2)
	k.produceTo(topic, 0, numbered(0, 40)...)
	k.produceTo(topic, 1, numbered(0, 4)...)
	web := freeAddr(t)
	c := serve(t, t.TempDir(), "--http", web).connect()
	c.exec(idSource("s", k, topic, "max_offsets_per_trigger", "22"))
	c.exec("CREATE MATERIALIZED VIEW v WITH (trigger = 'processing_time 1 h') AS SELECT count(*) AS n FROM s")
	lag := `SELECT name, split, "offset", latest, lag, held_back, looked_at > now() - interval '1 min' AS fresh FROM streamsql.splits`
	c.until(lag, "s|0|20|40|20|0|t\ns|1|2|4|2|0|t")
	c.until("EXPLAIN WAIT v", strings.Join([]string{"state: running, trigger processing_time 1h0m0s, epoch 1",
		"read: source s, split 0, up to offset 20, 20 behind", "read: source s, split 1, up to offset 2, 2 behind",
		"watermark: the query has none", "unblocks: rows"}, "\n"))
	c.exec("PAUSE v")
	c.until("SELECT sum(lag) FROM streamsql.splits", "22") // as it was seen last

	tx, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	(&broker{t, k.addr, tx}).produceTo(topic, 1, numbered(0, 5)...)
	c.exec("RESUME v; FLUSH")
	c.until(lag, "s|0|40|40|0|0|t\ns|1|4|4|0|5|t")
	res, err := http.Get("http://" + web + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`streamsql_source_lag{kind="materialized view",query="v",source="s",split="0"} 0`,
		`streamsql_source_held_back{kind="materialized view",query="v",source="s",split="1"} 5`,
		`streamsql_query_lost_offsets_total{kind="materialized view",query="v"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no figure %s", want)
		}
	}
	if err := tx.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); c.value("SELECT n FROM v") != "49" && time.Since(begin) < testTime; {
		c.exec("FLUSH") // the broker writes the marker after its answer
	}
	c.until(lag, "s|0|40|40|0|0|t\ns|1|10|10|0|0|t") // with the marker
}

// transact writes values to a partition in one transaction and ends it.
func (b *broker) transact(tx *kgo.Client, topic string, partition int32, commit bool, values ...string) {
	b.t.Helper()
	if err := tx.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	(&broker{b.t, b.addr, tx}).produceTo(topic, partition, values...)
	if err := tx.EndTransaction(testContext(b.t), kgo.TransactionEndTry(commit)); err != nil {
		b.t.Fatal(err)
	}
}

// ends waits until the last stable offset of a partition is there: a transaction's
// marker is written after its end has been answered.
func (b *broker) ends(topic string, partition int32, offset int64) {
	b.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp = partition, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	for ctx := testContext(b.t); ; time.Sleep(10 * time.Millisecond) {
		res, err := req.RequestWith(ctx, b.kc)
		if err != nil {
			b.t.Fatal(err)
		}
		if res.Topics[0].Partitions[0].Offset == offset {
			return
		}
	}
}

// TestPartitionEndsWithMarker (P04): the last offset of a partition is a transaction's
// marker, or there is nothing in it but an aborted transaction: whoever reads to the
// end comes to it.
func TestPartitionEndsWithMarker(t *testing.T) {
	k := kafka(t)
	tx, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(k.topic(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	mixed, aborted := k.topic(1), k.topic(1)
	k.transact(tx, mixed, 0, true, `{"id":1}`)
	k.transact(tx, mixed, 0, false, `{"id":2}`)
	k.transact(tx, aborted, 0, false, `{"id":3}`)
	k.ends(mixed, 0, 4)
	k.ends(aborted, 0, 2)
	c := serve(t, t.TempDir()).connect()
	for name, want := range map[string]string{mixed: "1", aborted: "0"} {
		begin := time.Now()
		c.exec(idSource(name, k, name))
		c.exec(idSource(name+"_end", k, name, "ending_offsets", "latest"))
		if n := c.value("SELECT count(*) FROM " + name); n != want {
			t.Errorf("%s rows, not %s", n, want)
		}
		if n := c.value("SELECT count(*) FROM " + name + "_end"); n != want {
			t.Errorf("%s rows to the end, not %s", n, want)
		}
		for i, tr := range triggers {
			for _, source := range []string{name, name + "_end"} {
				v := fmt.Sprintf("%s_%d", source, i)
				c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s WITH (trigger = '%s') AS SELECT count(*) AS c FROM %s",
					v, tr.text, source))
				if c.exec("FLUSH"); tr.ends || source != name {
					c.exec("AWAIT " + v)
				}
				if n := c.value("SELECT c FROM " + v); n != want {
					t.Errorf("%s: %s rows, not %s", v, n, want)
				}
			}
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	c.until("SELECT DISTINCT lag FROM streamsql.splits WHERE lag IS NOT NULL", "0")
}

// TestCompactionGaps (P13, the gap): offsets that compaction took do not stop a reader,
// wherever it begins.
func TestCompactionGaps(t *testing.T) {
	k := kafka(t)
	topic := testenv.Unique(t, "e2e")
	k.create(topic, 1, "cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.01",
		"min.compaction.lag.ms", "0", "max.compaction.lag.ms", "100")
	defer k.remove(topic)
	put := func(key, value string) {
		t.Helper()
		r := &kgo.Record{Topic: topic, Key: []byte(key), Value: fmt.Appendf(nil, `{"k":%q,"v":%s}`, key, value)}
		if err := k.kc.ProduceSync(testContext(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	put("A", "1")
	put("B", "2")
	put("A", "3")
	last := 3
	for begin := time.Now(); k.read(topic)[0].Offset == 0; last++ {
		if time.Since(begin) > testTime {
			t.Fatal("the cleaner did not run in time")
		}
		time.Sleep(150 * time.Millisecond)
		put("Z", "0") // the cleaner leaves the last segment alone: another one begins
	}
	c := serve(t, t.TempDir()).connect()
	for name, from := range map[string]string{"s": "earliest", "at": `{"0": 0}`} {
		c.exec(fmt.Sprintf(`CREATE SOURCE %s (k text, v int) INCLUDE OFFSET AS o WITH (connector = 'kafka', brokers = '%s',
			topic = '%s', starting_offsets = '%s') FORMAT PLAIN ENCODE JSON`, name, k.addr, topic, from))
		same(t, name, c.rows("SELECT k, v, o FROM "+name+" WHERE k <> 'Z'"), []string{"B|2|1", "A|3|2"})
		for i, tr := range triggers {
			v := fmt.Sprintf("%s_%d", name, i)
			c.exec(fmt.Sprintf("CREATE MATERIALIZED VIEW %s WITH (trigger = '%s') AS SELECT k, v FROM %s WHERE k <> 'Z'",
				v, tr.text, name))
			if c.exec("FLUSH"); tr.ends {
				c.exec("AWAIT " + v)
			}
			same(t, v, c.rows("SELECT * FROM "+v), []string{"B|2", "A|3"})
		}
	}
	c.until(`SELECT DISTINCT "offset" FROM streamsql.splits`, strconv.Itoa(last))
}

package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/tests/testenv"
)

// These tests run against Apache Kafka, where its behaviour and the embedded
// broker's may differ.

// realTopic makes a topic on the test broker that goes when the test ends.
func realTopic(t *testing.T, partitions int32, settings ...string) (addr, topic string, kc *kgo.Client) {
	t.Helper()
	addr = testenv.Kafka(t)
	topic = testenv.Unique(t, "conn")
	kc = kgoClient(t, addr)
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	for i := 0; i < len(settings); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = settings[i], kmsg.StringPtr(settings[i+1])
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	if res, err := req.RequestWith(testContext(t), kc); err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatal(res, err)
	}
	t.Cleanup(func() { deleteTopic(t, kc, topic) })
	return addr, topic, kc
}

func deleteTopic(t *testing.T, kc *kgo.Client, topic string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.TopicNames = append(req.Topics, rt), []string{topic}
	if _, err := req.RequestWith(testContext(t), kc); err != nil {
		t.Error(err)
	}
}

func produceReal(t *testing.T, kc *kgo.Client, topic string, p int32, values ...string) {
	t.Helper()
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: p, Value: []byte(v)})
	}
	if err := kc.ProduceSync(testContext(t), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func realSpec(addr, topic string, options ...string) *connector.Spec {
	return idSpec(addr, append([]string{"topic", topic}, options...)...)
}

func TestRealTransactions(t *testing.T) {
	addr, topic, plain := realTopic(t, 2)
	tx := kgoClient(t, addr, kgo.TransactionalID(topic), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	end := func(p int32, lo, hi int, commit bool) {
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produceReal(t, tx, topic, p, ids(lo, hi)...)
		if err := tx.EndTransaction(testContext(t), kgo.TransactionEndTry(commit)); err != nil {
			t.Fatal(err)
		}
	}
	var want []int64
	for i := range 10 {
		lo := 100 * i
		end(0, lo, lo+40, i%2 == 0)
		produceReal(t, plain, topic, 0, ids(lo+40, lo+60)...)
		from := lo + 40
		if i%2 == 0 {
			from = lo
		}
		for id := from; id < lo+60; id++ {
			want = append(want, int64(id))
		}
	}
	end(0, 5000, 5010, false) // the partition ends with an abort marker
	end(1, 6000, 6001, false) // and this one has nothing else
	for _, o := range [][]string{nil, {"ending_offsets", "latest"}, {"fetch_partition_max_bytes", "1 kB"}} {
		s := open(t, realSpec(addr, topic, o...))
		until := latest(t, s, 0)
		got, next, err := readTo(t, openReader(t, s, 0, ""), until)
		if err != nil || next != until || !equal(got, want...) {
			t.Fatalf("%v: %d rows to %s of %s, %d wanted, %v", o, len(got), next, until, len(want), err)
		}
		if got, next, err := readTo(t, openReader(t, s, 1, ""), "2"); err != nil || next != "2" || len(got) != 0 {
			t.Fatal(got, next, err)
		}
	}
}

func TestRealSink(t *testing.T) {
	for _, codec := range compressions {
		addr, topic, _ := realTopic(t, 3, "max.message.bytes", "5000")
		w := openWriter(t, kvSpec(addr, formatUpsert, "topic", topic, "compression", codec))
		var lines []string
		for i := range 2000 {
			lines = append(lines, fmt.Sprintf("+ key%d %d", i%100, i))
		}
		write(t, w, 1, lines...)
		spec := realSpec(addr, topic)
		spec.Columns[0].Name = "v"
		s := open(t, spec)
		count, last := 0, map[int64]int64{}
		for p := range 3 {
			got, _, err := readTo(t, openReader(t, s, p, ""), latest(t, s, p))
			if err != nil {
				t.Fatal(err)
			}
			count += len(got)
			for _, v := range got {
				if before, ok := last[v%100]; ok && before >= v {
					t.Fatalf("%s: %d after %d", codec, v, before)
				}
				last[v%100] = v
			}
		}
		if count != 2000 || len(last) != 100 {
			t.Fatal(codec, count, len(last))
		}
		if codec != "none" {
			continue
		}
		if err := w.Write(testContext(t), rows("+ "+strings.Repeat("x", 6000)+" 1")); err != nil {
			t.Fatal(err)
		}
		_, err := w.Prepare(testContext(t), 2)
		wantError(t, err, sqlerr.ProgramLimitExceeded, "xxx", topic)
	}
}

func TestRealCreateTopic(t *testing.T) {
	addr := testenv.Kafka(t)
	topic := testenv.Unique(t, "created")
	w := openWriter(t, kvSpec(addr, formatUpsert, "topic", topic, "create_topic", "true", "partitions", "5"))
	t.Cleanup(func() { deleteTopic(t, kgoClient(t, addr), topic) })
	write(t, w, 1, "+ a 1", "- a 1")
	if sp, err := open(t, realSpec(addr, topic)).Splits(testContext(t)); err != nil || len(sp) != 5 {
		t.Fatal(sp, err)
	}
	bad := kvSpec(addr, formatUpsert, "topic", topic+"b", "create_topic", "true", "replication_factor", "9")
	k, err := Factory().Sink(testContext(t), bad)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	_, err = k.Open(testContext(t), 0)
	wantError(t, err, sqlerr.InvalidParameterValue, "eplication factor")
}

func TestRealLoss(t *testing.T) {
	addr, topic, kc := realTopic(t, 1)
	produceReal(t, kc, topic, 0, ids(0, 10)...)
	s := open(t, realSpec(addr, topic))
	r := openReader(t, s, 0, "")
	if got, _, err := readTo(t, r, "10"); err != nil || len(got) != 10 {
		t.Fatal(got, err)
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic,
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 4}}})
	if _, err := req.RequestWith(testContext(t), kc); err != nil {
		t.Fatal(err)
	}
	_, _, err := readTo(t, openReader(t, open(t, realSpec(addr, topic)), 0, "1"), "10")
	wantError(t, err, sqlerr.ObjectNotInState, "wanted 1, earliest 4, latest 10")
	got, _, err := readTo(t, openReader(t, open(t, realSpec(addr, topic, "on_data_loss", "continue")), 0, "1"), "10")
	if err != nil || !equal(got, 4, 5, 6, 7, 8, 9) {
		t.Fatal(got, err)
	}
	missing := realSpec(addr, topic+"x")
	_, err = open(t, missing).Splits(testContext(t))
	wantError(t, err, sqlerr.UndefinedObject, "does not exist", topic)
}

// The broker's cleaner leaves gaps, and nothing before the newest row of a key
// that is still needed.
func TestRealCompaction(t *testing.T) {
	addr, topic, _ := realTopic(t, 1, "cleanup.policy", "compact", "segment.ms", "100",
		"min.cleanable.dirty.ratio", "0.01", "min.compaction.lag.ms", "0", "max.compaction.lag.ms", "100")
	w := openWriter(t, kvSpec(addr, formatUpsert, "topic", topic))
	n := 0
	put := func() {
		write(t, w, 1, fmt.Sprintf("+ a %d", n), fmt.Sprintf("+ b %d", n+1), fmt.Sprintf("+ c %d", n+2))
		n += 3
	}
	spec := realSpec(addr, topic)
	spec.Columns[0].Name = "v"
	for ctx := testContext(t); ; time.Sleep(200 * time.Millisecond) {
		put()
		s := open(t, spec)
		until := latest(t, s, 0)
		r := openReader(t, s, 0, "")
		got, next, err := readTo(t, r, until)
		if err != nil || next != until || len(got) < 3 || !equal(got[len(got)-3:], int64(n-3), int64(n-2), int64(n-1)) {
			t.Fatal(got, next, until, err)
		}
		s.Close()
		if len(got) < n {
			return // the cleaner has been here
		}
		if ctx.Err() != nil {
			t.Fatal("the cleaner did not run in time")
		}
	}
}

// Apache Kafka answers wrong credentials with an error, which waiting does not heal.
func TestRealCredentials(t *testing.T) {
	_, topic, kc := realTopic(t, 1)
	produceReal(t, kc, topic, 0, ids(0, 3)...)
	addr := testenv.KafkaSASL(t)
	for _, c := range []struct {
		mechanism, user, password string
		ok                        bool
	}{
		{"plain", "tester", "secret", true}, {"plain", "tester", "wrong", false}, {"plain", "nobody", "secret", false},
		{"scram-sha-256", "tester", "secret", true}, {"scram-sha-256", "tester", "wrong", false},
		{"scram-sha-512", "tester", "secret", true}, {"scram-sha-512", "nobody", "secret", false},
	} {
		s := open(t, realSpec(addr, topic, "sasl_mechanism", c.mechanism, "sasl_username", c.user,
			"sasl_password", c.password))
		sp, err := s.Splits(testContext(t))
		if !c.ok {
			wantError(t, err, sqlerr.InvalidPassword, "authentication")
			if strings.Contains(err.Error(), c.password) {
				t.Errorf("%v: the password is in %q", c, err)
			}
			continue
		}
		if err != nil || len(sp) != 1 {
			t.Errorf("%v: %v %v", c, sp, err)
			continue
		}
		if got, _, err := readTo(t, openReader(t, s, 0, ""), "3"); err != nil || len(got) != 3 {
			t.Error(c, got, err)
		}
	}
}

func TestRealGrowth(t *testing.T) {
	addr, topic, kc := realTopic(t, 1)
	s := open(t, realSpec(addr, topic, "starting_offsets", "latest"))
	if sp, err := s.Splits(testContext(t)); err != nil || len(sp) != 1 {
		t.Fatal(sp, err)
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: 3})
	if res, err := req.RequestWith(testContext(t), kc); err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatal(res, err)
	}
	produceReal(t, kgoClient(t, addr), topic, 2, ids(0, 3)...)
	for ctx := testContext(t); ; time.Sleep(20 * time.Millisecond) {
		sp, err := s.Splits(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(sp) == 3 {
			break
		}
	}
	if got, _, err := readTo(t, openReader(t, s, 2, ""), "3"); err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
}

func TestRealRecreated(t *testing.T) {
	addr, topic, kc := realTopic(t, 1)
	produceReal(t, kc, topic, 0, ids(0, 5)...)
	s := beginWith(t, realSpec(addr, topic), func(c *sourceConfig) { c.refreshEvery = 50 * time.Millisecond })
	r := openReader(t, s, 0, "")
	if got, _, err := readTo(t, r, "5"); err != nil || len(got) != 5 {
		t.Fatal(got, err)
	}
	deleteTopic(t, kc, topic)
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, rt)
	for ctx := testContext(t); ; time.Sleep(20 * time.Millisecond) {
		res, err := req.RequestWith(ctx, kc)
		if err != nil {
			t.Fatal(err)
		}
		if res.Topics[0].ErrorCode == 0 {
			break
		}
	}
	produceReal(t, kgoClient(t, addr), topic, 0, ids(100, 105)...)
	_, _, err := readTo(t, r, "6")
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated")
}

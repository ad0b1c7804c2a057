package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// largeTopic makes a topic that takes messages of up to 17 MB.
func (b *broker) largeTopic() string {
	b.t.Helper()
	name := b.topic(1)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
	r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "max.message.bytes",
		Value: kmsg.StringPtr("17000000")})
	req.Resources = append(req.Resources, r)
	if res, err := req.RequestWith(testContext(b.t), b.kc); err != nil || res.Resources[0].ErrorCode != 0 {
		b.t.Fatal(res, err)
	}
	return name
}

// garbageLimit is the most memory in MiB that the server may take for one query.
const garbageLimit = 1200

// TestNothingButGarbage reads topics that hold nothing but garbage, of a megabyte and of
// 16 MB, with what is kept of it at its default, and with a topic that takes all of it.
// The server's memory has a bound, which does not grow with what it reads.
// STREAMSQL_GARBAGE sets how much that is in each topic, in MB (480; 1,600 is more than
// the bound).
func TestNothingButGarbage(t *testing.T) {
	total := envCount(t, "STREAMSQL_GARBAGE", 480)
	k := kafka(t)
	kc, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(17_000_000), kgo.MaxBufferedBytes(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	for _, size := range []int{1_000_000, 16_000_000} {
		topic := k.largeTopic()
		n := total * 1_000_000 / size
		for i := range n {
			b := noise(size)
			copy(b, strconv.Itoa(i))
			kc.Produce(context.Background(), &kgo.Record{Topic: topic, Value: b}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := kc.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"on_error = 'skip'", "dead_letter = '%s'"} {
			if how[0] == 'd' {
				how = fmt.Sprintf(how, k.largeTopic())
			}
			began := time.Now()
			s := serve(t, t.TempDir())
			c := s.connect()
			c.exec(fmt.Sprintf(`CREATE SOURCE src (id bigint) WITH (connector = 'kafka', brokers = '%s', topic = '%s')
				FORMAT PLAIN ENCODE JSON (%s)`, k.addr, topic, how))
			c.exec("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM src")
			c.until("SELECT rows_in, bad_rows FROM streamsql.reads", fmt.Sprintf("0|%d", n))
			c.until("SELECT count(*), max(octet_length(bytes)) FROM streamsql.bad_rows", fmt.Sprintf("%d|%d", min(n, 1000), 64<<10))
			peak := peakMemory(t, s)
			t.Logf("%d records of %d bytes, %s: %v, at most %d MiB in memory", n, size, how,
				time.Since(began).Round(time.Millisecond), peak)
			if peak > garbageLimit {
				t.Errorf("%d MiB", peak)
			}
			s.kill()
		}
	}
}

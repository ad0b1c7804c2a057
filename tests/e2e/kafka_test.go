package e2e

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/tests/testenv"
)

// broker is a client of the test broker.
type broker struct {
	t    *testing.T
	addr string
	kc   *kgo.Client
}

func kafka(t *testing.T) *broker {
	t.Helper()
	addr := testenv.Kafka(t)
	kc, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	return &broker{t, addr, kc}
}

// topic makes a topic that goes when the test ends.
func (b *broker) topic(partitions int32) string {
	b.t.Helper()
	name := testenv.Unique(b.t, "e2e")
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, rt)
	if res, err := req.RequestWith(testContext(b.t), b.kc); err != nil || res.Topics[0].ErrorCode != 0 {
		b.t.Fatal(res, err)
	}
	b.t.Cleanup(func() {
		req := kmsg.NewPtrDeleteTopicsRequest()
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics, req.TopicNames = append(req.Topics, rt), []string{name}
		if _, err := req.RequestWith(context.Background(), b.kc); err != nil {
			b.t.Error(err)
		}
	})
	return name
}

// produce writes values, in turn to each partition.
func (b *broker) produce(topic string, partitions int32, values ...string) {
	b.t.Helper()
	rs := make([]*kgo.Record, len(values))
	for i, v := range values {
		rs[i] = &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Value: []byte(v)}
	}
	if err := b.kc.ProduceSync(testContext(b.t), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// produceTo writes values to one partition, in order.
func (b *broker) produceTo(topic string, partition int32, values ...string) {
	b.t.Helper()
	rs := make([]*kgo.Record, len(values))
	for i, v := range values {
		rs[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	if err := b.kc.ProduceSync(testContext(b.t), rs...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// read returns all committed records of a topic that are there now, by partition in
// order. It waits for transactions that are open.
func (b *broker) read(topic string) []*kgo.Record {
	b.t.Helper()
	left := map[int32]int64{}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for p := range b.partitions(topic) {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(testContext(b.t), b.kc)
	if err != nil {
		b.t.Fatal(err)
	}
	from := map[int32]kgo.Offset{}
	for _, p := range res.Topics[0].Partitions {
		if p.Offset > 0 {
			left[p.Partition], from[p.Partition] = p.Offset, kgo.NewOffset().AtStart()
		}
	}
	kc, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		b.t.Fatal(err)
	}
	defer kc.Close()
	var out []*kgo.Record
	for len(left) > 0 {
		f := kc.PollFetches(testContext(b.t))
		if err := f.Err(); err != nil {
			b.t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok {
				if r.Offset < end && !r.Attrs.IsControl() {
					out = append(out, r)
				}
				if r.Offset >= end-1 {
					delete(left, r.Partition)
				}
			}
		})
	}
	return out
}

// partitions returns the partitions of a topic.
func (b *broker) partitions(topic string) map[int32]bool {
	b.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(testContext(b.t), b.kc)
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[int32]bool{}
	for _, p := range res.Topics[0].Partitions {
		out[p.Partition] = true
	}
	return out
}

// fold is what an upsert topic says in the end: the last value of each key.
func (b *broker) fold(topic string) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	for _, r := range b.read(topic) {
		if r.Value == nil {
			delete(out, string(r.Key))
			continue
		}
		out[string(r.Key)] = string(r.Value)
	}
	return out
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestCreateTopic(t *testing.T) {
	_, addr := cluster(t, 0)
	w := openWriter(t, kvSpec(addr, formatUpsert, "create_topic", "true", "partitions", "3", "replication_factor", "1"))
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("+ key%d %d", i, i))
	}
	write(t, w, 1, lines...)
	parts := map[int32]int{}
	for _, r := range consume(t, addr, 50) {
		parts[r.Partition]++
		if want := partitionOf(r.Key, 3); int(r.Partition) != want {
			t.Fatalf("%s in partition %d, want %d", r.Key, r.Partition, want)
		}
	}
	if len(parts) != 3 {
		t.Fatal(parts)
	}
	write(t, openWriter(t, kvSpec(addr, formatUpsert, "create_topic", "true")), 1, "+ again 1")
}

func TestCompressedSink(t *testing.T) {
	for _, codec := range compressions {
		_, addr := cluster(t, 1)
		w := openWriter(t, kvSpec(addr, formatUpsert, "compression", codec))
		var lines []string
		for i := range 300 {
			lines = append(lines, fmt.Sprintf("+ key%d %d", i, i))
		}
		write(t, w, 1, lines...)
		for i, r := range consume(t, addr, 300) {
			if string(r.Value) != fmt.Sprintf(`{"k":"key%d","v":%d}`, i, i) {
				t.Fatalf("%s: record %d is %s", codec, i, r.Value)
			}
		}
	}
}

// A batch larger than the topic accepts is halved until it fits; a single record
// that is too large stops the sink and is named.
func TestTooLarge(t *testing.T) {
	c, addr := cluster(t, 0)
	if err := c.CreateTopic("t", 1, map[string]string{"max.message.bytes": "2000"}); err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, kvSpec(addr, formatUpsert))
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("+ key%d %d", i, i))
	}
	write(t, w, 1, lines...)
	for i, r := range consume(t, addr, 200) {
		if string(r.Key) != fmt.Sprintf(`{"k":"key%d"}`, i) {
			t.Fatalf("record %d has key %s", i, r.Key)
		}
	}
	b := rows("+ small 1", "+ big"+strings.Repeat("g", 3000)+" 2")
	if err := w.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	_, err := w.Prepare(testContext(t), 2)
	wantError(t, err, sqlerr.ProgramLimitExceeded, `with key {"k":"biggg`, "record of 60", `topic "t"`)
	if err := w.Write(testContext(t), b); sqlerr.CodeOf(err) != sqlerr.ProgramLimitExceeded {
		t.Fatal(err)
	}
}

func TestUnauthorizedSink(t *testing.T) {
	c, addr := cluster(t, 1)
	w := openWriter(t, kvSpec(addr, formatUpsert))
	answerProduce(c, func(n int32) int16 { return 29 })
	if err := w.Write(testContext(t), rows("+ a 1")); err != nil {
		t.Fatal(err)
	}
	_, err := w.Prepare(testContext(t), 1)
	wantError(t, err, sqlerr.InsufficientPrivilege, `writing to topic "t"`)
}

// answerProduce makes the broker answer the n-th produce with a code, 0 for its
// own answer.
func answerProduce(c *kfake.Cluster, code func(n int32) int16) *atomic.Int32 {
	var n atomic.Int32
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		e := code(n.Add(1))
		if e == 0 {
			return nil, nil, false
		}
		req := r.(*kmsg.ProduceRequest)
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, tp := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic = tp.Topic
			for _, p := range tp.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, e
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res, nil, true
	})
	return &n
}

// Errors that may go away are waited out, with the rows in their order.
func TestSinkRetries(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 1)
	codes := []int16{6, 19, 7, -1, 5}
	var told reports
	spec := kvSpec(addr, formatUpsert)
	spec.Report = told.add
	w := openWriter(t, spec)
	n := answerProduce(c, func(n int32) int16 {
		if int(n) <= len(codes) {
			return codes[n-1]
		}
		return 0
	})
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("+ same %d", i))
	}
	write(t, w, 1, lines...)
	for i, r := range consume(t, addr, 1000) {
		if string(r.Value) != fmt.Sprintf(`{"k":"same","v":%d}`, i) {
			t.Fatalf("record %d is %s", i, r.Value)
		}
	}
	if k, err := told.last(); err != nil || k < 2 || n.Load() < 6 {
		t.Fatal(err, k, n.Load())
	}
}

// Write waits while the buffers are full, and ends with its context.
func TestSinkBackpressure(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 1)
	w := openWriter(t, kvSpec(addr, formatUpsert, "buffer_memory", "1 MB"))
	answerProduce(c, func(int32) int16 { return 19 })
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	b := rows("+ " + strings.Repeat("x", 200_000) + " 1")
	var err error
	for n := 0; err == nil && n < 100; n++ {
		err = w.Write(ctx, b)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	wr := w.(*writer)
	wr.out.mu.Lock()
	defer wr.out.mu.Unlock()
	if wr.out.buffered < 1<<20 || wr.out.buffered > 2<<20 {
		t.Fatal(wr.out.buffered)
	}
}

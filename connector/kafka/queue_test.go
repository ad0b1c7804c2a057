package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// A partition that nobody reads stops being fetched when its queue is full, and
// does not hold back its neighbour.
func TestQueuesAreBounded(t *testing.T) {
	_, addr := cluster(t, 2)
	kc := kgoClient(t, addr)
	var big []string
	for i := range 400 {
		big = append(big, fmt.Sprintf(`{"id":%d,"pad":"%s"}`, i, strings.Repeat("p", 20_000)))
	}
	for i := 0; i < len(big); i += 20 {
		produceTo(t, kc, 0, big[i:i+20]...)
		produceTo(t, kc, 1, big[i:i+20]...)
	}
	s := open(t, idSpec(addr, "buffer_memory", "2 MB", "fetch_partition_max_bytes", "512 kB"))
	r0, r1 := openReader(t, s, 0, ""), openReader(t, s, 1, "")
	if _, _, err := r0.Read(testContext(t), "0"); !errors.Is(err, connector.ErrEnd) { // subscribes, reads nothing
		t.Fatal(err)
	}
	if got, _, err := readTo(t, r1, "400"); err != nil || len(got) != 400 {
		t.Fatal(len(got), err)
	}
	time.Sleep(20 * time.Millisecond)
	s.fetch.mu.Lock()
	queued, full := s.fetch.queued, r0.(*reader).sub.queued
	s.fetch.mu.Unlock()
	if full == 0 || queued != full || queued > 3<<20 {
		t.Fatalf("%d bytes queued, %d of partition 0", queued, full)
	}
	if got, _, err := readTo(t, r0, "400"); err != nil || len(got) != 400 {
		t.Fatal(len(got), err)
	}
	s.fetch.mu.Lock()
	defer s.fetch.mu.Unlock()
	if s.fetch.queued != 0 {
		t.Fatal(s.fetch.queued)
	}
}

// The broker tells an end beyond the offset but has no record there: they were
// compacted away. Reading goes on at the end.
func TestHoleAtTheEnd(t *testing.T) {
	c, addr := cluster(t, 1)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 5)...)
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.FetchRequest)
		if at := req.Topics[0].Partitions[0].FetchOffset; at < 2 || at > 4 {
			return nil, nil, false
		}
		c.KeepControl()
		res := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = "t"
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 5, 5, 0
		rt.Partitions = append(rt.Partitions, p)
		res.Topics = append(res.Topics, rt)
		return res, nil, true
	})
	r := openReader(t, open(t, idSpec(addr)), 0, "2")
	if got, next, err := readTo(t, r, "5"); err != nil || next != "5" || len(got) != 0 {
		t.Fatal(got, next, err)
	}
	produceTo(t, kc, 0, ids(5, 6)...)
	if got, next, err := readTo(t, r, "6"); err != nil || next != "6" || !equal(got, 5) {
		t.Fatal(got, next, err)
	}
}

// answerFetch makes the broker answer every fetch of offset 0 with these bytes.
func answerFetch(c *kfake.Cluster, b []byte) {
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		res := r.(*kmsg.FetchRequest).ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = "t"
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.RecordBatches = 5, 5, b
		rt.Partitions = append(rt.Partitions, p)
		res.Topics = append(res.Topics, rt)
		return res, nil, true
	})
}

// Bytes that are no batches are told by the reader; they are not fetched for ever.
func TestStrangeRecordSets(t *testing.T) {
	good := sealed(t, 3, noCompression)[sizePrefix:]
	old := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 1, 2, 3, 4, 1}, make([]byte, 15)...)
	short := append([]byte(nil), good...)
	short[atLength+2], short[atLength+3] = 0, 9
	flipped := append([]byte(nil), good...)
	flipped[80] ^= 1
	for name, c := range map[string]struct {
		b    []byte
		code sqlerr.Code
	}{"format 1": {old, sqlerr.FeatureNotSupported}, "short length": {short, sqlerr.DataCorrupted},
		"flipped bit": {flipped, sqlerr.DataCorrupted}} {
		cl, addr := cluster(t, 1)
		answerFetch(cl, c.b)
		_, _, err := readTo(t, openReader(t, open(t, idSpec(addr)), 0, "0"), "5")
		if sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A batch that never comes whole is asked for with more and more bytes, up to
	// a limit.
	cl, addr := cluster(t, 1)
	answerFetch(cl, good[:len(good)-1])
	_, _, err := readTo(t, openReader(t, open(t, idSpec(addr)), 0, "0"), "5")
	wantError(t, err, sqlerr.ProgramLimitExceeded)
}

// Errors of a partition that may go away are waited out and told.
func TestFetchErrors(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 1)
	produceTo(t, kgoClient(t, addr), 0, ids(0, 5)...)
	codes := []int16{6, 3, 9, 56, -1, 74}
	n := 0
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if n == len(codes) {
			return nil, nil, false
		}
		c.KeepControl()
		res := r.(*kmsg.FetchRequest).ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = "t"
		p := kmsg.NewFetchResponseTopicPartition()
		p.ErrorCode = codes[n]
		rt.Partitions = append(rt.Partitions, p)
		res.Topics = append(res.Topics, rt)
		n++
		return res, nil, true
	})
	var told reports
	spec := idSpec(addr)
	spec.Report = told.add
	if got, _, err := readTo(t, openReader(t, open(t, spec), 0, ""), "5"); err != nil || len(got) != 5 {
		t.Fatal(got, err)
	}
	if k, err := told.last(); err != nil || k < 2 {
		t.Fatal(err, k)
	}
}

// Only one of two brokers answers: its partitions are read meanwhile.
func TestOneBrokerOfTwo(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 2, kfake.NumBrokers(2))
	for p := range int32(2) {
		if err := c.MoveTopicPartition("t", p, p); err != nil {
			t.Fatal(err)
		}
	}
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 3)...)
	produceTo(t, kc, 1, ids(0, 3)...)
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if c.CurrentNode() == 0 {
			return nil, errors.New("hang up"), true
		}
		return nil, nil, false
	})
	s := open(t, idSpec(addr))
	r0 := openReader(t, s, 0, "")
	if b, _, err := r0.Read(testContext(t), ""); err != nil || b.Len != 0 { // not idle
		t.Fatal(err)
	}
	if got, _, err := readTo(t, openReader(t, s, 1, ""), "3"); err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if err := c.MoveTopicPartition("t", 0, 1); err != nil {
		t.Fatal(err)
	}
	if got, _, err := readTo(t, r0, "3"); err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
}

// A record set that alone fills the queue leaves it empty when it is taken: the fetcher
// must look up at once, not when it next asks who leads.
func TestSetThatFillsTheQueue(t *testing.T) {
	f := &fetcher{cfg: &sourceConfig{bufferBytes: 1 << 20}}
	f.work.L = &f.mu
	s := &subscription{f: f, maxBytes: 1, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	s.push(&recordSet{data: make([]byte, 100)})
	f.mu.Unlock()
	waits, woken := make(chan struct{}), make(chan struct{})
	go func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(waits) // with mu held until Wait gives it up
		for !f.mayFetch(s) {
			f.work.Wait()
		}
		close(woken)
	}()
	<-waits
	if r, err := s.pop(); r == nil || err != nil {
		t.Fatal(r, err)
	}
	select {
	case <-woken:
	case <-time.After(5 * time.Second):
		f.mu.Lock()
		f.work.Broadcast()
		f.mu.Unlock()
		t.Error("the fetcher sleeps on")
	}
}

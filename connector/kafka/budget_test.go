package kafka

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Sources of several queries share what they may read ahead: readers that take
// nothing have no more than that of the broker's records, and one that reads goes on.
func TestSourcesShareMemory(t *testing.T) {
	const partitions, sources, limit = 6, 4, 2 << 20
	_, addr := cluster(t, partitions)
	kc := kgoClient(t, addr)
	pad := strings.Repeat("p", 8_000)
	for p := range int32(partitions) {
		for range 10 {
			var values []string
			for i := range 20 {
				values = append(values, fmt.Sprintf(`{"id":%d,"pad":"%s"}`, i, pad))
			}
			produceTo(t, kc, p, values...)
		}
	} // 9.6 MB, for each source
	f := FactoryWithin(limit)
	var all []*source
	for range sources {
		src, err := f.Source(testContext(t), idSpec(addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		all = append(all, src.(*source))
	}
	b := all[0].fetch.budget
	var readers []connector.Reader
	for _, s := range all {
		for p := range partitions {
			r := openReader(t, s, p, "")
			if _, _, err := r.Read(testContext(t), "0"); err != connector.ErrEnd { // subscribes
				t.Fatal(err)
			}
			readers = append(readers, r)
		}
	}
	// What is over the limit: a least fetch, or a batch, for each source.
	const slack = sources * (256 << 10)
	most := int64(0)
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		most = max(most, b.inUse())
	}
	if most > limit+slack || most < limit/2 {
		t.Fatalf("%d bytes are in use, of %d", most, limit)
	}
	// All read at once, and the last one alone: each comes to its end.
	var wg sync.WaitGroup
	for _, r := range readers[1:] {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if got, _, err := readTo(t, r, "200"); err != nil || len(got) != 200 {
				t.Error(len(got), err)
			}
			r.Close()
		}()
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-time.After(time.Millisecond):
			most = max(most, b.inUse())
		}
	}
	if most > limit+slack+partitions*sources*(1<<20) {
		t.Errorf("%d bytes were in use, of %d", most, limit)
	}
	if got, _, err := readTo(t, readers[0], "200"); err != nil || len(got) != 200 {
		t.Fatal(len(got), err)
	}
	for _, s := range all {
		for _, r := range readers {
			r.Close()
		}
		s.Close()
	}
	if n := b.inUse(); n != 0 {
		t.Errorf("%d bytes are in use in the end", n)
	}
}

// A reader that has nothing is fetched for though others use up all there is.
func TestHungryReaderIsFed(t *testing.T) {
	_, addr := cluster(t, 1)
	produceTo(t, kgoClient(t, addr), 0, ids(0, 100)...)
	s := open(t, idSpec(addr))
	s.fetch.budget.take(10 * defaultBudget)
	if got, _, err := readTo(t, openReader(t, s, 0, ""), "100"); err != nil || len(got) != 100 {
		t.Fatal(len(got), err)
	}
	s.fetch.budget.give(10 * defaultBudget)
}

// A small batch that unpacks to very much stops the reader with an error that says
// where and what to do; on_error = 'skip' is about records, and does not hide it.
func TestBatchBomb(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(),
		kgo.ZstdCompression()} {
		_, addr := cluster(t, 1)
		kc := kgoClient(t, addr, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(64<<20),
			kgo.BrokerMaxWriteBytes(100<<20))
		produceTo(t, kc, 0, ids(0, 2)...)
		produceTo(t, kc, 0, fmt.Sprintf(`{"id":2,"pad":"%s"}`, strings.Repeat("0", 8<<20)))
		produceTo(t, kc, 0, ids(3, 4)...)
		spec := idSpec(addr, "on_error", "skip", "max_batch_bytes", "1 MB")
		s := open(t, spec)
		got, next, err := readTo(t, openReader(t, s, 0, ""), "4")
		if !equal(got, 0, 1) || next != "2" {
			t.Error(got, next)
		}
		wantError(t, err, sqlerr.ProgramLimitExceeded, "offset 2", "partition 0", `topic "t"`, "max_batch_bytes", "1048576")
		if n := len(spec.BadRows.(*badRows).rows); n != 0 {
			t.Errorf("%d bad rows", n)
		}
		s = open(t, idSpec(addr, "max_batch_bytes", "16 MB"))
		r := openReader(t, s, 0, "")
		if got, _, err = readTo(t, r, "4"); err != nil || !equal(got, 0, 1, 2, 3) {
			t.Error(got, err)
		}
		if n := s.fetch.budget.inUse(); n > 4<<20 {
			t.Errorf("%d bytes are kept behind the batch", n)
		}
	}
}

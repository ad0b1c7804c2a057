package kafka

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// server stands in for a query's coordinator: its store, and what the last
// checkpoint has.
type server struct {
	t        *testing.T
	store    *state.Store
	addr     string
	topic    string
	options  []string
	epoch    connector.Epoch
	prepared [][]byte

	sink connector.Sink
	w    connector.Writer
}

func newServer(t *testing.T, addr string, options ...string) *server {
	t.Helper()
	st, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, store: st, addr: addr, topic: "t", options: append([]string{"delivery", exactlyOnce}, options...)}
	t.Cleanup(func() {
		s.crash()
		st.Close()
	})
	return s
}

// start begins a run as recovery does.
func (s *server) start() error {
	s.t.Helper()
	return s.startIn(testContext(s.t))
}

func (s *server) startIn(ctx context.Context) error {
	s.t.Helper()
	spec := kvSpec(s.addr, formatPlain, s.options...)
	spec.Options["topic"] = s.topic
	spec.Identity, spec.Outbox = s.store.ID()+"-1", s.store.Outbox(1, 7)
	k, err := Factory().Sink(ctx, spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.sink = k
	if s.prepared != nil {
		if err := k.Commit(ctx, s.epoch, s.prepared); err != nil {
			return err
		}
	}
	if err := k.Abort(ctx, s.epoch); err != nil {
		return err
	}
	s.w, err = k.Open(ctx, 0)
	return err
}

func (s *server) mustStart() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// crash ends a run without the abort that an orderly end sends.
func (s *server) crash() {
	if w, ok := s.w.(*writer); ok {
		w.out.close()
		w.out.txn = nil
		w.Close()
	}
	if s.sink != nil {
		s.sink.Close()
	}
	s.w, s.sink = nil, nil
}

func (s *server) write(lo, hi int) error {
	s.t.Helper()
	var lines []string
	for i := lo; i < hi; i++ {
		lines = append(lines, fmt.Sprintf("+ k%d %d", i%5, i))
	}
	b := rows(lines...)
	defer b.Release()
	return s.w.Write(testContext(s.t), b)
}

// prepare ends an epoch and puts it into the checkpoint.
func (s *server) prepare() error {
	p, err := s.w.Prepare(testContext(s.t), s.epoch+1)
	if err != nil {
		return err
	}
	s.epoch++
	s.prepared = nil
	if p != nil {
		s.prepared = [][]byte{p}
	}
	return nil
}

func (s *server) commit() error {
	return s.sink.Commit(testContext(s.t), s.epoch, s.prepared)
}

// run writes one whole epoch.
func (s *server) run(lo, hi int) {
	s.t.Helper()
	if err := s.write(lo, hi); err != nil {
		s.t.Fatal(err)
	}
	if err := s.prepare(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.commit(); err != nil {
		s.t.Fatal(err)
	}
}

// committed reads all that is committed now, without waiting for open
// transactions.
func committed(t *testing.T, addr, topic string) []*kgo.Record {
	t.Helper()
	kc := kgoClient(t, addr)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	md := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = kmsg.StringPtr(topic)
	md.Topics = append(md.Topics, mt)
	mres, err := md.RequestWith(testContext(t), kc)
	if err != nil {
		t.Fatal(err)
	}
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for _, p := range mres.Topics[0].Partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p.Partition, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	shards := kc.RequestSharded(testContext(t), req)
	left, from := map[int32]int64{}, map[int32]kgo.Offset{}
	for _, sh := range shards {
		if sh.Err != nil {
			t.Fatal(sh.Err)
		}
		for _, p := range sh.Resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
			if p.Offset > 0 {
				left[p.Partition], from[p.Partition] = p.Offset, kgo.NewOffset().AtStart()
			}
		}
	}
	c := kgoClient(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	var out []*kgo.Record
	// What was aborted at the end, its marker behind an open transaction, never comes.
	for moved := time.Now(); len(left) > 0 && time.Since(moved) < 5*time.Second; {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		f := c.PollFetches(ctx)
		cancel()
		f.EachRecord(func(r *kgo.Record) {
			moved = time.Now()
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
		})
	}
	return out
}

// wantIDs checks that the numbers 0 to n-1 are there once each, in order within
// each partition.
func (s *server) wantIDs(n int) {
	t := s.t
	t.Helper()
	var got []int
	last := map[int32]int{}
	for _, r := range committed(t, s.addr, s.topic) {
		var k string
		var v int
		if _, err := fmt.Sscanf(strings.NewReplacer(`"`, " ", ",", " ").Replace(string(r.Value)), "{ k : %s v :%d}", &k, &v); err != nil {
			t.Fatalf("%s: %v", r.Value, err)
		}
		if have, ok := last[r.Partition]; ok && v < have {
			t.Errorf("partition %d has %d behind %d", r.Partition, v, have)
		}
		last[r.Partition] = v
		got = append(got, v)
	}
	sort.Ints(got)
	if len(got) != n {
		t.Fatalf("%d rows, want %d: %v", len(got), n, shortList(got))
	}
	for i, v := range got {
		if v != i {
			t.Fatalf("row %d is %d: %v", i, v, shortList(got))
		}
	}
}

// crashPrepared writes and prepares the rows from to to-1 and crashes before the commit.
func (s *server) crashPrepared(from, to int) {
	s.t.Helper()
	if err := s.write(from, to); err != nil {
		s.t.Fatal(err)
	}
	if err := s.prepare(); err != nil {
		s.t.Fatal(err)
	}
	s.crash()
}

func shortList(v []int) []int { return v[:min(len(v), 50)] }

func TestExactlyOnce(t *testing.T) {
	for _, codec := range compressions {
		_, addr := cluster(t, 3)
		s := newServer(t, addr, "compression", codec)
		s.mustStart()
		for e := range 6 {
			s.run(e*100, e*100+100)
			s.wantIDs(e*100 + 100)
		}
	}
}

// What is written shows at the commit and not before, though the next epoch is
// being written already.
func TestNothingShowsBeforeCommit(t *testing.T) {
	_, addr := cluster(t, 2)
	s := newServer(t, addr)
	s.mustStart()
	s.run(0, 10)
	if err := s.write(10, 20); err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	s.wantIDs(10)
	if err := s.write(20, 30); err != nil {
		t.Fatal(err)
	}
	if err := s.w.(*writer).out.flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
	s.wantIDs(10)
	if err := s.commit(); err != nil {
		t.Fatal(err)
	}
	s.wantIDs(20)
	// The epoch behind waits for the one before to be committed.
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	b := rows("+ a 30")
	if err := s.w.Write(ctx, b); err != nil {
		t.Fatal("the other transaction is free:", err)
	}
}

// crashPoints are the points at which a run may end.
var crashPoints = []struct {
	name string
	last func(s *server) // what the run does of its last epoch, rows 10 to 19
	next int             // the row that the next run goes on with
}{
	{"before rows", func(*server) {}, 10},
	{"rows written", func(s *server) { s.write(10, 20) }, 10},
	{"prepared, no checkpoint", func(s *server) {
		s.write(10, 20)
		s.w.Prepare(testContext(s.t), s.epoch+1)
	}, 10},
	{"checkpoint", func(s *server) { s.write(10, 20); s.prepare() }, 20},
	{"committed", func(s *server) { s.write(10, 20); s.prepare(); s.commit() }, 20},
	{"checkpoint, and rows of the next", func(s *server) { s.write(10, 20); s.prepare(); s.write(20, 30) }, 20},
	{"checkpoint, and a start that ends before its first", func(s *server) {
		s.write(10, 20)
		s.prepare()
		s.crash()
		s.mustStart()
	}, 20},
	{"two epochs, no checkpoint", func(s *server) {
		for e := range connector.Epoch(2) {
			s.write(10, 20)
			s.w.Prepare(testContext(s.t), s.epoch+1+e)
		}
	}, 10},
	{"empty epoch", func(s *server) { s.prepare() }, 10},
}

// A run that ends at any point is followed by one that settles it.
func TestCrashPoints(t *testing.T) {
	for _, c := range crashPoints {
		t.Run(c.name, func(t *testing.T) {
			_, addr := cluster(t, 3)
			s := newServer(t, addr)
			s.mustStart()
			s.run(0, 10)
			c.last(s)
			s.crash()
			s.mustStart()
			s.wantIDs(c.next)
			s.run(c.next, c.next+10)
			s.run(c.next+10, c.next+20)
			s.wantIDs(c.next + 20)
		})
	}
}

// A stop longer than transaction_timeout: the broker aborts what was prepared, and
// it is written again from the outbox, once, however often the next run is ended.
func TestExpiredTransaction(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"none", "zstd"} {
		_, addr := cluster(t, 3)
		s := newServer(t, addr, "transaction_timeout", "1 s", "compression", codec)
		s.mustStart()
		s.run(0, 10)
		s.crashPrepared(10, 2000)
		time.Sleep(1200 * time.Millisecond)
		s.wantIDs(10)
		s.mustStart()
		s.wantIDs(2000)
		s.crash()
		s.mustStart()
		s.wantIDs(2000)
		s.run(2000, 2100)
		s.wantIDs(2100)
	}
}

// The run that writes from the outbox ends between its commit and its first
// checkpoint, its answer lost.
func TestLostAnswerOfRewrite(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 3)
	s := newServer(t, addr, "transaction_timeout", "1 s")
	s.mustStart()
	s.run(0, 10)
	s.crashPrepared(10, 20)
	time.Sleep(1200 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	lose := 2 // the first is for the dead transaction
	c.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if lose--; lose == 0 {
			cancel() // the request is carried out, nobody waits for its answer
			time.Sleep(50 * time.Millisecond)
		}
		return nil, nil, false
	})
	if err := s.startIn(ctx); err == nil {
		t.Fatal("the answer came")
	}
	s.crash()
	s.mustStart()
	s.wantIDs(20)
	s.run(20, 30)
	s.wantIDs(30)
}

// wantLost wants the error that ends a run, to be begun again.
func wantLost(t *testing.T, err error) {
	t.Helper()
	e := sqlerr.From(err)
	if e == nil || e.Permanent || e.Code != sqlerr.ConnectionFailure || !strings.Contains(e.Message, "has given up transaction") {
		t.Fatal(err)
	}
}

func TestOutboxGone(t *testing.T) {
	t.Parallel()
	_, addr := cluster(t, 1)
	s := newServer(t, addr, "transaction_timeout", "1 s", "outbox_max_bytes", "1 kB")
	s.mustStart()
	s.run(0, 10)
	s.crashPrepared(10, 500)
	time.Sleep(1200 * time.Millisecond)
	err := s.start()
	wantError(t, err, sqlerr.DataCorrupted, `epoch 2 is lost to topic "t"`)
	if !sqlerr.From(err).Permanent {
		t.Fatal("not permanent")
	}
	s.crash()
	err = s.start() // and it never continues past it
	wantError(t, err, sqlerr.DataCorrupted, `epoch 2 is lost to topic "t"`)
}

// An epoch larger than the outbox is written exactly once all the same, unless the
// stop is too long.
func TestLargerThanOutbox(t *testing.T) {
	_, addr := cluster(t, 3)
	s := newServer(t, addr, "outbox_max_bytes", "1 kB")
	s.mustStart()
	s.crashPrepared(0, 5000)
	s.mustStart()
	s.wantIDs(5000)
}

// A transaction that expires while the server runs ends the run; the next one
// writes the epoch again, in order.
func TestExpiresWhileRunning(t *testing.T) {
	t.Parallel()
	_, addr := cluster(t, 2)
	s := newServer(t, addr, "transaction_timeout", "1 s")
	s.mustStart()
	s.run(0, 10)
	s.write(10, 20)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	s.write(20, 30)
	time.Sleep(1200 * time.Millisecond)
	err := s.commit()
	wantLost(t, err)
	s.crash()
	s.mustStart()
	s.run(20, 30)
	s.wantIDs(30)
	s.write(30, 40)
	s.w.(*writer).out.flush(testContext(t))
	time.Sleep(1200 * time.Millisecond)
	_, err = s.w.Prepare(testContext(t), s.epoch+1)
	wantLost(t, err)
}

// Whoever takes the ids over fences the one before.
func TestFenced(t *testing.T) {
	_, addr := cluster(t, 2)
	s := newServer(t, addr)
	s.mustStart()
	s.run(0, 10)
	// The embedded broker lets an old holder renew its identity, which Kafka does not.
	w := s.w.(*writer)
	w.out.mu.Lock()
	err := w.out.wait(testContext(t), func() bool { return w.txns[0].state == txnIdle && w.txns[1].state == txnIdle })
	w.out.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	old, oldSink, oldEpoch, oldPrepared := s.w, s.sink, s.epoch, s.prepared
	s.w, s.sink = nil, nil
	s.mustStart()
	b := rows("+ zombie 99")
	defer b.Release()
	if err := old.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	_, err = old.Prepare(testContext(t), 2)
	wantLost(t, err)
	if err := oldSink.Commit(testContext(t), oldEpoch, oldPrepared); err == nil {
		t.Fatal("committed by who is fenced")
	}
	old.Close()
	oldSink.Close()
	s.run(10, 20)
	s.wantIDs(20)
}

// A data directory put back to an older state is refused: what came after it is in
// the topic.
func TestOlderCopy(t *testing.T) {
	_, addr := cluster(t, 1)
	s := newServer(t, addr)
	s.mustStart()
	s.run(0, 10)
	epoch, prepared := s.epoch, s.prepared
	s.run(10, 20)
	s.run(20, 30)
	s.crash()
	s.epoch, s.prepared = epoch, prepared
	wantError(t, s.start(), sqlerr.ObjectNotInState, `topic "t" has epoch 3`, "of epoch 1")
}

package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/internal/clock"
)

// topic is a topic of an embedded broker.
type topic struct {
	t    *testing.T
	addr string
	kc   *kgo.Client
	n    []int // records by partition
}

func newTopic(t *testing.T, partitions int) *topic {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	addr := c.ListenAddrs()[0]
	kc, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	return &topic{t, addr, kc, make([]int, partitions)}
}

// put writes so many records to each partition: {"p":partition,"i":number}.
func (k *topic) put(counts ...int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var rs []*kgo.Record
	for p, n := range counts {
		for range n {
			rs = append(rs, &kgo.Record{Topic: "t", Partition: int32(p), Value: fmt.Appendf(nil, `{"p":%d,"i":%d}`, p, k.n[p])})
			k.n[p]++
		}
	}
	if err := k.kc.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		k.t.Fatal(err)
	}
}

// source is the statement that makes a source of it.
func (k *topic) source(name, options string) string {
	return fmt.Sprintf(`CREATE SOURCE %s (p int, i int) WITH (connector = 'kafka', brokers = '%s', topic = 't'%s)
		FORMAT PLAIN ENCODE JSON`, name, k.addr, options)
}

// newEngine is an engine whose clock stands.
func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{w: newWorld(), fs: vfs.NewCrashableMem(), clock: clock.NewManual(time.Unix(1000, 0))}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	return e
}

// sizes are how many rows of each partition the epochs of sink o had that had any,
// as "18+1+1".
func (e *engine) sizes(partitions int) []string {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	var out []string
	for _, ep := range e.w.sink("o").epochs {
		n := make([]int, partitions)
		for _, r := range ep.rows {
			p := 0
			_, _ = fmt.Sscan(readable(r.Row), &p)
			n[p]++
		}
		if len(ep.rows) > 0 {
			out = append(out, strings.ReplaceAll(strings.Trim(fmt.Sprint(n), "[]"), " ", "+"))
		}
	}
	return out
}

func (e *engine) awaitSizes(t *testing.T, partitions int, want ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = e.sizes(partitions); len(got) >= len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the epochs have\n%q\nnot\n%q", got, want)
	}
}

const limitedSink = "CREATE SINK o WITH (connector = 'memory', name = 'o', output_mode = 'append', trigger = '%s') AS SELECT p, i FROM s"

// TestTicksAreLimited: an epoch reads max_offsets_per_trigger, shared out by what
// there is to read, and every partition that has something goes on.
func TestTicksAreLimited(t *testing.T) {
	k := newTopic(t, 4)
	k.put(100, 10, 1, 0)
	e := newEngine(t)
	defer e.end(t)
	mustExec(t, e, k.source("s", ", max_offsets_per_trigger = 20"))
	mustExec(t, e, fmt.Sprintf(limitedSink, "processing_time 10 s"))
	e.awaitSizes(t, 4, "18+1+1+0") // of 111: 18.02, 1.8, 0.18
	e.clock.Advance(9 * time.Second)
	time.Sleep(20 * time.Millisecond)
	e.awaitSizes(t, 4, "18+1+1+0")
	e.clock.Advance(time.Second)
	e.awaitSizes(t, 4, "18+1+1+0", "18+1+0+0") // of 91: 18.02, 1.98
	k.put(0, 0, 0, 7)
	e.clock.Advance(10 * time.Second)
	e.awaitSizes(t, 4, "18+1+1+0", "18+1+0+0", "16+2+0+1") // of 79: 16.2, 2.03, 1.77
	// Whoever flushes asks for epochs, not for larger ones.
	mustExec(t, e, "FLUSH")
	all := e.sizes(4)
	sum := 0
	for _, s := range all {
		var n [4]int
		if _, err := fmt.Sscanf(s, "%d+%d+%d+%d", &n[0], &n[1], &n[2], &n[3]); err != nil {
			t.Fatal(err)
		}
		if got := n[0] + n[1] + n[2] + n[3]; got > 20 {
			t.Errorf("an epoch of %d: %s", got, s)
		}
		sum += n[0] + n[1] + n[2] + n[3]
	}
	if sum != 118 {
		t.Errorf("%d rows in all: %q", sum, all)
	}
}

// TestAvailableNowIsLimited: it ends at what was there at its start, in as many
// epochs as it takes; once takes one.
func TestAvailableNowIsLimited(t *testing.T) {
	k := newTopic(t, 2)
	k.put(40, 10)
	e := newEngine(t)
	defer e.end(t)
	e.w.mu.Lock()
	late := false
	e.w.moment = func(_, step string, _ uint64) {
		if step == "prepared" && !late {
			late = true
			k.put(5, 5) // too late for this run
		}
	}
	e.w.mu.Unlock()
	mustExec(t, e, k.source("s", ", max_offsets_per_trigger = 20, min_offsets_per_trigger = 15"))
	mustExec(t, e, fmt.Sprintf(limitedSink, "available_now"))
	mustExec(t, e, "AWAIT o")
	e.awaitSizes(t, 2, "16+4", "16+4", "8+2")
	mustExec(t, e, "RESTART o; AWAIT o")
	e.awaitSizes(t, 2, "16+4", "16+4", "8+2", "5+5")
	k.put(30, 30)
	mustExec(t, e, "ALTER SINK o SET (trigger = 'once'); AWAIT o")
	e.awaitSizes(t, 2, "16+4", "16+4", "8+2", "5+5", "30+30")
}

// TestFewRecordsWait: an epoch waits for min_offsets_per_trigger records, but not for
// longer than max_trigger_delay.
func TestFewRecordsWait(t *testing.T) {
	k := newTopic(t, 2)
	k.put(1, 0)
	e := newEngine(t)
	defer e.end(t)
	mustExec(t, e, k.source("s", ", min_offsets_per_trigger = 10, max_trigger_delay = '1 min'"))
	mustExec(t, e, fmt.Sprintf(limitedSink, "processing_time 1 s"))
	e.awaitSizes(t, 2, "1+0") // the first epoch waits for nothing
	k.put(4, 5)
	wait := func(d time.Duration) {
		t.Helper()
		for range d / time.Second {
			e.clock.Advance(time.Second)
			time.Sleep(2 * time.Millisecond)
		}
	}
	wait(30 * time.Second)
	e.awaitSizes(t, 2, "1+0")
	k.put(1, 0)
	e.run() // pauses between looks
	e.awaitSizes(t, 2, "1+0", "5+5")
	e.hold()
	k.put(0, 3)
	wait(55 * time.Second)
	e.awaitSizes(t, 2, "1+0", "5+5")
	e.run()
	for end := time.Now().Add(patience); len(e.sizes(2)) < 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		e.clock.Advance(time.Second)
	}
	e.awaitSizes(t, 2, "1+0", "5+5", "0+3")
	e.hold()
}

// TestLimitsAreRefusedInRealTime: there an epoch is no unit of reading.
func TestLimitsAreRefusedInRealTime(t *testing.T) {
	k := newTopic(t, 1)
	e := newEngine(t)
	defer e.end(t)
	mustExec(t, e, k.source("s", ", max_offsets_per_trigger = 20")+"; CREATE VIEW w AS SELECT p, i FROM s")
	for _, from := range []string{"s", "w"} {
		refused(t, e, "CREATE MATERIALIZED VIEW m WITH (trigger = 'real_time') AS SELECT count(*) AS n FROM "+from, "0A000", "real_time")
	}
	table := strings.Replace(k.source("t", ", max_offsets_per_trigger = 20, trigger = 'real_time'"), "SOURCE", "TABLE", 1)
	refused(t, e, table, "0A000", "real_time")
	mustExec(t, e, "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM w")
	refused(t, e, "ALTER MATERIALIZED VIEW m SET (trigger = 'real_time')", "0A000", "processing_time")
	// An option that comes later stops the query, at its next start.
	mustExec(t, e, k.source("s3", ""))
	mustExec(t, e, "CREATE MATERIALIZED VIEW m3 WITH (trigger = 'real_time') AS SELECT count(*) AS n FROM s3")
	mustExec(t, e, "ALTER SOURCE s3 SET (max_offsets_per_trigger = 5); RESTART m3")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s, err := e.status("m3"); err != nil || s.Err != nil {
			break
		}
	}
	if s, err := e.status("m3"); err != nil || s.Err == nil || s.Err.Code != "0A000" {
		t.Errorf("%v %v", s.Err, err)
	}
	refused(t, e, "ALTER SOURCE s SET (max_offsets_per_trigger = 0)", "22023", "outside the valid range")
	refused(t, e, "ALTER SOURCE s SET (min_offsets_per_trigger = 50)", "22023", "must not be greater")
	refused(t, e, "ALTER SOURCE s SET (topic = 'other')", "0A000", "cannot be changed")
}

// TestLimitedEpochComesAgain: an epoch that a crash has undone reads the same
// records at the same time, though there are more by then and the shares are others.
func TestLimitedEpochComesAgain(t *testing.T) {
	for _, trigger := range []string{"processing_time 10 s", "available_now"} {
		t.Run(trigger, func(t *testing.T) {
			k := newTopic(t, 2)
			k.put(30, 10)
			e := newEngine(t)
			var after *engine
			e.w.mu.Lock()
			e.w.moment = func(_, step string, epoch uint64) {
				if step == "prepared" && epoch == 2 && after == nil {
					after = e.crashed(0, 1)
				}
			}
			e.w.mu.Unlock()
			mustExec(t, e, k.source("s", ", max_offsets_per_trigger = 8"))
			mustExec(t, e, "CREATE SINK o WITH (connector = 'memory', name = 'o', output_mode = 'append', trigger = '"+trigger+
				"') AS SELECT p, i, now() AS at FROM s")
			e.awaitSome(t, 1)
			e.clock.Advance(10 * time.Second)
			e.awaitSome(t, 2)
			want := e.sizes(2)[:2]
			e.end(t)
			if after == nil {
				t.Fatal("there was no second epoch")
			}
			k.put(0, 500)
			after.clock.Advance(1000 * time.Second)
			if err := after.start(); err != nil {
				t.Fatal(err)
			}
			defer after.end(t)
			after.awaitSome(t, 2)
			if got := after.sizes(2)[:2]; !slices.Equal(got, want) {
				t.Errorf("the epochs have %q, not %q", got, want)
			}
			after.w.mu.Lock()
			defer after.w.mu.Unlock()
			for _, r := range after.w.sink("o").epochs[1].rows {
				if f := strings.Fields(readable(r.Row)); f[2] != "1010" && f[2] != "1000" {
					t.Fatalf("a row of the epoch that came again has the time %s", f[2])
				}
			}
		})
	}
}

// awaitSome waits for so many epochs with rows.
func (e *engine) awaitSome(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(patience); len(e.sizes(2)) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the epochs have %q: %v", e.sizes(2), e.stuck())
		}
	}
}

// TestBoundedSourceIsLimited: a source with an end is read in limited epochs, too,
// and ends.
func TestBoundedSourceIsLimited(t *testing.T) {
	for _, trigger := range []string{"processing_time 0", "available_now"} {
		k := newTopic(t, 2)
		k.put(30, 12)
		e := newEngine(t)
		mustExec(t, e, k.source("s", ", max_offsets_per_trigger = 20, ending_offsets = '{\"0\": 25}'"))
		mustExec(t, e, fmt.Sprintf(limitedSink, trigger))
		e.run()
		mustExec(t, e, "AWAIT o")
		e.hold()
		e.awaitSizes(t, 2, "13+6", "12+6") // of 37: 13.5, 6.5
		e.end(t)
	}
}

// TestLimitedFill: a table of changing records is not shown before an epoch has come to
// the topic's end, however many epochs the limit makes of that.
func TestLimitedFill(t *testing.T) {
	k := newTopic(t, 1)
	var rs []*kgo.Record
	for id := range 40 {
		rs = append(rs, &kgo.Record{Topic: "t", Key: fmt.Append(nil, id), Value: []byte(`{"v":1}`)})
	}
	if err := k.kc.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	defer e.end(t)
	mustExec(t, e, fmt.Sprintf(`CREATE TABLE up (id int PRIMARY KEY, v int) WITH (connector = 'kafka', brokers = '%s',
		topic = 't', max_offsets_per_trigger = 10, trigger = 'processing_time 10 s')
		FORMAT UPSERT ENCODE JSON KEY ENCODE TEXT`, k.addr))
	last := ""
	for epoch := uint64(1); last != "40"; epoch++ {
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			s, err := e.status("up")
			if err != nil || s.Err != nil {
				t.Fatal(err, s.Err)
			}
			if s.Epoch >= epoch {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("epoch %d does not come", epoch)
			}
		}
		got, err := e.query("SELECT count(*) FROM up")
		if err != nil {
			t.Fatal(err)
		}
		last = strings.Join(got, " ")
		if want := map[bool]string{true: "40", false: "0"}[epoch >= 4]; last != want {
			t.Fatalf("after epoch %d there are %s rows, not %s", epoch, last, want)
		}
		e.clock.Advance(10 * time.Second)
	}
}

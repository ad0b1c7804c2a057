package kafka

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func wantError(t *testing.T, err error, code sqlerr.Code, parts ...string) {
	t.Helper()
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != code || !e.Permanent {
		t.Fatalf("%v: want a permanent %s", err, code)
	}
	all := e.Error() + " | " + e.Detail + " | " + e.Hint
	for _, p := range parts {
		if !strings.Contains(all, p) {
			t.Errorf("%q lacks %q", all, p)
		}
	}
}

func TestBadRecords(t *testing.T) {
	_, addr := cluster(t, 1)
	produceTo(t, kgoClient(t, addr), 0, `{"id":1}`, ``, `{"id":`, `{"id":2}`, `<null>`)
	spec := idSpec(addr, "on_error", "skip")
	got, next, err := readTo(t, openReader(t, open(t, spec), 0, ""), "5")
	if err != nil || next != "5" || !equal(got, 1, 2) {
		t.Fatal(got, next, err)
	}
	bad := spec.BadRows.(*badRows).rows
	if len(bad) != 2 || bad[0].Offset != "1" || bad[1].Offset != "2" || bad[1].Split != "0" ||
		string(bad[1].Bytes) != `{"id":` || bad[0].Micros == 0 || bad[0].Reason == "" {
		t.Fatalf("%+v", bad)
	}
	got, next, err = readTo(t, openReader(t, open(t, idSpec(addr)), 0, ""), "5")
	if next != "1" || !equal(got, 1) {
		t.Fatal(got, next)
	}
	wantError(t, err, sqlerr.CodeOf(err), `offset 1`, `partition 0`, `topic "t"`, "on_error")
}

func TestOffsetOutOfRange(t *testing.T) {
	c, addr := cluster(t, 1)
	produceTo(t, kgoClient(t, addr), 0, ids(0, 10)...)
	if err := c.DeleteRecords("t", 0, 4); err != nil {
		t.Fatal(err)
	}
	for _, from := range []connector.Offset{"2", "12"} {
		_, _, err := readTo(t, openReader(t, open(t, idSpec(addr)), 0, from), "20")
		wantError(t, err, sqlerr.ObjectNotInState, "wanted "+string(from)+", earliest 4, latest 10", "on_data_loss")
	}
	spec := idSpec(addr, "on_data_loss", "continue")
	got, next, err := readTo(t, openReader(t, open(t, spec), 0, "2"), "10")
	if err != nil || next != "10" || !equal(got, 4, 5, 6, 7, 8, 9) {
		t.Fatal(got, next, err)
	}
	if bad := spec.BadRows.(*badRows).rows; len(bad) != 1 || bad[0].Offset != "2" || bad[0].Lost != 2 {
		t.Fatalf("the loss is not told: %+v", bad)
	}
	// Beyond the end, where a bound was reached long ago: records that come are read.
	spec = idSpec(addr, "on_data_loss", "continue")
	r := openReader(t, open(t, spec), 0, "12")
	for ctx := testContext(t); ; {
		_, next, err := r.Read(ctx, "10")
		if !errors.Is(err, connector.ErrEnd) {
			t.Fatal(next, err)
		}
		if next == "10" {
			break
		}
	}
	produceTo(t, kgoClient(t, addr), 0, ids(10, 13)...)
	if got, next, err := readTo(t, r, "13"); err != nil || next != "13" || !equal(got, 10, 11, 12) {
		t.Fatal(got, next, err)
	}
	if bad := spec.BadRows.(*badRows).rows; len(bad) != 1 || bad[0].Offset != "12" || bad[0].Lost != 0 {
		t.Fatalf("the loss is not told: %+v", bad)
	}
}

func TestMissingTopic(t *testing.T) {
	t.Parallel()
	_, addr := cluster(t, 1, kfake.SeedTopics(1, "orders"))
	spec := idSpec(addr)
	spec.Options["topic"] = "order"
	_, err := open(t, spec).Splits(testContext(t))
	wantError(t, err, sqlerr.UndefinedObject, `topic "order" does not exist`, `"orders"`)
	k := kvSpec(addr, formatPlain)
	k.Options["topic"] = "order"
	sk, err := Factory().Sink(testContext(t), k)
	if err != nil {
		t.Fatal(err)
	}
	defer sk.Close()
	_, err = sk.Open(testContext(t), 0)
	wantError(t, err, sqlerr.UndefinedObject, `topic "order" does not exist`, `"orders"`)
}

// A topic that grows is noticed, and the new partitions are read from their start
// though the source began at the latest records.
func TestPartitionGrowth(t *testing.T) {
	t.Parallel()
	_, addr := cluster(t, 1)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 3)...)
	s := beginWith(t, idSpec(addr, "starting_offsets", "latest"), func(c *sourceConfig) { c.splitsEvery = 0 })
	if sp, err := s.Splits(testContext(t)); err != nil || len(sp) != 1 {
		t.Fatal(sp, err)
	}
	r0 := openReader(t, s, 0, "")
	for {
		b, _, err := r0.Read(testContext(t), "")
		if err == connector.ErrIdle {
			break
		}
		if err != nil || b != nil && b.Len > 0 {
			t.Fatal(b, err)
		}
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 2})
	if res, err := req.RequestWith(testContext(t), kc); err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatal(res, err)
	}
	fresh := kgoClient(t, addr)
	produceTo(t, fresh, 1, ids(100, 102)...)
	produceTo(t, fresh, 0, ids(3, 4)...)
	if sp, err := s.Splits(testContext(t)); err != nil || len(sp) != 2 {
		t.Fatal(sp, err)
	}
	if got, _, err := readTo(t, openReader(t, s, 1, ""), "2"); err != nil || !equal(got, 100, 101) {
		t.Fatal(got, err)
	}
	if got, _, err := readTo(t, r0, "4"); err != nil || !equal(got, 3) {
		t.Fatal(got, err)
	}
}

// A topic deleted and made anew, shorter, is told; it is never read on silently.
func TestRecreatedTopic(t *testing.T) {
	c, addr := cluster(t, 3)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 30)...)
	s := open(t, idSpec(addr))
	r := openReader(t, s, 0, "")
	if got, _, err := readTo(t, r, "30"); err != nil || len(got) != 30 {
		t.Fatal(got, err)
	}
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	produceTo(t, kgoClient(t, addr), 0, ids(0, 5)...)
	_, _, err := readTo(t, r, "31")
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated")
}

// TestRecreatedWhileAway: the id that a checkpoint kept tells that the topic is
// another, whatever its offsets; going on, it is read from its start.
func TestRecreatedWhileAway(t *testing.T) {
	c, addr := cluster(t, 3)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 5)...)
	first := open(t, idSpec(addr))
	if _, err := first.Splits(testContext(t)); err != nil {
		t.Fatal(err)
	}
	id := first.Identity()
	if len(id) != 2*idBytes {
		t.Fatal(id)
	}
	again := open(t, idSpec(addr))
	again.Resume(id)
	produceTo(t, kc, 0, ids(5, 7)...)
	if got, _, err := readTo(t, openReader(t, again, 0, "5"), "7"); err != nil || !equal(got, 5, 6) || again.Identity() != id {
		t.Fatal(got, err)
	}
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	produceTo(t, kgoClient(t, addr), 0, ids(100, 109)...) // more than were read
	fails := open(t, idSpec(addr))
	fails.Resume(id)
	_, _, err := readTo(t, openReader(t, fails, 0, "5"), "9")
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated", "on_data_loss")
	spec := idSpec(addr, "on_data_loss", "continue")
	goes := open(t, spec)
	goes.Resume(id)
	got, next, err := readTo(t, openReader(t, goes, 0, "5"), latest(t, goes, 0))
	if err != nil || next != "9" || len(got) != 9 || got[0] != 100 {
		t.Fatal(got, next, err)
	}
	if bad := spec.BadRows.(*badRows).rows; len(bad) != 1 || !strings.Contains(bad[0].Reason, "recreated") {
		t.Fatalf("%+v", bad)
	}
	if goes.Identity() == id || goes.Identity() == "" {
		t.Fatal(goes.Identity())
	}
	// A topic recreated under a running source that goes on: the query begins again.
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = readTo(t, openReader(t, goes, 0, "9"), "10")
	if e := sqlerr.From(err); e == nil || e.Code != sqlerr.ConnectionFailure || e.Permanent ||
		!strings.Contains(e.Error(), "was recreated") {
		t.Fatal(err)
	}
}

// beginWith opens a source whose fixed times are changed.
func beginWith(t *testing.T, spec *connector.Spec, change func(*sourceConfig)) *source {
	t.Helper()
	s, err := describeSource(spec, true)
	if err != nil {
		t.Fatal(err)
	}
	change(s.cfg)
	s.begin(testContext(t), newBudget(0))
	t.Cleanup(func() { s.Close() })
	return s
}

// One made anew with more records than were read is told apart by its id.
func TestRecreatedLongerTopic(t *testing.T) {
	c, addr := cluster(t, 1)
	produceTo(t, kgoClient(t, addr), 0, ids(0, 5)...)
	s := beginWith(t, idSpec(addr), func(c *sourceConfig) { c.refreshEvery, c.splitsEvery = 50*time.Millisecond, 0 })
	r := openReader(t, s, 0, "")
	if got, _, err := readTo(t, r, "5"); err != nil || len(got) != 5 {
		t.Fatal(got, err)
	}
	w := openWriter(t, kvSpec(addr, formatUpsert))
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(100, 105)...) // as many as were read: no offset is out of range
	_, _, err := readTo(t, r, "6")
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated")
	_, err = s.Splits(testContext(t))
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated")
	answerProduce(c, func(n int32) int16 { return int16(3 * max(0, 2-n)) }) // one unknown topic
	if err := w.Write(testContext(t), rows("+ a 1")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Prepare(testContext(t), 1)
	wantError(t, err, sqlerr.ObjectNotInState, "was recreated")
}

func TestDeletedTopic(t *testing.T) {
	t.Parallel()
	c, addr := cluster(t, 1, kfake.SeedTopics(1, "tt"))
	produceTo(t, kgoClient(t, addr), 0, ids(0, 5)...)
	s := beginWith(t, idSpec(addr), func(c *sourceConfig) { c.missingGrace = 200 * time.Millisecond })
	r := openReader(t, s, 0, "")
	if got, _, err := readTo(t, r, "5"); err != nil || len(got) != 5 {
		t.Fatal(got, err)
	}
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	_, _, err := readTo(t, r, "6")
	wantError(t, err, sqlerr.UndefinedObject, `topic "t" does not exist`, `"tt"`)
}

func TestLeaderMoves(t *testing.T) {
	c, addr := cluster(t, 2, kfake.NumBrokers(3))
	kc := kgoClient(t, addr)
	s := open(t, idSpec(addr))
	r := openReader(t, s, 0, "")
	w := openWriter(t, kvSpec(addr, formatUpsert))
	for i := range 6 {
		lo := 10 * i
		if err := c.MoveTopicPartition("t", 0, int32(i%3)); err != nil {
			t.Fatal(err)
		}
		produceTo(t, kc, 0, ids(lo, lo+10)...)
		got, _, err := readTo(t, r, offsetText(int64(lo+10)))
		if err != nil || len(got) != 10 || got[0] != int64(lo) {
			t.Fatal(got, err)
		}
	}
	if err := c.MoveTopicPartition("t", 1, (c.LeaderFor("t", 1)+1)%3); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range 20 {
		lines = append(lines, "+ k"+strconv.Itoa(i)+" 1")
	}
	write(t, w, 1, lines...)
	if got := consume(t, addr, 80); len(got) != 80 {
		t.Fatal(len(got))
	}
}

// The broker stops and comes back with its data at the same address: readers
// report and wait, writers as well, and nothing is lost.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port), kfake.DataDir(t.TempDir()), kfake.SyncWrites(),
		kfake.SeedTopics(1, "t")}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	addr := c.ListenAddrs()[0]
	var told, wtold reports
	spec := idSpec(addr)
	spec.Report = told.add
	s := open(t, spec)
	wspec := kvSpec(addr, formatUpsert)
	wspec.Report = wtold.add
	w := openWriter(t, wspec)
	b := rows("+ a 1")
	if err := w.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prepare(testContext(t), 1); err != nil {
		t.Fatal(err)
	}
	r := openReader(t, s, 0, "1")
	if _, _, err := r.Read(testContext(t), ""); err != connector.ErrIdle {
		t.Fatal(err)
	}
	c.Close()
	if err := w.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := w.Prepare(short, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	for n, err := told.last(); err == nil || n == 0; n, err = told.last() {
		if _, _, rerr := r.Read(testContext(t), ""); rerr != connector.ErrIdle && rerr != nil {
			t.Fatal(rerr)
		}
	}
	if c, err = kfake.NewCluster(opts...); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := w.Prepare(testContext(t), 2); err != nil {
		t.Fatal(err)
	}
	spec.FormatOptions["on_error"] = "skip"
	produceTo(t, kgoClient(t, addr), 0, ids(7, 8)...)
	got, _, rerr := readTo(t, r, "3")
	if rerr != nil || len(got) != 2 || got[1] != 7 {
		t.Fatal(got, rerr)
	}
	for name, rep := range map[string]*reports{"source": &told, "sink": &wtold} {
		for ctx := testContext(t); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if _, err := rep.last(); err == nil {
				break
			}
		}
		if n, err := rep.last(); err != nil || n < 2 || n > 20 {
			t.Errorf("%s: last report %v of %d", name, err, n)
		}
	}
}

// An address where nobody listens is waited for: nothing fails, nothing spins.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	var told reports
	spec := idSpec("127.0.0.1:1")
	spec.Report = told.add
	s := open(t, spec)
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	if _, err := s.Splits(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if n, err := told.last(); err == nil || n != 1 || !strings.Contains(err.Error(), "refused") {
		t.Fatal(err, n)
	}
	// Not idle: that is not known. And no offset is made up where none is known.
	for _, from := range []connector.Offset{"5", ""} {
		b, next, err := openReader(t, s, 0, from).Read(testContext(t), "")
		if err != nil || b == nil || b.Len != 0 || next != from {
			t.Fatal(b, next, err)
		}
		b.Release()
	}
}

// Compaction leaves gaps: they move the offset, also at the end of a bound.
func TestCompactedGaps(t *testing.T) {
	c, addr := cluster(t, 0)
	if err := c.CreateTopic("t", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, kvSpec(addr, formatUpsert))
	write(t, w, 99, "+ first -1") // keeps the log's start
	for i := range 12 {
		write(t, w, connector.Epoch(i+1), "+ "+string(rune('a'+i%3))+" "+strconv.Itoa(i))
	}
	c.Compact()
	spec := idSpec(addr)
	spec.Columns[0].Name = "v"
	s := open(t, spec)
	until := latest(t, s, 0)
	if until != "13" {
		t.Fatal(until)
	}
	r := openReader(t, s, 0, "")
	if got, next, err := readTo(t, r, "5"); err != nil || next != "5" || !equal(got, -1) {
		t.Fatal(got, next, err)
	}
	if got, next, err := readTo(t, r, until); err != nil || next != until || len(got) < 3 || len(got) > 8 ||
		!equal(got[len(got)-3:], 9, 10, 11) {
		t.Fatal(got, next, err)
	}
}

package kafka

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/connector"
)

// transact writes ids lo to hi-1 to partition p in one transaction and ends it.
func transact(t testing.TB, c *kgo.Client, p int32, lo, hi int, commit bool) {
	t.Helper()
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produceTo(t, c, p, ids(lo, hi)...)
	if err := c.EndTransaction(testContext(t), kgo.TransactionEndTry(commit)); err != nil {
		t.Fatal(err)
	}
}

// The last record of the partition is a transaction marker: the reader must
// reach the end that Latest tells all the same.
func TestEndIsReachedBehindMarkers(t *testing.T) {
	_, addr := cluster(t, 2)
	tx := kgoClient(t, addr, kgo.TransactionalID("x"))
	transact(t, tx, 0, 1, 2, true)
	transact(t, tx, 0, 2, 3, false)
	transact(t, tx, 1, 5, 7, false) // nothing but an aborted transaction
	for _, o := range [][]string{nil, {"ending_offsets", "latest"}} {
		s := open(t, idSpec(addr, o...))
		if s.Bounded() != (o != nil) {
			t.Fatal(s.Bounded())
		}
		for p, want := range map[int][]int64{0: {1}, 1: nil} {
			until := latest(t, s, p)
			if s.Bounded() {
				until = ""
			}
			got, next, err := readTo(t, openReader(t, s, p, ""), until)
			if err != nil || !equal(got, want...) || next != latest(t, s, p) {
				t.Errorf("partition %d: %v to %s of %s, %v", p, got, next, latest(t, s, p), err)
			}
		}
	}
}

// An open transaction holds Latest back, and its rows come when it is committed.
func TestOpenTransactionIsNotRead(t *testing.T) {
	_, addr := cluster(t, 1)
	tx, plain := kgoClient(t, addr, kgo.TransactionalID("x")), kgoClient(t, addr)
	produceTo(t, plain, 0, ids(0, 2)...)
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produceTo(t, tx, 0, ids(2, 4)...)
	produceTo(t, plain, 0, ids(4, 6)...)
	s := open(t, idSpec(addr))
	if l := latest(t, s, 0); l != "2" {
		t.Fatal(l)
	}
	r := openReader(t, s, 0, "")
	if got, next, _ := readTo(t, r, "2"); !equal(got, 0, 1) || next != "2" {
		t.Fatal(got, next)
	}
	if b, _, err := r.Read(testContext(t), ""); err != connector.ErrIdle {
		t.Fatal(b, err)
	}
	if err := tx.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got, next, _ := readTo(t, r, latest(t, s, 0)); !equal(got, 2, 3, 4, 5) || next != "7" {
		t.Fatal(got, next)
	}
}

// Interleaved transactions of several producers, committed and aborted, with each
// codec, cut into many small fetches, against franz-go's read_committed consumer.
func TestTransactionsAgainstOracle(t *testing.T) {
	t.Parallel()
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
		kgo.Lz4Compression(), kgo.ZstdCompression()}
	_, addr := cluster(t, 1)
	rnd := rand.New(rand.NewPCG(1, 2))
	var clients []*kgo.Client
	for i, codec := range codecs {
		c := kgoClient(t, addr, kgo.TransactionalID(fmt.Sprint("x", i)), kgo.ProducerBatchCompression(codec))
		clients = append(clients, c)
	}
	next, begun := 0, map[int]bool{}
	committed := 0
	pending := map[int]int{}
	for range 150 {
		i := rnd.IntN(len(clients))
		if !begun[i] {
			if err := clients[i].BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			begun[i] = true
		}
		n := 1 + rnd.IntN(20)
		produceTo(t, clients[i], 0, ids(next, next+n)...)
		next += n
		pending[i] += n
		if rnd.IntN(3) == 0 {
			end := kgo.TransactionEndTry(rnd.IntN(2) == 0)
			if err := clients[i].EndTransaction(testContext(t), end); err != nil {
				t.Fatal(err)
			}
			if end {
				committed += pending[i]
			}
			begun[i], pending[i] = false, 0
		}
	}
	for i, c := range clients {
		if begun[i] {
			if err := c.EndTransaction(testContext(t), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
			committed += pending[i]
		}
	}
	var want []int64
	for _, r := range consume(t, addr, committed) {
		var id int64
		fmt.Sscanf(string(r.Value), `{"id":%d}`, &id)
		want = append(want, id)
	}
	s := open(t, idSpec(addr, "fetch_partition_max_bytes", "1 kB"))
	until := latest(t, s, 0)
	got, _, err := readTo(t, openReader(t, s, 0, ""), until)
	if err != nil || !equal(got, want...) {
		t.Fatalf("%d rows, %d wanted, %v", len(got), len(want), err)
	}
	// From every offset the rest is the same (C1), aborted transactions begun
	// before it included.
	all := want
	end, _ := parseOffset(until)
	for from := int64(0); from < end; from += 211 {
		r := openReader(t, s, 0, offsetText(from))
		got, next, err := readTo(t, r, until)
		r.Close()
		if err != nil || next != until || len(got) > len(all) {
			t.Fatal(from, next, err)
		}
		if !equal(got, all[len(all)-len(got):]...) {
			t.Fatalf("from %d: %v", from, got)
		}
	}
}

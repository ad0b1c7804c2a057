package kafka

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
)

func TestMain(m *testing.M) {
	// Those that run in parallel wait for pauses and timeouts rather than work.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// cluster starts an embedded broker with topic "t", unless partitions is 0.
func cluster(t testing.TB, partitions int, opts ...kfake.Opt) (*kfake.Cluster, string) {
	t.Helper()
	all := []kfake.Opt{kfake.NumBrokers(1)}
	if partitions > 0 {
		all = append(all, kfake.SeedTopics(int32(partitions), "t"))
	}
	c, err := kfake.NewCluster(append(all, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, strings.Join(c.ListenAddrs(), ",")
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func kgoClient(t testing.TB, brokers string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(brokers, ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// produceTo writes values to partition p of topic "t".
func produceTo(t testing.TB, c *kgo.Client, p int32, values ...string) {
	t.Helper()
	var rs []*kgo.Record
	for _, v := range values {
		r := &kgo.Record{Topic: "t", Partition: p, Value: []byte(v)}
		if v == "<null>" {
			r.Value = nil
		}
		rs = append(rs, r)
	}
	if err := c.ProduceSync(testContext(t), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func ids(lo, hi int) (out []string) {
	for i := lo; i < hi; i++ {
		out = append(out, fmt.Sprintf(`{"id":%d}`, i))
	}
	return out
}

// badRows keeps what is skipped.
type badRows struct {
	mu   sync.Mutex
	rows []connector.BadRow
}

func (b *badRows) Add(r connector.BadRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
}

// reports keeps what the status was told.
type reports struct {
	mu   sync.Mutex
	errs []error
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *reports) last() (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 0 {
		return 0, nil
	}
	return len(r.errs), r.errs[len(r.errs)-1]
}

func idSpec(brokers string, options ...string) *connector.Spec {
	s := &connector.Spec{Name: "s", Options: map[string]string{"brokers": brokers, "topic": "t"},
		Format: "plain", Encode: "json", FormatOptions: map[string]string{},
		Columns: []connector.Column{{Name: "id", Type: types.TInt8}},
		BadRows: &badRows{}, Clock: clock.System{}}
	for i := 0; i < len(options); i += 2 {
		if options[i] == "on_error" {
			s.FormatOptions["on_error"] = options[i+1]
			continue
		}
		s.Options[options[i]] = options[i+1]
	}
	return s
}

func open(t testing.TB, s *connector.Spec) *source {
	t.Helper()
	if err := Factory().CheckSource(s); err != nil {
		t.Fatal(err)
	}
	src, err := Factory().Source(testContext(t), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src.(*source)
}

func openReader(t testing.TB, s *source, p int, from connector.Offset) connector.Reader {
	t.Helper()
	r, err := s.Open(testContext(t), connector.Split{ID: strconv.Itoa(p)}, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// readTo reads until the bound and returns the values of the first column and
// the offset reached.
func readTo(t testing.TB, r connector.Reader, until connector.Offset) ([]int64, connector.Offset, error) {
	t.Helper()
	ctx := testContext(t)
	var out []int64
	for {
		b, next, err := r.Read(ctx, until)
		switch {
		case errors.Is(err, connector.ErrIdle):
			if ctx.Err() != nil {
				t.Fatalf("idle at %s, wanted %s, after %d rows", next, until, len(out))
			}
			continue
		case errors.Is(err, connector.ErrEnd):
			return out, next, nil
		case err != nil:
			return out, next, err
		}
		out = append(out, column(b)...)
		b.Release()
	}
}

func column(b *arrowbatch.Batch) (out []int64) {
	for i := range b.Len {
		out = append(out, b.Cols[0].I64[i])
	}
	return out
}

func latest(t testing.TB, s *source, p int) connector.Offset {
	t.Helper()
	id := strconv.Itoa(p)
	m, err := s.Latest(testContext(t), []connector.Split{{ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	return m[id]
}

func equal(a []int64, b ...int64) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

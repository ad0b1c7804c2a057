package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/tests/testenv"
)

// envCount reads a count from the environment.
func envCount(t *testing.T, name string, def int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is no count", name, v)
	}
	return n
}

// restartable is a broker, or a PostgreSQL server, of the test's own, which can be
// killed and started again with its data.
type restartable struct {
	t             *testing.T
	service, name string
}

func (r *restartable) script(args ...string) string {
	cmd := exec.Command(filepath.Join("..", "..", "scripts", r.service), args...)
	cmd.Env = append(os.Environ(), "STREAMSQL_INSTANCE="+r.name, "STREAMSQL_OWNER="+strconv.Itoa(os.Getpid()))
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("scripts/%s %v: %v", r.service, args, err)
	}
	return strings.TrimSpace(string(out))
}

// ownBroker starts one.
func ownBroker(t *testing.T) (*restartable, *broker) {
	t.Helper()
	testenv.Kafka(t) // where there is none, there is no other
	r := &restartable{t, "kafka", testenv.Unique(t, "e2e")}
	t.Cleanup(func() { r.script("stop") })
	addr := r.script("start")
	kc, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	return r, &broker{t, addr, kc}
}

// onceTopics are the topics that exactly-once sinks write to.
type onceTopics struct{ in, plain, live, folded string }

// onceTimeout is the sinks' transaction_timeout: the long stop is longer.
const onceTimeout = 4 * time.Second

func onceSetUp(c *db, k *broker, at onceTopics) {
	c.exec(fmt.Sprintf(`CREATE SOURCE ids (id bigint, k int)
		WITH (connector = 'kafka', brokers = '%s', topic = '%s') FORMAT PLAIN ENCODE JSON`, k.addr, at.in))
	sink := func(name, topic, options, format, query string) {
		c.exec(fmt.Sprintf(`CREATE SINK %s WITH (connector = 'kafka', brokers = '%s', topic = '%s', delivery = 'exactly_once',
			transaction_timeout = '%d ms', compression = 'lz4'%s) FORMAT %s ENCODE JSON AS %s`, name, k.addr, topic,
			onceTimeout.Milliseconds(), options, format, query))
	}
	sink("plain", at.plain, ", output_mode = 'append'", "PLAIN", "SELECT id FROM ids WHERE k <> 3")
	sink("live", at.live, ", output_mode = 'append', trigger = 'real_time', checkpoint_interval = '100 ms'", "PLAIN",
		"SELECT id FROM ids")
	sink("folded", at.folded, "", "UPSERT", "SELECT k, count(*) AS n, sum(id) AS total FROM ids GROUP BY k")
}

// TestExactlyOnceSinks kills the server at random instants up to 2 s after its start,
// and stops it once for longer than the broker keeps a transaction; with
// STREAMSQL_CRASH_BROKER_RESTARTS the broker is killed too. In the end a reader of
// committed records sees each id once. STREAMSQL_CRASH_RUNS and STREAMSQL_CRASH_IDS
// set the numbers of kills and ids.
func TestExactlyOnceSinks(t *testing.T) {
	kills, ids := crashRuns(t), envCount(t, "STREAMSQL_CRASH_IDS", 60_000)
	restarts := envCount(t, "STREAMSQL_CRASH_BROKER_RESTARTS", 0)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	var own *restartable
	k := kafka(t)
	if restarts > 0 {
		own, k = ownBroker(t)
	}
	at := onceTopics{k.topic(3), k.topic(3), k.topic(2), k.topic(2)}
	s := serve(t, t.TempDir())
	onceSetUp(s.connect(), k, at)

	stopAt, restarted := rng.IntN(kills), 0
	s = killed(t, s, rng, kills, ids, func(n, lo, hi int) {
		chunk := make(chan struct{})
		go func() {
			defer close(chunk)
			k.produceIDs(at.in, lo, hi)
		}()
		if restarted < restarts*(n+1)/kills {
			restarted++
			own.script("restart")
		}
		<-chunk
	}, func(n int) {
		if n == stopAt {
			time.Sleep(onceTimeout + 2*time.Second)
		}
	})
	c := s.connect()
	c.until("SELECT count(*) FROM streamsql.queries WHERE state = 'running'", "3")
	c.exec("FLUSH")
	t.Logf("%d ids, %d kills, one stop of %v with transaction_timeout %v, %d restarts of the broker", ids, kills,
		onceTimeout+2*time.Second, onceTimeout, restarted)
	checkOnce(t, k, at, ids)
	if states := c.rows("SELECT name, state, error FROM streamsql.queries WHERE state <> 'running'"); len(states) > 0 {
		t.Errorf("queries that do not run: %q", states)
	}
}

// killed kills the server as often as told, at random instants up to 2 s after its start,
// while feed gives it its share of the ids, lo to hi-1, each time; dead, if there is one, is
// called between a kill and the next start. It returns the server that is left running.
func killed(t *testing.T, s *server, rng *rand.Rand, kills, ids int, feed func(n, lo, hi int),
	dead func(n int),
) *server {
	t.Helper()
	for n := range kills {
		wait := time.Duration(rng.IntN(2000)) * time.Millisecond
		if kills <= 50 { // a short run: most of the time is before the server's first epoch otherwise
			wait /= 2
		}
		due := time.After(wait)
		feed(n, ids*n/kills, ids*(n+1)/kills)
		<-due
		s.kill()
		if dead != nil {
			dead(n)
		}
		s = launch(t, s.dir)
	}
	s.ready()
	return s
}

// produceIDs writes the ids lo to hi-1, id%3 being the partition.
func (b *broker) produceIDs(topic string, lo, hi int) {
	var failed error
	for id := lo; id < hi; id++ {
		b.kc.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: int32(id % 3),
			Value: fmt.Appendf(nil, `{"id":%d,"k":%d}`, id, id%10)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := b.kc.Flush(context.Background()); err != nil || failed != nil {
		b.t.Errorf("%v, %v", err, failed)
	}
}

// checkOnce reads what is committed. Within a partition of the plain topics ids come in
// the order in which their partition of the source has them.
func checkOnce(t *testing.T, k *broker, at onceTopics, ids int) {
	t.Helper()
	for topic, want := range map[string]func(id int) bool{
		at.plain: func(id int) bool { return id%10 != 3 },
		at.live:  func(int) bool { return true },
	} {
		count := make([]int, ids)
		for id := range count {
			if !want(id) {
				count[id]++
			}
		}
		last := map[[2]int]int64{}
		disorder := 0
		for _, r := range k.read(topic) {
			id := jsonInt(t, string(r.Value), "id")
			count[id]++
			from := [2]int{int(r.Partition), int(id % 3)}
			if before, ok := last[from]; ok && before >= id {
				if disorder++; disorder < 5 {
					t.Errorf("topic %s partition %d: %d behind %d", topic, r.Partition, id, before)
				}
			}
			last[from] = id
		}
		onceEach(t, topic, count)
	}
	var want, got []string
	for key := range 10 {
		n, total := 0, 0
		for id := key; id < ids; id += 10 {
			n, total = n+1, total+id
		}
		want = append(want, fmt.Sprintf("%d|%d|%d", key, n, total))
	}
	for _, v := range k.fold(at.folded) {
		got = append(got, fmt.Sprintf("%d|%d|%d", jsonInt(t, v, "k"), jsonInt(t, v, "n"), jsonInt(t, v, "total")))
	}
	slices.Sort(got)
	slices.Sort(want)
	same(t, "the folded topic", got, want)
}

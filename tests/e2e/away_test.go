package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// gate is a listener that can go away and come back at the same address, with all
// its connections.
type gate struct {
	addr string

	mu     sync.Mutex
	cond   *sync.Cond
	l      net.Listener // nil while away
	conns  map[net.Conn]bool
	closed bool
}

func newGate(addr string) *gate {
	g := &gate{addr: addr, conns: map[net.Conn]bool{}}
	g.cond = sync.NewCond(&g.mu)
	return g
}

// Accept waits while the gate is away.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		for g.l == nil && !g.closed {
			g.cond.Wait()
		}
		l, closed := g.l, g.closed
		g.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		g.conns[c] = true
		g.mu.Unlock()
		return c, nil
	}
}

func (g *gate) away() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.l != nil {
		_ = g.l.Close()
	}
	for c := range g.conns {
		_ = c.Close()
	}
	g.l = nil
	clear(g.conns)
}

func (g *gate) back(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.l = l
	g.cond.Broadcast()
}

func (g *gate) Close() error {
	g.away()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.cond.Broadcast()
	return nil
}

// Addr implements net.Listener.
func (g *gate) Addr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", g.addr) // which is numeric
	return a
}

// awayTime is how long the broker is away.
const awayTime = 1500 * time.Millisecond

// TestBrokerAway: a broker that is not there at the start, and goes away in the
// middle, is waited for: the queries say so, cost next to nothing, and go on.
func TestBrokerAway(t *testing.T) {
	g := newGate(freeAddr(t))
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "in"), kfake.SeedTopics(1, "out"),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return g, nil }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	kc, err := kgo.NewClient(kgo.SeedBrokers(g.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	k := &broker{t, g.addr, kc}

	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(fmt.Sprintf("CREATE SOURCE s (a int) WITH (connector = 'kafka', brokers = '%s', topic = 'in') FORMAT PLAIN ENCODE JSON", g.addr))
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS total FROM s")
	c.exec("CREATE MATERIALIZED VIEW live WITH (trigger = 'real_time', checkpoint_interval = '100 ms') AS SELECT count(*) AS n FROM s")
	c.exec(fmt.Sprintf(`CREATE SINK o WITH (connector = 'kafka', brokers = '%s', topic = 'out', output_mode = 'append')
		FORMAT PLAIN ENCODE JSON AS SELECT a FROM s`, g.addr))
	c.exec("CREATE TABLE t (id int PRIMARY KEY); CREATE MATERIALIZED VIEW other AS SELECT count(*) AS n FROM t")

	waits := func(when string) {
		t.Helper()
		c.until("SELECT name, state FROM streamsql.queries ORDER BY name", "live|waiting\no|waiting\nother|running\nv|waiting")
		if code := c.value("SELECT min(error_code) || ' ' || max(error_code) FROM streamsql.queries"); code != "08006 08006" {
			t.Errorf("%s: error codes %s", when, code)
		}
		before := cpuTime(t, s)
		time.Sleep(awayTime)
		if used := cpuTime(t, s) - before; used > awayTime/10 {
			t.Errorf("%s: %v of processor time in %v", when, used, awayTime)
		}
		c.exec("INSERT INTO t SELECT count(*) FROM t")
	}
	waits("away at the start")
	total := 0
	for round := range 2 {
		g.back(t)
		var values []string
		for i := range 1000 {
			values = append(values, fmt.Sprintf(`{"a":%d}`, round*1000+i))
			total += round*1000 + i
		}
		k.produce("in", 2, values...)
		c.until("SELECT n, total FROM v", fmt.Sprintf("%d|%d", 1000*(round+1), total))
		c.until("SELECT n FROM live", strconv.Itoa(1000*(round+1)))
		c.until("SELECT count(*) FROM streamsql.queries WHERE state = 'running'", "4")
		c.exec("FLUSH")
		seen := map[string]bool{}
		for _, r := range k.read("out") {
			seen[string(r.Value)] = true
		}
		if len(seen) != 1000*(round+1) {
			t.Errorf("%d rows of %d in the sink's topic", len(seen), 1000*(round+1))
		}
		g.away()
		waits("away in the middle")
	}
	c.until("SELECT n FROM other", "3")
}

// cpuTime is what a server has used of the processor, on Linux; elsewhere 0.
func cpuTime(t *testing.T, s *server) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	var ticks int
	for _, v := range f[11:13] { // user and system time, in hundredths of a second
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// TestAwayStop: a server whose broker is away stops in order.
func TestAwayStop(t *testing.T) {
	s := serve(t, t.TempDir())
	c := s.connect()
	c.exec(fmt.Sprintf("CREATE SOURCE s (a int) WITH (connector = 'kafka', brokers = '%s', topic = 'in') FORMAT PLAIN ENCODE JSON", freeAddr(t)))
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.until("SELECT state FROM streamsql.queries", "waiting")
	begin := time.Now()
	s.stop(os.Interrupt)
	t.Logf("stopped in %v", time.Since(begin).Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	if err := c.Ping(ctx); err == nil {
		t.Error("the server is still there")
	}
}

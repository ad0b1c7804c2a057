package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/blackhole"
	"github.com/streamsql/streamsql/connector/file"
	"github.com/streamsql/streamsql/connector/nexmark"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// newSessions wires an engine in memory as the program does.
func newSessions(b *testing.B) *session.Server {
	store, err := state.Open("", state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	cat, err := catalog.Open(store)
	if err != nil {
		b.Fatal(err)
	}
	reg := connector.Registry{"file": file.Factory, "blackhole": blackhole.Factory}
	m := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clock.System{},
		Trigger: stream.Trigger{Kind: stream.AvailableNow}})
	b.Cleanup(func() {
		m.Close()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(m.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clock.System{}}, nil), Queries: m,
		Connectors: reg, Clock: clock.System{}, System: session.NewSystemProvider(m, store)})
}

// writeBids writes a file of bids as JSON lines and returns its size.
func writeBids(b *testing.B, path string, n int) int64 {
	g, err := nexmark.New(nexmark.DefaultConfig)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 320*n)
	for i, have := int64(0), 0; have < n; i++ {
		if g.KindOf(i) != nexmark.Bid {
			continue
		}
		buf = append(g.AppendJSON(buf, i, nexmark.Flat), '\n')
		have++
	}
	if err := os.WriteFile(path, buf, 0o600); err != nil {
		b.Fatal(err)
	}
	return int64(len(buf))
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / float64(time.Second)
}

// BenchmarkJSONFilter reads a file of bids through a filter into a sink that drops
// the rows, as a statement in a session does, and reports events per second of
// processor time.
func BenchmarkJSONFilter(b *testing.B) {
	const events = 1_000_000
	dir := b.TempDir()
	path := filepath.Join(dir, "bids.json")
	b.SetBytes(writeBids(b, path, events))
	srv := newSessions(b)
	run := func(text string) {
		err := srv.RunScript(context.Background(), session.Script{File: "bench", Text: text, Format: "csv", Quiet: true,
			Out: io.Discard, Err: io.Discard, User: "bench", Database: "bench",
			Settings: []pgwire.Setting{{Name: "implicit_flush", Value: "on"}}})
		if err != nil {
			b.Fatal(err)
		}
	}
	run(fmt.Sprintf(`CREATE SOURCE bids (auction bigint, bidder bigint, price bigint, channel text, url text,
		date_time timestamp, extra text) WITH (connector = 'file', path = '%s') FORMAT PLAIN ENCODE JSON;`, path))
	before, n := cpuSeconds(), 0
	for b.Loop() {
		n++
		run(fmt.Sprintf(`CREATE SINK s%d WITH (connector = 'blackhole') AS
			SELECT auction, price FROM bids WHERE auction %% 123 = 0; AWAIT s%d; DROP SINK s%d;`, n, n, n))
	}
	b.ReportMetric(float64(n)*events/(cpuSeconds()-before)/1e6, "Mevents/cpu-s")
	b.ReportMetric(float64(n)*events/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

package replace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/blackhole"
	"github.com/streamsql/streamsql/connector/datagen"
	"github.com/streamsql/streamsql/connector/file"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// engine is a whole engine over a file system in memory.
type engine struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *state.Store
	m     *stream.Manager
	srv   *session.Server

	mu   sync.Mutex
	logs strings.Builder
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	return startEngine(t, vfs.NewCrashableMem())
}

func startEngine(t *testing.T, fs *vfs.MemFS) *engine {
	t.Helper()
	e := &engine{t: t, fs: fs}
	e.start()
	t.Cleanup(func() {
		if e.store != nil {
			e.stop()
		}
	})
	return e
}

func (e *engine) start() {
	e.t.Helper()
	store, err := state.Open("data", state.Options{FS: e.fs, MinFreeBytes: -1, CacheBytes: 1 << 20,
		MemTableBytes: 256 << 10})
	if err != nil {
		e.t.Fatal(err)
	}
	cat, err := catalog.Open(store)
	if err != nil {
		e.t.Fatal(err)
	}
	reg := connector.Registry{"file": file.Factory, "blackhole": blackhole.Factory, "datagen": datagen.Factory}
	clk := clock.System{}
	e.store = store
	e.m = stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk, Log: e.log})
	e.srv = session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(e.m.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clk}, nil), Queries: e.m,
		Connectors: reg, Clock: clk, System: session.NewSystemProvider(e.m, store)})
	e.m.Start()
}

func (e *engine) log(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(&e.logs, format+"\n", args...)
}

func (e *engine) stop() {
	e.t.Helper()
	e.m.Close()
	err := e.store.Close()
	if e.store = nil; err != nil {
		e.t.Error(err)
	}
}

// restart stops in order and starts again.
func (e *engine) restart() {
	e.t.Helper()
	e.stop()
	e.start()
}

// crash returns an engine that starts with what a crash now leaves: kept is how many
// hundredths of what was not synced are there nevertheless.
func (e *engine) crash(kept int, seed uint64) *engine {
	e.t.Helper()
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(seed, 1))}
	return startEngine(e.t, e.fs.CrashClone(cfg))
}

// try runs a script and returns what it prints, with its error as the last line.
func (e *engine) try(text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out strings.Builder
	err := e.srv.RunScript(ctx, session.Script{File: "script.sql", Text: text, Format: "csv", Out: &out, Err: &out,
		User: "streamsql", Database: "streamsql", Settings: []pgwire.Setting{{Name: "implicit_flush", Value: "on"}}})
	var se *session.ScriptError
	if errors.As(err, &se) {
		out.WriteString(se.Error() + "\n")
	} else if err != nil {
		out.WriteString(err.Error() + "\n")
	}
	return out.String()
}

// run is try of a script that must not fail.
func (e *engine) run(text string) string {
	e.t.Helper()
	out := e.try(text)
	if strings.Contains(out, "script.sql:") {
		e.t.Fatalf("%s\n%s\n%s", text, out, e.logs.String())
	}
	return out
}

// fails runs a script that must end with an error of that code and words.
func (e *engine) fails(text, code, words string) {
	e.t.Helper()
	if out := e.try(text); !strings.Contains(out, " "+code+" ") || !strings.Contains(out, words) {
		e.t.Fatalf("%s\ngives\n%swant %s ... %s", text, out, code, words)
	}
}

// rows are the sorted rows of a query.
func (e *engine) rows(query string) string {
	e.t.Helper()
	out := strings.Split(strings.TrimSpace(e.run(query)), "\n")
	if len(out) > 1 {
		body := out[1:]
		sortStrings(body)
		return strings.Join(body, "\n")
	}
	return ""
}

// same compares a view with the query that it should hold.
func (e *engine) same(view, query string) {
	e.t.Helper()
	if got, want := e.rows("SELECT * FROM "+view), e.rows(query); got != want {
		e.t.Fatalf("%s has\n%s\nbut %s gives\n%s\n%s", view, got, query, want, e.logs.String())
	}
}

// cloneFS is the file system that a crash now leaves.
func (e *engine) cloneFS(kept int, seed uint64) *vfs.MemFS {
	return e.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(seed, 1))})
}

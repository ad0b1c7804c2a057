package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/datagen"
	"github.com/streamsql/streamsql/connector/kafka"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	cq "github.com/streamsql/streamsql/stream"
)

// patience is how long anything may take before a case fails.
const patience = 5 * time.Second

// stopTime is how long a stop may take before time passes for the engine.
const stopTime = time.Second

// engine is a whole engine in this process.
type engine struct {
	w         *world
	fs        *vfs.MemFS
	clock     *clock.Manual
	settings  []pgwire.Setting
	epochRows int

	store *state.Store
	cat   *catalog.Catalog
	m     *cq.Manager
	srv   *session.Server

	mu   sync.Mutex
	logs bytes.Buffer
	tick chan struct{} // closed to stop the clock that runs; nil: it stands
	done chan struct{}
}

// start opens the store and starts the queries that are in it.
func (e *engine) start() error {
	var err error
	e.store, err = state.Open("data", state.Options{FS: e.fs, MinFreeBytes: -1, CacheBytes: 1 << 20, MemTableBytes: 256 << 10})
	if err != nil {
		return err
	}
	if e.cat, err = catalog.Open(e.store); err != nil {
		return err
	}
	reg := connector.Registry{"memory": e.w.factory(), "datagen": datagen.Factory, "kafka": kafka.Factory()}
	e.m = cq.NewManager(cq.Config{Store: e.store, Catalog: e.cat, Registry: reg, Clock: e.clock, MaxEpochRows: e.epochRows,
		Log: e.log})
	e.srv = session.NewServer(session.Config{Catalog: e.cat, Store: e.store, Planner: session.NewPlanner(e.m.Bounded),
		Executor: session.NewExecutor(build.Env{Store: e.store, Registry: reg, Clock: e.clock}, nil), Queries: e.m,
		Connectors: reg, Clock: e.clock, System: session.NewSystemProvider(e.m, e.store)})
	e.m.Start()
	return nil
}

func (e *engine) log(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(&e.logs, format+"\n", args...)
}

// close stops everything in order.
func (e *engine) close() error {
	if e.store == nil {
		return nil
	}
	if e.tick == nil {
		e.runIn(stopTime) // a stop that does not come to its end must be cancelled in time
	}
	e.m.Close()
	e.hold()
	err := e.store.Close()
	e.store = nil
	return err
}

// crashed returns what an engine finds that starts after a crash at this moment:
// the files as they are on the disk, and the world. e.w.mu is held. kept is how
// many hundredths of what was not synced are there nevertheless.
func (e *engine) crashed(kept int, seed uint64) *engine {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &engine{w: e.w.copy(), fs: e.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng}),
		clock: clock.NewManual(e.clock.Now()), settings: e.settings, epochRows: e.epochRows}
}

// run lets the clock run, for real time.
func (e *engine) run() { e.runIn(0) }

// runIn lets the clock run after a while.
func (e *engine) runIn(d time.Duration) {
	tick, done := make(chan struct{}), make(chan struct{})
	e.tick, e.done = tick, done
	spawn.Go("clock", func() error {
		for {
			select {
			case <-tick:
				return nil
			case <-time.After(d):
				d = time.Millisecond
				e.clock.Advance(time.Millisecond)
			}
		}
	}, func(error) { close(done) })
}

// hold lets the clock stand again.
func (e *engine) hold() {
	if e.tick != nil {
		close(e.tick)
		<-e.done
		e.tick = nil
	}
}

// exec runs statements.
func (e *engine) exec(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := e.srv.RunScript(ctx, session.Script{File: "case", Text: text, Format: "csv", Quiet: true, Out: io.Discard,
		Err: io.Discard, User: "test", Database: "test", Settings: e.settings})
	if ctx.Err() != nil {
		err = errors.Join(err, e.stuck())
	}
	return err
}

// query runs a SELECT and returns its result as CSV without the header.
func (e *engine) query(text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	err := e.srv.RunScript(ctx, session.Script{File: "case", Text: text, Format: "csv", Quiet: true, Out: &out,
		Err: io.Discard, User: "test", Database: "test"})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	return lines[1:], err
}

// stuck tells what the queries say of themselves.
func (e *engine) stuck() error {
	var b strings.Builder
	for _, s := range e.m.Status() {
		fmt.Fprintf(&b, "%s is %s at epoch %d (%v)\n", s.Name, s.State, s.Epoch, s.Err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Errorf("nothing moves:\n%s%s", b.String(), e.logs.String())
}

// status returns the status of a query.
func (e *engine) status(name string) (cq.Status, error) {
	for _, s := range e.m.Status() {
		if s.Name == name {
			return s, nil
		}
	}
	return cq.Status{}, fmt.Errorf("there is no query %s", name)
}

// await waits until all queries are so.
func (e *engine) await(what func(s *cq.Status) bool) error {
	deadline := time.Now().Add(patience)
	for {
		ok := true
		for _, s := range e.m.Status() {
			if s.State == cq.Failed || s.Restarts > 0 {
				return fmt.Errorf("query %s is %s: %w", s.Name, s.State, s.Err)
			}
			ok = ok && what(&s)
		}
		if ok {
			return nil
		}
		if time.Now().After(deadline) {
			return e.stuck()
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// began awaits the first epoch of all queries.
func (e *engine) began() error { return e.await(func(s *cq.Status) bool { return s.Epoch > 0 }) }

// watermarks returns those in the last checkpoint of a query, by operator and split.
func (e *engine) watermarks(id uint32) (map[string]map[string]int64, error) {
	cp, err := e.store.Last(id)
	if err != nil || cp == nil {
		return nil, err
	}
	return cp.Watermarks, nil
}

// operator returns the nth operator of a kind.
func operator(ops []exec.StatsValues, ref opRef) (exec.StatsValues, bool) {
	n := 0
	for _, o := range byID(ops) {
		if o.Name == ref.kind {
			if n++; n == ref.n {
				return o, true
			}
		}
	}
	return exec.StatsValues{}, false
}

// codeOf returns the SQLSTATE of a script's error.
func codeOf(err error) (*sqlerr.Error, bool) {
	var se *session.ScriptError
	if errors.As(err, &se) {
		return se.Err, true
	}
	return nil, false
}

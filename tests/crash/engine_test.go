package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// engine is a whole engine in this process.
type engine struct {
	store *state.Store
	cat   *catalog.Catalog
	m     *stream.Manager
	srv   *session.Server
}

// open opens the store and builds the layers over it; no query runs.
func open(fs vfs.FS, w *world) (*engine, error) {
	store, err := state.Open("data", state.Options{FS: fs, MinFreeBytes: -1, CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
	if err != nil {
		return nil, err
	}
	cat, err := catalog.Open(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	reg, clk := w.registry(), clock.System{}
	m := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk, MaxEpochRows: 40})
	srv := session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(m.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clk}, nil), Queries: m,
		Connectors: reg, Clock: clk, System: session.NewSystemProvider(m, store)})
	return &engine{store, cat, m, srv}, nil
}

func (e *engine) close() error {
	e.m.Close()
	return e.store.Close()
}

func (e *engine) exec(ctx context.Context, text string) error {
	return e.srv.RunScript(ctx, session.Script{File: "crash", Text: text, Format: "csv", Quiet: true, Out: io.Discard,
		Err: io.Discard, User: "test", Database: "test"})
}

// query runs a SELECT and returns its rows as CSV.
func (e *engine) query(text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	err := e.srv.RunScript(ctx, session.Script{File: "crash", Text: text, Format: "csv", Quiet: true, Out: &out,
		Err: io.Discard, User: "test", Database: "test"})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")[1:], nil
}

// checkpoint returns the last checkpoint of the query of an object.
func (e *engine) checkpoint(name string) (*state.Checkpoint, error) {
	o := e.cat.Snapshot().Get("public", name)
	if o == nil {
		return nil, fmt.Errorf("there is no %s", name)
	}
	return e.store.Last(uint32(o.ID))
}

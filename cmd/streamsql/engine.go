package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/blackhole"
	"github.com/streamsql/streamsql/connector/datagen"
	"github.com/streamsql/streamsql/connector/file"
	"github.com/streamsql/streamsql/connector/kafka"
	"github.com/streamsql/streamsql/connector/nexmark"
	"github.com/streamsql/streamsql/connector/postgres"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// engine is everything below the wire, built bottom up.
type engine struct {
	store    *state.Store
	catalog  *catalog.Catalog
	queries  *stream.Manager
	sessions *session.Server
}

// connectors is the one place where connectors are registered.
func connectors(readMemory int64) connector.Registry {
	return connector.Registry{
		"kafka":     kafka.FactoryWithin(readMemory),
		"file":      file.Factory,
		"datagen":   datagen.Factory,
		"nexmark":   nexmark.Factory,
		"postgres":  postgres.Factory(),
		"blackhole": blackhole.Factory,
	}
}

// engineConfig is what an engine is opened with.
type engineConfig struct {
	data    string // the directory; "": in memory
	trigger stream.Trigger
	// stateMemory and readMemory are the flags of these names.
	stateMemory, readMemory string
}

// openEngine opens the store and builds the layers over it. Queries do not run before
// start.
func openEngine(c engineConfig, log *slog.Logger) (*engine, error) {
	memory, err := stateMemory(c.stateMemory)
	if err != nil {
		return nil, err
	}
	reads, err := readMemory(c.readMemory)
	if err != nil {
		return nil, err
	}
	if c.data == "" {
		memory = 0 // what the store takes would be memory too
	}
	logf := func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	store, err := state.Open(c.data, state.Options{Log: logf, CacheBytes: cacheBytes()})
	if err != nil {
		return nil, err
	}
	cat, err := catalog.Open(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	reg, clk := connectors(reads), clock.System{}
	e := &engine{store: store, catalog: cat}
	queries := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk,
		Trigger: c.trigger, StateMemory: memory, Log: logf, Events: e.tell})
	e.queries = queries
	env := build.Env{Store: store, Registry: reg, Clock: clk}
	e.sessions = session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(queries.Bounded),
		Executor: session.NewExecutor(env, nil), Queries: queries, Connectors: reg, Clock: clk,
		System: session.NewSystemProvider(queries, store)})
	return e, nil
}

// tell sends an event to the sessions that listen on its channel. No query runs
// before there are sessions.
func (e *engine) tell(channel string, text func() string) {
	if e.sessions.Listening(channel) {
		e.sessions.Notify(0, channel, text())
	}
}

// close stops the queries in order and closes the store.
func (e *engine) close() error {
	e.queries.Close()
	return e.store.Close()
}

// describe prints an error as one line with its hint.
func describe(err error) string {
	e := sqlerr.From(err)
	s := fmt.Sprintf("%s: %s", e.Code, e.Error())
	if e.Code == sqlerr.InternalError {
		s = e.Error()
	}
	if e.Hint != "" {
		s += "\nHINT: " + e.Hint
	}
	return s
}

package docs

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/session"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/stream"
)

// newServer starts an engine over an empty store in memory, as `streamsql run`
// has it; with serve, as `streamsql serve`.
func newServer(t *testing.T, serve bool) *session.Server {
	t.Helper()
	store, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	clk := clock.System{}
	reg := connector.Registry{"kafka": kafka.Factory(), "file": file.Factory, "datagen": datagen.Factory,
		"nexmark": nexmark.Factory, "postgres": postgres.Factory(), "blackhole": blackhole.Factory}
	trigger := stream.Trigger{Kind: stream.AvailableNow}
	if serve {
		trigger = stream.Trigger{}
	}
	queries := stream.NewManager(stream.Config{Store: store, Catalog: cat, Registry: reg, Clock: clk, Trigger: trigger})
	srv := session.NewServer(session.Config{Catalog: cat, Store: store, Planner: session.NewPlanner(queries.Bounded),
		Executor: session.NewExecutor(build.Env{Store: store, Registry: reg, Clock: clk}, nil), Queries: queries,
		Connectors: reg, Clock: clk, System: session.NewSystemProvider(queries, store)})
	queries.Start()
	t.Cleanup(func() {
		queries.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// script runs a text and returns what it prints, notices included, and its error
// as `streamsql run` prints it.
func script(ctx context.Context, srv *session.Server, text string) (string, error) {
	var out strings.Builder
	err := srv.RunScript(ctx, session.Script{File: "script.sql", Text: text, Format: "aligned", Out: &out, Err: &out,
		User: "streamsql", Database: "streamsql", Settings: []pgwire.Setting{{Name: "implicit_flush", Value: "on"}}})
	var e *session.ScriptError
	if errors.As(err, &e) {
		out.WriteString(e.Error() + "\n")
	}
	return out.String(), err
}

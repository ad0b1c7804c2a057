package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec/build"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// testClient writes what the session tells its client.
type testClient struct {
	out    strings.Builder
	silent bool // no Report
	limits pgwire.Limits
	inbox  []pgwire.Notification
}

func (c *testClient) Notice(n *pgwire.Notice) {
	sev := n.Severity
	if sev == "" {
		sev = "NOTICE"
	}
	fmt.Fprintf(&c.out, "%s %s: %s\n", sev, n.Code, n.Message)
	if n.Detail != "" {
		fmt.Fprintf(&c.out, "  DETAIL %s\n", strings.ReplaceAll(n.Detail, "\n", "\n    "))
	}
}

func (c *testClient) Report(name, value string) {
	if !c.silent {
		fmt.Fprintf(&c.out, "REPORT %s=%s\n", name, value)
	}
}
func (c *testClient) Limit(l pgwire.Limits) { c.limits = l }
func (c *testClient) Notify(n pgwire.Notification) bool {
	c.inbox = append(c.inbox, n)
	return true
}

// harness is a server with its engine and any number of sessions.
type harness struct {
	t        testing.TB
	engine   *testEngine
	srv      *Server
	clock    *clock.Manual
	sessions map[string]*Session
	clients  map[string]*testClient
}

func newHarness(t testing.TB) *harness {
	store, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	cat, err := catalog.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	e := &testEngine{fail: map[string]error{}}
	h := &harness{t: t, engine: e, clock: clock.NewManual(time.Unix(1700000000, 0)), sessions: map[string]*Session{},
		clients: map[string]*testClient{}}
	reg := testConnectors()
	h.srv = NewServer(Config{Catalog: cat, Store: store, Planner: NewPlanner(nil), Queries: e, Clock: h.clock,
		Connectors: reg, Executor: NewExecutor(build.Env{Store: store, Registry: reg, Clock: h.clock}, nil)})
	t.Cleanup(func() {
		for _, s := range h.sessions {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

// testConnectors are a source that knows one option, a generator with columns of
// its own and a sink.
func testConnectors() connector.Registry {
	check := func(s *connector.Spec) error {
		o := connector.NewOptions(`connector "lines"`, s.Options)
		o.Required("path")
		return o.Err()
	}
	source := func(context.Context, *connector.Spec) (connector.Source, error) { return nil, nil }
	sink := func(context.Context, *connector.Spec) (connector.Sink, error) { return nil, nil }
	return connector.Registry{
		"lines": {Source: source, CheckSource: check},
		"gen": {Source: source, FixedColumns: func(map[string]string) []connector.Column {
			return []connector.Column{{Name: "n", Type: types.TInt8}, {Name: "ts", Type: types.TTimestamptz}}
		}},
		"out": {Sink: sink, CheckSink: func(_ context.Context, s *connector.Spec) error {
			if len(s.Columns) > 3 {
				return sqlerr.Unsupported("too many columns")
			}
			return nil
		}},
	}
}

func (h *harness) session(name string) (*Session, *testClient) {
	if s := h.sessions[name]; s != nil {
		return s, h.clients[name]
	}
	c := &testClient{silent: true}
	s, err := h.srv.newSession(context.Background(), pgwire.StartupParams{User: "ann", Database: "db",
		PID: uint32(100 + len(h.sessions))}, c)
	if err != nil {
		h.t.Fatal(err)
	}
	c.silent = false
	h.sessions[name], h.clients[name] = s, c
	return s, c
}

// simple runs a query string as the simple protocol does and returns what the
// client sees.
func (h *harness) simple(name, text string) string {
	s, c := h.session(name)
	c.out.Reset()
	ctx := context.Background()
	parsed, err := s.Split(text)
	if err == nil {
		for _, p := range parsed {
			if err = h.one(ctx, s, c, p); err != nil {
				showError(&c.out, err, p.Text)
				break
			}
		}
	} else {
		showError(&c.out, err, text)
	}
	if err == nil {
		if err = s.Sync(ctx); err != nil {
			showError(&c.out, err, "")
		}
	}
	if err != nil {
		s.Abort(err)
	}
	if st := s.TxStatus(); st != pgwire.TxIdle {
		fmt.Fprintf(&c.out, "[%c]\n", st)
	}
	for _, n := range c.inbox {
		fmt.Fprintf(&c.out, "NOTIFICATION %d %s %q\n", n.PID, n.Channel, n.Payload)
	}
	c.inbox = nil
	return c.out.String()
}

func (h *harness) one(ctx context.Context, s *Session, c *testClient, p pgwire.Parsed) error {
	st, err := s.Prepare(ctx, p, nil)
	if err != nil {
		return err
	}
	portal, err := st.Bind(ctx, nil)
	if err != nil {
		return err
	}
	defer portal.Close()
	return runPortal(ctx, s, &c.out, portal, 0)
}

// runPortal runs a portal to its end or to max rows.
func runPortal(ctx context.Context, s *Session, out *strings.Builder, p pgwire.Portal, max int) error {
	cols := p.Columns()
	if cols != nil {
		names := make([]string, len(cols))
		for i, col := range cols {
			names[i] = col.Name
		}
		fmt.Fprintf(out, "%s\n", strings.Join(names, "|"))
	}
	sent := int64(0)
	for {
		b, err := p.Next(ctx, max)
		if errors.Is(err, io.EOF) {
			fmt.Fprintf(out, "%s\n", p.Tag(sent))
			return nil
		}
		if err != nil {
			return err
		}
		sent += int64(b.Len)
		for i := range b.Len {
			if p.Traits().CopyOut != nil {
				fmt.Fprintf(out, "%q\n", b.Cols[0].BytesAt(i))
				continue
			}
			fmt.Fprintf(out, "%s\n", rowText(cols, b, i, s.Env()))
		}
		b.Release()
		if max > 0 {
			fmt.Fprintf(out, "suspended after %d\n", sent)
			return nil
		}
	}
}

func rowText(cols []pgwire.Column, b *arrowbatch.Batch, i int, env *types.Env) string {
	cells := make([]string, len(cols))
	for k, col := range cols {
		cells[k] = "∅"
		if !b.Cols[k].IsNull(i) {
			cells[k] = string(types.AppendText(nil, col.Type, b.Cols[k], i, env))
		}
	}
	return strings.Join(cells, "|")
}

func showError(out *strings.Builder, err error, text string) {
	e := sqlerr.From(err)
	fmt.Fprintf(out, "ERROR %s: %s\n", e.Code, e.Error())
	if e.Pos > 0 && e.Pos-1 <= len(text) {
		rest := text[e.Pos-1:]
		if k := strings.IndexAny(rest, " \n,;()"); k > 0 {
			rest = rest[:k]
		}
		fmt.Fprintf(out, "  AT %d %s\n", utf8.RuneCountInString(text[:e.Pos-1])+1, rest)
	}
	if e.Detail != "" {
		fmt.Fprintf(out, "  DETAIL %s\n", strings.ReplaceAll(e.Detail, "\n", "\n    "))
	}
	if e.Hint != "" {
		fmt.Fprintf(out, "  HINT %s\n", e.Hint)
	}
	if e.Where != "" {
		fmt.Fprintf(out, "  WHERE %s\n", e.Where)
	}
}

// TestScripts runs the files of testdata. Commands: sql [session] runs a query
// string; calls prints what the query manager was asked; fail makes it fail;
// script runs the text as a file.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/session", func(t *testing.T, path string) {
		h := newHarness(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := "a"
			if len(d.CmdArgs) > 0 {
				name = d.CmdArgs[0].Key
			}
			switch d.Cmd {
			case "sql":
				return h.simple(name, d.Input)
			case "calls":
				calls := h.engine.taken()
				if len(calls) == 0 {
					return "none\n"
				}
				return strings.Join(calls, "\n") + "\n"
			case "fail":
				for _, line := range strings.Split(d.Input, "\n") {
					h.engine.fail[line] = sqlerr.New("58030", "cannot %s", line)
				}
				return ""
			case "heal":
				clear(h.engine.fail)
				return ""
			case "advance":
				d, _ := connector.ParseDuration(d.Input)
				h.clock.Advance(d)
				return ""
			case "script":
				return h.script(d.Input, name)
			case "copy":
				return h.copyIn(d.Input)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (h *harness) script(text, format string) string {
	if format == "a" {
		format = ""
	}
	var out bytes.Buffer
	err := h.srv.RunScript(context.Background(), Script{File: "x.sql", Text: text, Format: format, Out: &out, Err: &out,
		User: "ann", Database: "db", Vars: map[string]string{"v": "42"}})
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	return out.String()
}

// copyIn runs a COPY: the first line is the statement, the rest the data, cut
// into chunks of three bytes.
func (h *harness) copyIn(input string) string {
	stmt, data, _ := strings.Cut(input, "\n")
	s, c := h.session("a")
	c.out.Reset()
	ctx := context.Background()
	err := func() error {
		parsed, err := s.Split(stmt)
		if err != nil {
			return err
		}
		st, err := s.Prepare(ctx, parsed[0], nil)
		if err != nil {
			return err
		}
		p, err := st.Bind(ctx, nil)
		if err != nil {
			return err
		}
		defer p.Close()
		in := p.(pgwire.CopyReceiver)
		for data != "" {
			n := min(3, len(data))
			if err := in.WriteCopy(ctx, []byte(data[:n])); err != nil {
				return err
			}
			data = data[n:]
		}
		if err := runPortal(ctx, s, &c.out, p, 0); err != nil {
			return err
		}
		return s.Sync(ctx)
	}()
	if err != nil {
		showError(&c.out, err, stmt)
		s.Abort(err)
	}
	return c.out.String()
}

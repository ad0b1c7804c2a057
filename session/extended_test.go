package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// prepare splits and prepares one statement.
func prepareOne(t *testing.T, s *Session, text string, params ...types.Type) pgwire.Statement {
	t.Helper()
	parsed, err := s.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Prepare(context.Background(), parsed[0], params)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return st
}

// args makes a row of parameters from text.
func args(t *testing.T, st pgwire.Statement, vals ...string) *arrowbatch.Batch {
	t.Helper()
	b := arrowbatch.NewBatch(1)
	for i, p := range st.Params() {
		v := arrowbatch.NewVec(p.Shape(), 0)
		if err := types.ParseString(p, vals[i], v, nil); err != nil {
			t.Fatal(err)
		}
		b.Cols = append(b.Cols, v)
	}
	return b
}

func bindTo(t *testing.T, st pgwire.Statement, vals ...string) pgwire.Portal {
	t.Helper()
	var a *arrowbatch.Batch
	if len(vals) > 0 {
		a = args(t, st, vals...)
	}
	p, err := st.Bind(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run1(t *testing.T, s *Session, p pgwire.Portal, max int) string {
	t.Helper()
	var out strings.Builder
	if err := runPortal(context.Background(), s, &out, p, max); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestParametersAreInferred(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY, name text, at timestamptz)")
	s, _ := h.session("a")
	for _, c := range []struct{ text, want string }{
		{"SELECT * FROM t WHERE id = $1 AND name LIKE $2", "[integer text]"},
		{"SELECT $1", "[text]"},
		{"SELECT $1 + 1, $2::date", "[integer date]"},
		{"INSERT INTO t VALUES ($1, $2, $3)", "[integer text timestamp with time zone]"},
		{"UPDATE t SET name = $1 WHERE id = $2", "[text integer]"},
		{"DELETE FROM t WHERE at < $1", "[timestamp with time zone]"},
		{"SELECT id FROM t LIMIT $1 OFFSET $2", "[bigint bigint]"},
		{"BEGIN", "[]"},
	} {
		if got := fmt.Sprint(prepareOne(t, s, c.text).Params()); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	if got := fmt.Sprint(prepareOne(t, s, "SELECT $1", types.TInt8).Params()); got != "[bigint]" {
		t.Errorf("declared: %s", got)
	}
}

func TestDescribe(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY, name varchar(9))")
	s, _ := h.session("a")
	for _, text := range []string{"CREATE TABLE x (a int)", "BEGIN", "SET timezone = 'UTC'",
		"INSERT INTO t VALUES (1, 'x')",
		"COPY t FROM STDIN", "COPY t TO STDOUT", "DROP TABLE t", "LISTEN x"} {
		if cols := prepareOne(t, s, text).Columns(); cols != nil {
			t.Errorf("%s has columns %v", text, cols)
		}
	}
	for text, want := range map[string]int{"SHOW timezone": 1, "SHOW ALL": 3, "EXPLAIN SELECT 1": 1, "SELECT FROM t": 0,
		"INSERT INTO t VALUES (1, 'x') RETURNING *": 2, "SHOW COLUMNS FROM t": 5} {
		if cols := prepareOne(t, s, text).Columns(); cols == nil || len(cols) != want {
			t.Errorf("%s has columns %v", text, cols)
		}
	}
	cols := prepareOne(t, s, "SELECT name, id + 1 FROM t").Columns()
	o := h.srv.Catalog.Snapshot().Get("", "t")
	if cols[0].TableOID != o.ID.OID() || cols[0].AttNum != 2 || cols[0].Type.Mod != 9 || cols[1].TableOID != 0 {
		t.Errorf("origins: %+v", cols)
	}
	st := prepareOne(t, s, "SELECT name FROM t")
	if p := bindTo(t, st); !sameColumns(p.Columns(), st.Columns()) {
		t.Error("portal and statement differ")
	}
}

func TestPortalIsSuspended(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3), (4), (5)")
	s, _ := h.session("a")
	st := prepareOne(t, s, "SELECT id FROM t WHERE id > $1")
	p := bindTo(t, st, "1")
	if got := run1(t, s, p, 2); got != "id\n2\n3\nsuspended after 2\n" {
		t.Errorf("first: %q", got)
	}
	other := bindTo(t, st, "4") // a second portal of the same statement
	if got := run1(t, s, other, 0); got != "id\n5\nSELECT 1\n" {
		t.Errorf("other: %q", got)
	}
	if got := run1(t, s, p, 2); got != "id\n4\n5\nsuspended after 2\n" {
		t.Errorf("second: %q", got)
	}
	if got := run1(t, s, p, 2); got != "id\nSELECT 0\n" {
		t.Errorf("end: %q", got)
	}
	for _, p := range []pgwire.Portal{p, other} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPlanIsMadeAnew(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY)")
	s, _ := h.session("a")
	st := prepareOne(t, s, "SELECT * FROM t")
	h.simple("b", "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (7)")
	p := bindTo(t, st)
	if got := run1(t, s, p, 0); got != "id\n7\nSELECT 1\n" {
		t.Errorf("after the table was made anew: %q", got)
	}
	p.Close()
	if err := s.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.simple("b", "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, more int)")
	_, err := st.Bind(context.Background(), nil)
	if e := sqlerr.From(err); e.Code != sqlerr.FeatureNotSupported ||
		e.Message != "cached plan must not change result type" {
		t.Errorf("other columns: %v", err)
	}
	s.Abort(err)
	h.simple("b", "DROP TABLE t")
	_, err = st.Bind(context.Background(), nil)
	if sqlerr.CodeOf(err) != sqlerr.UndefinedTable {
		t.Errorf("no table: %v", err)
	}
	s.Abort(err)
}

// TestImplicitTransaction holds that what comes between two Syncs is one
// transaction.
func TestImplicitTransaction(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY)")
	s, _ := h.session("a")
	st := prepareOne(t, s, "INSERT INTO t VALUES ($1)")
	for _, v := range []string{"1", "2"} {
		p := bindTo(t, st, v)
		run1(t, s, p, 0)
		p.Close()
	}
	if got := h.simple("b", "SELECT id FROM t"); got != "id\nSELECT 0\n" {
		t.Errorf("before Sync: %q", got)
	}
	if err := s.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := h.simple("b", "SELECT id FROM t"); got != "id\n1\n2\nSELECT 2\n" {
		t.Errorf("after Sync: %q", got)
	}
	p := bindTo(t, st, "3")
	run1(t, s, p, 0)
	p.Close()
	s.Abort(errors.New("the next statement failed"))
	if got := h.simple("b", "SELECT id FROM t WHERE id = 3"); got != "id\nSELECT 0\n" {
		t.Errorf("after Abort: %q", got)
	}
}

func TestTooManyParameters(t *testing.T) {
	h := newHarness(t)
	s, _ := h.session("a")
	parsed, _ := s.Split("SELECT 1")
	_, err := s.Prepare(context.Background(), parsed[0], make([]types.Type, 65536))
	if sqlerr.CodeOf(err) != sqlerr.TooManyArguments {
		t.Errorf("65536 parameters: %v", err)
	}
}

func TestStartupSettings(t *testing.T) {
	h := newHarness(t)
	c := &testClient{}
	_, err := h.srv.NewSession(context.Background(), pgwire.StartupParams{User: "bob", Database: "d",
		Settings: []pgwire.Setting{
			{Name: "application_name", Value: "psql"}, {Name: "client_encoding", Value: "'utf-8'"},
			{Name: "DateStyle", Value: "ISO"},
			{Name: "extra_float_digits", Value: "2"}, {Name: "statement_timeout", Value: "3s"},
			{Name: "my.own", Value: "x"}}}, c)
	if err != nil {
		t.Fatal(err)
	}
	if c.limits.StatementTimeout != 3*time.Second {
		t.Errorf("limits: %+v", c.limits)
	}
	for _, want := range []string{"REPORT application_name=psql", "REPORT client_encoding=UTF8",
		"REPORT DateStyle=ISO, MDY",
		"REPORT in_hot_standby=off", "REPORT integer_datetimes=on", "REPORT IntervalStyle=postgres", "REPORT is_superuser=on",
		"REPORT server_encoding=UTF8", "REPORT server_version=15", "REPORT session_authorization=bob",
		"REPORT standard_conforming_strings=on", "REPORT TimeZone=UTC"} {
		if !strings.Contains(c.out.String(), want) {
			t.Errorf("%q is not in\n%s", want, c.out.String())
		}
	}
	for _, bad := range []pgwire.Setting{{Name: "client_encoding", Value: "klingon"}, {Name: "nosuch", Value: "1"},
		{Name: "server_version", Value: "9"}} {
		_, err := h.srv.NewSession(context.Background(),
			pgwire.StartupParams{User: "bob", Settings: []pgwire.Setting{bad}}, c)
		if err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// TestSubscribe follows a table: its rows, then each change.
func TestSubscribe(t *testing.T) {
	h := newHarness(t)
	h.simple("b", "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
	s, _ := h.session("a")
	st := prepareOne(t, s, "SUBSCRIBE TO (SELECT id, upper(v) AS v FROM t WHERE id < 10) WITH (progress = true)")
	p := bindTo(t, st)
	defer p.Close()
	if !p.Traits().Live {
		t.Error("not live")
	}
	next := func() string {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b, err := p.Next(ctx, 0)
		if err != nil {
			return err.Error()
		}
		defer b.Release()
		var out []string
		for i := range b.Len {
			_, rest, _ := strings.Cut(rowText(p.Columns(), b, i, nil), "|") // without the epoch
			out = append(out, rest)
		}
		return strings.Join(out, " ")
	}
	steps := []struct{ do, want string }{
		{"", "insert|1|A"}, {"", "progress|∅|∅"},
		{"INSERT INTO t VALUES (2, 'b'), (20, 'z')", "insert|2|B"}, {"", "progress|∅|∅"},
		{"UPDATE t SET v = 'c' WHERE id = 2", "delete|2|B insert|2|C"}, {"", "progress|∅|∅"},
		{"DELETE FROM t WHERE id = 20", "progress|∅|∅"},
		{"DELETE FROM t WHERE id = 1", "delete|1|A"},
	}
	for _, st := range steps {
		if st.do != "" {
			h.simple("b", st.do)
		}
		if got := next(); got != st.want {
			t.Errorf("after %q: %q, want %q", st.do, got, st.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	next() // the progress of the last change
	if _, err := p.Next(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestSubscribeOptions(t *testing.T) {
	h := newHarness(t)
	h.simple("b", "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
	s, _ := h.session("a")
	p := bindTo(t, prepareOne(t, s, "SUBSCRIBE t WITH (snapshot = false)"))
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if b, err := p.Next(ctx, 0); err == nil {
		t.Errorf("without a snapshot there were %d rows", b.Len)
	}
	parsed, _ := s.Split("SUBSCRIBE t WITH (snapshoot = false)")
	_, err := s.Prepare(context.Background(), parsed[0], nil)
	if e := sqlerr.From(err); !strings.Contains(e.Hint, "snapshot") {
		t.Errorf("unknown option: %v", err)
	}
	// A cursor over it gives what is there and waits for no more than the first.
	h.simple("a", "ROLLBACK")
	got := h.simple("a", "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t; FETCH 10 FROM c; ROLLBACK")
	if !strings.Contains(got, "insert|1\nFETCH 1") {
		t.Errorf("cursor: %s", got)
	}
}

func TestAwaitTimeout(t *testing.T) {
	h := newHarness(t)
	h.simple("a", "CREATE TABLE t (a int); CREATE MATERIALIZED VIEW endless AS SELECT a FROM t")
	done := make(chan string, 1)
	h.session("a")
	go func() { done <- h.simple("a", "AWAIT endless TIMEOUT '1 min'") }()
	for {
		h.clock.Advance(time.Minute)
		select {
		case got := <-done:
			if !strings.Contains(got, "ERROR 57014: the query has not ended within 1m0s") {
				t.Errorf("got %q", got)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

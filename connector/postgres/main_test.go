package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/tests/testenv"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTime bounds what a test waits for.
const testTime = 30 * time.Second

// place is a schema of the test's own, with a store for outboxes.
type place struct {
	t      *testing.T
	url    string
	schema string
	pg     *pgconn.PgConn
	store  *state.Store
	// reports are what sinks tell of the server, in order; "" is back.
	reports chan string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, url: testenv.Postgres(t), schema: testenv.Unique(t, "sink"), reports: make(chan string, 1000)}
	var err error
	if p.pg, err = pgconn.Connect(t.Context(), p.url); err != nil {
		t.Fatal(err)
	}
	if p.store, err = state.Open("", state.Options{}); err != nil {
		t.Fatal(err)
	}
	p.run("SET timezone = 'UTC'; SET client_min_messages = warning; CREATE SCHEMA " + p.schema + "; SET search_path = " + p.schema)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTime)
		defer cancel()
		if err := run(ctx, p.pg, "DROP SCHEMA "+p.schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		_ = p.pg.Close(ctx)
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *place) run(sql string) {
	p.t.Helper()
	if err := run(p.t.Context(), p.pg, sql); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// rows returns the rows of a query, a line each.
func (p *place) rows(sql string) string {
	p.t.Helper()
	rows, err := queryLast(p.t.Context(), p.pg, sql)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = strings.ReplaceAll(strings.Join(r, "|"), null, "NULL")
	}
	return strings.Join(lines, "\n")
}

func (p *place) same(what, sql, want string) {
	p.t.Helper()
	if got := p.rows(sql); got != want {
		p.t.Errorf("%s: %s\ngives\n%s\nand not\n%s", what, sql, got, want)
	}
}

// spec describes a sink into table t; columns are "name type" and options
// name, value, ….
func (p *place) spec(format string, columns []string, key []int, options ...string) *connector.Spec {
	s := &connector.Spec{Name: "out", Options: map[string]string{"url": p.url, "schema": p.schema, "table": "t"}, Format: format,
		Key: key, AppendOnly: format != formatUpsert, Identity: "dir-1", Outbox: p.store.Outbox(1, 1),
		Report: func(err error) {
			text := ""
			if err != nil {
				text = err.Error()
			}
			select {
			case p.reports <- text:
			default:
			}
		}}
	for i := 0; i < len(options); i += 2 {
		s.Options[options[i]] = options[i+1]
	}
	for _, c := range columns {
		s.Columns = append(s.Columns, columnOf(p.t, c))
	}
	return s
}

func columnOf(t testing.TB, text string) connector.Column {
	t.Helper()
	name, typ, _ := strings.Cut(text, " ")
	typ, notNull := strings.CutSuffix(typ, " NOT NULL")
	parsed, ok := types.Parse(typ)
	if !ok {
		t.Fatalf("no type %q", typ)
	}
	return connector.Column{Name: name, Type: parsed, NotNull: notNull}
}

// open makes the sink go on after an epoch, as a start of its query does.
func (p *place) open(s *connector.Spec, after connector.Epoch) (*sink, connector.Writer) {
	p.t.Helper()
	k, err := newSink(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	sk := k.(*sink)
	p.t.Cleanup(func() { _ = sk.Close() })
	if err := sk.Abort(p.t.Context(), after); err != nil {
		p.t.Fatal(err)
	}
	w, err := sk.Open(p.t.Context(), 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return sk, w
}

// batch makes rows of text: "+1|x" inserts, "-1|x" deletes; NULL is NULL.
func batch(t testing.TB, s *connector.Spec, lines ...string) *arrowbatch.Batch {
	t.Helper()
	b := &arrowbatch.Batch{}
	for _, c := range s.Columns {
		b.Cols = append(b.Cols, arrowbatch.NewVec(c.Type.Shape(), 0))
	}
	for _, l := range lines {
		for i, v := range strings.Split(l[1:], "|") {
			if v == "NULL" {
				b.Cols[i].AppendNull()
				continue
			}
			if err := types.ParseString(s.Columns[i].Type, v, b.Cols[i], nil); err != nil {
				t.Fatal(err)
			}
		}
		op := arrowbatch.Insert
		if l[0] == '-' {
			op = arrowbatch.Delete
		}
		b.AppendOp(op)
	}
	t.Cleanup(b.Release)
	return b
}

// epoch writes rows and commits them.
func epoch(t *testing.T, k *sink, w connector.Writer, e connector.Epoch, lines ...string) {
	t.Helper()
	if err := k.Commit(t.Context(), e, prepare(t, w, e, batch(t, k.spec, lines...))); err != nil {
		t.Fatal(err)
	}
}

func prepare(t testing.TB, w connector.Writer, e connector.Epoch, batches ...*arrowbatch.Batch) [][]byte {
	t.Helper()
	for _, b := range batches {
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := w.Prepare(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if raw == nil {
		return nil
	}
	return [][]byte{raw}
}

package postgres

import (
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/state"
	"github.com/streamsql/streamsql/tests/testenv"
)

// BenchmarkEpoch writes epochs of rows of four columns, from the batch to the commit.
func BenchmarkEpoch(b *testing.B) {
	for _, format := range []string{formatPlain, formatUpsert} {
		for _, n := range []int{10, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", format, n), func(b *testing.B) { benchEpoch(b, format, n) })
		}
	}
}

func benchEpoch(b *testing.B, format string, n int) {
	url, schema := testenv.Postgres(b), testenv.Unique(b, "bench")
	store, err := state.Open(b.TempDir(), state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	s := &connector.Spec{Name: "out", Format: format, Key: []int{0}, AppendOnly: true, Identity: "bench",
		Outbox:  store.Outbox(1, 1),
		Options: map[string]string{"url": url, "schema": schema, "table": "t", "create_table": "on"}}
	for _, c := range []string{"id bigint NOT NULL", "k integer", "name text", "amount numeric"} {
		s.Columns = append(s.Columns, columnOf(b, c))
	}
	c, err := read(s)
	if err != nil {
		b.Fatal(err)
	}
	pg, err := c.connect(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer hangUp(pg)
	if err := run(b.Context(), pg, "CREATE SCHEMA "+schema); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = run(b.Context(), pg, "DROP SCHEMA "+schema+" CASCADE") }()
	k, err := newSink(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	w, err := k.Open(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("+%d|%d|customer %d|%d.25", i, i%100, i, i)
	}
	rows := batch(b, s, lines...)
	e, live := connector.Epoch(0), spawn.Live()
	for b.Loop() {
		e++
		if err := k.Commit(b.Context(), e, prepare(b, w, e, rows)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	if spawn.Live() != live {
		b.Error("goroutines are left")
	}
}

package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/connector/nexmark"
	"github.com/streamsql/streamsql/internal/clock"
)

// BenchmarkNexmark reads the whole stream of 200,000 events, in its combined
// shape, from a file.
func BenchmarkNexmark(b *testing.B) {
	const events = 200_000
	g, err := nexmark.New(nexmark.DefaultConfig)
	if err != nil {
		b.Fatal(err)
	}
	var text []byte
	for n := range int64(events) {
		text = append(g.AppendJSON(text, n, nexmark.Combined), '\n')
	}
	path := filepath.Join(b.TempDir(), "events.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
	all := nexmark.Factory.FixedColumns(nil)[:4]
	pruned := append([]connector.Column(nil), all...)
	for i := range pruned[:3] {
		pruned[i].Unused = true
	}
	for _, c := range []struct {
		name string
		cols []connector.Column
	}{{"all", all}, {"bid-only", pruned}} {
		b.Run(c.name, func(b *testing.B) {
			spec := &connector.Spec{Name: "s", Clock: clock.System{}, Columns: c.cols,
				Options: map[string]string{"path": path}}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				readAll(b, spec, events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
		})
	}
}

func readAll(b *testing.B, spec *connector.Spec, want int) {
	src, err := Factory.Source(ctx, spec)
	if err != nil {
		b.Fatal(err)
	}
	r, err := src.Open(ctx, connector.Split{ID: "files-0"}, "")
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	for {
		batch, _, err := r.Read(ctx, "")
		if errors.Is(err, connector.ErrEnd) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.Len
		batch.Release()
	}
	if rows != want {
		b.Fatalf("%d rows, want %d", rows, want)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

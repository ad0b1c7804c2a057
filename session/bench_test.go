package session

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// BenchmarkPointSelect is a SELECT of one row by primary key, prepared once and
// planned each time.
func BenchmarkPointSelect(b *testing.B) {
	h := newHarness(b)
	h.simple("a", "CREATE TABLE t (id int PRIMARY KEY, name text)")
	h.simple("a", "INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, 1000) g")
	s, _ := h.session("a")
	ctx := context.Background()
	const text = "SELECT name FROM t WHERE id = $1"
	one := func(st pgwire.Statement) {
		args := arrowbatch.NewBatch(1, arrowbatch.NewFlat(arrowbatch.Int32, 1))
		args.Cols[0].I32[0] = 500
		p, err := st.Bind(ctx, args)
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for {
			batch, err := p.Next(ctx, 0)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			rows += batch.Len
			batch.Release()
		}
		if err := errors.Join(p.Close(), s.Sync(ctx)); err != nil || rows != 1 {
			b.Fatal(rows, err)
		}
	}
	plan := func() pgwire.Statement {
		parsed, err := s.Split(text)
		if err != nil {
			b.Fatal(err)
		}
		st, err := s.Prepare(ctx, parsed[0], []types.Type{types.TInt4})
		if err != nil {
			b.Fatal(err)
		}
		return st
	}
	b.Run("prepared", func(b *testing.B) {
		st := plan()
		b.ReportAllocs()
		for b.Loop() {
			one(st)
		}
	})
	b.Run("planned", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one(plan())
		}
	})
}

package datagen

import (
	"context"
	"math"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Factory makes the source; there is no sink.
var Factory = connector.Factory{
	Source: func(_ context.Context, s *connector.Spec) (connector.Source, error) {
		g, err := read(s)
		if err != nil {
			return nil, err
		}
		return g.Source(), nil
	},
	CheckSource: func(s *connector.Spec) error { _, err := read(s); return err },
}

// batchRows is the size of a batch.
const batchRows = 4096

func read(s *connector.Spec) (connector.Generated, error) {
	o := connector.NewOptions(`connector "datagen"`, s.Options)
	g := connector.Generated{
		Splits:    int(o.Int("splits", 1, 1, 1024)),
		Total:     o.Int("number_of_rows", 0, 0, connector.MaxGenerated),
		BatchRows: batchRows,
		Clock:     s.Clock,
	}
	rate := int64(1000)
	if g.Total > 0 {
		rate = 0
	}
	g.RowsPerSecond = o.Int("rows_per_second", rate, 0, 1_000_000_000)
	step := time.Millisecond
	if g.RowsPerSecond > 0 {
		step = time.Second / time.Duration(g.RowsPerSecond)
	}
	seed := uint64(o.Int("seed", 0, math.MinInt64, math.MaxInt64))
	if s.Format != "" || s.Encode != "" {
		o.Fault(`connector "datagen" takes no FORMAT and no ENCODE`)
	}
	fields := make([]*field, len(s.Columns))
	for i, c := range s.Columns {
		if c.Meta != "" {
			o.Fault(`connector "datagen" has no metadata "%s"`, c.Meta)
			continue
		}
		fields[i] = newField(o, c, seed, step)
	}
	unknown(o, s.Options, s.Columns)
	if len(s.Columns) == 0 {
		return g, sqlerr.New(sqlerr.InvalidTableDefinition, `connector "datagen" needs columns to make`)
	}
	g.Make = func() func(first, step, n int64) *arrowbatch.Batch {
		return func(first, step, n int64) *arrowbatch.Batch {
			b := arrowbatch.NewBatch(int(n), make([]*arrowbatch.Vec, len(fields))...)
			for i, f := range fields {
				if s.Columns[i].Unused {
					b.Cols[i] = format.Nulls(s.Columns[i].Type, int(n))
				} else {
					b.Cols[i] = f.make(first, step, n)
				}
			}
			return b
		}
	}
	return g, o.Err()
}

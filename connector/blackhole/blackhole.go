package blackhole

import (
	"context"
	"sync/atomic"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
)

// Factory makes the sink; there is no source.
var Factory = connector.Factory{
	Sink: func(_ context.Context, s *connector.Spec) (connector.Sink, error) {
		if err := check(s); err != nil {
			return nil, err
		}
		return &Sink{}, nil
	},
	CheckSink: func(_ context.Context, s *connector.Spec) error { return check(s) },
}

func check(s *connector.Spec) error {
	o := connector.NewOptions(`connector "blackhole"`, s.Options)
	if s.Format != "" || s.Encode != "" {
		o.Fault(`connector "blackhole" takes no FORMAT and no ENCODE`)
	}
	return o.Err()
}

// Sink counts what it drops.
type Sink struct {
	rows, batches atomic.Int64
}

// Rows returns the number of rows of all writers since the start.
func (s *Sink) Rows() int64 { return s.rows.Load() }

// Batches returns the number of batches.
func (s *Sink) Batches() int64 { return s.batches.Load() }

// Open returns a writer that counts.
func (s *Sink) Open(context.Context, int) (connector.Writer, error) { return (*writer)(s), nil }

// Commit has nothing to show.
func (s *Sink) Commit(context.Context, connector.Epoch, [][]byte) error { return nil }

// Abort has nothing to drop.
func (s *Sink) Abort(context.Context, connector.Epoch) error { return nil }

// Close ends the sink.
func (s *Sink) Close() error { return nil }

type writer Sink

func (w *writer) Write(_ context.Context, b *arrowbatch.Batch) error {
	w.rows.Add(int64(b.Len))
	w.batches.Add(1)
	return nil
}

func (w *writer) Prepare(context.Context, connector.Epoch) ([]byte, error) { return nil, nil }

func (w *writer) Close() error { return nil }

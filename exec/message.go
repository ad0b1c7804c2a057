package exec

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
)

// ErrStop is returned by Emit when no more rows are wanted (a LIMIT is filled, a
// client has gone); it unwinds the producers and is no failure.
var ErrStop = errors.New("no more rows wanted")

type kind uint8

const (
	kindBatch kind = iota
	kindWatermark
	kindBarrier
)

// message is what an edge carries: the part that kind says is set, and what now()
// is, in microseconds since the Unix epoch.
type message struct {
	kind      kind
	sender    int
	batch     *arrowbatch.Batch
	watermark arrowbatch.EventTime
	floor     arrowbatch.EventTime // with a watermark: see Meeting
	idle      bool                 // with a watermark: the sender holds nothing back
	now       int64
	barrier   Barrier
}

// edgeCapacity is the number of messages that an edge holds: enough to keep two
// cores busy, few enough to bound memory.
const edgeCapacity = 16

func send(ctx context.Context, ch chan<- message, m message) error {
	select {
	case ch <- m:
		return nil
	default:
	}
	select {
	case ch <- m:
		return nil
	case <-ctx.Done():
		m.batch.Release()
		return context.Cause(ctx)
	}
}

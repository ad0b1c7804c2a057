package connector

import (
	"context"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Epoch numbers the epochs of one query from 1.
type Epoch uint64

// Sink is a connected sink. Its writers are called by one goroutine each, its
// other methods by the query's coordinator.
type Sink interface {
	// Open returns the writer of one part of the sink (0, 1, …).
	Open(ctx context.Context, part int) (Writer, error)
	// Commit makes the prepared output of epoch e visible. It is idempotent: after
	// a crash it is called again with the same arguments.
	Commit(ctx context.Context, e Epoch, prepared [][]byte) error
	// Abort drops what was prepared after the last committed epoch, once, before
	// the first Open after a restart.
	Abort(ctx context.Context, after Epoch) error
	Close() error
}

// DeadLetterWriter is a Writer that sends rows that its end does not take elsewhere.
type DeadLetterWriter interface {
	// DeadLetters returns how many since the last call, once an epoch is prepared.
	DeadLetters() int64
}

// Writer writes the rows of one part. Rows have the columns of the sink's Spec;
// ops Insert and Delete as the envelope allows.
type Writer interface {
	// Write takes the rows; the batch is the caller's and must not be kept.
	Write(ctx context.Context, b *arrowbatch.Batch) error
	// Prepare makes the epoch's output durable without showing it (phase one) and
	// returns what Commit needs; nil when there is nothing to do.
	Prepare(ctx context.Context, e Epoch) (prepared []byte, err error)
	Close() error
}

// KeepingWriter is a Writer that may keep rows over epochs before they are visible.
type KeepingWriter interface {
	Writer
	// Finish is called before the last Prepare of an orderly stop: nothing is to be
	// kept after it.
	Finish()
	// Due is when an epoch is wanted to show what is kept, though no row may come, in
	// microseconds since the Unix epoch; MaxInt64: never. It is asked after Prepare.
	Due() int64
}

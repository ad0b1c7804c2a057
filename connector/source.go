package connector

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Offset is a place in a split. Offsets are opaque text to the engine, readable
// in a checkpoint; only the source compares them. "" is the start of the split
// (where that lies is the source's option).
type Offset string

// Split is a part of a source that is read in order by one reader at a time.
type Split struct {
	ID string
}

// ErrEnd is returned by Read at the end of a split that will never have more,
// and when the bound is reached.
var ErrEnd = errors.New("end of split")

// ErrIdle is returned by Read when the split has nothing now; the caller waits
// for Wait or asks again.
var ErrIdle = errors.New("split is idle")

// Source is a connected source. Methods are called from one goroutine but for
// Open's readers, which run in one goroutine each.
type Source interface {
	// Splits lists the splits there are now; later calls may return more (a topic
	// grew, a directory has new files). A split never changes its ID.
	Splits(ctx context.Context) ([]Split, error)
	// Latest returns for each split the offset after its last row now: the bound
	// of a micro-batch. A split that is missing in the answer has no end (a
	// generator): it is read for a limited number of rows a batch.
	Latest(ctx context.Context, splits []Split) (map[string]Offset, error)
	// Open returns a reader at the offset.
	Open(ctx context.Context, s Split, from Offset) (Reader, error)
	// Bounded tells whether the source ends by itself: reading it in a SELECT or
	// draining it terminates.
	Bounded() bool
	// Close ends the source and what it holds.
	Close() error
}

// Reader reads one split in order.
type Reader interface {
	// Read returns the next rows and the offset after them. It reads no row at or
	// past until ("": no bound) and returns ErrEnd when it stands there or at the
	// end of the split for good, ErrIdle when there is nothing now (after waiting
	// at most as long as ctx's deadline or its own short poll). The batch has the
	// columns of the Spec in their order; it may be empty with an offset that
	// moved on (control records, skipped rows).
	Read(ctx context.Context, until Offset) (b *arrowbatch.Batch, next Offset, err error)
	Close() error
}

// BadRow is a record that could not be decoded, or a gap that reading went on behind,
// kept for streamsql.bad_rows.
type BadRow struct {
	Split  string
	Offset Offset
	Reason string
	Bytes  []byte
	Micros int64 // when it was met
	// Code is the SQLSTATE of the reason.
	Code string `json:",omitempty"`
	// For a dead letter: the record's key (nil: none), headers and time (NoTime: none).
	Key     []byte   `json:"-"`
	Headers []Header `json:"-"`
	Time    int64    `json:"-"`
	// Gap: it is no record, but tells that records are missing: Lost offsets.
	Gap  bool  `json:"-"`
	Lost int64 `json:",omitempty"`
}

// KeptBytes is how much of a bad record is kept for streamsql.bad_rows.
const KeptBytes = 64 << 10

// ReasonText is the text of an error for a BadRow: of one that shows a long value the
// beginning.
func ReasonText(err error) string {
	s := err.Error()
	if len(s) > maxReason {
		s = s[:maxReason] + "…"
	}
	return sqlerr.Text(s)
}

const maxReason = 1000

// BadRows receives what a reader that does not fail leaves out, before the Read
// that moves past it returns. It is safe for concurrent use and never blocks.
type BadRows interface {
	Add(BadRow)
}

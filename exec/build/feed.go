package build

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// feedSplit is the one split of a relation's feed.
const feedSplit = "feed"

// feedSource reads a stored relation as a source: its rows as they are at the
// first read, then the changes of each version. The offset is the version read.
type feedSource struct {
	rel     *state.Relation
	reader  string
	cols    []int
	inserts bool // only inserts are wanted
	clock   clock.Clock
}

// idleWait is how long a read of a feed waits for a change before it reports that
// there is none: its reader may be wanted for something else by then.
const idleWait = 20 * time.Millisecond

// newFeed registers the reader, so that the changes after start are kept for it.
func newFeed(rel *state.Relation, reader, start string, cols []int, inserts bool,
	clk clock.Clock,
) (*feedSource, error) {
	if start != "" {
		v, err := strconv.ParseUint(start, 10, 64)
		if err != nil {
			return nil, sqlerr.New(sqlerr.DataCorrupted, "offset %q of a relation is no version", start)
		}
		if err := rel.Follow(reader, v); err != nil {
			return nil, err
		}
	}
	return &feedSource{rel: rel, reader: reader, cols: cols, inserts: inserts, clock: clk}, nil
}

func (f *feedSource) Splits(context.Context) ([]connector.Split, error) {
	return []connector.Split{{ID: feedSplit}}, nil
}

func (f *feedSource) Latest(context.Context, []connector.Split) (map[string]connector.Offset, error) {
	return map[string]connector.Offset{feedSplit: versionOffset(f.rel.Version())}, nil
}

func versionOffset(v uint64) connector.Offset { return connector.Offset(strconv.FormatUint(v, 10)) }

// Changed wakes the pacer when there is a new version.
func (f *feedSource) Changed() <-chan struct{} { return f.rel.Changed() }

// Moved notes that the changes up to off have been read for good.
func (f *feedSource) Moved(off connector.Offset) {
	if v, err := strconv.ParseUint(string(off), 10, 64); err == nil {
		f.rel.Moved(f.reader, v)
	}
}

func (f *feedSource) Bounded() bool { return false }

// Close leaves the reader registered: what changes while the query stands still is
// kept for it. Dropping the query ends the registration.
func (f *feedSource) Close() error { return nil }

func (f *feedSource) Open(_ context.Context, _ connector.Split, from connector.Offset) (connector.Reader, error) {
	r := &feedReader{feedSource: f}
	if from == "" {
		snap, v := f.rel.Snapshot(f.reader)
		rows, err := f.rel.Rows(snap, nil, nil)
		if err != nil {
			return nil, errors.Join(err, snap.Close())
		}
		r.snap, r.rows, r.at = snap, rows, v
		return r, nil
	}
	v, err := strconv.ParseUint(string(from), 10, 64)
	r.at = v
	return r, err
}

// feedReader reads the snapshot, while there is one, then the changes after at.
type feedReader struct {
	*feedSource
	snap *state.Snapshot
	rows *state.RowIter
	at   uint64
}

func (r *feedReader) Read(ctx context.Context, until connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	if r.rows != nil {
		b, err := r.rows.Next(scanRows)
		if err != nil {
			return nil, "", err
		}
		if b != nil {
			return r.project(b), "", nil
		}
		return nil, versionOffset(r.at), r.endSnapshot()
	}
	if until != "" {
		if v, err := strconv.ParseUint(string(until), 10, 64); err != nil || r.at >= v {
			return nil, versionOffset(r.at), errors.Join(err, connector.ErrEnd)
		}
	}
	changed := r.rel.Changed()
	var out *arrowbatch.Batch
	last, err := r.rel.Changes(r.at, 1, func(_ uint64, b *arrowbatch.Batch) error {
		out = r.project(b)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if last > r.at {
		r.at = last
		return out, versionOffset(last), nil
	}
	after, giveUp := r.clock.After(idleWait)
	defer giveUp()
	select {
	case <-changed:
	case <-after:
	case <-ctx.Done():
	}
	return nil, versionOffset(r.at), connector.ErrIdle
}

func (r *feedReader) endSnapshot() error {
	err := errors.Join(r.rows.Close(), r.snap.Close())
	r.rows, r.snap = nil, nil
	return err
}

// project keeps the wanted columns and rows.
func (r *feedReader) project(b *arrowbatch.Batch) *arrowbatch.Batch {
	out := &arrowbatch.Batch{Len: b.Len, Ops: b.Ops, Cols: make([]*arrowbatch.Vec, len(r.cols))}
	for i, c := range r.cols {
		out.Cols[i] = b.Cols[c].Retain()
	}
	b.Release()
	if !r.inserts || out.AppendOnly() {
		return out
	}
	var ins []int32
	for i := range out.Len {
		if out.OpAt(i) == arrowbatch.Insert {
			ins = append(ins, int32(i))
		}
	}
	kept := out.Take(ins)
	out.Release()
	kept.Ops = nil
	return kept
}

func (r *feedReader) Close() error {
	if r.rows != nil {
		return r.endSnapshot()
	}
	return nil
}

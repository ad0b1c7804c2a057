package crash

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
)

// world is what is outside the engine and does not crash with it: the sink's end
// and what a client knows.
type world struct {
	mu sync.Mutex
	// committed are the sink's epochs in order, prepared those not committed.
	committed []sinkEpoch
	prepared  map[uint64]span
	faults    []string
	// begun transactions were sent by the client, acked ones were answered.
	begun, acked int64
	// ready: the objects were made.
	ready bool
}

// span is the ids [from, to) of an epoch; the source's ids come in order.
type span struct{ from, to int64 }

type sinkEpoch struct {
	n uint64
	span
}

func newWorld() *world { return &world{prepared: map[uint64]span{}} }

// copyLocked returns the world as it is. w.mu is held.
func (w *world) copyLocked() *world {
	return &world{committed: slices.Clip(w.committed), prepared: maps.Clone(w.prepared), begun: w.begun, acked: w.acked,
		ready: w.ready, faults: slices.Clip(w.faults)}
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) registry() connector.Registry {
	none := func(*connector.Spec) error { return nil }
	return connector.Registry{
		"numbers": {CheckSource: none, Source: func(context.Context, *connector.Spec) (connector.Source, error) {
			return numbers{}, nil
		}},
		"timed": {CheckSource: none, Source: func(_ context.Context, s *connector.Spec) (connector.Source, error) {
			return &timed{bad: s.BadRows}, nil
		}},
		"ledger": {CheckSink: func(context.Context, *connector.Spec) error { return nil }, Sink: func(context.Context, *connector.Spec) (connector.Sink, error) {
			return &ledger{w}, nil
		}},
	}
}

// numbers is a source without end: row n is (n, n mod 7).
type numbers struct{}

// groups is the number of values of the second column.
const groups = 7

func (numbers) Splits(context.Context) ([]connector.Split, error) {
	return []connector.Split{{ID: "0"}}, nil
}

func (numbers) Latest(context.Context, []connector.Split) (map[string]connector.Offset, error) {
	return nil, nil
}

func (numbers) Open(_ context.Context, _ connector.Split, from connector.Offset) (connector.Reader, error) {
	r := &numbersReader{}
	if from != "" {
		n, err := strconv.ParseInt(string(from), 10, 64)
		if err != nil {
			return nil, err
		}
		r.at = n
	}
	return r, nil
}

func (numbers) Bounded() bool { return false }
func (numbers) Close() error  { return nil }

type numbersReader struct{ at int64 }

// Read gives one to nine rows.
func (r *numbersReader) Read(context.Context, connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	n := int(r.at%9) + 1
	id, k := arrowbatch.NewFlat(arrowbatch.Int64, n), arrowbatch.NewFlat(arrowbatch.Int32, n)
	for i := range n {
		id.I64[i], k.I32[i] = r.at+int64(i), int32((r.at+int64(i))%groups)
	}
	r.at += int64(n)
	return arrowbatch.NewBatch(n, id, k), connector.Offset(strconv.FormatInt(r.at, 10)), nil
}

func (r *numbersReader) Close() error { return nil }

// ledger is a sink that notes which ids each epoch had.
type ledger struct{ w *world }

func (l *ledger) Open(context.Context, int) (connector.Writer, error) {
	return &ledgerWriter{w: l.w}, nil
}

func (l *ledger) Commit(_ context.Context, e connector.Epoch, prepared [][]byte) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	n := uint64(e)
	s, err := readSpan(prepared)
	if err != nil {
		return err
	}
	if k := len(l.w.committed); k > 0 && l.w.committed[k-1].n >= n {
		if last := l.w.committed[k-1]; last != (sinkEpoch{n, s}) {
			l.w.fault("epoch %d %v is committed after epoch %d %v", n, s, last.n, last.span)
		}
		return nil
	}
	if have, ok := l.w.prepared[n]; !ok || have != s {
		l.w.fault("epoch %d %v is committed, prepared is %v (%v)", n, s, have, ok)
	}
	l.w.committed = append(l.w.committed, sinkEpoch{n, s})
	delete(l.w.prepared, n)
	return nil
}

func (l *ledger) Abort(_ context.Context, after connector.Epoch) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	maps.DeleteFunc(l.w.prepared, func(n uint64, _ span) bool { return n > uint64(after) })
	return nil
}

func (l *ledger) Close() error { return nil }

type ledgerWriter struct {
	w *world
	s span
}

func (l *ledgerWriter) Write(_ context.Context, b *arrowbatch.Batch) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for i := range b.Len {
		switch id := b.Cols[0].I64[i]; {
		case l.s == span{}:
			l.s = span{id, id + 1}
		case l.s.to == id:
			l.s.to++
		default:
			l.w.fault("id %d comes after %v", id, l.s)
		}
	}
	return nil
}

func (l *ledgerWriter) Prepare(_ context.Context, e connector.Epoch) ([]byte, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	s := l.s
	l.s = span{}
	if _, ok := l.w.prepared[uint64(e)]; ok {
		l.w.fault("epoch %d is prepared twice", e)
	}
	l.w.prepared[uint64(e)] = s
	return binary.AppendVarint(binary.AppendVarint(nil, s.from), s.to), nil
}

func (l *ledgerWriter) Close() error { return nil }

func readSpan(prepared [][]byte) (s span, err error) {
	if len(prepared) != 1 {
		return s, fmt.Errorf("%d parts are prepared", len(prepared))
	}
	from, n := binary.Varint(prepared[0])
	to, m := binary.Varint(prepared[0][max(n, 0):])
	if n <= 0 || m <= 0 {
		return s, fmt.Errorf("what was prepared is unreadable: %x", prepared[0])
	}
	return span{from, to}, nil
}

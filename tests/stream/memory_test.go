package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
)

// world is what is outside the engine: the rows that sources have and what sinks
// were given. It outlives the engine; a crash goes on with a copy.
type world struct {
	mu sync.Mutex
	// logs has the rows of each source and split; chunks are where appends ended.
	logs  map[string]map[string]*splitLog
	sinks map[string]*collected
	// grown is closed and renewed when rows come.
	grown chan struct{}
	// batch is how many rows a read gives at most; 0: all there are of an append.
	batch int
	// faults are breaches of the sinks' protocol.
	faults []string
	// moment, if not nil, is told at each step of a sink's two phases, with mu held.
	moment func(sink, step string, epoch uint64)
}

type splitLog struct {
	rows   [][]string
	chunks []int
}

// collected is what a sink has got.
type collected struct {
	columns []connector.Column
	key     []int
	// written are all rows in the order of their writing, prepared what each epoch
	// after the last committed one has in store, epochs what is committed.
	written  []sinkRow
	prepared map[uint64]bool
	epochs   []sinkEpoch
}

type sinkRow struct {
	Delete bool
	Row    string
}

type sinkEpoch struct {
	n    uint64
	rows []sinkRow
}

func newWorld() *world {
	return &world{logs: map[string]map[string]*splitLog{}, sinks: map[string]*collected{}, grown: make(chan struct{})}
}

// copy returns the world as it is. w.mu is held.
func (w *world) copy() *world {
	c := newWorld()
	c.batch, c.faults = w.batch, slices.Clone(w.faults)
	for name, splits := range w.logs {
		c.logs[name] = map[string]*splitLog{}
		for id, l := range splits {
			c.logs[name][id] = &splitLog{slices.Clone(l.rows), slices.Clone(l.chunks)}
		}
	}
	for name, s := range w.sinks {
		d := *s
		d.written, d.epochs, d.prepared = slices.Clone(s.written), slices.Clone(s.epochs), maps.Clone(s.prepared)
		c.sinks[name] = &d
	}
	return c
}

// addSource makes a source without rows.
func (w *world) addSource(name string, splits []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[name] = map[string]*splitLog{}
	for _, s := range splits {
		w.logs[name][s] = &splitLog{}
	}
}

// append adds rows of any sources at once.
func (w *world) append(rows []change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	touched := map[*splitLog]bool{}
	for _, r := range rows {
		l := w.logs[r.rel][r.split]
		l.rows = append(l.rows, r.values)
		touched[l] = true
	}
	for l := range touched {
		l.chunks = append(l.chunks, len(l.rows))
	}
	close(w.grown)
	w.grown = make(chan struct{})
}

// sink returns what a sink has got, made if need be.
func (w *world) sink(name string) *collected {
	s := w.sinks[name]
	if s == nil {
		s = &collected{prepared: map[uint64]bool{}}
		w.sinks[name] = s
	}
	return s
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) tell(sink, step string, epoch uint64) {
	if w.moment != nil {
		w.moment(sink, step, epoch)
	}
}

// factory is the memory connector.
func (w *world) factory() connector.Factory {
	return connector.Factory{
		CheckSource: check, CheckSink: func(_ context.Context, s *connector.Spec) error { return check(s) },
		Source: func(_ context.Context, s *connector.Spec) (connector.Source, error) {
			m := &memorySource{w: w, name: s.Options["name"], cols: s.Columns, bounded: s.Options["bounded"] == "true",
				bad: s.BadRows}
			if connector.Changing(s.Format) {
				f, err := readChanges(s)
				m.changes = &f
				return m, err
			}
			return m, nil
		},
		Sink: func(_ context.Context, s *connector.Spec) (connector.Sink, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sink(s.Options["name"]).columns, w.sink(s.Options["name"]).key = s.Columns, s.Key
			ts := make([]types.Type, len(s.Columns))
			for i, c := range s.Columns {
				ts[i] = c.Type
			}
			return &memorySink{w, s.Options["name"], ts}, nil
		},
	}
}

func check(s *connector.Spec) error {
	o := connector.NewOptions(`connector "memory"`, s.Options)
	o.Required("name")
	o.Bool("bounded", false)
	return o.Err()
}

type memorySource struct {
	w    *world
	name string
	cols []connector.Column
	// bounded: what is there at the first read is all that there will be.
	bounded bool
	bad     connector.BadRows // takes rows that begin with badMark
	// changes: rows are records, key and value, of changes.
	changes *connector.Format
}

// badMark begins rows that cannot be read.
const badMark = "!"

func (s *memorySource) Splits(context.Context) ([]connector.Split, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	var out []connector.Split
	for _, id := range slices.Sorted(maps.Keys(s.w.logs[s.name])) {
		out = append(out, connector.Split{ID: id})
	}
	return out, nil
}

func (s *memorySource) Latest(context.Context, []connector.Split) (map[string]connector.Offset, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	out := map[string]connector.Offset{}
	for id, l := range s.w.logs[s.name] {
		out[id] = offset(len(l.rows))
	}
	return out, nil
}

func offset(n int) connector.Offset { return connector.Offset(strconv.Itoa(n)) }

func (s *memorySource) Open(_ context.Context, sp connector.Split, from connector.Offset) (connector.Reader, error) {
	r := &memoryReader{memorySource: s, split: sp.ID}
	if from != "" {
		at, err := strconv.Atoi(string(from))
		if err != nil {
			return nil, err
		}
		r.at = at
	}
	return r, nil
}

func (s *memorySource) Bounded() bool { return s.bounded }

func (s *memorySource) Close() error { return nil }

type memoryReader struct {
	*memorySource
	split string
	at    int
}

// pollTime is how long a read waits for rows.
const pollTime = 2 * time.Millisecond

// next returns the rows that the next read gives.
func (r *memoryReader) next(until connector.Offset) (rows [][]string, atBound bool, grown chan struct{}, err error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	l := r.w.logs[r.name][r.split]
	end := len(l.rows)
	if until != "" {
		if end, err = strconv.Atoi(string(until)); err != nil {
			return nil, false, nil, err
		}
	}
	for _, c := range l.chunks {
		if c > r.at {
			end = min(end, c)
			break
		}
	}
	if r.w.batch > 0 {
		end = min(end, r.at+r.w.batch)
	}
	if end <= r.at {
		return nil, until != "" || r.bounded, r.w.grown, nil
	}
	return l.rows[r.at:end], false, nil, nil
}

func (r *memoryReader) Read(ctx context.Context, until connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	rows, atBound, grown, err := r.next(until)
	switch {
	case err != nil:
		return nil, "", err
	case atBound:
		return nil, offset(r.at), connector.ErrEnd
	case len(rows) == 0:
		t := time.NewTimer(pollTime)
		defer t.Stop()
		select {
		case <-grown:
		case <-t.C:
		case <-ctx.Done():
		}
		return nil, offset(r.at), connector.ErrIdle
	}
	from := r.at
	r.at += len(rows)
	if r.changes != nil {
		b, err := decodeChanges(r.changes, r.cols, rows)
		return b, offset(r.at), err
	}
	if r.bad != nil {
		rows = r.readable(rows, from)
	}
	b := &arrowbatch.Batch{Len: len(rows)}
	for i, c := range r.cols {
		v := arrowbatch.NewVec(c.Type.Shape(), 0)
		b.Cols = append(b.Cols, v)
		for _, row := range rows {
			if err := appendValue(c.Type, row[i], v); err != nil {
				return nil, "", err
			}
		}
	}
	return b, offset(r.at), nil
}

// readable takes the rows that cannot be read out; the first one's offset is from.
func (r *memoryReader) readable(rows [][]string, from int) [][]string {
	var out [][]string
	for i, row := range rows {
		if !strings.HasPrefix(row[0], badMark) {
			out = append(out, row)
			continue
		}
		r.bad.Add(connector.BadRow{Split: r.split, Offset: offset(from + i), Reason: "it is marked",
			Bytes: []byte(strings.Join(row, " "))})
	}
	return out
}

func (r *memoryReader) Close() error { return nil }

// memorySink shows an epoch's rows when the epoch is committed. What it prepares is
// all that Commit needs, also in another life.
type memorySink struct {
	w    *world
	name string
	ts   []types.Type
}

func (s *memorySink) Open(context.Context, int) (connector.Writer, error) {
	return &memoryWriter{memorySink: s}, nil
}

func (s *memorySink) Commit(_ context.Context, e connector.Epoch, prepared [][]byte) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	c := s.w.sink(s.name)
	done := sinkEpoch{n: uint64(e)}
	for _, p := range prepared {
		var rows []sinkRow
		if err := json.Unmarshal(p, &rows); err != nil {
			return err
		}
		done.rows = append(done.rows, rows...)
	}
	s.w.tell(s.name, "commit", done.n)
	for _, old := range c.epochs {
		if old.n == done.n {
			if !slices.Equal(old.rows, done.rows) {
				s.w.fault("sink %s: epoch %d is committed twice, with other rows", s.name, e)
			}
			return nil
		}
		if old.n > done.n {
			s.w.fault("sink %s: epoch %d is committed after epoch %d", s.name, e, old.n)
		}
	}
	if !c.prepared[done.n] {
		s.w.fault("sink %s: epoch %d is committed and was not prepared", s.name, e)
	}
	c.epochs = append(c.epochs, done)
	maps.DeleteFunc(c.prepared, func(n uint64, _ bool) bool { return n <= done.n })
	s.w.tell(s.name, "committed", done.n)
	return nil
}

func (s *memorySink) Abort(_ context.Context, after connector.Epoch) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	maps.DeleteFunc(s.w.sink(s.name).prepared, func(n uint64, _ bool) bool { return n > uint64(after) })
	return nil
}

func (s *memorySink) Close() error { return nil }

type memoryWriter struct {
	*memorySink
	rows []sinkRow
}

func (m *memoryWriter) Write(_ context.Context, b *arrowbatch.Batch) error {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	c := m.w.sink(m.name)
	for i := range b.Len {
		r := sinkRow{b.OpAt(i) == arrowbatch.Delete, shownRow(m.ts, b, i)}
		m.rows, c.written = append(m.rows, r), append(c.written, r)
	}
	return nil
}

func (m *memoryWriter) Prepare(_ context.Context, e connector.Epoch) ([]byte, error) {
	p, err := json.Marshal(m.rows)
	if err != nil {
		return nil, err
	}
	m.rows = nil
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	c := m.w.sink(m.name)
	if c.prepared[uint64(e)] {
		m.w.fault("sink %s: epoch %d is prepared twice", m.name, e)
	}
	c.prepared[uint64(e)] = true
	m.w.tell(m.name, "prepared", uint64(e))
	return p, nil
}

func (m *memoryWriter) Close() error { return nil }

package kafka

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Factory makes Kafka sources and sinks whose sources together read ahead up to 256 MB.
func Factory() connector.Factory { return FactoryWithin(defaultBudget) }

// FactoryWithin is Factory with another number of bytes, the default for 0.
func FactoryWithin(readMemory int64) connector.Factory {
	b := newBudget(readMemory)
	return connector.Factory{
		Source: func(ctx context.Context, spec *connector.Spec) (connector.Source, error) {
			return newSource(ctx, spec, b)
		},
		Sink:        newSink,
		DeadLetters: newDeadLetters,
		CheckSource: checkSource,
		CheckSink:   checkSink,
		Alterable: []string{"on_data_loss", "max_offsets_per_trigger", "min_offsets_per_trigger", "max_trigger_delay",
			"max_batch_bytes", "buffer_memory"},
	}
}

// splitsEvery is how old an answer of Splits may be: it is asked for at every look
// for data.
const splitsEvery = 2 * time.Second

// startGrace is how long a topic may be unknown when a source starts: one just
// created is not known to all brokers yet.
const startGrace = time.Second

// source reads one topic.
type source struct {
	spec    *connector.Spec
	cfg     *sourceConfig
	skipBad bool
	meta    []metaColumn
	cl      *client
	fetch   *fetcher
	status  *status
	schemas *schemas // nil where records name no schemas
	// keySchemas are those of the keys.
	keySchemas *schemas

	mu      sync.Mutex
	layout  *layout
	seen    time.Time       // when layout was asked for
	resumed bool            // some split was opened at an offset of a checkpoint
	starts  map[int32]int64 // where each partition begins, once asked for
	ends    map[int32]int64 // where each ends, for a bounded source
	known   map[int32]bool  // partitions that the first Splits told
	settled map[int32]bool  // partitions that a reader has begun to read
}

func checkSource(s *connector.Spec) error {
	_, err := describeSource(s, false)
	return err
}

// describeSource reads the spec; with load it reads the files that it names.
func describeSource(s *connector.Spec, load bool) (*source, error) {
	cfg, err := readSource(s, load)
	if err != nil {
		return nil, err
	}
	src := &source{spec: s, cfg: cfg, skipBad: cfg.format.OnError != connector.OnErrorFail}
	if src.meta, err = readMeta(s.Columns); err != nil {
		return nil, err
	}
	d, err := cfg.format.Decoder(s.Columns)
	if err != nil {
		return nil, err
	}
	d.Take().Release()
	return src, nil
}

func newSource(ctx context.Context, spec *connector.Spec, b *budget) (connector.Source, error) {
	s, err := describeSource(spec, true)
	if err != nil {
		return nil, err
	}
	s.begin(ctx, b)
	return s, nil
}

// begin makes what a described source needs to read.
func (s *source) begin(ctx context.Context, b *budget) {
	if s.spec.Clock == nil {
		c := *s.spec
		c.Clock = clock.System{}
		s.spec = &c
	}
	s.cl = newClient(s.cfg.conn, s.cfg.topic)
	s.cl.reads, s.cl.goOn = true, s.cfg.continueOnLoss
	s.fetch = newFetcher(ctx, s.cl, s.cfg, s.spec, b)
	s.status = s.fetch.status
	if r := s.cfg.format.Registry; r != nil {
		s.schemas = newSchemas(ctx, r, subjectOf(r, s.cfg.topic, "value"), s.status)
	}
	if r := s.cfg.format.KeyRegistry; r != nil {
		s.keySchemas = newSchemas(ctx, r, subjectOf(r, s.cfg.topic, "key"), s.status)
	}
}

// Bounded tells whether ending offsets are given.
func (s *source) Bounded() bool { return s.cfg.end != nil }

// Close ends every fetch.
func (s *source) Close() error {
	for _, k := range []*schemas{s.schemas, s.keySchemas} {
		if k != nil {
			k.close()
		}
	}
	s.fetch.close()
	return nil
}

// Splits returns a split for each partition, "0", "1", …
func (s *source) Splits(ctx context.Context) ([]connector.Split, error) {
	s.mu.Lock()
	l, seen := s.layout, s.seen
	s.mu.Unlock()
	if l == nil || (clock.System{}).Now().Sub(seen) >= s.cfg.splitsEvery {
		var err error
		if l, err = s.newLayout(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[int32]bool{}
		for p := range l.partitions {
			s.known[int32(p)] = true
		}
	}
	out := make([]connector.Split, l.partitions)
	for p := range out {
		out[p].ID = strconv.Itoa(p)
	}
	return out, nil
}

// newLayout asks for the topic's partitions until it gets them. A topic that is gone
// may be about to be made anew, which is another thing to tell.
func (s *source) newLayout(ctx context.Context) (*layout, error) {
	var l *layout
	grace := startGrace
	if s.Identity() != "" {
		grace = s.cfg.missingGrace
	}
	var unknown time.Time
	err := s.status.persist(ctx, s, `asking for topic "`+s.cfg.topic+`"`, func() (err error) {
		l, err = s.cl.metadata(ctx)
		if errors.Is(err, kafkago.UnknownTopicOrPartition) {
			now := clock.System{}.Now()
			if unknown.IsZero() {
				unknown = now
			}
			if now.Sub(unknown) >= grace {
				return s.cl.missing(ctx)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.layout, s.seen = l, clock.System{}.Now()
	s.mu.Unlock()
	return l, nil
}

// ask returns an offset of each partition (see client.offsets), trying until it
// gets them.
func (s *source) ask(ctx context.Context, at map[int32]int64) (out map[int32]int64, err error) {
	if len(at) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	l := s.layout
	s.mu.Unlock()
	err = s.status.persist(ctx, &s.layout, `asking for the offsets of topic "`+s.cfg.topic+`"`, func() (err error) {
		if l == nil {
			if l, err = s.newLayout(ctx); err != nil {
				return err
			}
		}
		if out, err = s.cl.offsets(ctx, l, at); err != nil {
			l = nil
		}
		return err
	})
	return out, err
}

// Changed returns a channel that is closed when records come next. Records that
// came before are beyond the readers' offsets in Latest.
func (s *source) Changed() <-chan struct{} { return s.fetch.changes() }

// Latest returns each split's last stable offset, or its end where that is
// before; of all splits where none are named.
func (s *source) Latest(ctx context.Context, splits []connector.Split) (map[string]connector.Offset, error) {
	if splits == nil {
		var err error
		if splits, err = s.Splits(ctx); err != nil {
			return nil, err
		}
	}
	at := make(map[int32]int64, len(splits))
	for _, sp := range splits {
		p, err := parseSplit(sp)
		if err != nil {
			return nil, err
		}
		at[p] = atLatest
	}
	got, err := s.ask(ctx, at)
	if err != nil {
		return nil, err
	}
	out := make(map[string]connector.Offset, len(got))
	for p, n := range got {
		if s.cfg.end != nil {
			_, end, err := s.bounds(ctx, p, 0)
			if err != nil {
				return nil, err
			}
			n = min(n, end)
		}
		out[strconv.Itoa(int(p))] = offsetText(n)
	}
	return out, nil
}

func parseSplit(sp connector.Split) (int32, error) {
	p, err := strconv.ParseInt(sp.ID, 10, 32)
	if err != nil || p < 0 {
		return 0, sqlerr.Internal("kafka: bad split %q", sp.ID)
	}
	return int32(p), nil
}

// fromStart is a reader's position while it is to be found out.
const fromStart = -1

// Open returns a reader of one partition. It does not wait for the broker.
func (s *source) Open(_ context.Context, sp connector.Split, from connector.Offset) (connector.Reader, error) {
	p, err := parseSplit(sp)
	if err != nil {
		return nil, err
	}
	r := &reader{src: s, split: sp.ID, partition: p, pos: fromStart}
	if from != "" {
		if r.pos, err = parseOffset(from); err != nil {
			return nil, err
		}
		r.told = r.pos
		s.mu.Lock()
		s.resumed = true
		s.mu.Unlock()
	}
	if r.dec, err = s.cfg.format.Decoder(s.spec.Columns); err != nil {
		return nil, err
	}
	r.meta.cols = s.meta
	return r, nil
}

// bounds returns where a reader of the partition begins, given its position, and
// where it ends.
func (s *source) bounds(ctx context.Context, p int32, pos int64) (start, end int64, err error) {
	end = never
	if s.cfg.end != nil {
		if end, err = s.resolve(ctx, p, &s.ends, s.cfg.end, false); err != nil {
			return 0, 0, err
		}
	}
	if pos >= 0 {
		start, err = s.resume(ctx, p, pos)
		return start, end, err
	}
	start, err = s.resolve(ctx, p, &s.starts, &s.cfg.start, true)
	return start, end, err
}

// resume returns where a partition goes on that was read up to pos: at the start if
// the topic is another now.
func (s *source) resume(ctx context.Context, p int32, pos int64) (int64, error) {
	if s.cl.unsure() {
		if _, err := s.newLayout(ctx); err != nil {
			return 0, err
		}
	}
	if !s.cl.isAnother() {
		return pos, nil
	}
	got, err := s.ask(ctx, map[int32]int64{p: atEarliest})
	return got[p], err
}

// resolve returns the partition's offset for a position. All partitions are asked
// for at once, so that 'latest' is one moment for all of them; one that appears
// later has nothing before it that was to be left out, and begins at its start.
func (s *source) resolve(ctx context.Context, p int32, into *map[int32]int64, pos *position, start bool) (
	int64, error) {
	s.mu.Lock()
	n, ok := (*into)[p]
	first := *into == nil
	known, resumed, l := s.known, s.resumed, s.layout
	s.mu.Unlock()
	if ok {
		return n, nil
	}
	if l == nil {
		var err error
		if l, err = s.newLayout(ctx); err != nil {
			return 0, err
		}
	}
	for q := range pos.each {
		if int(q) >= l.partitions {
			return 0, sqlerr.New(sqlerr.InvalidParameterValue,
				`offsets are given for partition %d, but topic "%s" has %d partitions`, q, s.cfg.topic, l.partitions).
				AsPermanent()
		}
	}
	at := map[int32]int64{}
	found := map[int32]int64{}
	for q := range int32(l.partitions) {
		if !first && q != p {
			continue
		}
		t, off := pos.of(q)
		if start && (resumed || known != nil && !known[q]) && pos.each == nil {
			t = atEarliest
		}
		if off >= 0 {
			found[q] = off
			continue
		}
		at[q] = t
	}
	got, err := s.ask(ctx, at)
	if err != nil {
		return 0, err
	}
	if err := s.noLater(ctx, got, found); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if *into == nil {
		*into = map[int32]int64{}
	}
	for q, n := range found {
		if _, ok := (*into)[q]; !ok {
			(*into)[q] = n
		}
	}
	n, ok = (*into)[p]
	if !ok {
		return 0, sqlerr.New(sqlerr.UndefinedObject, `topic "%s" has no partition %d`, s.cfg.topic, p).AsPermanent()
	}
	return n, nil
}

// noLater puts got into found, with the end for partitions that have no record at
// or after the time asked for.
func (s *source) noLater(ctx context.Context, got, found map[int32]int64) error {
	none := map[int32]int64{}
	for q, n := range got {
		if n < 0 {
			none[q] = atLatest
			continue
		}
		found[q] = n
	}
	last, err := s.ask(ctx, none)
	for q, n := range last {
		found[q] = n
	}
	return err
}

// of returns what to ask the broker for a partition, or its offset if off is not
// negative.
func (p *position) of(partition int32) (at, off int64) {
	if e, ok := p.each[partition]; ok {
		return e.at, e.offset
	}
	return p.at, -1
}

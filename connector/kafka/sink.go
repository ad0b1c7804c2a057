package kafka

import (
	"context"
	"errors"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sinkConfig is what a sink's options say.
type sinkConfig struct {
	conn        *connection
	topic       string
	key         []string
	compression int8
	maxMessage  int64 // bytes of a batch before compression, unless one record is larger
	bufferBytes int64
	create      bool
	partitions  int32
	replication int16
	format      connector.Format
}

func readSink(s *connector.Spec, load bool) (*sinkConfig, error) {
	given := s.Options
	o := connector.NewOptions(owner, given)
	c := &sinkConfig{}
	c.format = readFormat(s, o, connector.FormatSupport{
		Envelopes: []string{formatPlain, formatUpsert, formatDebezium}, Encodes: messageEncodings})
	c.conn, c.topic = readConnection(o, load)
	c.key = o.List("key")
	codec := o.Enum("compression", "none", compressions...)
	for i, name := range compressions {
		if name == codec {
			c.compression = int8(i)
		}
	}
	c.maxMessage = sizeBetween(o, "max_message_bytes", 1_000_000, 1<<10, 64<<20)
	c.bufferBytes = sizeBetween(o, "buffer_memory", 32<<20, 1<<20, 16<<30)
	c.create = o.Bool("create_topic", false)
	for _, name := range []string{"partitions", "replication_factor"} {
		if _, ok := given[name]; ok && !c.create {
			o.Fault(`option "%s" needs create_topic = 'true'`, name)
		}
	}
	c.partitions = int32(o.Int("partitions", -1, 1, 100_000))
	c.replication = int16(o.Int("replication_factor", -1, 1, 100))
	delivery := o.Enum("delivery", "at_least_once", "at_least_once", "exactly_once")
	if err := o.Err(); err != nil {
		return nil, err
	}
	if delivery == "exactly_once" {
		return nil, sqlerr.Unsupported(`connector "kafka" does not support delivery = 'exactly_once'`).
			WithHint("Use delivery = 'at_least_once'; with FORMAT UPSERT a repeated row does no harm.")
	}
	return c, nil
}

// sink writes one topic.
type sink struct {
	spec   *connector.Spec
	cfg    *sinkConfig
	cl     *client
	status *status
	clk    clock.Clock
}

func checkSink(s *connector.Spec) error {
	cfg, err := readSink(s, false)
	if err != nil {
		return err
	}
	_, err = newEnvelope(s, cfg)
	return err
}

func newSink(_ context.Context, s *connector.Spec) (connector.Sink, error) {
	cfg, err := readSink(s, true)
	if err != nil {
		return nil, err
	}
	if _, err := newEnvelope(s, cfg); err != nil {
		return nil, err
	}
	k := &sink{spec: s, cfg: cfg, cl: newClient(cfg.conn, cfg.topic), status: newStatus(s.Report), clk: s.Clock}
	if k.clk == nil {
		k.clk = clock.System{}
	}
	return k, nil
}

// Open finds the topic, or creates it if the options say so, and returns a
// writer. It waits for brokers that are away.
func (s *sink) Open(ctx context.Context, _ int) (connector.Writer, error) {
	l, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	e, err := newEnvelope(s.spec, s.cfg)
	if err != nil {
		return nil, err
	}
	return &writer{s: s, env: e, out: newProducer(ctx, s.cl, s.cfg, s.status, l)}, nil
}

func (s *sink) find(ctx context.Context) (l *layout, err error) {
	var unknown time.Time
	err = s.status.persist(ctx, s, `asking for topic "`+s.cfg.topic+`"`, func() (err error) {
		l, err = s.cl.metadata(ctx)
		if !errors.Is(err, kafkago.UnknownTopicOrPartition) {
			return err
		}
		if s.cfg.create {
			controller, cerr := s.cl.controller(ctx)
			if cerr == nil {
				cerr = s.cl.createTopic(ctx, controller, s.cfg.partitions, s.cfg.replication)
			}
			if cerr != nil {
				return cerr
			}
			return err // and ask again
		}
		now := clock.System{}.Now()
		if unknown.IsZero() {
			unknown = now
		}
		if now.Sub(unknown) >= startGrace {
			e := s.cl.missing(ctx)
			if e.Hint == "" {
				e = e.WithHint("Set create_topic = 'true' to have it created.")
			}
			return e
		}
		return err
	})
	return l, err
}

// Commit has nothing to do: what was prepared is in the topic.
func (s *sink) Commit(context.Context, connector.Epoch, [][]byte) error { return nil }

// Abort cannot take back what was sent at least once.
func (s *sink) Abort(context.Context, connector.Epoch) error { return nil }

// Close ends the connections; the writers must have been closed.
func (s *sink) Close() error {
	s.cl.close()
	return nil
}

// lockRows is how many rows are encoded between two looks at what was
// acknowledged.
const lockRows = 256

// writer writes the rows of one part of the sink.
type writer struct {
	s      *sink
	env    *envelope
	out    *producer
	sticky int // partition of records without a key, changed every lockRows
}

// Write encodes the rows and lets them go; it waits while the buffers are full.
func (w *writer) Write(ctx context.Context, b *arrowbatch.Batch) error {
	ms := w.s.clk.Now().UnixMilli()
	n := len(w.out.parts)
	for i := 0; i < b.Len; {
		w.out.mu.Lock()
		err := w.out.wait(ctx, func() bool { return int64(w.out.buffered) < w.s.cfg.bufferBytes })
		if err == nil {
			w.sticky = (w.sticky + 1) % n
			i, err = w.env.rows(b, i, min(i+lockRows, b.Len), func(key, value []byte) {
				part := w.sticky
				if key != nil {
					part = partitionOf(key, n)
				}
				w.out.addLocked(part, key, value, ms)
			})
			w.out.change.Broadcast()
		}
		w.out.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Prepare waits until all in-sync replicas have every row.
func (w *writer) Prepare(ctx context.Context, _ connector.Epoch) ([]byte, error) {
	return nil, w.out.flush(ctx)
}

// Close drops what was not prepared.
func (w *writer) Close() error {
	w.out.close()
	return nil
}

package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
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

	// Columns by name, "" for none.
	partitionColumn, timeColumn, headersColumn, opColumn string

	deadLetter string // the topic of records that topic does not take; "": none

	exactly bool          // delivery = 'exactly_once'
	prefix  string        // of transactional ids
	timeout time.Duration // of a transaction, at the broker
	outbox  int64         // bytes of an epoch's output kept, at most
}

// The limits of transaction_timeout.
const (
	leastTimeout = time.Second
	mostTimeout  = 7 * 24 * time.Hour
)

// readDelivery reads what concerns transactions.
func (c *sinkConfig) readDelivery(o *connector.Options) {
	c.exactly = o.Enum("delivery", exactlyOnce, exactlyOnce, atLeastOnce) == exactlyOnce
	if !c.exactly {
		for _, name := range []string{"transactional_id_prefix", "transaction_timeout", "outbox_max_bytes"} {
			if o.Has(name) {
				o.Fault(`option "%s" needs delivery = 'exactly_once'`, name)
			}
		}
	}
	c.prefix = o.String("transactional_id_prefix", "streamsql")
	if len(c.prefix) > 200 {
		o.Fault(`option "transactional_id_prefix" is longer than 200 bytes`)
	}
	c.timeout = o.Duration("transaction_timeout", 5*time.Minute)
	if c.timeout < leastTimeout || c.timeout > mostTimeout {
		o.Fault(`option "transaction_timeout" must be between 1 second and 7 days`)
	}
	c.outbox = sizeBetween(o, "outbox_max_bytes", 1<<30, 0, 1<<40)
}

// The values of option delivery.
const (
	exactlyOnce = "exactly_once"
	atLeastOnce = "at_least_once"
)

func readSink(s *connector.Spec, load bool) (*sinkConfig, error) {
	o := connector.NewOptions(owner, s.Options)
	c := &sinkConfig{}
	c.format = readFormat(s, o, connector.FormatSupport{
		Envelopes: []string{formatPlain, formatUpsert, formatDebezium}, Encodes: messageEncodings})
	c.conn, c.topic = readConnection(o, load)
	c.key = o.List("key")
	c.partitionColumn, c.timeColumn = o.String(optPartition, ""), o.String(optTime, "")
	c.headersColumn, c.opColumn = o.String(optHeaders, ""), o.String(optOp, "")
	codec := o.Enum("compression", "none", compressions...)
	for i, name := range compressions {
		if name == codec {
			c.compression = int8(i)
		}
	}
	c.maxMessage = sizeBetween(o, "max_message_bytes", 1_000_000, 1<<10, 64<<20)
	c.bufferBytes = sizeBetween(o, "buffer_memory", 32<<20, 1<<20, 16<<30)
	if c.deadLetter = o.String("dead_letter", ""); c.deadLetter == c.topic && c.topic != "" {
		o.Fault(`option "dead_letter" names the sink's own topic`)
	}
	c.readTopic(o)
	c.readDelivery(o)
	return c, o.Err()
}

// readTopic reads what concerns the creation of the topics.
func (c *sinkConfig) readTopic(o *connector.Options) {
	c.create = o.Bool("create_topic", false)
	for _, name := range []string{"partitions", "replication_factor"} {
		if o.Has(name) && !c.create {
			o.Fault(`option "%s" needs create_topic = 'true'`, name)
		}
	}
	c.partitions = int32(o.Int("partitions", -1, 1, 100_000))
	c.replication = int16(o.Int("replication_factor", -1, 1, 100))
}

// recordMaker makes records of a sink's rows.
type recordMaker interface {
	// begin readies it for the rows of a batch.
	begin(b *arrowbatch.Batch)
	// rows calls put for every record of rows lo to hi-1 of the batch and returns the
	// next row; with an error, the row that it is about.
	rows(b *arrowbatch.Batch, lo, hi int, put func(*outRecord) error) (next int, err error)
	close()
}

// sink writes one topic, and its dead letters another.
type sink struct {
	spec *connector.Spec
	cfg  *sinkConfig
	cl   *client // to the topic, and to coordinators
	// topics are the clients of the sink's topics, nil where there is none.
	topics [topicPlaces]*client
	status *status
	clk    clock.Clock
	// maker returns what makes the records of a writer.
	maker func(ctx context.Context) (recordMaker, error)

	// Set by Abort: the epoch that this run goes on from.
	after   connector.Epoch
	resumed bool

	mu           sync.Mutex
	coordinators map[string]int32 // brokers by group and transactional id
	writers      map[int]*writer  // open, by part; exactly once only
}

func checkSink(_ context.Context, s *connector.Spec) error {
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
	k := makeSink(s, cfg)
	k.maker = func(ctx context.Context) (recordMaker, error) {
		e, err := newEnvelope(s, cfg)
		if err == nil {
			err = k.register(ctx, e.value)
		}
		return e, err
	}
	return k, nil
}

func makeSink(s *connector.Spec, cfg *sinkConfig) *sink {
	k := &sink{spec: s, cfg: cfg, cl: newClient(cfg.conn, cfg.topic), status: newStatus(s.Report), clk: s.Clock,
		coordinators: map[string]int32{}, writers: map[int]*writer{}}
	k.topics[ownTopic] = k.cl
	if cfg.deadLetter != "" {
		k.topics[deadLetterTopic] = newClient(cfg.conn, cfg.deadLetter)
	}
	if k.clk == nil {
		k.clk = clock.System{}
	}
	return k
}

// Open finds the topics, or creates them if the options say so, and returns a
// writer, with transactions whose ids nobody else can use any more. It waits for
// brokers that are away.
func (s *sink) Open(ctx context.Context, part int) (connector.Writer, error) {
	var layouts [topicPlaces]*layout
	for place, cl := range s.topics {
		var err error
		if cl == nil {
			continue
		} else if layouts[place], err = s.find(ctx, cl); err != nil {
			return nil, err
		}
	}
	e, err := s.maker(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{s: s, env: e, part: part, epoch: s.after + 1}
	if s.cfg.exactly {
		if w.txns, err = s.takeOver(ctx, part); err != nil {
			return nil, err
		}
		if at, err := s.marker(ctx, s.group(part)); err != nil {
			return nil, err
		} else if s.resumed && at > int64(s.after) {
			return nil, s.ahead(s.after, at)
		}
	}
	w.begins(ctx, layouts)
	if s.cfg.exactly {
		s.mu.Lock()
		s.writers[part] = w
		s.mu.Unlock()
	}
	return w, nil
}

// find asks for a topic's partitions until it gets them.
func (s *sink) find(ctx context.Context, cl *client) (l *layout, err error) {
	var unknown time.Time
	err = s.status.persist(ctx, cl, `asking for topic "`+cl.topic+`"`, func() (err error) {
		l, err = cl.metadata(ctx)
		if !errors.Is(err, kafkago.UnknownTopicOrPartition) {
			return err
		}
		if s.cfg.create {
			controller, cerr := cl.controller(ctx)
			if cerr == nil {
				cerr = cl.createTopic(ctx, controller, s.cfg.partitions, s.cfg.replication)
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
			e := cl.missing(ctx)
			if e.Hint == "" {
				e = e.WithHint("Set create_topic = 'true' to have it created.")
			}
			return e
		}
		return err
	})
	return l, err
}

// writer returns the open writer of a part whose output is in transactions, nil
// for none.
func (s *sink) writer(part int) *writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writers[part]
}

// Close ends the connections; the writers must have been closed.
func (s *sink) Close() error {
	for _, cl := range s.topics {
		if cl != nil {
			cl.close()
		}
	}
	return nil
}

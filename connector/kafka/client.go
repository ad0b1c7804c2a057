package kafka

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// clientID is how we show ourselves in a broker's logs and quotas.
	clientID = "streamsql"
	// requestTimeout is how long a broker may take to answer; a long poll's wait
	// comes on top.
	requestTimeout = 15 * time.Second
	dialTimeout    = 5 * time.Second
)

// client sends requests about one topic to the brokers that lead it. Safe for
// concurrent use.
type client struct {
	topic string
	addr  net.Addr
	tr    *kafkago.Transport
	stop  context.CancelFunc // ends the transport's goroutines
	ids   atomic.Int32       // correlation numbers

	mu sync.Mutex
	id [idBytes]byte // of the topic, once known
	// resumed: id is a checkpoint's, and no broker has told its own yet. goOn: another
	// one is taken for it then, which makes the topic another.
	resumed, goOn, another bool
	reads                  bool // for a source
	conns                  map[net.Conn]struct{}
	closed                 bool
}

func newClient(c *connection, topic string) *client {
	cl := &client{topic: topic, addr: kafkago.TCP(c.brokers...), conns: map[net.Conn]struct{}{}}
	// A request that comes after close would otherwise start goroutines that nobody
	// ends.
	ctx, stop := context.WithCancel(context.Background())
	cl.stop = stop
	cl.tr = &kafkago.Transport{
		Context:     ctx,
		ClientID:    clientID,
		Dial:        cl.dial,
		DialTimeout: dialTimeout,
		// The transport's own view of the cluster is used to reach brokers by their
		// number; who leads what is asked for when needed (see metadata).
		MetadataTTL:    2 * time.Second,
		MetadataTopics: []string{topic},
		TLS:            c.tls,
		SASL:           c.sasl,
	}
	return cl
}

// dial keeps the connections, so that close ends requests in flight: the
// transport itself would wait for their answers.
func (cl *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	k := &trackedConn{Conn: c, owner: cl}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	cl.conns[k] = struct{}{}
	return k, nil
}

type trackedConn struct {
	net.Conn
	owner *client
}

func (c *trackedConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// close ends every connection and every request in flight.
func (cl *client) close() {
	cl.stop()
	cl.tr.CloseIdleConnections()
	cl.mu.Lock()
	cl.closed = true
	conns := cl.conns
	cl.conns = nil
	cl.mu.Unlock()
	for c := range conns {
		c.(*trackedConn).Conn.Close()
	}
}

// anyBroker is the number of «whichever broker answers».
const anyBroker = -1

// send sends req to a broker and returns the answer. The answer is the request's
// own type for requests that exchange raw bytes.
func (cl *client) send(ctx context.Context, broker int32, req protocol.Message, wait time.Duration) (
	protocol.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+wait)
	defer cancel()
	id := cl.ids.Add(1)
	r := &routed{broker: broker, id: id, req: req}
	res, err := cl.tr.RoundTrip(ctx, cl.addr, r)
	if err != nil {
		return nil, err
	}
	return res.(*reply).Message, nil
}

// routed carries a request to a broker of our choice, past the transport's view
// of the cluster (which is up to seconds old) and its cache of metadata.
type routed struct {
	broker  int32
	id      int32
	version int16
	req     protocol.Message
}

func (r *routed) ApiKey() protocol.ApiKey { return r.req.ApiKey() }

func (r *routed) Broker(protocol.Cluster) (protocol.Broker, error) {
	return protocol.Broker{ID: r.broker}, nil
}

func (r *routed) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[r.req.ApiKey()]
	return true
}

// rawMessage is a request that writes and reads its own bytes.
type rawMessage interface {
	exchange(rw io.ReadWriter, version int16, id int32) error
}

func (r *routed) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if raw, ok := r.req.(rawMessage); ok {
		if err := raw.exchange(rw, r.version, r.id); err != nil {
			return nil, err
		}
		return &reply{r.req}, nil
	}
	res, err := protocol.RoundTrip(rw, r.version, r.id, clientID, r.req)
	if err != nil {
		return nil, err
	}
	return &reply{res}, nil
}

// reply hides the type of an answer from the transport, which would otherwise
// assume the type of the request.
type reply struct{ protocol.Message }

// layout is who leads which partition of the topic.
type layout struct {
	id         [idBytes]byte   // zero: the broker does not tell
	leaders    map[int32]int32 // partition → broker; without those that have none
	partitions int             // there are, with or without a leader
}

// lead notes a partition's leader, -1 for none.
func (l *layout) lead(partition, leader int32) {
	if leader >= 0 {
		l.leaders[partition] = leader
	}
}

// metadata asks for the topic's partitions. A topic that the broker does not know
// is the error UnknownTopicOrPartition, for which missing gives the message; one
// that is not the topic of earlier answers is a permanent error.
func (cl *client) metadata(ctx context.Context) (*layout, error) {
	req := &topicRequest{topic: cl.topic}
	if _, err := cl.send(ctx, anyBroker, req, 0); err != nil {
		return nil, err
	}
	if err := codeError(req.code); err != nil {
		return nil, err
	}
	if err := cl.recognize(req.layout.id); err != nil {
		return nil, err
	}
	return req.layout, nil
}

// controller returns the broker that creates topics.
func (cl *client) controller(ctx context.Context) (int32, error) {
	// An empty list asks for no topic; none at all for every topic.
	res, err := cl.send(ctx, anyBroker, &metadata.Request{TopicNames: []string{}}, 0)
	if err != nil {
		return 0, err
	}
	return res.(*metadata.Response).ControllerID, nil
}

// missing is the error for a topic that does not exist, with the nearest name
// among those that do.
func (cl *client) missing(ctx context.Context) *sqlerr.Error {
	e := sqlerr.New(sqlerr.UndefinedObject, `topic "%s" does not exist`, cl.topic).AsPermanent()
	res, err := cl.send(ctx, anyBroker, &metadata.Request{}, 0)
	if err != nil {
		return e
	}
	var names []string
	for _, t := range res.(*metadata.Response).Topics {
		if !t.IsInternal {
			names = append(names, t.Name)
		}
	}
	if h := sqlerr.Suggest(cl.topic, names); h != "" {
		return e.WithHint("%s", h)
	}
	return e
}

// The times that ListOffsets takes for the ends of a partition.
const (
	atLatest   = -1 // with read_committed: the last stable offset
	atEarliest = -2
)

// offsets asks the leaders for an offset of each partition: the first record at
// or after the time in milliseconds, or one of the ends. -1: no such record.
func (cl *client) offsets(ctx context.Context, l *layout, at map[int32]int64) (map[int32]int64, error) {
	byLeader := map[int32][]listoffsets.RequestPartition{}
	for p, t := range at {
		leader, ok := l.leaders[p]
		if !ok {
			return nil, kafkago.LeaderNotAvailable
		}
		byLeader[leader] = append(byLeader[leader],
			listoffsets.RequestPartition{Partition: p, CurrentLeaderEpoch: -1, Timestamp: t})
	}
	out := map[int32]int64{}
	for leader, parts := range byLeader {
		res, err := cl.send(ctx, leader, &listoffsets.Request{
			ReplicaID: -1, IsolationLevel: readCommitted,
			Topics: []listoffsets.RequestTopic{{Topic: cl.topic, Partitions: parts}},
		}, 0)
		if err != nil {
			return nil, err
		}
		for _, t := range res.(*listoffsets.Response).Topics {
			for _, p := range t.Partitions {
				if err := codeError(p.ErrorCode); err != nil {
					return nil, err
				}
				out[p.Partition] = p.Offset
			}
		}
	}
	if len(out) != len(at) {
		return nil, kafkago.UnknownTopicOrPartition
	}
	return out, nil
}

// createTopic creates the topic; one that exists already is as good.
func (cl *client) createTopic(ctx context.Context, controller int32, partitions int32, replication int16) error {
	res, err := cl.send(ctx, controller, &createtopics.Request{
		Topics: []createtopics.RequestTopic{{
			Name: cl.topic, NumPartitions: partitions, ReplicationFactor: replication,
		}},
		TimeoutMs: int32(requestTimeout.Milliseconds()),
	}, 0)
	if err != nil {
		return err
	}
	for _, t := range res.(*createtopics.Response).Topics {
		if t.ErrorCode == int16(kafkago.TopicAlreadyExists) {
			continue
		}
		if err := codeError(t.ErrorCode); err != nil {
			if t.ErrorMessage != "" && !retriable(err) {
				return sqlerr.Wrap(err, sqlerr.InvalidParameterValue, `could not create topic "%s"`, cl.topic).
					WithDetail("%s", t.ErrorMessage).AsPermanent()
			}
			return err
		}
	}
	return nil
}

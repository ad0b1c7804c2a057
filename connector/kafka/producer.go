package kafka

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	acksAll       = -1
	brokerTimeout = 10 * time.Second // for the in-sync replicas to answer
	// maxRequest bounds the records of one request; brokers take 100 MB.
	maxRequest = 16 << 20
)

// producer sends record batches of one writer: at most one request in flight per
// broker, and so one batch per partition.
type producer struct {
	cl     *client
	cfg    *sinkConfig
	status *status
	// place is the producer's topic among those of the sink's transactions.
	place topicPlace
	// txn is the transaction that batches go into; nil: none. It is replaced while
	// nothing is buffered.
	txn *transaction
	// admit puts partitions into the transaction; kept is given each batch that the
	// broker has taken, by partition in order. Both may be nil.
	admit func(t *transaction, parts []int32) error
	kept  func(t *transaction, part int32, raw []byte) error
	// refuse is given each record that the broker does not take, with mu held; the
	// record is valid until it returns. Nil: such a record ends the run.
	refuse func(r *outRecord, why *sqlerr.Error) error

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	change   sync.Cond // something to send, or something acknowledged, or the end
	parts    []*outPart
	layout   *layout
	stale    bool           // ask who leads before sending more
	busy     map[int32]bool // brokers with a request in flight or a pause
	pauses   map[int32]*connector.Backoff
	buffered int // bytes not acknowledged
	err      error
}

// outPart is one partition's batches, in their order.
type outPart struct {
	id       int32
	hint     int       // bytes that the last batch took
	open     *outBatch // being filled; nil: none
	full     []*outBatch
	inFlight bool // full[0] is on its way
}

func newProducer(ctx context.Context, cl *client, cfg *sinkConfig, st *status, l *layout) *producer {
	p := &producer{cl: cl, cfg: cfg, status: st, layout: l, busy: map[int32]bool{},
		pauses: map[int32]*connector.Backoff{}}
	p.change.L = &p.mu
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i := range l.partitions {
		p.parts = append(p.parts, &outPart{id: int32(i)})
	}
	p.goes("kafka produce", p.dispatch)
	return p
}

func (p *producer) goes(name string, fn func() error) {
	p.wg.Add(1)
	spawn.Go(name, fn, func(err error) {
		if err != nil {
			p.mu.Lock()
			p.failLocked(err)
			p.mu.Unlock()
		}
		p.wg.Done()
	})
}

// failLocked makes err the answer of every later call.
func (p *producer) failLocked(err error) {
	if p.err == nil {
		p.err = err
	}
	p.change.Broadcast()
}

// close drops what is not acknowledged and ends the requests.
func (p *producer) close() {
	p.mu.Lock()
	p.cancel()
	p.change.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}

// wait waits until ok, which is called with mu held. The error is ctx's or the
// producer's.
func (p *producer) wait(ctx context.Context, ok func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		p.change.Broadcast()
		p.mu.Unlock()
	})
	defer stop()
	for {
		switch {
		case p.err != nil:
			return p.err
		case ok():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case p.ctx.Err() != nil:
			return p.ctx.Err()
		}
		p.change.Wait()
	}
}

// flush waits until everything is acknowledged.
func (p *producer) flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait(ctx, func() bool { return p.buffered == 0 })
}

// addLocked appends a record to its partition's open batch. With mu held.
func (p *producer) addLocked(part int, r *outRecord) {
	o := p.parts[part]
	n := len(r.key) + len(r.value) + len(r.headers) + maxRecordOverhead
	if o.open != nil && o.open.size()+n > int(p.cfg.maxMessage) {
		o.full = append(o.full, o.open)
		o.open = nil
	}
	if o.open == nil {
		o.open = newOutBatch(max(o.hint, batchStart+n))
	}
	before := o.open.size()
	if o.open.count == 0 {
		before = 0
	}
	o.open.add(r.key, r.value, r.headers, r.ms)
	p.buffered += o.open.size() - before
}

// appendLocked appends a whole batch. With mu held.
func (p *producer) appendLocked(part int, b *outBatch) {
	p.parts[part].full = append(p.parts[part].full, b)
	p.buffered += b.size()
	p.change.Broadcast()
}

// outRequest is one request to one broker.
type outRequest struct {
	broker  int32
	parts   []*outPart
	batches []*outBatch
}

// dispatch sends what is there until the producer is closed.
func (p *producer) dispatch() error {
	for {
		p.mu.Lock()
		var reqs []*outRequest
		for p.ctx.Err() == nil && p.err == nil && !p.stale {
			if reqs = p.take(); len(reqs) > 0 {
				break
			}
			if !p.stale {
				p.change.Wait()
			}
		}
		stop, stale := p.ctx.Err() != nil || p.err != nil, p.stale
		p.mu.Unlock()
		switch {
		case stop:
			return nil
		case stale:
			if err := p.refresh(); err != nil {
				if p.ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		for _, r := range reqs {
			p.goes("kafka produce request", func() error { return p.send(r) })
		}
	}
}

// take makes a request for each broker that leads partitions with batches to
// send and has none in flight.
func (p *producer) take() (reqs []*outRequest) {
	byLeader := map[int32]*outRequest{}
	size := map[int32]int{}
	for _, o := range p.parts {
		if o.inFlight || len(o.full) == 0 && o.open == nil {
			continue
		}
		leader, ok := p.layout.leaders[o.id]
		if !ok {
			p.stale = true
			continue
		}
		if p.busy[leader] {
			continue
		}
		if len(o.full) == 0 {
			o.full = append(o.full, o.open)
			o.open = nil
		}
		r := byLeader[leader]
		if r == nil {
			r = &outRequest{broker: leader}
			byLeader[leader] = r
			reqs = append(reqs, r)
		}
		n := o.full[0].size()
		if len(r.parts) > 0 && size[leader]+n > maxRequest {
			continue
		}
		size[leader] += n
		o.inFlight = true
		if p.txn != nil {
			p.txn.on[p.place].number(o.id, o.full[0])
		}
		r.parts = append(r.parts, o)
		r.batches = append(r.batches, o.full[0])
	}
	for _, r := range reqs {
		p.busy[r.broker] = true
	}
	return reqs
}

// refresh asks who leads the partitions until it is known of all that have
// something to send.
func (p *producer) refresh() error {
	var gone time.Time
	return p.status.persist(p.ctx, p, `asking for topic "`+p.cl.topic+`"`, func() error {
		l, err := p.cl.metadata(p.ctx)
		if errors.Is(err, kafkago.UnknownTopicOrPartition) {
			now := clock.System{}.Now()
			if gone.IsZero() {
				gone = now
			}
			if now.Sub(gone) >= missingGrace {
				return p.cl.missing(p.ctx)
			}
		}
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.partitions < len(p.parts) {
			return sqlerr.New(sqlerr.UndefinedObject,
				`topic "%s" has %d partitions where it had %d: it was deleted or recreated`,
				p.cl.topic, l.partitions, len(p.parts)).AsPermanent()
		}
		for _, o := range p.parts {
			if _, ok := l.leaders[o.id]; !ok && (len(o.full) > 0 || o.open != nil) {
				return kafkago.LeaderNotAvailable
			}
		}
		p.layout, p.stale = l, false
		return nil
	})
}

// send sends one request and settles its batches. After an error that may go away
// it pauses with the broker busy; what is left goes out again by what is known
// then of who leads.
func (p *producer) send(r *outRequest) error {
	if err := p.enter(r); err != nil {
		if p.ctx.Err() != nil {
			return nil
		}
		return err
	}
	res, err := p.exchange(r)
	if p.ctx.Err() != nil {
		return nil
	}
	again, err := p.settle(r, res, err)
	if err != nil {
		return err
	}
	if again == nil {
		p.status.OK(r.broker)
	} else {
		p.status.Failed(r.broker, again)
		p.mu.Lock()
		pause := p.pauses[r.broker]
		if pause == nil {
			pause = &connector.Backoff{}
			p.pauses[r.broker] = pause
		}
		p.mu.Unlock()
		if pause.Wait(p.ctx) != nil {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if again == nil {
		delete(p.pauses, r.broker)
	}
	for _, o := range r.parts {
		o.inFlight = false
	}
	delete(p.busy, r.broker)
	p.change.Broadcast()
	return nil
}

// enter puts the request's partitions into the transaction, once each.
func (p *producer) enter(r *outRequest) error {
	p.mu.Lock()
	t := p.txn
	var parts []int32
	if t != nil {
		for _, o := range r.parts {
			if !t.on[p.place].admitted[o.id] {
				parts = append(parts, o.id)
			}
		}
	}
	p.mu.Unlock()
	if len(parts) == 0 {
		return nil
	}
	if err := p.admit(t, parts); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range parts {
		t.on[p.place].admitted[id] = true
	}
	return nil
}

func (p *producer) exchange(r *outRequest) (*produce.Response, error) {
	topic := rawproduce.RequestTopic{Topic: p.cl.topic}
	who, id := noIdentity, ""
	if p.txn != nil { // it stays while there is something to send
		who, id = p.txn.who, p.txn.id
	}
	for i, b := range r.batches {
		raw, err := b.seal(who, p.cfg.compression)
		if err != nil {
			return nil, err
		}
		topic.Partitions = append(topic.Partitions, rawproduce.RequestPartition{
			Partition: r.parts[i].id, RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(raw)}})
	}
	res, err := p.cl.send(p.ctx, r.broker, &rawproduce.Request{TransactionalID: id, Acks: acksAll,
		Timeout: int32(brokerTimeout.Milliseconds()), Topics: []rawproduce.RequestTopic{topic}}, 0)
	if err != nil {
		// The request may still be on its way out of these buffers: none is given to
		// somebody else.
		for _, b := range r.batches {
			b.lent = true
		}
		return nil, err
	}
	return res.(*produce.Response), nil
}

// settle takes the outcome of a request: batches that are acknowledged leave r
// and their partitions, the others stay. again is the reason to send r again, err
// one that nothing heals.
func (p *producer) settle(r *outRequest, res *produce.Response, failed error) (again, err error) {
	doing := `writing to topic "` + p.cl.topic + `"`
	if failed != nil {
		failed = explain(failed, doing)
		if !retriable(failed) {
			return nil, failed
		}
		p.mu.Lock()
		p.stale = true // who leads may have changed while the broker was away
		p.change.Broadcast()
		p.mu.Unlock()
		return failed, nil
	}
	codes := map[int32]*produce.ResponsePartition{}
	for i := range res.Topics {
		for j := range res.Topics[i].Partitions {
			a := &res.Topics[i].Partitions[j]
			codes[a.Partition] = a
		}
	}
	taken := func(o *outPart) bool {
		a := codes[o.id]
		return a != nil && (a.ErrorCode == 0 || kafkago.Error(a.ErrorCode) == kafkago.DuplicateSequenceNumber)
	}
	for i, o := range r.parts {
		if taken(o) && p.kept != nil {
			if err := p.kept(p.txn, o.id, r.batches[i].sealed); err != nil {
				return nil, err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	parts, batches := r.parts[:0:0], r.batches[:0:0]
	for i, o := range r.parts {
		if taken(o) {
			p.ackLocked(o)
			continue
		}
		code := kafkago.Unknown
		detail := ""
		if a := codes[o.id]; a != nil {
			code, detail = kafkago.Error(a.ErrorCode), a.ErrorMessage
		}
		switch {
		case p.txn != nil && lostCodes[code]:
			return nil, p.txn.lostError(code)
		case refusals[code]:
			if err := p.splitLocked(o, code, detail); err != nil {
				return nil, err
			}
			continue
		}
		e := explain(code, doing)
		if !retriable(e) {
			own := sqlerr.From(e)
			if detail != "" {
				own.Detail = detail
			}
			return nil, own
		}
		p.stale = true
		again = e
		parts, batches = append(parts, o), append(batches, r.batches[i])
	}
	r.parts, r.batches = parts, batches
	p.change.Broadcast()
	return again, nil
}

// ackLocked drops the partition's first batch.
func (p *producer) ackLocked(o *outPart) {
	o.hint = len(o.full[0].buf)
	p.buffered -= o.full[0].size()
	o.full[0].release()
	o.full[0] = nil
	o.full = o.full[1:]
	o.inFlight = false
}

// splitLocked puts two halves in the place of a batch that the broker refuses, until
// the record is found that is the reason.
func (p *producer) splitLocked(o *outPart, code kafkago.Error, detail string) error {
	big := o.full[0]
	if big.stored {
		return sqlerr.New(sqlerr.ProgramLimitExceeded,
			`topic "%s" no longer accepts a batch of %d bytes that it accepted before`, p.cl.topic, big.size()).
			WithHint("Raise the topic's max.message.bytes to what it was.").AsPermanent()
	}
	if big.count == 1 {
		return p.refuseLocked(o, code, detail)
	}
	size := big.size()
	a, b, err := big.split()
	if err != nil {
		return err
	}
	p.buffered += a.size() + b.size() - size
	o.full = append([]*outBatch{a, b}, o.full[1:]...)
	o.inFlight = false
	return nil
}

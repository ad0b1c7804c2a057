package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// longPoll is how long a broker holds a fetch that it has nothing for. Records
	// that come end it at once, so it costs no latency.
	longPoll = 250 * time.Millisecond
	// shortPoll is the same while a partition with a full queue is left out: it
	// must not have to wait for the others when its queue has been read.
	shortPoll = 5 * time.Millisecond
	// eager is the number of fetches after a partition was added that poll shortly:
	// more will be added at once, and are not to wait for a long poll without them.
	eager = 20
	// missingGrace is how long a topic or partition may be unknown to the brokers
	// before it counts as gone: a young one is not known to all of them yet.
	missingGrace = 10 * time.Second
	// refreshEvery is how often the topic is looked at unasked: a topic that was
	// recreated may be read without an error.
	refreshEvery = 10 * time.Second
	// minPartBytes is the least that one fetch asks of a partition where there are
	// many, unless the options say less.
	minPartBytes = 64 << 10
)

// fetcher reads the partitions of one topic for the readers of one source.
type fetcher struct {
	cl     *client
	cfg    *sourceConfig
	status *status
	clk    clock.Clock
	budget *budget

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	work   sync.Cond // something became fetchable, or the layout changed, or the end
	subs   []*subscription
	layout *layout
	loops  map[int32]bool // brokers with a running loop
	queued int            // bytes in all queues
	eager  int            // short polls to go
	stale  chan struct{}  // asks for new metadata
	news   chan struct{}  // closed when records come; nil: nobody waits
	gone   time.Time      // since when the topic is unknown; zero: it is known
}

func newFetcher(ctx context.Context, cl *client, cfg *sourceConfig, spec *connector.Spec, b *budget) *fetcher {
	f := &fetcher{cl: cl, cfg: cfg, status: newStatus(spec.Report), clk: spec.Clock, budget: b,
		loops: map[int32]bool{}, stale: make(chan struct{}, 1)}
	f.work.L = &f.mu
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.goes("kafka metadata", f.refresh)
	return f
}

// goes starts a goroutine that ends with the fetcher; its panic is every
// reader's error.
func (f *fetcher) goes(name string, fn func() error) {
	f.wg.Add(1)
	spawn.Go(name, fn, func(err error) {
		if err != nil {
			f.fail(err)
		}
		f.wg.Done()
	})
}

// close ends the goroutines and the connections.
func (f *fetcher) close() {
	f.mu.Lock()
	f.cancel()
	f.work.Broadcast()
	f.mu.Unlock()
	f.cl.close()
	f.wg.Wait()
	f.budget.forget(f)
}

// fail gives every reader the error.
func (f *fetcher) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		s.failLocked(err)
	}
}

// changes returns a channel that is closed when records come next.
func (f *fetcher) changes() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.news == nil {
		f.news = make(chan struct{})
	}
	return f.news
}

// askLayout asks for new metadata.
func (f *fetcher) askLayout() {
	select {
	case f.stale <- struct{}{}:
	default:
	}
}

// refresh asks for metadata, when told to and from time to time, until the end.
func (f *fetcher) refresh() error {
	var pause connector.Backoff
	for {
		again, stop := clock.System{}.After(f.cfg.refreshEvery)
		select {
		case <-f.stale:
		case <-again:
		case <-f.ctx.Done():
		}
		stop()
		if f.ctx.Err() != nil {
			return nil
		}
		l, err := f.cl.metadata(f.ctx)
		if f.ctx.Err() != nil {
			return nil
		}
		if !f.newLayout(l, err) {
			pause.Reset()
			continue
		}
		if pause.Wait(f.ctx) != nil {
			return nil
		}
		f.askLayout()
	}
}

// newLayout takes the outcome of a metadata request. It tells whether to ask
// again, after a pause.
func (f *fetcher) newLayout(l *layout, err error) (again bool) {
	if err != nil {
		return f.noLayout(err)
	}
	f.status.OK(f)
	again, idle := f.adopt(l)
	for _, broker := range idle {
		f.status.OK(broker) // it leads nothing of ours: that it is away does not matter
	}
	return again
}

// adopt makes l the layout, starts loops for brokers that lead partitions of ours
// and returns those with a loop that lead none.
func (f *fetcher) adopt(l *layout) (again bool, idle []int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.layout, f.gone = l, time.Time{}
	leads := map[int32]bool{}
	now := clock.System{}.Now()
	for _, s := range f.subs {
		leader, ok := l.leaders[s.partition]
		switch {
		case ok:
			s.missing = time.Time{}
			leads[leader] = true
			if !f.loops[leader] {
				f.loops[leader] = true
				f.goes("kafka fetch", func() error { return f.loop(leader) })
			}
		case int(s.partition) < l.partitions:
			again = true // no leader at present
		case s.missing.IsZero():
			s.missing, again = now, true
		case now.Sub(s.missing) < f.cfg.missingGrace:
			again = true
		default:
			s.failLocked(sqlerr.New(sqlerr.UndefinedObject,
				`partition %d of topic "%s" is gone: the topic was deleted or recreated`, s.partition, f.cl.topic).
				WithDetail("It has %d partitions now.", l.partitions).AsPermanent())
		}
	}
	for broker := range f.loops {
		if !leads[broker] {
			idle = append(idle, broker)
		}
	}
	f.work.Broadcast()
	return again, idle
}

func (f *fetcher) noLayout(err error) (again bool) {
	if errors.Is(err, kafkago.UnknownTopicOrPartition) {
		f.mu.Lock()
		if f.gone.IsZero() {
			f.gone = clock.System{}.Now()
		}
		gone := clock.System{}.Now().Sub(f.gone) >= f.cfg.missingGrace
		f.mu.Unlock()
		if gone {
			f.fail(f.cl.missing(f.ctx))
			return false
		}
	}
	err = explain(err, `asking for topic "`+f.cl.topic+`"`)
	if !retriable(err) {
		f.fail(err)
		return false
	}
	f.status.Failed(f, err)
	return true
}

// loop fetches from one broker until the fetcher is closed.
func (f *fetcher) loop(broker int32) error {
	var pause connector.Backoff
	for {
		req, wait := f.next(broker)
		if req == nil {
			return nil
		}
		_, err := f.cl.send(f.ctx, broker, req, wait)
		if f.ctx.Err() != nil {
			f.budget.give(req.reserved)
			return nil
		}
		if err == nil {
			err = f.deliver(req)
		} else {
			f.release(req)
			// Which broker leads may have changed while this one was away.
			f.mu.Lock()
			f.askLayout()
			f.mu.Unlock()
			err = explain(err, `reading topic "`+f.cl.topic+`"`)
			if !retriable(err) {
				f.fail(err)
				continue
			}
		}
		if err == nil {
			f.status.OK(broker)
			pause.Reset()
			continue
		}
		f.status.Failed(broker, err)
		if pause.Wait(f.ctx) != nil {
			return nil
		}
	}
}

// next waits until a partition that the broker leads may be fetched and returns
// the request for all of those; nil at the end.
func (f *fetcher) next(broker int32) (*fetchRequest, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ctx.Err() == nil {
		req := &fetchRequest{topic: f.cl.topic, maxWait: longPoll, maxBytes: int32(f.cfg.fetchBytes)}
		asked := map[int32]bool{}
		for _, s := range f.subs {
			if leader, ok := f.layout.leaders[s.partition]; !ok || leader != broker {
				continue
			}
			if asked[s.partition] || !f.mayFetch(s) {
				if s.err == nil {
					req.maxWait = shortPoll
				}
				continue
			}
			asked[s.partition] = true
			s.inFlight = true
			req.parts = append(req.parts,
				fetchPart{sub: s, partition: s.partition, offset: s.next, maxBytes: s.maxBytes})
		}
		if len(req.parts) > 0 && f.afford(req) {
			f.rotate()
			if f.eager > 0 {
				f.eager--
				req.maxWait = shortPoll
			}
			return req, req.maxWait
		}
		f.work.Wait()
	}
	return nil, 0
}

// afford reserves room for what a fetch may bring, and bounds it to that. Where there is
// none it leaves only the partitions whose readers have nothing, if there are any.
func (f *fetcher) afford(req *fetchRequest) bool {
	want, hungry := int64(0), false
	for i := range req.parts {
		p := &req.parts[i]
		if !p.sub.current {
			want += int64(p.maxBytes)
		}
		hungry = hungry || p.sub.hungry
	}
	want = min(max(want, leastFetch), int64(req.maxBytes))
	n, forced := f.budget.reserve(f, want, hungry)
	req.reserved, req.maxBytes = n, int32(n)
	if n > 0 && !forced {
		return true
	}
	kept := req.parts[:0]
	for _, p := range req.parts {
		if n > 0 && p.sub.hungry {
			kept = append(kept, p)
			continue
		}
		p.sub.inFlight = false
	}
	req.parts = kept
	return len(kept) > 0
}

// free gives the buffer of a record set back.
func (f *fetcher) free(b []byte) {
	f.budget.give(int64(cap(b)))
	putBuffer(b)
}

// rotate puts the first partition last, so that each gets its turn where an
// answer has no room for all.
func (f *fetcher) rotate() {
	if len(f.subs) > 1 {
		first := f.subs[0]
		copy(f.subs, f.subs[1:])
		f.subs[len(f.subs)-1] = first
	}
}

// release makes the partitions of a failed fetch fetchable again. Its buffers
// are left alone: they may still be written to.
func (f *fetcher) release(req *fetchRequest) {
	f.budget.give(req.reserved)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range req.parts {
		req.parts[i].sub.inFlight, req.parts[i].sub.current = false, false
	}
}

// deliver puts what came into the queues. The error is one to pause for.
func (f *fetcher) deliver(req *fetchRequest) (pause error) {
	arrived := clock.Micros(f.clk)
	var lost []*fetchPart
	for i := range req.parts {
		f.budget.take(int64(cap(req.parts[i].records)))
	}
	f.budget.give(req.reserved)
	f.mu.Lock()
	for i := range req.parts {
		p := &req.parts[i]
		p.sub.inFlight = false
		if p.sub.closed {
			f.free(p.records)
			continue
		}
		switch code := kafkago.Error(p.code); {
		case code == kafkago.OffsetOutOfRange:
			p.sub.inFlight = true // until it is known what to do
			lost = append(lost, p)
		case code != 0:
			p.sub.current = false
			f.askLayout()
			err := explain(code, `reading partition `+itoa(int64(p.partition))+` of topic "`+f.cl.topic+`"`)
			if !retriable(err) {
				p.sub.failLocked(err)
				continue
			}
			pause = err
		case !p.answered:
			pause = explain(kafkago.Unknown, `reading topic "`+f.cl.topic+`"`)
		default:
			f.accept(p, arrived, req.got == 0)
		}
	}
	f.mu.Unlock()
	for _, p := range lost {
		if err := f.outOfRange(p); err != nil {
			pause = err
		}
	}
	return pause
}

// accept queues one partition's record set. With alone, no partition of the
// fetch had records: the size of the answer was no reason for this one to have
// none.
func (f *fetcher) accept(p *fetchPart, arrived int64, alone bool) {
	s := p.sub
	s.current = p.stable <= p.offset
	s.held = max(0, p.high-p.stable)
	if len(p.records) == 0 {
		// Records may be missing before the end (compaction took them): then the
		// broker tells an end beyond the offset and yet has nothing.
		if alone && p.stable > p.offset {
			s.next = p.stable
			s.push(&recordSet{from: p.offset, moves: true, jump: p.stable, arrived: arrived})
		}
		return
	}
	end, whole := lastOffset(p.records)
	switch {
	case whole:
		s.next = max(s.next, end+1)
		s.current = s.next >= p.stable
	case s.maxBytes < maxAnswer/2:
		// Not one whole batch: it is larger than what was asked for.
		f.free(p.records)
		s.maxBytes = int32(min(2*int64(s.maxBytes), maxAnswer/2))
		return
	default:
		f.free(p.records)
		s.failLocked(sqlerr.New(sqlerr.ProgramLimitExceeded,
			`the record batch at offset %d of partition %d of topic "%s" is larger than %d bytes`,
			p.offset, p.partition, f.cl.topic, maxAnswer/2).AsPermanent())
		return
	}
	s.push(&recordSet{from: p.offset, data: p.records, aborted: p.aborted, arrived: arrived})
}

// outOfRange settles a partition whose offset the broker does not have: in a topic
// that was recreated, which is looked at first, or where records are gone.
func (f *fetcher) outOfRange(p *fetchPart) error {
	l, err := f.cl.metadata(f.ctx)
	if f.ctx.Err() != nil {
		return nil
	}
	f.newLayout(l, err)
	if err != nil {
		f.release(&fetchRequest{parts: []fetchPart{*p}})
		return explain(err, `asking for topic "`+f.cl.topic+`"`)
	}
	ends := make(map[int64]int64, 2)
	for _, at := range []int64{atEarliest, atLatest} {
		got, err := f.cl.offsets(f.ctx, l, map[int32]int64{p.partition: at})
		if err != nil {
			f.release(&fetchRequest{parts: []fetchPart{*p}})
			return explain(err, `asking for the offsets of topic "`+f.cl.topic+`"`)
		}
		ends[at] = got[p.partition]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := p.sub
	s.inFlight = false
	earliest, latest := ends[atEarliest], ends[atLatest]
	switch {
	case p.offset >= earliest && p.offset <= latest:
		return explain(kafkago.OffsetOutOfRange, `reading topic "`+f.cl.topic+`"`)
	case !f.cfg.continueOnLoss:
		s.failLocked(sqlerr.New(sqlerr.ObjectNotInState,
			`offset out of range in partition %d of topic "%s": wanted %d, earliest %d, latest %d`,
			p.partition, f.cl.topic, p.offset, earliest, latest).
			WithDetail("Records were removed before they were read.").
			WithHint("ALTER the source to SET (on_data_loss = 'continue') and RESTART the query to go on with what there is.").
			AsPermanent())
		return nil
	}
	to := min(max(p.offset, earliest), latest)
	lost := &connector.BadRow{Split: itoa(int64(p.partition)), Offset: offsetText(p.offset), Lost: max(0, to-p.offset),
		Reason: fmt.Sprintf("offset out of range: wanted %d, earliest %d, latest %d; reading goes on at %d",
			p.offset, earliest, latest, to), Micros: clock.Micros(f.clk), Gap: true}
	s.next = to
	s.push(&recordSet{from: to, moves: true, jump: to, lost: lost, arrived: clock.Micros(f.clk)})
	return nil
}

// lastOffset returns the offset of the last record of the last whole batch in a
// record set. Only lengths are looked at: the reader checks the batches, and is
// given whatever else begins the set. whole is false for the beginning of a batch
// alone.
func lastOffset(b []byte) (last int64, whole bool) {
	last = -1
	for len(b) > atMagic {
		n := int64(lengthPrefix) + int64(int32(be32(b[atLength:])))
		if b[atMagic] != 2 || n < headerBytes {
			return last, true
		}
		if n > int64(len(b)) {
			return last, whole
		}
		last, whole = int64(be64(b))+int64(int32(be32(b[atLastDelta:]))), true
		b = b[n:]
	}
	return last, whole
}

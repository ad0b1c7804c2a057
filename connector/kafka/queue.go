package kafka

import (
	"time"

	"github.com/streamsql/streamsql/connector"
)

// subscription is a partition that a reader has open, with its queue of record
// sets. Fields below mu of the fetcher.
type subscription struct {
	f         *fetcher
	partition int32

	next     int64 // where the next fetch begins
	maxBytes int32
	queue    []*recordSet
	queued   int // bytes in queue
	inFlight bool
	current  bool  // the last fetch found that there is no more at present
	hungry   bool  // its reader has nothing to read
	held     int64 // offsets that the last fetch told of but that may not be read yet
	err      error
	closed   bool
	missing  time.Time // since when the partition is unknown
	ready    chan struct{}
}

// recordSet is what one fetch brought for one partition.
type recordSet struct {
	// from is the offset that was asked for: records below it are skipped.
	from    int64
	data    []byte
	aborted []abortedTxn
	arrived int64 // microseconds
	// moves: reading goes on at jump, and data is empty. There is no record below it
	// or, with lost, the one that was wanted is gone.
	moves bool
	jump  int64
	lost  *connector.BadRow
}

// subscribe begins to fetch the partition from offset on.
func (f *fetcher) subscribe(partition int32, offset int64) *subscription {
	s := &subscription{f: f, partition: partition, next: offset, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, s)
	f.eager = eager
	// Fewer bytes a fetch where there are many partitions: the sum of the queues
	// is bounded.
	share := f.cfg.bufferBytes / int64(2*len(f.subs))
	s.maxBytes = int32(min(max(share, minPartBytes), f.cfg.partBytes))
	if f.layout == nil {
		f.askLayout()
	} else if _, ok := f.layout.leaders[partition]; !ok {
		f.askLayout()
	}
	f.work.Broadcast()
	return s
}

// close takes the partition off the fetches.
func (s *subscription) close() {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	f.queued -= s.queued
	for _, r := range s.queue {
		f.free(r.data)
	}
	s.queue, s.queued = nil, 0
	for i, o := range f.subs {
		if o == s {
			f.subs = append(f.subs[:i], f.subs[i+1:]...)
			break
		}
	}
}

// pop returns the next record set, nil when there is none now.
func (s *subscription) pop() (*recordSet, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if len(s.queue) == 0 {
		if !s.hungry {
			s.hungry = true
			s.f.work.Broadcast() // it may be fetched now though there is no room
		}
		return nil, s.err
	}
	return s.popLocked(), nil
}

// popLoss is pop for the next record set that tells of lost records alone.
func (s *subscription) popLoss() (*recordSet, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	switch {
	case len(s.queue) == 0:
		return nil, s.err
	case s.queue[0].lost == nil:
		return nil, nil
	}
	return s.popLocked(), nil
}

func (s *subscription) popLocked() *recordSet {
	f := s.f
	was := f.mayFetch(s) // as long as what is taken is in the queue
	r := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.queued -= len(r.data)
	f.queued -= len(r.data)
	if !was && f.mayFetch(s) {
		f.work.Broadcast()
	}
	return r
}

func (s *subscription) push(r *recordSet) {
	s.queue, s.hungry = append(s.queue, r), false
	s.queued += len(r.data)
	s.f.queued += len(r.data)
	if s.f.news != nil {
		close(s.f.news)
		s.f.news = nil
	}
	s.wake()
}

// idle tells whether the partition is known to have nothing more at present.
func (s *subscription) idle() bool {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.current
}

func (s *subscription) failLocked(err error) {
	s.err = err
	s.wake()
}

func (s *subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// mayFetch tells whether a queue has room. One that is empty always has: a
// partition may be what the engine waits for while the others are full.
func (f *fetcher) mayFetch(s *subscription) bool {
	if s.closed || s.inFlight || s.err != nil {
		return false
	}
	return len(s.queue) == 0 || s.queued < 2*int(s.maxBytes) && int64(f.queued) < f.cfg.bufferBytes
}

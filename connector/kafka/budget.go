package kafka

import (
	"sync"

	"github.com/streamsql/streamsql/internal/spawn"
)

const (
	// defaultBudget is the budget of a factory that is given none.
	defaultBudget = 256 << 20
	// leastFetch is what a fetch asks for where little is to be expected, or where the
	// budget is used up and a reader waits for it.
	leastFetch = 64 << 10
	// keptUnpacked is the largest buffer of unpacked records that a reader keeps.
	keptUnpacked = 1 << 20
)

// budget counts the bytes that all sources of a factory hold: what fetches in flight
// may bring, record sets in queues and in work, and what batches unpack to. Reading
// ahead stops where it is used up. A reader that has nothing is given its fetch all
// the same, since the engine may be waiting for that partition alone: so the bytes
// in use are the limit and a least fetch, or one batch, for each broker of a source.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	starved map[*fetcher]bool // whose next look awaits room
}

func newBudget(limit int64) *budget {
	if limit <= 0 {
		limit = defaultBudget
	}
	return &budget{limit: limit, starved: map[*fetcher]bool{}}
}

// reserve takes up to want bytes for a fetch, and says how many. Where there is no room
// it takes none and wakes f when there is; with force it takes the least, and says so.
func (b *budget) reserve(f *fetcher, want int64, force bool) (n int64, forced bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(want, b.limit-b.used)
	if n < min(want, leastFetch) {
		if !force {
			b.starved[f] = true
			return 0, false
		}
		n, forced = min(want, leastFetch), true
	}
	b.used += n
	return n, forced
}

// take counts bytes that are there already.
func (b *budget) take(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
}

// give returns bytes. Fetchers that wait for room are woken by goroutines of their own:
// the caller may hold the lock of one.
func (b *budget) give(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.used+leastFetch > b.limit {
		return
	}
	for f := range b.starved {
		delete(b.starved, f)
		spawn.Go("kafka wake", func() error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.work.Broadcast()
			return nil
		}, nil)
	}
}

// forget drops a fetcher that is closed.
func (b *budget) forget(f *fetcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.starved, f)
}

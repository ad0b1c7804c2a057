package build

import (
	"sync"

	"github.com/streamsql/streamsql/connector"
)

// badBox holds the records that readers of a source could not decode until the task
// that reads the split takes them: they belong to the epoch that moves past them.
type badBox struct {
	mu      sync.Mutex
	bySplit map[string][]connector.BadRow
}

// Add implements connector.BadRows.
func (b *badBox) Add(r connector.BadRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bySplit[r.Split] = append(b.bySplit[r.Split], r)
}

// Take implements exec.BadRows.
func (b *badBox) Take(split string) []connector.BadRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := b.bySplit[split]
	if rows != nil {
		delete(b.bySplit, split)
	}
	return rows
}

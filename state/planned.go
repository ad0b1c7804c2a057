package state

import (
	"encoding/json"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Planned is an epoch that a query was about to run. It is written before an epoch
// whose rows depend on its time, so that the same epoch has the same time after a
// crash. It holds for the epoch after the last checkpoint only.
type Planned struct {
	Epoch uint64 `json:"epoch"`
	// Now is the epoch's time, in microseconds since the Unix epoch.
	Now int64 `json:"now"`
	// Until has for each source and split how far the epoch reads.
	Until map[string]map[string]string `json:"until,omitempty"`
	// Identities are those of the sources, as in a Checkpoint.
	Identities map[string]string `json:"identities,omitempty"`
}

// plannedKey is where an epoch is written down: the next one begins before it is
// committed, so two are kept.
func plannedKey(query uint32, epoch uint64) []byte { return recordKey(query, plannedRecord, epoch&1) }

// Plan writes down the epoch that a query is about to run; it is durable when Plan
// returns.
func (s *Store) Plan(query uint32, p Planned) error {
	v, err := json.Marshal(p)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err := b.Set(plannedKey(query, p.Epoch), v, nil); err != nil {
		return err
	}
	return s.write(b)
}

// PlannedEpoch returns what a query was about to run as its epoch, nil for nothing.
func (s *Store) PlannedEpoch(query uint32, epoch uint64) (*Planned, error) {
	v, closer, err := s.db.Get(plannedKey(query, epoch))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	p := &Planned{}
	if err := json.Unmarshal(v, p); err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.DataCorrupted, "the planned epoch of query %d is unreadable", query)
	}
	if p.Epoch != epoch {
		return nil, nil
	}
	return p, nil
}

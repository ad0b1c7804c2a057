package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Checkpoint is the record of a query's last durable epoch. It is stored as JSON
// so that an operator of the system can read the offsets.
type Checkpoint struct {
	Query uint32 `json:"query"`
	Epoch uint64 `json:"epoch"`
	// Offsets has for each source (its place in the plan) and split the offset of
	// the next row.
	Offsets map[string]map[string]string `json:"offsets,omitempty"`
	// Watermarks has for each watermark operator and split the watermark in
	// microseconds; the split "" is the operator's own.
	Watermarks map[string]map[string]int64 `json:"watermarks,omitempty"`
	// Prepared is what the sink's writers returned from Prepare for this epoch, by
	// sink operator.
	Prepared map[string][][]byte `json:"prepared,omitempty"`
	// Feeds has for each source that is a stored relation the relation.
	Feeds map[string]uint32 `json:"feeds,omitempty"`
	// Now is what now() was in the epoch, in microseconds since the Unix epoch.
	Now int64 `json:"now,omitempty"`
	// Identities has for each source that tells it what its offsets belong to.
	Identities map[string]string `json:"identities,omitempty"`
	// Counts are the operators' counters since the query was created, by operator
	// (exec.OpStats), and Reads those of the sources, by source.
	Counts map[string][]int64   `json:"counts,omitempty"`
	Reads  map[string]ReadCount `json:"reads,omitempty"`
	// Plan is the fingerprint of the plan that the state belongs to.
	Plan string `json:"plan,omitempty"`
	// Change names the last change of the query's definition or state that the state
	// has been brought to; 0: none.
	Change uint32 `json:"change,omitempty"`
	// Fresh: the query has begun anew; Epoch alone goes on.
	Fresh bool `json:"fresh,omitempty"`
	// Replay are the operators that give what they hold in the next epoch, whose results
	// the operators above them have not seen. Refill: what the view's rows are made of is
	// read anew in it, and takes the place of the rows that are there.
	Replay []int `json:"replay,omitempty"`
	Refill bool  `json:"refill,omitempty"`
	// Finished is set when a bounded query has ended.
	Finished bool `json:"finished,omitempty"`
}

// ReadCount counts what a query read of a source.
type ReadCount struct {
	Rows int64 `json:"rows"`
	Bad  int64 `json:"bad,omitempty"` // records that could not be decoded, and gaps
	// DeadLetters are those records that were sent on, Lost the offsets in the gaps.
	DeadLetters int64 `json:"dead_letters,omitempty"`
	Lost        int64 `json:"lost,omitempty"`
}

// Commit makes an epoch durable: the changes of all deltas and the checkpoint, in
// one synced batch, or nothing. It takes the deltas over. Relations that changed
// tell their readers after it.
func (s *Store) Commit(c *Checkpoint, deltas ...*Delta) error {
	if len(deltas) == 0 {
		deltas = []*Delta{s.NewDelta()}
	}
	b := deltas[0].b // a large delta is not copied
	defer b.Close()
	rels := deltas[0].rels
	for _, d := range deltas[1:] {
		if err := b.Apply(d.b, nil); err != nil {
			return err
		}
		rels = append(rels, d.rels...)
		d.Discard()
	}
	if c != nil {
		if err := stageCheckpoint(b, c); err != nil {
			return err
		}
	}
	for _, w := range rels {
		w.rel.stage(b, w)
	}
	if err := s.write(b); err != nil {
		return err
	}
	for _, w := range rels {
		w.rel.published(w.version)
	}
	return nil
}

func stageCheckpoint(b *pebble.Batch, c *Checkpoint) error {
	v, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return b.Set(prefix32(spaceCheckpoint, c.Query), v, nil)
}

// Last returns the last checkpoint of a query, or that of a savepoint; nil when there
// is none.
func (s *Store) Last(query uint32) (*Checkpoint, error) { return lastIn(s.db, query) }

// LastIn is Last of what from shows.
func (s *Store) LastIn(from *Snapshot, query uint32) (*Checkpoint, error) {
	return lastIn(from.s, query)
}

func lastIn(r pebble.Reader, query uint32) (*Checkpoint, error) {
	v, closer, err := r.Get(prefix32(spaceCheckpoint, query))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	defer closer.Close()
	c := &Checkpoint{}
	if err := json.Unmarshal(v, c); err != nil {
		return nil, sqlerr.Wrap(err, sqlerr.DataCorrupted, "the checkpoint of query %d is unreadable", query)
	}
	return c, nil
}

// DropQuery removes all that the store holds of a query: checkpoint, operator
// state, records.
func (s *Store) DropQuery(query uint32) error {
	b := s.db.NewBatch()
	defer b.Close()
	for _, space := range []byte{spaceOperator, spaceCheckpoint, spaceRecord} {
		p := prefix32(space, query)
		if err := b.DeleteRange(p, After(p), nil); err != nil {
			return err
		}
	}
	return s.remove(b)
}

// Scan calls fn for each key from lo up to but not including hi in order. The
// slices are valid during the call.
func (s *Store) Scan(lo, hi []byte, fn func(key, val []byte) error) error {
	return scan(s.db, lo, hi, fn)
}

func scan(r pebble.Reader, lo, hi []byte, fn func(key, val []byte) error) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, readError(it.Close())) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if err := fn(it.Key(), v); err != nil {
			return err
		}
	}
	return nil // Close has the iterator's error
}

// PutObject, DeleteObject and Objects keep the catalog: opaque values by id.
func (s *Store) PutObject(id uint32, val []byte) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := b.Set(prefix32(spaceCatalog, id), val, nil); err != nil {
		return err
	}
	return s.write(b)
}

// DeleteObject removes a catalog object.
func (s *Store) DeleteObject(id uint32) error {
	return s.db.Delete(prefix32(spaceCatalog, id), pebble.Sync)
}

// Objects calls fn for each catalog object by ascending id.
func (s *Store) Objects(fn func(id uint32, val []byte) error) error {
	p := []byte{spaceCatalog}
	return s.Scan(p, After(p), func(k, v []byte) error {
		if len(k) != 5 {
			return sqlerr.New(sqlerr.DataCorrupted, "a catalog key is malformed")
		}
		return fn(binary.BigEndian.Uint32(k[1:]), v)
	})
}

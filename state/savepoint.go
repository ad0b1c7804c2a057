package state

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Savepoint is a kept copy of all that the store had of a query at the end of one
// epoch: operator state, records, rows, and the checkpoint that goes with them. The
// copy is stored as a query's own is, under an id that no query has.
type Savepoint struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
	// Query, Kind and Of tell whose copy it is: id, kind and name when it was made.
	// Object is the catalog object, encoded.
	Query  uint32 `json:"query"`
	Kind   string `json:"kind"`
	Of     string `json:"of"`
	Object []byte `json:"object"`
	// Created is when it was made, in microseconds since the Unix epoch; Epoch the
	// query's epoch; Bytes about the size of the copy.
	Created int64  `json:"created"`
	Epoch   uint64 `json:"epoch"`
	Bytes   int64  `json:"bytes"`
	// Making is set until the copy is whole.
	Making bool `json:"making,omitempty"`
}

// copied are the kinds of records that go with a query's state. What a sink has sent,
// and what an epoch was about to read, belong to the query alone.
var copied = []RecordKind{LateRecord, BadRecord, FailedRecord}

// copyBytes is how much of a copy is held in memory.
const copyBytes = 1 << 20

func savepointKey(id uint32) []byte { return prefix32(spaceSavepoint, id) }

// Save makes a savepoint of the state that snap has of the query sp.Query: in the
// background of everything else, with bounded memory. A reader sees it when it is
// whole; what a crash or an error leaves of it is removed. sp is filled in.
func (s *Store) Save(ctx context.Context, sp *Savepoint, snap *Snapshot) error {
	sp.Making = true
	if err := s.putSavepoint(sp, nil); err != nil {
		return err
	}
	err := s.save(ctx, sp, snap)
	if err != nil {
		err = errors.Join(err, s.DropSavepoint(sp.ID))
	}
	return err
}

func (s *Store) save(ctx context.Context, sp *Savepoint, snap *Snapshot) error {
	cp, err := lastIn(snap.s, sp.Query)
	if err != nil {
		return err
	}
	if cp == nil {
		return sqlerr.New(sqlerr.ObjectNotInState, "%s has not come to the end of its first epoch", sp.Of).
			WithHint("It has no state yet; RESUME it if it is paused.")
	}
	c := copier{store: s, ctx: ctx, from: snap.s}
	ranges := [][2][]byte{{prefix32(spaceOperator, sp.Query), prefix32(spaceOperator, sp.ID)},
		{prefix32(spaceRows, sp.Query), prefix32(spaceRows, sp.ID)},
		{prefix32(spaceRelation, sp.Query), prefix32(spaceRelation, sp.ID)}}
	for _, k := range copied {
		ranges = append(ranges, [2][]byte{recordPrefix(sp.Query, k), recordPrefix(sp.ID, k)})
	}
	for _, r := range ranges {
		if err := c.copy(r[0], r[1]); err != nil {
			return err
		}
	}
	if err := c.flush(); err != nil {
		return err
	}
	cp.Query, cp.Prepared = sp.ID, nil
	sp.Epoch, sp.Bytes, sp.Making = cp.Epoch, c.bytes, false
	return s.putSavepoint(sp, cp)
}

// putSavepoint writes the record, and the checkpoint where there is one.
func (s *Store) putSavepoint(sp *Savepoint, cp *Checkpoint) error {
	b := s.db.NewBatch()
	defer b.Close()
	v, err := json.Marshal(sp)
	if err != nil {
		return err
	}
	if err := b.Set(savepointKey(sp.ID), v, nil); err != nil {
		return err
	}
	if cp != nil {
		if err := stageCheckpoint(b, cp); err != nil {
			return err
		}
	}
	return s.write(b)
}

// Savepoints returns the savepoints that are whole, by id.
func (s *Store) Savepoints() ([]Savepoint, error) {
	all, err := savepointsIn(s.db)
	var out []Savepoint
	for _, sp := range all {
		if !sp.Making {
			out = append(out, sp)
		}
	}
	return out, err
}

func savepointsIn(db *pebble.DB) (all []Savepoint, err error) {
	p := []byte{spaceSavepoint}
	err = scan(db, p, After(p), func(k, v []byte) error {
		var sp Savepoint
		if err := json.Unmarshal(v, &sp); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "the record of a savepoint is unreadable")
		}
		all = append(all, sp)
		return nil
	})
	return all, err
}

// DropSavepoint removes a savepoint with its copies.
func (s *Store) DropSavepoint(id uint32) error {
	b := s.db.NewBatch()
	defer b.Close()
	if err := dropSavepoint(b, id); err != nil {
		return err
	}
	return s.remove(b)
}

func dropSavepoint(b *pebble.Batch, id uint32) error {
	if err := b.Delete(savepointKey(id), nil); err != nil {
		return err
	}
	for _, space := range []byte{spaceOperator, spaceCheckpoint, spaceRecord, spaceRows, spaceRelation} {
		p := prefix32(space, id)
		if err := b.DeleteRange(p, After(p), nil); err != nil {
			return err
		}
	}
	return nil
}

// dropUnfinished removes what a crash has left of savepoints in the making.
func dropUnfinished(db *pebble.DB) error {
	all, err := savepointsIn(db)
	if err != nil {
		return err
	}
	b := db.NewBatch()
	defer b.Close()
	for _, sp := range all {
		if sp.Making {
			if err := dropSavepoint(b, sp.ID); err != nil {
				return err
			}
		}
	}
	if b.Empty() {
		return nil
	}
	return b.Commit(pebble.Sync)
}

// copier copies ranges of keys in unsynced batches of bounded size. What it has
// written is durable with the next synced one.
type copier struct {
	store *Store
	ctx   context.Context
	from  pebble.Reader
	// only tells of a key, without the prefix it is copied from, whether it is wanted;
	// nil: all are.
	only  func(rest []byte) bool
	b     *pebble.Batch
	bytes int64
}

// copy copies the keys that begin with one prefix to the same behind another.
func (c *copier) copy(from, to []byte) error {
	key := append([]byte(nil), to...)
	return scan(c.from, from, After(from), func(k, v []byte) error {
		if c.only != nil && !c.only(k[len(from):]) {
			return nil
		}
		if c.b == nil {
			c.b = c.store.db.NewBatch()
		}
		key = append(key[:len(to)], k[len(from):]...)
		if err := c.b.Set(key, v, nil); err != nil {
			return err
		}
		if c.b.Len() < copyBytes {
			return nil
		}
		return c.flush()
	})
}

// flush writes what has been gathered.
func (c *copier) flush() error {
	b := c.b
	if c.b = nil; b == nil {
		return context.Cause(c.ctx)
	}
	defer b.Close()
	if err := context.Cause(c.ctx); err != nil {
		return err
	}
	if err := c.store.checkSpace(b.Len()); err != nil {
		return err
	}
	c.bytes += int64(b.Len())
	if err := b.Commit(pebble.NoSync); err != nil {
		return sqlerr.Wrap(err, sqlerr.IOError, "the store cannot be written")
	}
	return nil
}

// operatorOf reads the operator from a key of operator state without its first five
// bytes; of a live error it is the one that failed.
func operatorOf(rest []byte) uint16 {
	if len(rest) < 3 {
		return 0
	}
	op := binary.BigEndian.Uint16(rest)
	if op != errorTable {
		return op
	}
	for i, c := range rest[3:] {
		if c == 0 && len(rest) >= 3+i+3 {
			return binary.BigEndian.Uint16(rest[3+i+1:])
		}
	}
	return 0
}

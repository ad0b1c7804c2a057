package catalog

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Persister keeps the catalog's records. Keys are object ids and 0.
type Persister interface {
	// CommitObjects stores the puts and removes the deletes in one durable step.
	CommitObjects(puts map[uint32][]byte, deletes []uint32) error
	// Objects calls fn for everything stored; val is valid during the call.
	Objects(fn func(id uint32, val []byte) error) error
}

// Catalog is the mutable catalog. It is safe for concurrent use.
type Catalog struct {
	cur     atomic.Pointer[Snapshot]
	mu      sync.Mutex // one committer at a time; guards what follows
	persist Persister  // nil: in memory only
	next    ObjectID
	stored  ObjectID // ids below are covered by the stored meta record
}

// idBlock is how many ids one write of the meta record covers.
const idBlock = 64

// Open loads the catalog from p, nil for one that is kept in memory. It fails
// with XX001 when the records cannot be read and with 0A000 when a newer
// release wrote them.
func Open(p Persister) (*Catalog, error) {
	sys, err := loadSystem()
	if err != nil {
		return nil, err
	}
	c := &Catalog{persist: p, next: 1}
	snap := newSnapshot(sys)
	if p != nil {
		if err := c.load(p, snap); err != nil {
			return nil, err
		}
	}
	c.cur.Store(snap)
	return c, nil
}

func (c *Catalog) load(p Persister, snap *Snapshot) error {
	records := map[uint32][]byte{}
	err := p.Objects(func(id uint32, val []byte) error {
		records[id] = bytes.Clone(val)
		return nil
	})
	if err != nil {
		return err
	}
	meta := metaRecord{Version: formatVersion, Next: 1}
	if data, ok := records[uint32(metaID)]; ok {
		if err := json.Unmarshal(data, &meta); err != nil {
			return sqlerr.Wrap(err, sqlerr.DataCorrupted, "stored catalog header cannot be read")
		}
	}
	if meta.Version > formatVersion {
		return sqlerr.Unsupported("the catalog has format version %d, this release reads up to %d",
			meta.Version, formatVersion)
	}
	for id, data := range records {
		if ObjectID(id) == metaID {
			continue
		}
		o, err := DecodeObject(data)
		if err != nil {
			return err
		}
		if o.ID != ObjectID(id) || snap.byName[o.Name] != nil {
			return sqlerr.New(sqlerr.DataCorrupted, "stored catalog object %q is out of place", o.Name)
		}
		snap.byID[o.ID], snap.byName[o.Name] = o, o
		meta.Next = max(meta.Next, o.ID+1)
	}
	c.next, c.stored = meta.Next, meta.Next
	return nil
}

// Snapshot returns the version in force along the default search path.
func (c *Catalog) Snapshot() *Snapshot { return c.cur.Load() }

// NewID returns an id that no object has had.
func (c *Catalog) NewID() (ObjectID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next >= systemBit/2 {
		return 0, sqlerr.New(sqlerr.ProgramLimitExceeded, "object ids are used up")
	}
	if c.next >= c.stored && c.persist != nil {
		data, err := json.Marshal(metaRecord{formatVersion, c.next + idBlock})
		if err != nil {
			return 0, err
		}
		if err := c.persist.CommitObjects(map[uint32][]byte{uint32(metaID): data}, nil); err != nil {
			return 0, err
		}
		c.stored = c.next + idBlock
	}
	c.next++
	return c.next - 1, nil
}

// Update runs fn on a new Tx and commits it.
func (c *Catalog) Update(fn func(*Tx) error) error {
	tx := c.Begin()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

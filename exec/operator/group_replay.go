package operator

import (
	"encoding/binary"
	"math"

	"github.com/streamsql/streamsql/state"
)

// replayGroups is how many groups a replay holds at a time.
const replayGroups = 1024

// replay gives the rows in the range once more, as the store has them, for operators
// above that are new. It comes before any row, so that the table is no further than the
// store.
func (o *GroupTopN) replay() error {
	if !o.rt.Replay {
		return nil
	}
	o.rt.Replay = false
	if o.FinalOnly {
		return nil
	}
	part := &GroupTopN{PartitionBy: o.PartitionBy, OrderBy: o.OrderBy, Func: o.Func, From: o.From, To: o.To,
		Rank: o.Rank, Shapes: o.Shapes, AppendOnly: o.AppendOnly, rt: o.rt, out: o.out, outShapes: o.outShapes,
		buckets: map[int64]*topBucket{}}
	lo, end := o.rt.Table.Prefix(), int64(math.MinInt64)
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		if k = k[len(lo):]; len(k) < 9 {
			return errState
		}
		if !o.rt.Owns(k[8]) {
			return nil
		}
		if at := int64(binary.BigEndian.Uint64(k) ^ 1<<63); at != end {
			if err := part.giveAll(end); err != nil {
				return err
			}
			end = at
		}
		bk := part.bucketAt(end)
		n := bk.groups.Len()
		id, key, err := bk.groups.AddKey(k[9:])
		if err != nil {
			return errState
		}
		if n >= replayGroups && bk.groups.Len() > n { // the rows of the others are all there
			if err := part.giveAll(end); err != nil {
				return err
			}
			bk = part.bucketAt(end)
			if id, key, err = bk.groups.AddKey(k[9:]); err != nil {
				return errState
			}
		}
		bk.grow()
		return bk.restoreKey(id, key, v)
	})
	if err != nil {
		return err
	}
	return part.giveAll(end)
}

// giveAll sends what is in the range of a bucket's groups, and forgets the bucket.
func (o *GroupTopN) giveAll(end int64) error {
	bk := o.buckets[end]
	if bk == nil {
		return nil
	}
	for id := range bk.tops {
		o.walk(&bk.tops[id])
		o.ghosts, o.ghostEnds = o.ghosts[:0], o.ghostEnds[:0]
		if o.adds != nil && o.adds.Len >= chunkRows {
			if err := o.send(); err != nil {
				return err
			}
		}
	}
	delete(o.buckets, end)
	return o.send()
}

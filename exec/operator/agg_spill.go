package operator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// Groups that do not fit into memory are in the store alone. A bucket some of whose
// groups are there is away: a key that is new to its table is looked for in the store
// first. What leaves the table is in the store as it was at the last barrier, and
// committed: groups saved in this epoch or in one that is being committed stay.

// canSpill tells whether groups may be left to the store: where a group is one key of
// it, and nothing asks for all groups but the close of a window.
func (o *HashAgg) canSpill() bool {
	if o.Budget == nil || o.rt.Store == nil || len(o.KeyCols) == 0 || o.panes || o.Keep || o.exp != nil {
		return false
	}
	for _, a := range o.Aggs {
		if a.Distinct {
			return false
		}
	}
	return true
}

// aged notes which groups the store may not have yet, after a save.
func (o *HashAgg) aged(bk *bucket, saved []int32) {
	for _, id := range bk.prev {
		bk.flags[id] &^= savedBefore
	}
	bk.prev, bk.now = bk.now, append(bk.prev[:0], saved...)
	for _, id := range bk.prev {
		bk.flags[id] = bk.flags[id]&^savedNow | savedBefore
	}
	for _, id := range bk.now {
		bk.flags[id] |= savedNow
	}
}

// spill leaves groups to the store, of the largest buckets first, until the state is
// within its budget or nothing more can go. It returns the bytes that are left.
func (o *HashAgg) spill(size int) (int, error) {
	if !o.spills || size <= o.Budget() {
		return size, nil
	}
	bks := make([]*bucket, 0, len(o.buckets))
	sizes := map[*bucket]int{}
	for _, bk := range o.buckets {
		bks = append(bks, bk)
		sizes[bk] = bk.bytes()
	}
	slices.SortFunc(bks, func(a, b *bucket) int { return sizes[b] - sizes[a] })
	hold := savedNow
	if o.committed.Load()+1 < o.epoch {
		hold |= savedBefore
	}
	clear(o.free)
	o.free = o.free[:0]
	for _, bk := range bks {
		if size <= o.Budget()/2 {
			break
		}
		stay := 0
		for _, f := range bk.flags {
			if f&hold != 0 {
				stay++
			}
		}
		if 10*stay > 9*bk.groups.Len() { // not worth it
			continue
		}
		if err := o.rebuild(bk, func(id int32) bool { return bk.flags[id]&hold != 0 }); err != nil {
			return size, err
		}
		nb := o.buckets[bk.end]
		nb.away = true
		size += nb.bytes() - sizes[bk]
	}
	clear(o.free)
	o.free = o.free[:0]
	return size, nil
}

// fetch brings the groups from number from on, which are new to the table, from the
// store, if they are there.
func (o *HashAgg) fetch(bk *bucket, from int) error {
	n := bk.groups.Len() - from
	if n == 0 || !bk.away {
		return nil
	}
	prefix := appendBucketEnd(o.prefix(0), bk.end)
	arena, ends := o.keys[:0], make([]int, n)
	for k := range ends {
		arena = appendGroupKey(append(arena, prefix...), bk.groups, int32(from+k))
		ends[k] = len(arena)
	}
	o.keys = arena
	keys, order := make([][]byte, n), make([]int, n)
	for k := range keys {
		begin := 0
		if k > 0 {
			begin = ends[k-1]
		}
		keys[k], order[k] = arena[begin:ends[k]], k
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	sorted := make([][]byte, n)
	for k, i := range order {
		sorted[k] = keys[i]
	}
	var found []int32
	err := o.rt.Store.Fetch(sorted, func(k int, val []byte) error {
		id := int32(from + order[k])
		found = append(found, id)
		return o.restoreGroup(bk, id, val)
	})
	if err != nil || o.FinalOnly || len(found) == 0 {
		return err
	}
	res, errs := o.results(bk, found)
	res.Release()
	for k, err := range errs {
		id := found[k]
		bk.flags[id] = bk.flags[id]&^emitted | failed
		bk.fail(id, err)
	}
	return nil
}

// lookup finds the groups of rows in the table and in the store.
func (o *HashAgg) lookup(bk *bucket, cols []*arrowbatch.Vec, rows, ids []int32) error {
	from := bk.groups.Len()
	bk.groups.Lookup(cols, rows, ids)
	o.grow(bk)
	return o.fetch(bk, from)
}

// finalStep is how many groups of a closed window are brought from the store at a time.
const finalStep = 1 << 14

// emitAway sends the groups of a closed window that are in the store alone.
func (o *HashAgg) emitAway(bk *bucket, start, end int64) error {
	part := o.newBucket(bk.start, bk.end)
	defer o.recycle(part)
	lo := appendBucketEnd(o.prefix(0), bk.end)
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		if k = k[len(lo):]; len(k) < 1 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		id, _, err := part.groups.AddKey(k[1:])
		if err != nil {
			return errState
		}
		o.grow(part)
		if err := o.restoreGroup(part, id, v); err != nil {
			return err
		}
		if part.groups.Len() < finalStep {
			return nil
		}
		return o.emitPart(bk, part, start, end)
	})
	if err != nil {
		return err
	}
	return o.emitPart(bk, part, start, end)
}

// emitPart sends the groups of part that bk has not, and empties it.
func (o *HashAgg) emitPart(bk, part *bucket, start, end int64) error {
	n := part.groups.Len()
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	keys := arrowbatch.NewLike(o.keyShapes)
	defer keys.Release()
	if err := part.groups.AppendColumns(keys.Cols, all); err != nil {
		return err
	}
	here := make([]int32, n)
	bk.groups.Find(keys.Cols, nil, here)
	for id, at := range here {
		if at >= 0 {
			part.flags[id] |= forgotten // the table has a later state of it
		}
	}
	err := o.emitGroups(part, start, end)
	part.reset()
	return err
}

var errTooLarge = errors.New("the state is larger than its budget")

// leave forgets what has been restored and takes all stored groups for away.
func (o *HashAgg) leave() error {
	clear(o.buckets)
	o.cur = nil
	lo := o.prefix(0)
	hi := state.After(lo)
	for at := lo; ; {
		key, err := o.rt.Store.First(at, hi)
		if err != nil || key == nil {
			return err
		}
		if len(key) < len(lo)+9 {
			return errState
		}
		end := int64(binary.BigEndian.Uint64(key[len(lo):]) ^ 1<<63)
		bk := o.bucketAt(o.startOf(end), end)
		bk.stored, bk.away = true, true
		at = state.After(key[:len(lo)+8])
	}
}

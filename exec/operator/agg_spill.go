package operator

import (
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// Groups that do not fit into memory are in the store alone. A bucket some of whose
// groups are there is away: a key that is new to its table is looked for in the store
// first, and so is a value that is new to a set of DISTINCT values.

// canSpill tells whether groups may be left to the store: where nothing asks for all
// groups but the close of a window.
func (o *HashAgg) canSpill() bool { return o.exp == nil }

// allAges adds the ages of all entries of the bucket to a list.
func (bk *bucket) allAges(to []ages) []ages {
	bk.ages.fill(bk.groups.Len())
	to = append(to, bk.ages)
	for _, s := range bk.sets {
		if s != nil {
			s.ages.fill(len(s.counts))
			to = append(to, s.ages)
		}
	}
	return to
}

// spill leaves groups to the store until the state is within its budget or nothing more
// can go. It returns the bytes that are left.
func (o *HashAgg) spill(size int) (int, error) {
	if !o.tier.over(size) {
		return size, nil
	}
	o.dropSlide()
	clear(o.free)
	o.free = o.free[:0]
	var all []ages
	bks := make([]*bucket, 0, len(o.buckets))
	for _, bk := range o.buckets {
		bks = append(bks, bk)
		all = bk.allAges(all)
	}
	from, ok := o.tier.cut(size, all...)
	if !ok {
		return size, nil
	}
	left := 0
	for _, bk := range bks {
		left += bk.bytes()
		if !bk.leaves(from) {
			continue
		}
		left -= bk.bytes()
		// A value that stays was used no later than its group, which stays then, too.
		err := o.rebuild(bk, func(id int32) bool { return bk.ages.of(id) >= from },
			func(s *distinctSet, id int32) bool { return s.ages.of(id) >= from })
		if err != nil {
			return size, err
		}
		nb := o.buckets[bk.end]
		nb.away = true
		left += nb.bytes()
		clear(o.free)
		o.free = o.free[:0]
	}
	return left, nil
}

// leaves tells whether an entry was last used before an age.
func (bk *bucket) leaves(from uint32) bool {
	for _, a := range bk.allAges(nil) {
		for _, e := range a {
			if e < from {
				return true
			}
		}
	}
	return false
}

// fetch brings the groups from number from on, which are new to the table, from the
// store, if they are there.
func (o *HashAgg) fetch(bk *bucket, from int) error {
	if !bk.away || bk.groups.Len() == from {
		return nil
	}
	var found []int32
	err := o.tier.fetchNew(appendBucketEnd(o.prefix(0), bk.end), bk.groups, from, func(id int32, val []byte) error {
		found = append(found, id)
		return o.restoreGroup(bk, id, val)
	})
	if err != nil || o.FinalOnly || len(found) == 0 {
		return err
	}
	o.noteErrors(bk, found)
	return nil
}

// fetchValues brings the values of a DISTINCT aggregate from number from on.
func (o *HashAgg) fetchValues(bk *bucket, agg, from int) error {
	set := bk.sets[agg]
	keys := &o.tier.keys
	keys.Begin(appendBucketEnd(o.prefix(uint8(agg+1)), bk.end))
	for id := from; id < set.values.Len(); id++ {
		group, vals := set.key(int32(id))
		o.keys = append(appendGroupKey(o.keys[:0], bk.groups, group), vals...)
		keys.AddKey(int32(id), o.keys)
	}
	return o.tier.fetch(func(id int32, val []byte) error {
		n, w := binary.Varint(val)
		if w <= 0 {
			return errState
		}
		group, _ := set.key(id)
		set.restore(id, group, n)
		return nil
	})
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
	switch {
	case len(o.KeyCols) > 0:
		bk.groups.Find(keys.Cols, nil, here)
	case bk.groups.Len() == 0:
		here = nil
	}
	for id, at := range here {
		if at >= 0 {
			part.flags[id] |= forgotten // the table has a later state of it
		}
	}
	if !o.FinalOnly { // a replay: errors of groups are known
		o.noteErrors(part, all)
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

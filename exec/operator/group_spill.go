package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// Groups of first rows that do not fit into memory are in the store alone, with all their
// rows; see tier.

// fetch brings the groups from number from on, which are new to a bucket, from the store.
func (o *GroupTopN) fetch(bk *topBucket, from int) error {
	if !bk.away {
		return nil
	}
	prefix := appendBucketEnd(o.rt.Table.Prefix(), bk.end)
	var found []int32
	err := o.tier.fetchNew(prefix, bk.groups, from, func(id int32, _ []byte) error {
		found = append(found, id)
		return nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	keys := &o.tier.keys
	keys.Begin(prefix)
	for _, id := range found {
		keys.Add(bk.groups, id)
	}
	keys.Sort()
	err = o.rt.Store.ScanEach(keys, func(k int, rest, val []byte) error {
		return bk.restoreKey(keys.ID(k), rest, val)
	})
	if err != nil {
		return err
	}
	for _, id := range found {
		o.restored(&bk.tops[id])
	}
	return nil
}

// spill leaves groups to the store, when all that changed is given and in the delta.
func (o *GroupTopN) spill() error {
	size := o.size()
	if !o.tier.over(size) {
		return nil
	}
	var all []ages
	for _, bk := range o.buckets {
		bk.ages.fill(len(bk.tops))
		all = append(all, bk.ages)
	}
	from, ok := o.tier.cut(size, all...)
	if !ok {
		return nil
	}
	for _, bk := range o.buckets {
		bk.away = true
		if err := o.compact(bk, func(id int32) bool { return bk.ages.of(id) >= from }); err != nil {
			return err
		}
	}
	return nil
}

// leave forgets what has been restored and takes all stored groups for away.
func (o *GroupTopN) leave() error {
	clear(o.buckets)
	g := generations{}
	if err := g.find(o.rt, o.rt.Table.Prefix()); err != nil {
		return err
	}
	for _, end := range g.all() {
		bk := o.bucketAt(end)
		bk.stored, bk.away = true, true
	}
	return nil
}

// partBytes is how much of a closed bucket is brought from the store at a time.
const partBytes = 1 << 22

// closeAway gives the groups of a closed bucket that are in the store alone.
func (o *GroupTopN) closeAway(bk *topBucket) error {
	lo := appendBucketEnd(o.rt.Table.Prefix(), bk.end)
	part := o.newBucket(bk.end)
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		if k = k[len(lo):]; len(k) < 1 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		id, rest, err := part.groups.AddKey(k[1:])
		if err != nil {
			return errState
		}
		if len(rest) == 0 && part.bytes > partBytes { // the head of the next group
			if err := o.closePart(bk, part); err != nil {
				return err
			}
			part = o.newBucket(bk.end)
			if id, _, err = part.groups.AddKey(k[1:]); err != nil {
				return errState
			}
		}
		part.grow()
		return part.restoreKey(id, rest, v)
	})
	if err != nil {
		return err
	}
	return o.closePart(bk, part)
}

// closePart gives the groups of part that bk has not.
func (o *GroupTopN) closePart(bk, part *topBucket) error {
	all := make([]int32, len(part.tops))
	for id := range all {
		all[id] = int32(id)
	}
	keys := arrowbatch.NewLike(bk.groups.Shapes())
	defer keys.Release()
	if err := part.groups.AppendColumns(keys.Cols, all); err != nil {
		return err
	}
	here := make([]int32, len(all))
	bk.groups.Find(keys.Cols, nil, here)
	for id, at := range here {
		if at >= 0 {
			continue // what is here is later
		}
		part.tops[id].countTail()
		if err := o.finish(&part.tops[id]); err != nil {
			return err
		}
	}
	return nil
}

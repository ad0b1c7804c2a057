package operator

import "github.com/streamsql/streamsql/arrowbatch"

// compactFrom is how many groups or distinct values without rows a bucket holds
// before it is worth building it anew.
const compactFrom = 1024

// note keeps the number of groups without rows; it is called for changed groups.
func (bk *bucket) note(id int32) {
	switch {
	case bk.live(id) == (bk.flags[id]&rowless == 0):
	case bk.live(id):
		bk.flags[id] &^= rowless
		bk.dead--
	default:
		bk.flags[id] |= rowless
		bk.dead++
	}
}

// note keeps the number of values that no row has any more.
func (d *distinctSet) note(id int32) {
	for len(d.gone) < len(d.counts) {
		d.gone = append(d.gone, false)
	}
	if gone := d.counts[id] <= 0; gone != d.gone[id] {
		d.gone[id] = gone
		if gone {
			d.dead++
		} else {
			d.dead--
		}
	}
}

// sparse tells whether most of the bucket's groups, or of the values of a DISTINCT
// aggregate, have no rows.
func (bk *bucket) sparse() bool {
	if bk.dead >= compactFrom && 2*bk.dead >= bk.groups.Len() {
		return true
	}
	for _, s := range bk.sets {
		if s != nil && s.dead >= compactFrom && 2*s.dead >= len(s.counts) {
			return true
		}
	}
	return false
}

// compact builds a bucket anew from what has rows. Groups without rows stay while the
// store may still have them as they were and would be asked for them.
func (o *HashAgg) compact(bk *bucket) error {
	return o.rebuild(bk, func(id int32) bool {
		return bk.live(id) || bk.away && o.tier.holds(bk.ages.of(id))
	}, func(s *distinctSet, id int32) bool {
		return s.counts[id] > 0 || bk.away && o.tier.holds(s.ages.of(id))
	})
}

// rebuild builds a bucket anew from the groups that stay and the values of theirs that
// do, between epochs: nothing is to be emitted or saved.
func (o *HashAgg) rebuild(bk *bucket, stays func(id int32) bool, valueStays func(s *distinctSet, id int32) bool) error {
	nb := o.newBucket(bk.start, bk.end)
	nb.stored, nb.away = bk.stored, bk.away
	var keep []int32
	place := make([]int32, bk.groups.Len()) // the new number of each group
	for id := range place {
		place[id] = -1
		if stays(int32(id)) {
			place[id] = int32(len(keep))
			keep = append(keep, int32(id))
		}
	}
	keys := arrowbatch.NewLike(o.keyShapes)
	defer keys.Release()
	if err := bk.groups.AppendColumns(keys.Cols, keep); err != nil {
		return err
	}
	nb.groups.Lookup(keys.Cols, nil, make([]int32, len(keep)))
	o.grow(nb)
	for k, id := range keep {
		for i, a := range nb.accs {
			o.buf[0] = bk.accs[i].Append(o.buf[0][:0], id)
			if _, err := a.Merge(int32(k), o.buf[0]); err != nil {
				return err
			}
		}
		nb.flags[k] = bk.flags[id]
		if len(bk.rows) > 0 {
			nb.rows[k] = bk.rows[id]
		}
		if err := bk.errs[id]; err != nil {
			nb.fail(int32(k), err)
		}
	}
	nb.ages = bk.ages.renumbered(keep)
	for _, f := range nb.flags {
		if f&rowless != 0 {
			nb.dead++
		}
	}
	if err := nb.takeSets(bk, place, valueStays); err != nil {
		return err
	}
	if o.exp != nil {
		o.exp = o.exp.renumbered(keep)
	}
	o.buckets[bk.end], o.cur = nb, nil
	o.recycle(bk)
	return nil
}

// takeSets copies the distinct values that stay, of groups numbered anew.
func (nb *bucket) takeSets(bk *bucket, place []int32, stays func(s *distinctSet, id int32) bool) error {
	for i, s := range bk.sets {
		if s == nil {
			continue
		}
		to := nb.sets[i]
		var keep []int32
		for id, n := range s.counts {
			if !stays(s, int32(id)) {
				continue
			}
			group, vals := s.key(int32(id))
			if place[group] < 0 || bk.flags[group]&forgotten != 0 {
				continue
			}
			at, err := to.entry(place[group], vals)
			if err != nil {
				return err
			}
			to.restore(at, place[group], n)
			to.note(at)
			keep = append(keep, int32(id))
		}
		to.ages = s.ages.renumbered(keep)
	}
	return nil
}

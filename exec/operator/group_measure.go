package operator

// measure tells the size of the state, once what has no rows is forgotten.
func (o *GroupTopN) measure() error {
	for _, bk := range o.buckets {
		if bk.groups.Len() > 4096 && bk.empty > bk.groups.Len()/2 {
			err := o.compact(bk, func(id int32) bool {
				return len(bk.tops[id].chunks) > 0 || bk.away && o.tier.holds(bk.ages.of(id))
			})
			if err != nil {
				return err
			}
		}
	}
	err := o.spill()
	n := 0
	for _, bk := range o.buckets {
		n += bk.rows
	}
	o.rt.Stats.State(n, o.size())
	return err
}

// size is about the memory of the state.
func (o *GroupTopN) size() int {
	size := 0
	for _, bk := range o.buckets {
		full := len(bk.tops) - bk.empty
		size += bk.groups.Bytes() + bk.bytes + len(bk.tops)*topGroupBytes + full*topChunkBytes + 4*cap(bk.ages)
	}
	return size
}

const topGroupBytes, topChunkBytes = 96, 64

// compact makes a bucket of the groups that stay. Nothing is to be saved then.
func (o *GroupTopN) compact(bk *topBucket, stays func(id int32) bool) error {
	fresh := o.newBucket(bk.end)
	fresh.stored, fresh.away = bk.stored, bk.away
	var key []byte
	var keep []int32
	for id := range bk.tops {
		if !stays(int32(id)) {
			continue
		}
		keep = append(keep, int32(id))
		key = bk.groups.AppendKey(key[:0], int32(id))
		n, _, err := fresh.groups.AddKey(key)
		if err != nil {
			return errState
		}
		fresh.grow()
		fresh.tops[n] = bk.tops[id]
		if len(bk.tops[id].chunks) > 0 {
			fresh.empty--
		}
		for _, c := range bk.tops[id].chunks {
			fresh.rows += len(c.rows)
			for i := range c.rows {
				fresh.bytes += int(c.rows[i].size) + topRowBytes
			}
		}
	}
	fresh.ages = bk.ages.renumbered(keep)
	if o.exp != nil {
		o.exp = o.exp.renumbered(keep)
	}
	*bk = *fresh
	return nil
}

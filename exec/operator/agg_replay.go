package operator

// replay readies the groups to leave once more, as if none of them had before: for
// operators above that are new. Groups in the table leave with the first emission;
// those that are in the store alone leave now, before any row changes them.
func (o *HashAgg) replay() error {
	if !o.rt.Replay {
		return nil
	}
	o.rt.Replay = false
	if o.FinalOnly {
		return nil
	}
	for _, end := range o.ends() {
		bk := o.buckets[end]
		if bk.away {
			if err := o.emitAway(bk, bk.start, bk.end); err != nil {
				return err
			}
		}
		for id := range int32(bk.groups.Len()) {
			if bk.flags[id]&emitted == 0 {
				continue
			}
			if bk.flags[id]&toEmit == 0 {
				bk.emitList = append(bk.emitList, id)
			}
			bk.flags[id] = bk.flags[id]&^emitted | toEmit
		}
	}
	return nil
}

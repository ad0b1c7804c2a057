package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/state"
)

// paneGroups are the groups of a pane that are in memory, in the order of the store.
type paneGroups struct {
	bk   *bucket
	keys state.KeyList
	next int
}

// closeAway sends a window some of whose panes' groups are in the store alone. It goes
// through the panes by ranges of vnodes, each of them put together and sent before the
// next, so that memory holds the groups of one; how wide a range is follows from how many
// groups the one before had.
func (o *HashAgg) closeAway(start, end int64) error {
	o.dropSlide()
	var panes []*paneGroups
	for p := start + o.pane; p <= end; p += o.pane {
		bk := o.buckets[p]
		if bk == nil {
			continue
		}
		g := &paneGroups{bk: bk}
		g.keys.Begin(nil)
		for id := range int32(bk.groups.Len()) {
			g.keys.Add(bk.groups, id)
		}
		g.keys.Sort()
		panes = append(panes, g)
	}
	part := o.newBucket(start, end)
	defer o.recycle(part)
	for v, width := 0, 1; v < state.Vnodes; {
		to := min(v+width, state.Vnodes)
		for _, g := range panes {
			if err := o.mergeAway(part, g, v, to); err != nil {
				return err
			}
		}
		n := part.groups.Len()
		if err := o.emitGroups(part, start, end); err != nil {
			return err
		}
		part.reset()
		v = to
		switch {
		case n > finalStep:
			width = max(width/2, 1)
		case n < finalStep/4:
			width *= 2
		}
	}
	return nil
}

// mergeAway adds the groups of a pane with vnodes from v up to but not including to,
// those in memory and of the others those in the store.
func (o *HashAgg) mergeAway(part *bucket, g *paneGroups, v, to int) error {
	if g.bk.away {
		prefix := appendBucketEnd(o.prefix(0), g.bk.end)
		lo, hi := append(bytes.Clone(prefix), byte(v)), state.After(append(bytes.Clone(prefix), byte(to-1)))
		err := o.rt.Store.Scan(lo, hi, func(k, val []byte) error {
			key := k[len(prefix):]
			if !o.rt.Owns(key[0]) {
				return nil
			}
			if here, err := o.mergeUpTo(part, g, to, key); here || err != nil {
				return err
			}
			id, _, err := part.groups.AddKey(key[1:])
			if err != nil {
				return errState
			}
			o.grow(part)
			return o.restoreGroup(part, id, val)
		})
		if err != nil {
			return err
		}
	}
	_, err := o.mergeUpTo(part, g, to, nil)
	return err
}

// mergeUpTo adds the groups of a pane in memory up to a key, nil for all with vnodes
// before to. It tells whether the one of that key was among them.
func (o *HashAgg) mergeUpTo(part *bucket, g *paneGroups, to int, key []byte) (here bool, err error) {
	for ; g.next < g.keys.Len() && !here; g.next++ {
		k := g.keys.Suffix(g.next)
		if int(k[0]) >= to {
			break
		}
		if key != nil {
			c := bytes.Compare(k, key)
			if c > 0 {
				break
			}
			here = c == 0
		}
		id, _, err := part.groups.AddKey(k[1:])
		if err != nil {
			return here, errState
		}
		o.grow(part)
		if err := o.mergeGroup(part, id, g.bk, g.keys.ID(g.next)); err != nil {
			return here, err
		}
	}
	return here, nil
}

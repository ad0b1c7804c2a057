package operator

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/state"
)

// Stored form of a GroupTopN: a key per row, which is the time that closes the group,
// the vnode and the key of the group, and the row's order and code. The value is the
// length of the order and the number of copies. A group that has rows has a head, too: a
// key without a row, by which a filter tells whether the group is there.

// storeKey appends what the stored keys of a group's rows begin with.
func (o *GroupTopN) storeKey(dst []byte, bk *topBucket, id int32) []byte {
	dst = append(dst, o.rt.Table.Prefix()...)
	return appendGroupKey(appendBucketEnd(dst, bk.end), bk.groups, id)
}

// saveRows writes the changed rows to the delta.
func (o *GroupTopN) saveRows(d *state.Delta) {
	for _, end := range o.dropped {
		lo := appendBucketEnd(o.rt.Table.Prefix(), end)
		d.DeleteRange(lo, state.After(lo))
	}
	o.dropped = o.dropped[:0]
	from := 0
	for _, to := range o.ends {
		d.Delete(o.gone[from:to])
		from = to
	}
	o.gone, o.ends = o.gone[:0], o.ends[:0]
	for _, bk := range o.buckets {
		if len(bk.saving) == 0 {
			continue
		}
		o.saved.Begin(appendBucketEnd(o.rt.Table.Prefix(), bk.end))
		for _, id := range bk.saving {
			bk.tops[id].saving = false
			o.saved.Add(bk.groups, id)
		}
		o.saved.Sort()
		for k := range o.saved.Len() {
			o.saveGroup(d, &bk.tops[o.saved.ID(k)], o.saved.Key(k))
		}
		bk.stored, bk.saving = true, bk.saving[:0]
	}
}

// saveGroup writes the changed rows of a group, whose keys begin with head.
func (o *GroupTopN) saveGroup(d *state.Delta, g *topGroup, head []byte) {
	if has := len(g.chunks) > 0; has != g.headed {
		if g.headed = has; has {
			d.Put(head, nil)
		} else {
			d.Delete(head)
		}
	}
	o.key = append(o.key[:0], head...)
	var val [2 * binary.MaxVarintLen64]byte
	for k := range g.chunks {
		c := &g.chunks[k]
		if !c.saving {
			continue
		}
		c.saving = false
		for i := range c.rows {
			r := &c.rows[i]
			if !r.saving {
				continue
			}
			r.saving, r.stored = false, true
			o.key = append(o.key[:len(head)], c.key(i)...)
			v := binary.AppendUvarint(val[:0], uint64(r.ord))
			d.Put(o.key, binary.AppendVarint(v, r.n))
		}
	}
}

// restore reads the rows that this task owns, if they fit into memory. What is in the
// range was given.
func (o *GroupTopN) restore() error {
	lo, n := o.rt.Table.Prefix(), 0
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 9 {
			return errState
		}
		if !o.rt.Owns(k[8]) {
			return nil
		}
		if n++; n%restoreStep == 1 && o.tier.over(o.size()) {
			return errTooLarge
		}
		bk := o.bucketAt(int64(binary.BigEndian.Uint64(k) ^ 1<<63))
		bk.stored = true
		id, key, err := bk.groups.AddKey(k[9:])
		if err != nil {
			return errState
		}
		bk.grow()
		return bk.restoreKey(id, key, v)
	})
	if errors.Is(err, errTooLarge) {
		return o.leave()
	}
	if err != nil {
		return err
	}
	for _, bk := range o.buckets {
		for id := range bk.tops {
			o.restored(&bk.tops[id])
			if len(bk.tops[id].chunks) > 0 && !bk.tops[id].headed { // from before there were heads
				bk.save(int32(id))
			}
		}
	}
	return nil
}

// restoreKey takes a stored key of a group, by what follows the group's.
func (bk *topBucket) restoreKey(id int32, key, v []byte) error {
	g := &bk.tops[id]
	if len(key) == 0 {
		g.headed = true
		return nil
	}
	ord, m := binary.Uvarint(v)
	if m <= 0 || ord > uint64(len(key)) {
		return errState
	}
	n, m := binary.Varint(v[m:])
	if m <= 0 {
		return errState
	}
	bk.restoreRow(g, key, int(ord), n)
	return nil
}

// restored finds out what follows from a group's rows.
func (o *GroupTopN) restored(g *topGroup) {
	g.countTail()
	if !o.FinalOnly {
		o.mute = true
		o.walk(g)
		o.mute = false
		o.ghosts, o.ghostEnds = o.ghosts[:0], o.ghostEnds[:0]
	}
}

// restoreRow adds a row behind those that are there.
func (bk *topBucket) restoreRow(g *topGroup, key []byte, ord int, n int64) {
	if len(g.chunks) == 0 {
		bk.empty--
		g.peers = 1
	} else if c, i := g.last(); !bytes.Equal(c.order(i), key[:ord]) {
		g.peers++
	}
	r, _, _ := bk.at(g, key, ord)
	r.n, r.stored = n, true
	g.total += n
}

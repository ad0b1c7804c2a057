package operator

import (
	"bytes"
	"encoding/binary"

	"github.com/streamsql/streamsql/state"
)

// Stored form of a GroupTopN: a key per row, which is the time that closes the group,
// the vnode and the key of the group, and the row's order and code. The value is the
// length of the order and the number of copies.

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
		for _, id := range bk.saving {
			bk.tops[id].saving = false
			o.saveGroup(d, bk, id)
		}
		bk.stored = bk.stored || len(bk.saving) > 0
		bk.saving = bk.saving[:0]
	}
}

func (o *GroupTopN) saveGroup(d *state.Delta, bk *topBucket, id int32) {
	o.key = o.storeKey(o.key[:0], bk, id)
	base := len(o.key)
	var val [2 * binary.MaxVarintLen64]byte
	g := &bk.tops[id]
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
			o.key = append(o.key[:base], c.key(i)...)
			v := binary.AppendUvarint(val[:0], uint64(r.ord))
			d.Put(o.key, binary.AppendVarint(v, r.n))
		}
	}
}

// restore reads the rows that this task owns. What is in the range was given.
func (o *GroupTopN) restore() error {
	lo := o.rt.Table.Prefix()
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 9 {
			return errState
		}
		if !o.rt.Owns(k[8]) {
			return nil
		}
		bk := o.bucketAt(int64(binary.BigEndian.Uint64(k) ^ 1<<63))
		bk.stored = true
		id, key, err := bk.groups.AddKey(k[9:])
		ord, m := binary.Uvarint(v)
		if err != nil || m <= 0 || ord > uint64(len(key)) {
			return errState
		}
		n, m := binary.Varint(v[m:])
		if m <= 0 {
			return errState
		}
		bk.grow()
		bk.restoreRow(&bk.tops[id], key, int(ord), n)
		return nil
	})
	if err != nil {
		return err
	}
	o.mute = true
	for _, bk := range o.buckets {
		for id := range bk.tops {
			bk.tops[id].countTail()
			if !o.FinalOnly {
				o.walk(&bk.tops[id])
			}
		}
	}
	o.mute = false
	return nil
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

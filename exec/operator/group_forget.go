package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// With TTL, table 1 of a GroupTopN's stored form has a key per group, its value the
// date of the group.

func (o *GroupTopN) dateKey(dst []byte, bk *topBucket, id int32) []byte {
	t := o.rt.Table
	t.Table = 1
	return appendGroupKey(append(dst, t.Prefix()...), bk.groups, id)
}

// age notes that rows of the groups ids came.
func (o *GroupTopN) age(bk *topBucket, ids []int32) {
	for _, id := range ids {
		if g := &bk.tops[id]; !g.aged {
			g.aged = true
			o.aged = append(o.aged, id)
		}
	}
}

// expire takes the rows of the groups back that no row has come for in TTL.
func (o *GroupTopN) expire(now int64) {
	bk := o.buckets[arrowbatch.MaxTime]
	if o.exp == nil || bk == nil {
		return
	}
	d := o.rt.Delta()
	for _, id := range o.aged {
		bk.tops[id].aged = false
		o.exp.touch(id, now)
		o.key = o.dateKey(o.key[:0], bk, id)
		d.Put(o.key, binary.AppendVarint(nil, o.exp.date(id)))
	}
	o.aged = o.aged[:0]
	ids, more := o.exp.due(now)
	o.rt.WakeAt(o.exp.wake(now, more))
	for _, id := range ids {
		o.takeBack(bk, id)
		o.key = o.dateKey(o.key[:0], bk, id)
		d.Delete(o.key)
	}
}

// takeBack gives the deletes of a group's rows and takes the rows out.
func (o *GroupTopN) takeBack(bk *topBucket, id int32) {
	g := &bk.tops[id]
	for len(g.chunks) > 0 {
		c, i := g.last()
		r := &c.rows[i]
		for at := r.at; r.out > 0; r.out-- {
			o.give(&o.dels, c, i, at, arrowbatch.Delete)
			if o.Func == RankRowNumber {
				at++
			}
		}
		o.forget(bk, id, len(g.chunks)-1, i)
	}
	*g = topGroup{saving: g.saving, headed: g.headed}
}

// restoreDates reads the dates of the groups that this task owns.
func (o *GroupTopN) restoreDates() error {
	t := o.rt.Table
	t.Table = 1
	lo := t.Prefix()
	return o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		date, n := binary.Varint(v)
		if len(k) < 1 || n <= 0 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		bk := o.bucketAt(arrowbatch.MaxTime)
		id, _, err := bk.groups.AddKey(k[1:])
		if err != nil {
			return errState
		}
		bk.grow()
		o.exp.touch(id, date)
		return nil
	})
}

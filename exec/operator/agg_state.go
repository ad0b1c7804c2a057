package operator

import (
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/state"
)

// Stored form: table 0 has a key per group, its value the number of rows, with TTL
// the date, and each aggregate's state; table i+1 has a key per value of the DISTINCT aggregate i,
// its value the count. The keys of all tables begin with the bucket's end, so that
// a closed window goes with one range delete a table.

func (o *HashAgg) prefix(table uint8) []byte {
	id := o.rt.Table
	id.Table = table
	return id.Prefix()
}

func appendBucketEnd(dst []byte, end int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(end)^1<<63)
}

// save writes the changed groups to the delta.
func (o *HashAgg) save(d *state.Delta) error {
	for _, end := range o.dropped {
		for t := range len(o.Aggs) + 1 {
			if t > 0 && !o.Aggs[t-1].Distinct {
				continue
			}
			lo := appendBucketEnd(o.prefix(uint8(t)), end)
			if hi := state.After(lo); o.buckets[end] == nil || !o.buckets[end].stored {
				d.DeleteRange(lo, hi)
			}
		}
	}
	o.dropped = o.dropped[:0]
	for _, bk := range o.buckets {
		o.saveGroups(d, bk)
		o.saveSets(d, bk)
	}
	return nil
}

func (o *HashAgg) saveGroups(d *state.Delta, bk *bucket) {
	if len(bk.saveList) == 0 {
		return
	}
	keys, val := &o.saved, o.keys
	keys.Begin(appendBucketEnd(o.prefix(0), bk.end))
	for _, id := range bk.saveList {
		bk.flags[id] &^= toSave
		bk.note(id)
		bk.ages.use(o.tier, id)
		keys.Add(bk.groups, id)
	}
	keys.Sort()
	for k := range keys.Len() {
		id := keys.ID(k)
		if !bk.live(id) {
			if bk.stored {
				d.Delete(keys.Key(k))
			}
			continue
		}
		rows := int64(1)
		if len(bk.rows) > 0 {
			rows = bk.rows[id]
		}
		val = binary.AppendVarint(val[:0], rows)
		if o.exp != nil {
			val = binary.AppendVarint(val, o.exp.date(id))
		}
		for _, a := range bk.accs {
			val = a.Append(val, id)
		}
		d.Put(keys.Key(k), val)
	}
	bk.stored = true
	bk.saveList, o.keys = bk.saveList[:0], val
}

// appendGroupKey appends vnode and key of a group.
func appendGroupKey(dst []byte, g *state.Groups, id int32) []byte {
	at := len(dst)
	dst = g.AppendKey(append(dst, 0), id)
	dst[at] = state.VnodeOf(dst[at+1:])
	return dst
}

func (o *HashAgg) saveSets(d *state.Delta, bk *bucket) {
	keys := &o.saved
	var val [binary.MaxVarintLen64]byte
	for i, set := range bk.sets {
		if set == nil || len(set.save) == 0 {
			continue
		}
		keys.Begin(appendBucketEnd(o.prefix(uint8(i+1)), bk.end))
		for _, id := range set.save {
			set.saving[id] = false
			set.note(id)
			set.ages.use(o.tier, id)
			group, vals := set.key(id)
			o.keys = append(appendGroupKey(o.keys[:0], bk.groups, group), vals...)
			keys.AddKey(id, o.keys)
		}
		keys.Sort()
		for k := range keys.Len() {
			if n := set.counts[keys.ID(k)]; n <= 0 {
				d.Delete(keys.Key(k))
			} else {
				d.Put(keys.Key(k), binary.AppendVarint(val[:0], n))
			}
		}
		set.save = set.save[:0]
	}
}

// restore reads the groups that this task owns, if they fit into memory.
func (o *HashAgg) restore() error {
	err := o.restoreGroups()
	if errors.Is(err, errTooLarge) {
		return o.leave()
	}
	return err
}

// restoreStep is how many groups are restored between two looks at the budget.
const restoreStep = 4096

func (o *HashAgg) restoreGroups() error {
	n := 0
	for t := range len(o.Aggs) + 1 {
		if t > 0 && !o.Aggs[t-1].Distinct {
			continue
		}
		lo := o.prefix(uint8(t))
		err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
			k = k[len(lo):]
			if len(k) < 9 {
				return errState
			}
			if !o.rt.Owns(k[8]) {
				return nil
			}
			end := int64(binary.BigEndian.Uint64(k) ^ 1<<63)
			bk := o.bucketAt(o.startOf(end), end)
			bk.stored = true
			if n++; n%restoreStep == 1 && o.tier.over(o.bytes()) {
				return errTooLarge
			}
			id, rest, err := bk.groups.AddKey(k[9:])
			if err != nil {
				return errState
			}
			o.grow(bk)
			if t > 0 {
				n, w := binary.Varint(v)
				if w <= 0 {
					return errState
				}
				return bk.sets[t-1].add(id, rest, n)
			}
			return o.restoreGroup(bk, id, v)
		})
		if err != nil {
			return err
		}
	}
	o.restoreErrors()
	return nil
}

// restoreErrors finds the groups that have no result: their errors are among the
// live errors already, and their rows are not in the output.
func (o *HashAgg) restoreErrors() {
	if o.FinalOnly {
		return
	}
	for _, bk := range o.buckets {
		ids := make([]int32, bk.groups.Len())
		for i := range ids {
			ids[i] = int32(i)
		}
		o.noteErrors(bk, ids)
	}
}

// noteErrors marks those of the groups that have no result.
func (o *HashAgg) noteErrors(bk *bucket, ids []int32) {
	res, errs := o.results(bk, ids)
	res.Release()
	for k, err := range errs {
		id := ids[k]
		bk.flags[id] = bk.flags[id]&^emitted | failed
		bk.fail(id, err)
	}
}

func (o *HashAgg) restoreGroup(bk *bucket, id int32, v []byte) error {
	rows, n := binary.Varint(v)
	if n <= 0 {
		return errState
	}
	v = v[n:]
	if len(bk.rows) > 0 {
		bk.rows[id] += rows
	}
	if o.exp != nil {
		date, n := binary.Varint(v)
		if n <= 0 {
			return errState
		}
		v = v[n:]
		o.exp.touch(id, date)
	}
	var err error
	for _, a := range bk.accs {
		if v, err = a.Merge(id, v); err != nil {
			return err
		}
	}
	if !o.FinalOnly {
		bk.flags[id] |= emitted
	}
	return nil
}

// startOf returns the start of the bucket that ends at end.
func (o *HashAgg) startOf(end int64) int64 {
	switch {
	case o.Window == nil && o.CloseCol < 0:
		return end
	case o.Window == nil:
		return end - o.CloseLag
	case o.panes || !o.Window.Cumulate:
		return end - o.pane
	}
	// A cumulating window that ends at end began at the last multiple of Size
	// before it.
	return floorTo(end-1, o.Window.Size, o.Window.Offset)
}

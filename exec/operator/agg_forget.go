package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/state"
)

// forget drops the groups that no row has touched for TTL, with the rows that they
// have in the output. A group touched in this epoch stays, whatever its date was.
func (o *HashAgg) forget(now int64) error {
	bk := o.buckets[arrowbatch.MaxTime]
	if o.exp == nil || bk == nil {
		return nil
	}
	for _, id := range bk.saveList {
		o.exp.touch(id, now)
	}
	ids, more := o.exp.due(now)
	o.rt.WakeAt(o.exp.wake(now, more))
	if len(ids) == 0 {
		return nil
	}
	out, err := o.takeBack(bk, ids)
	if err != nil {
		return err
	}
	if err := o.remove(bk, ids); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	return o.out.Emit(out)
}

// takeBack makes the deletes of the rows that groups have in the output.
func (o *HashAgg) takeBack(bk *bucket, ids []int32) (*arrowbatch.Batch, error) {
	if o.Quiet {
		return nil, nil
	}
	var shown []int32
	for _, id := range ids {
		if bk.flags[id]&emitted != 0 {
			shown = append(shown, id)
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	o.keepOld(bk, shown)
	defer bk.dropOld()
	var del pick
	for _, id := range shown {
		del.add(id, bk.oldAt[id]-1)
	}
	none := arrowbatch.NewLike(o.aggShapes)
	defer none.Release()
	return o.rows(bk, del, pick{}, none, bk.start, bk.end)
}

// remove takes groups out of the table and out of the store.
func (o *HashAgg) remove(bk *bucket, ids []int32) error {
	d := o.rt.Delta()
	var key []byte
	for t := range len(o.Aggs) + 1 {
		if t > 0 && bk.sets[t-1] == nil {
			continue
		}
		prefix := appendBucketEnd(o.prefix(uint8(t)), bk.end)
		for _, id := range ids {
			key = appendGroupKey(append(key[:0], prefix...), bk.groups, id)
			if t == 0 {
				d.Delete(key)
				continue
			}
			d.DeleteRange(key, state.After(key))
			bk.sets[t-1].drop(id)
		}
	}
	for _, id := range ids {
		if bk.flags[id]&failed != 0 {
			if err := o.heal(bk, id); err != nil {
				return err
			}
		}
		bk.flags[id] = bk.flags[id]&^emitted | forgotten
		bk.note(id)
		bk.groups.Remove(id)
	}
	return nil
}

// heal takes a group's error back.
func (o *HashAgg) heal(bk *bucket, id int32) error {
	err := bk.errs[id]
	delete(bk.errs, id)
	bk.flags[id] &^= failed
	key := arrowbatch.NewLike(o.keyShapes)
	defer key.Release()
	if e := bk.groups.AppendColumns(key.Cols, []int32{id}); e != nil {
		return e
	}
	key.AppendOp(arrowbatch.Delete)
	return o.rt.Fail(o.rt, key, []expr.RowError{{Row: 0, Err: err}})
}

// drop notes that nobody asks for the values of a group any more.
func (d *distinctSet) drop(group int32) {
	if int(group) < len(d.sizes) {
		d.dead += int(d.sizes[group])
		d.sizes[group] = 0
	}
}

// grown keeps the number of values of a group.
func (d *distinctSet) grown(group int32, by int32) {
	for len(d.sizes) <= int(group) {
		d.sizes = append(d.sizes, 0)
	}
	d.sizes[group] += by
}

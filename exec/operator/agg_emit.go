package operator

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// pick is what an emission sends: for each row the group and the row of the
// results it comes from.
type pick struct {
	ids, rows []int32
}

func (p *pick) add(id, row int32) { p.ids, p.rows = append(p.ids, id), append(p.rows, row) }

// emit sends what has changed in the bucket since the last emission.
func (o *HashAgg) emit(bk *bucket) error {
	if o.FinalOnly || len(bk.emitList) == 0 {
		return nil
	}
	res, errs := o.results(bk, bk.emitList)
	defer res.Release()
	var del, ins pick
	for k, id := range bk.emitList {
		was := bk.flags[id]&emitted != 0
		is := bk.live(id) && errs[int32(k)] == nil
		if err := o.report(bk, id, errs[int32(k)]); err != nil {
			return err
		}
		bk.flags[id] &^= toEmit | emitted
		if is {
			bk.flags[id] |= emitted
		}
		if was && is && !bk.changed(id, res.Cols, k, &o.buf) {
			continue
		}
		if was {
			del.add(id, bk.oldAt[id]-1)
		}
		if is {
			ins.add(id, int32(k))
		}
	}
	bk.emitList = bk.emitList[:0]
	out, err := o.rows(bk, del, ins, res, bk.start, bk.end)
	bk.dropOld()
	if err != nil || out == nil {
		return err
	}
	return o.out.Emit(out)
}

// results computes the aggregates of the groups; errs has those that have none.
func (o *HashAgg) results(bk *bucket, ids []int32) (res *arrowbatch.Batch, errs map[int32]*sqlerr.Error) {
	res = arrowbatch.NewLike(o.aggShapes)
	res.Len = len(ids)
	for i, a := range bk.accs {
		a.Result(ids, res.Cols[i], func(k int, err *sqlerr.Error) {
			if errs == nil {
				errs = map[int32]*sqlerr.Error{}
			}
			errs[int32(k)] = err
		})
	}
	return res, errs
}

// report tells of a group that has begun to fail, or has healed.
func (o *HashAgg) report(bk *bucket, id int32, err *sqlerr.Error) error {
	was := bk.flags[id]&failed != 0
	fails := err != nil && bk.live(id)
	if was == fails {
		return nil
	}
	bk.flags[id] ^= failed
	op := arrowbatch.Insert
	if was {
		op, err = arrowbatch.Delete, bk.errs[id]
		delete(bk.errs, id)
	} else {
		bk.fail(id, err)
	}
	key := arrowbatch.NewLike(o.keyShapes)
	defer key.Release()
	if e := bk.groups.AppendColumns(key.Cols, []int32{id}); e != nil {
		return e
	}
	key.AppendOp(op)
	return o.rt.Fail(o.rt, key, []expr.RowError{{Row: 0, Err: err}})
}

// fail keeps a group's error, to take back just that when the group heals.
func (bk *bucket) fail(id int32, err *sqlerr.Error) {
	if bk.errs == nil {
		bk.errs = map[int32]*sqlerr.Error{}
	}
	bk.errs[id] = err
}

// rows builds the output: first the deletes, from the old results, then the
// inserts, from the new ones.
func (o *HashAgg) rows(bk *bucket, del, ins pick, res *arrowbatch.Batch, start, end int64) (*arrowbatch.Batch, error) {
	n := len(del.ids) + len(ins.ids)
	if n == 0 {
		return nil, nil
	}
	ids := ins.ids
	if len(del.ids) > 0 {
		ids = append(slices.Clone(del.ids), ins.ids...)
	}
	keys := arrowbatch.NewLike(o.keyShapes)
	defer keys.Release()
	if err := bk.groups.AppendColumns(keys.Cols, ids); err != nil {
		return nil, err
	}
	out := deletesFirst(len(del.ids), n, len(o.Out))
	for i, c := range o.Out {
		switch c.Kind {
		case OutKey:
			out.Cols[i] = keys.Cols[c.N].Retain()
		case OutStart, OutEnd:
			t := start
			if c.Kind == OutEnd {
				t = end
			}
			out.Cols[i] = o.constant(i, t, end, n)
		case OutAgg:
			out.Cols[i] = aggColumn(bk.old, res, c.N, del.rows, ins.rows)
		}
	}
	return out, nil
}

// deletesFirst makes a batch of n rows without columns, of which the first dels are
// deletes.
func deletesFirst(dels, n, cols int) *arrowbatch.Batch {
	out := &arrowbatch.Batch{Len: n, Cols: make([]*arrowbatch.Vec, cols)}
	if dels > 0 {
		out.Ops = make([]arrowbatch.Op, n)
		for i := range dels {
			out.Ops[i] = arrowbatch.Delete
		}
	}
	return out
}

// constant returns a column of one time, the bucket's.
func (o *HashAgg) constant(i int, t, end int64, n int) *arrowbatch.Vec {
	v := arrowbatch.NewVec(o.outShapes[i], n)
	if o.Window == nil {
		switch end {
		case endPosInf:
			t = arrowbatch.MaxTime
		case endNegInf:
			t = arrowbatch.NoTime
		case endNull:
			v.Resize(0)
			for range n {
				v.AppendNull()
			}
			return v
		}
	}
	for k := range v.I64 {
		v.I64[k] = t
	}
	return v
}

func aggColumn(old, res *arrowbatch.Batch, n int, del, ins []int32) *arrowbatch.Vec {
	if len(del) == 0 {
		if len(ins) == res.Len {
			return res.Cols[n].Retain()
		}
		return res.Cols[n].Take(ins)
	}
	v := old.Cols[n].Take(del)
	t := res.Cols[n].Take(ins)
	v.AppendVec(t)
	t.Release()
	return v
}

// emitFinal sends all groups of a closed window.
func (o *HashAgg) emitFinal(bk *bucket, start, end int64) error {
	if bk.away {
		if err := o.emitAway(bk, start, end); err != nil {
			return err
		}
	}
	return o.emitGroups(bk, start, end)
}

// emitGroups sends the groups of a closed window that are in the table.
func (o *HashAgg) emitGroups(bk *bucket, start, end int64) error {
	var ids []int32
	for id := range int32(bk.groups.Len()) {
		if bk.live(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	res, errs := o.results(bk, ids)
	defer res.Release()
	var ins pick
	for k, id := range ids {
		if err := errs[int32(k)]; err != nil {
			if err := o.report(bk, id, err); err != nil {
				return err
			}
			continue
		}
		ins.add(id, int32(k))
	}
	out, err := o.rows(bk, pick{}, ins, res, start, end)
	if err != nil || out == nil {
		return err
	}
	return o.out.Emit(out)
}

// closePanes sends the windows that end after from and at or before w, put
// together from their panes, and drops the panes that no later window needs.
func (o *HashAgg) closePanes(from, w arrowbatch.EventTime) error {
	starts := map[int64]int64{} // by end
	for _, bk := range o.buckets {
		o.Window.each(bk.start, func(start, end int64) {
			if end > from && end <= w {
				starts[end] = start
			}
		})
	}
	ends := make([]int64, 0, len(starts))
	for e := range starts {
		ends = append(ends, e)
	}
	slices.Sort(ends)
	for _, e := range ends {
		if err := o.closeWindow(starts[e], e); err != nil {
			return err
		}
	}
	for _, e := range o.ends() {
		if bk := o.buckets[e]; o.Window.lastEnd(bk.start) <= w {
			o.drop(bk)
		}
	}
	return nil
}

func (o *HashAgg) merge(into, from *bucket) error {
	n := from.groups.Len()
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	keys := arrowbatch.NewLike(o.keyShapes)
	defer keys.Release()
	if err := from.groups.AppendColumns(keys.Cols, all); err != nil {
		return err
	}
	ids := make([]int32, n)
	into.groups.Lookup(keys.Cols, nil, ids)
	o.grow(into)
	for k, id := range ids {
		if err := o.mergeGroup(into, id, from, int32(k)); err != nil {
			return err
		}
	}
	return nil
}

// mergeGroup adds what group k of a bucket has to group id of another one.
func (o *HashAgg) mergeGroup(into *bucket, id int32, from *bucket, k int32) error {
	for i, a := range into.accs {
		o.buf[0] = from.accs[i].Append(o.buf[0][:0], k)
		if _, err := a.Merge(id, o.buf[0]); err != nil {
			return err
		}
	}
	if !o.AppendOnly {
		into.rows[id] += from.rows[k]
	}
	return nil
}

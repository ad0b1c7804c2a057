package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/state"
)

// Flags of a group.
const (
	toEmit    byte = 1 << iota // in emitList
	toSave                     // in saveList
	emitted                    // its row is in the output
	failed                     // its result is an error
	rowless                    // noted as having no rows
	forgotten                  // dropped after TTL, or not to be emitted from here
)

// bucket is the groups of one window (or pane, or all groups of a table that is
// not windowed): dropped whole when the window closes.
type bucket struct {
	start, end int64 // [start, end); end is the bucket's place in the store
	groups     *state.Groups
	accs       []aggregate.Acc
	sets       []*distinctSet // by aggregate, nil where not DISTINCT
	rows       []int64        // rows in the group; only where deletes come in
	dead       int            // groups without rows
	flags      []byte
	emitList   []int32
	saveList   []int32
	stored     bool // the store has keys of it
	// away: the store has groups, or values of DISTINCT aggregates, that are not here.
	away bool
	ages ages
	// errs are the errors of the groups with the flag failed.
	errs map[int32]*sqlerr.Error

	// sel are the rows of the present batch that fall here.
	sel []int32
	// old holds the results of emitted groups as they were before this emission
	// interval, oldAt for each group its row there plus one.
	old   *arrowbatch.Batch
	oldAt []int32
}

func (o *HashAgg) newBucket(start, end int64) *bucket {
	var bk *bucket
	if n := len(o.free); n > 0 {
		bk, o.free = o.free[n-1], o.free[:n-1]
		bk.start, bk.end = start, end
		return bk
	}
	bk = &bucket{start: start, end: end, groups: state.NewGroups(o.keyShapes)}
	for i := range o.Aggs {
		bk.accs = append(bk.accs, o.newAcc(i))
		var set *distinctSet
		if o.Aggs[i].Distinct {
			set = newDistinctSet(o.argShapes(i))
			set.nulls = aggregate.OrderMatters(o.Aggs[i].Name) // string_agg itself leaves out NULL
		}
		bk.sets = append(bk.sets, set)
	}
	return bk
}

// reset empties the bucket for the next window.
func (bk *bucket) reset() {
	bk.groups.Reset()
	for i, a := range bk.accs {
		a.Reset()
		if bk.sets[i] != nil {
			bk.sets[i].reset()
		}
	}
	bk.rows, bk.flags = bk.rows[:0], bk.flags[:0]
	bk.emitList, bk.saveList, bk.sel = bk.emitList[:0], bk.saveList[:0], bk.sel[:0]
	bk.stored, bk.dead, bk.away = false, 0, false
	bk.ages = bk.ages[:0]
	clear(bk.errs)
	bk.dropOld()
}

// bytes is about the memory of the bucket.
func (bk *bucket) bytes() int {
	lists := cap(bk.emitList) + cap(bk.saveList) + cap(bk.sel) + cap(bk.ages)
	size := bk.groups.Bytes() + cap(bk.rows)*8 + cap(bk.flags) + lists*4
	for i, a := range bk.accs {
		size += aggregate.Bytes(a)
		if bk.sets[i] != nil {
			size += bk.sets[i].bytes()
		}
	}
	return size + cap(bk.oldAt)*4
}

func (bk *bucket) dropOld() {
	bk.old.Release()
	bk.old = nil
	bk.oldAt = bk.oldAt[:0]
}

// grow makes room for the groups there are now.
func (o *HashAgg) grow(bk *bucket) {
	n := bk.groups.Len()
	if len(bk.flags) >= n {
		return
	}
	for _, a := range bk.accs {
		a.Grow(n)
	}
	bk.flags = growBytes(bk.flags, n)
	if !o.AppendOnly {
		for len(bk.rows) < n {
			bk.rows = append(bk.rows, 0)
		}
	}
}

func growBytes(b []byte, n int) []byte {
	for len(b) < n {
		b = append(b, 0)
	}
	return b
}

// update takes the rows bk.sel of the batch in; all tells that they are all rows.
func (o *HashAgg) update(bk *bucket, b *arrowbatch.Batch, all bool) error {
	rows := bk.sel
	n := len(rows)
	if all {
		rows = nil
	}
	o.ids = resizeIDs(o.ids, n)
	for i, c := range o.keyCols {
		o.keyVecs[i] = b.Cols[c]
	}
	if err := o.lookup(bk, o.keyVecs, rows, o.ids); err != nil {
		return err
	}
	o.mark(bk)
	if !o.AppendOnly {
		for k, id := range o.ids {
			bk.rows[id] += delta(b, rows, k)
		}
	}
	for i := range o.Aggs {
		if err := o.updateAgg(bk, i, b, rows); err != nil {
			return err
		}
	}
	return nil
}

// delta is 1 for an insert and -1 for a delete.
func delta(b *arrowbatch.Batch, rows []int32, k int) int64 {
	i := k
	if rows != nil {
		i = int(rows[k])
	}
	return 1 - 2*int64(b.OpAt(i))
}

func resizeIDs(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	return s[:n]
}

// mark puts the touched groups on the lists, and keeps the results of those that
// are in the output.
func (o *HashAgg) mark(bk *bucket) {
	want := o.touch
	fresh := o.fresh[:0]
	for _, id := range o.ids {
		f := bk.flags[id]
		if f&want == want {
			continue
		}
		if f&toEmit == 0 && want&toEmit != 0 {
			bk.emitList = append(bk.emitList, id)
			if f&emitted != 0 {
				fresh = append(fresh, id)
			}
		}
		if f&toSave == 0 && want&toSave != 0 {
			bk.saveList = append(bk.saveList, id)
		}
		bk.flags[id] = f | want
	}
	o.fresh = fresh
	if len(fresh) > 0 {
		o.keepOld(bk, fresh)
	}
}

func (o *HashAgg) keepOld(bk *bucket, ids []int32) {
	if bk.old == nil {
		bk.old = arrowbatch.NewLike(o.aggShapes)
	}
	for len(bk.oldAt) < bk.groups.Len() {
		bk.oldAt = append(bk.oldAt, 0)
	}
	for k, id := range ids {
		bk.oldAt[id] = int32(bk.old.Len + k + 1)
	}
	for i, a := range bk.accs {
		// What failed then is not in the output, so nothing is emitted for it.
		a.Result(ids, bk.old.Cols[i], func(int, *sqlerr.Error) {})
	}
	bk.old.Len += len(ids)
}

// updateAgg takes rows into one aggregate, through its filter and its set of
// distinct values.
func (o *HashAgg) updateAgg(bk *bucket, i int, b *arrowbatch.Batch, rows []int32) error {
	call := &o.Aggs[i]
	args := o.args[i]
	for k, c := range call.Cols {
		args[k] = b.Cols[c]
	}
	ids, ops := o.ids, b.Ops
	if call.Filter >= 0 {
		ids, rows = o.filter(b.Cols[call.Filter], ids, rows)
	}
	if set := bk.sets[i]; set != nil {
		from := set.values.Len()
		set.lookup(ids, rows, args[:call.nargs()], b)
		if bk.away {
			if err := o.fetchValues(bk, i, from); err != nil {
				return err
			}
		}
		ids, rows, ops = set.changes(b)
	}
	if len(ids) > 0 {
		bk.accs[i].Update(ids, rows, args, ops)
	}
	return nil
}

// filter keeps the rows for which the column is true.
func (o *HashAgg) filter(v *arrowbatch.Vec, ids, rows []int32) (outIDs, outRows []int32) {
	outIDs, outRows = o.filterIDs[:0], o.filterRows[:0]
	for k, id := range ids {
		i := int32(k)
		if rows != nil {
			i = rows[k]
		}
		if !v.IsNull(int(i)) && v.Bits.Get(int(i)) {
			outIDs, outRows = append(outIDs, id), append(outRows, i)
		}
	}
	o.filterIDs, o.filterRows = outIDs, outRows
	return outIDs, outRows
}

// live tells whether the group has rows.
func (bk *bucket) live(id int32) bool {
	return bk.flags[id]&forgotten == 0 && (len(bk.rows) == 0 || bk.rows[id] > 0)
}

// changed tells whether the new result, row i of res, differs from the old one.
func (bk *bucket) changed(id int32, res []*arrowbatch.Vec, i int, buf *[2][]byte) bool {
	buf[0] = arrowbatch.AppendRow(buf[0][:0], bk.old.Cols, int(bk.oldAt[id]-1))
	buf[1] = arrowbatch.AppendRow(buf[1][:0], res, i)
	return !bytes.Equal(buf[0], buf[1])
}

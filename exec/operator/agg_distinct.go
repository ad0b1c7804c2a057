package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// distinctSet counts how often each group of a bucket has each value of a
// DISTINCT aggregate, and turns rows into the changes of the set: the first of a
// value is an insert, the taking back of the last one a delete.
type distinctSet struct {
	values *state.Groups // over (group number, values)
	nulls  bool          // NULL is a value too: the aggregate judges
	counts []int64
	save   []int32
	saving []bool
	gone   []bool  // noted as having no rows
	dead   int     // how many are
	sizes  []int32 // by group: values that have rows
	group  *arrowbatch.Vec
	cols   []*arrowbatch.Vec

	ids, outIDs, outRows []int32
}

func newDistinctSet(shapes []arrowbatch.Shape) *distinctSet {
	return &distinctSet{values: state.NewGroups(append([]arrowbatch.Shape{{Layout: arrowbatch.Int32}}, shapes...)),
		group: arrowbatch.NewFlat(arrowbatch.Int32, 0)}
}

// bytes is about the memory of the set.
func (d *distinctSet) bytes() int {
	return d.values.Bytes() + cap(d.counts)*8 + cap(d.save)*4 + cap(d.saving) + cap(d.gone) + cap(d.sizes)*4
}

func (d *distinctSet) reset() {
	d.values.Reset()
	d.counts, d.save, d.saving = d.counts[:0], d.save[:0], d.saving[:0]
	d.gone, d.dead, d.sizes = d.gone[:0], 0, d.sizes[:0]
}

// changes returns the groups, rows and ops (by row of the batch) that the set's
// changes stand for. Rows with a NULL argument are left out unless nulls is set.
func (d *distinctSet) changes(ids, rows []int32, args []*arrowbatch.Vec, b *arrowbatch.Batch,
) (outIDs, outRows []int32, ops []arrowbatch.Op) {
	d.group.Resize(b.Len)
	use := d.outRows[:0]
	gids := d.outIDs[:0]
	for k, id := range ids {
		i := int32(k)
		if rows != nil {
			i = rows[k]
		}
		if !d.nulls && anyNull(args, int(i)) {
			continue
		}
		d.group.I32[i] = id
		use, gids = append(use, i), append(gids, id)
	}
	d.cols = append(append(d.cols[:0], d.group), args...)
	d.ids = resizeIDs(d.ids, len(use))
	d.values.Lookup(d.cols, use, d.ids)
	for len(d.counts) < d.values.Len() {
		d.counts, d.saving = append(d.counts, 0), append(d.saving, false)
	}
	n := 0
	for k, id := range d.ids {
		i := use[k]
		was := d.counts[id]
		d.counts[id] += 1 - 2*int64(b.OpAt(int(i)))
		if !d.saving[id] {
			d.saving[id] = true
			d.save = append(d.save, id)
		}
		if (was > 0) == (d.counts[id] > 0) {
			continue
		}
		d.grown(gids[k], int32(d.counts[id]-was))
		use[n], gids[n] = i, gids[k]
		n++
	}
	d.outRows, d.outIDs = use, gids
	return gids[:n], use[:n], b.Ops
}

func anyNull(args []*arrowbatch.Vec, i int) bool {
	for _, a := range args {
		if a.IsNull(i) {
			return true
		}
	}
	return false
}

// add restores a count.
func (d *distinctSet) add(group int32, src []byte, n int64) error {
	g := arrowbatch.NewFlat(arrowbatch.Int32, 0)
	defer g.Release()
	g.AppendInt32(group)
	id, rest, err := d.values.AddKey(append(g.AppendKey(nil, 0), src...))
	if err != nil || len(rest) != 0 {
		return errState
	}
	for len(d.counts) < d.values.Len() {
		d.counts, d.saving = append(d.counts, 0), append(d.saving, false)
	}
	d.counts[id] = n
	d.grown(group, 1)
	return nil
}

// key returns the group number and the key of the values of entry id.
func (d *distinctSet) key(dst []byte, id int32) (group int32, vals []byte) {
	dst = d.values.AppendKey(dst[:0], id)
	g := arrowbatch.NewFlat(arrowbatch.Int32, 0)
	defer g.Release()
	rest, err := g.DecodeKey(dst)
	if err != nil {
		return 0, nil
	}
	return g.I32[0], rest
}

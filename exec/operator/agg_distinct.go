package operator

import (
	"encoding/binary"

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
	ages   ages
	group  *arrowbatch.Vec
	cols   []*arrowbatch.Vec

	ids, outIDs, outRows []int32
	buf                  []byte
}

func newDistinctSet(shapes []arrowbatch.Shape) *distinctSet {
	return &distinctSet{values: state.NewGroups(append([]arrowbatch.Shape{{Layout: arrowbatch.Int32}}, shapes...)),
		group: arrowbatch.NewFlat(arrowbatch.Int32, 0)}
}

// bytes is about the memory of the set.
func (d *distinctSet) bytes() int {
	return d.values.Bytes() + cap(d.counts)*8 + cap(d.saving) + cap(d.gone) + (cap(d.save)+cap(d.sizes)+cap(d.ages))*4
}

func (d *distinctSet) reset() {
	d.values.Reset()
	d.counts, d.save, d.saving = d.counts[:0], d.save[:0], d.saving[:0]
	d.gone, d.dead, d.sizes, d.ages = d.gone[:0], 0, d.sizes[:0], d.ages[:0]
}

// lookup finds the entries of rows, of the groups ids. Rows with a NULL argument are
// left out unless nulls is set.
func (d *distinctSet) lookup(ids, rows []int32, args []*arrowbatch.Vec, b *arrowbatch.Batch) {
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
	d.outRows, d.outIDs = use, gids
	d.cols = append(append(d.cols[:0], d.group), args...)
	d.ids = resizeIDs(d.ids, len(use))
	d.values.Lookup(d.cols, use, d.ids)
	d.grow()
}

func (d *distinctSet) grow() {
	for len(d.counts) < d.values.Len() {
		d.counts, d.saving = append(d.counts, 0), append(d.saving, false)
	}
}

// changes returns the groups, rows and ops (by row of the batch) that the set's
// changes stand for, of the rows that were looked up.
func (d *distinctSet) changes(b *arrowbatch.Batch) (outIDs, outRows []int32, ops []arrowbatch.Op) {
	use, gids := d.outRows, d.outIDs
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
	id, err := d.entry(group, src)
	if err != nil {
		return err
	}
	d.restore(id, group, n)
	return nil
}

// entry returns the entry of a group's values, by their key, made if need be.
func (d *distinctSet) entry(group int32, vals []byte) (int32, error) {
	d.buf = append(appendGroupNumber(d.buf[:0], group), vals...)
	id, rest, err := d.values.AddKey(d.buf)
	if err != nil || len(rest) != 0 {
		return 0, errState
	}
	d.grow()
	return id, nil
}

// restore gives an entry the count that it had.
func (d *distinctSet) restore(id, group int32, n int64) {
	d.counts[id] = n
	if n > 0 {
		d.grown(group, 1)
	}
}

// groupNumberBytes is how long a group's number is in the key code of an entry.
const groupNumberBytes = 5

func appendGroupNumber(dst []byte, group int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 1), uint32(group)^1<<31)
}

// key returns the group number and the key of the values of entry id. The key is valid
// until the next call.
func (d *distinctSet) key(id int32) (group int32, vals []byte) {
	d.buf = d.values.AppendKey(d.buf[:0], id)
	return int32(binary.BigEndian.Uint32(d.buf[1:]) ^ 1<<31), d.buf[groupNumberBytes:]
}

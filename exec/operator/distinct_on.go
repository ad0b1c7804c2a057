package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// DistinctOn passes the first row of each key of an unbounded input without deletes.
// Rows that are late are dropped before the test for a duplicate. A key is forgotten
// when the watermark has passed its time plus a lag; until then duplicates do not
// prolong its stay.
//
// With Replace, the row that comes first by Order stands for its key: it takes the
// place of the one given before.
type DistinctOn struct {
	Keys   []int
	Shapes []arrowbatch.Shape // of the input
	// Time is the event-time column, -1: nothing is late.
	Time int
	// Forget is the column that bounds a key's stay, -1: keys stay for ever.
	Forget int
	Lag    int64
	// TTL, above 0, is how many microseconds of processing time a key stays that no row
	// touches, a duplicate included.
	TTL int64
	// Order is the order of Replace; nil: the first row to arrive stays.
	Order []SortKey
	// Budget is how many bytes of keys may be held in memory; nil: any number. It is asked
	// at barriers.
	Budget func() int

	rt  *exec.Runtime
	out exec.Output
	w   arrowbatch.EventTime

	keys    *state.Groups
	keyVecs []*arrowbatch.Vec
	until   []int64 // by key: when it is forgotten; NoTime: it is not there
	rows    []keptRow
	held    int // bytes of rows
	live    int
	due     map[int64][]int32 // keys by the time they are forgotten, in buckets
	exp     *expiry           // with TTL
	saving  []bool
	save    []int32
	ids     []int32
	sel     []int32
	late    []int32
	buf     []byte

	// gens are the generations of keys that the store may have; dropped are those that
	// the watermark has passed in this epoch.
	gens    generations
	dropped []int64
	tier    *tier // nil: keys stay in memory
	ages    ages
	away    bool // the store has keys that are not here
	// converted: keys came from the table without generations, which is to be emptied.
	converted bool
	saved     state.KeyList
}

// keptRow is the row that stands for a key: its place in the order and itself, in
// the row code, and its generation. Only Replace keeps it.
type keptRow struct {
	order, row []byte
	gen        int64
}

// Open restores the keys.
func (d *DistinctOn) Open(rt *exec.Runtime, out exec.Output) error {
	d.rt, d.out, d.w = rt, out, arrowbatch.NoTime
	d.due = map[int64][]int32{}
	d.keyVecs = make([]*arrowbatch.Vec, len(d.Keys))
	d.keys = state.NewGroups(d.keyShapes())
	if d.TTL > 0 {
		d.exp = newExpiry(d.TTL)
	}
	if rt.Store == nil {
		return nil
	}
	if d.exp == nil {
		d.tier = newTier(rt, d.Budget)
	}
	return d.restore()
}

func (d *DistinctOn) keyShapes() []arrowbatch.Shape {
	var s []arrowbatch.Shape
	for _, k := range d.Keys {
		s = append(s, d.Shapes[k])
	}
	return s
}

// ProcessBatch passes the rows whose keys are new.
func (d *DistinctOn) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	if err := d.replay(); err != nil {
		return err
	}
	d.inTime(b)
	for i, k := range d.Keys {
		d.keyVecs[i] = b.Cols[k]
	}
	d.ids = resizeIDs(d.ids, len(d.sel))
	from := d.keys.Len()
	d.keys.Lookup(d.keyVecs, d.sel, d.ids)
	d.grow()
	if d.tier != nil {
		if err := d.fetch(from); err != nil {
			return err
		}
		for _, id := range d.ids {
			d.ages.use(d.tier, id)
		}
	}
	if d.exp != nil {
		for _, id := range d.ids {
			d.touch(id)
		}
	}
	if d.Order != nil {
		return d.replace(b)
	}
	n := 0
	for k, id := range d.ids {
		if d.until[id] != arrowbatch.NoTime {
			continue
		}
		d.remember(id, d.stay(b, int(d.sel[k])))
		d.sel[n] = d.sel[k]
		n++
	}
	if dups := len(d.sel) - n; dups > 0 {
		d.rt.Stats.Dups(dups)
	}
	if n == 0 {
		return nil
	}
	return d.out.Emit(b.Take(d.sel[:n]))
}

// inTime sets sel to the rows that are not late.
func (d *DistinctOn) inTime(b *arrowbatch.Batch) {
	d.sel, d.late = d.sel[:0], d.late[:0]
	for i := range b.Len {
		if d.Time >= 0 && !b.Cols[d.Time].IsNull(i) && b.Cols[d.Time].I64[i] <= d.w {
			d.late = append(d.late, int32(i))
			continue
		}
		d.sel = append(d.sel, int32(i))
	}
	d.rt.DropLate(b, d.late, d.Time, d.w)
}

func (d *DistinctOn) grow() {
	for len(d.until) < d.keys.Len() {
		d.until, d.saving = append(d.until, arrowbatch.NoTime), append(d.saving, false)
		if d.Order != nil {
			d.rows = append(d.rows, keptRow{})
		}
	}
}

// stay returns when a key that begins with row i is forgotten.
func (d *DistinctOn) stay(b *arrowbatch.Batch, i int) int64 {
	if d.Forget < 0 || b.Cols[d.Forget].IsNull(i) || !usable(b.Cols[d.Forget].I64[i]) {
		return arrowbatch.MaxTime
	}
	if b.Cols[d.Forget].I64[i] > arrowbatch.MaxTime-d.Lag { // never
		return arrowbatch.MaxTime
	}
	return b.Cols[d.Forget].I64[i] + d.Lag
}

func (d *DistinctOn) remember(id int32, until int64) {
	d.enter(id, until)
	if d.Order != nil {
		d.rows[id].gen = arrowbatch.NoTime
	}
	d.touch(id)
}

// enter puts a key into the table.
func (d *DistinctOn) enter(id int32, until int64) {
	d.until[id] = until
	d.live++
	if until != arrowbatch.MaxTime {
		d.due[until>>endBits] = append(d.due[until>>endBits], id)
	}
}

func (d *DistinctOn) touch(id int32) {
	if d.rt.Store != nil && !d.saving[id] {
		d.saving[id] = true
		d.save = append(d.save, id)
	}
}

// replace passes rows that come before the one that stands for their key.
func (d *DistinctOn) replace(b *arrowbatch.Batch) error {
	out := arrowbatch.NewLike(d.Shapes)
	for k, id := range d.ids {
		i := int(d.sel[k])
		d.buf = d.buf[:0]
		for _, s := range d.Order {
			d.buf = appendSortKey(d.buf, b.Cols[s.Col], i, s)
		}
		r := &d.rows[id]
		switch {
		case d.until[id] == arrowbatch.NoTime:
			d.remember(id, d.stay(b, i))
		case bytes.Compare(d.buf, r.order) >= 0:
			d.rt.Stats.Dups(1)
			continue
		default:
			if _, err := arrowbatch.DecodeRow(r.row, out.Cols); err != nil {
				out.Release()
				return errState
			}
			out.AppendOp(arrowbatch.Delete)
			d.touch(id)
		}
		d.held -= cap(r.order) + cap(r.row)
		r.order = append(r.order[:0], d.buf...)
		r.row = arrowbatch.AppendRow(r.row[:0], b.Cols, i)
		d.held += cap(r.order) + cap(r.row)
		for c, v := range out.Cols {
			v.AppendFrom(b.Cols[c], i)
		}
		out.AppendOp(arrowbatch.Insert)
	}
	if out.Len == 0 {
		out.Release()
		return nil
	}
	return d.out.Emit(out)
}

// Resume implements exec.Resumer.
func (d *DistinctOn) Resume(w arrowbatch.EventTime) {
	d.w = w
	d.pass(w)
}

// ProcessWatermark forgets keys.
func (d *DistinctOn) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	if err := d.replay(); err != nil {
		return w, err
	}
	d.w = w
	d.pass(w)
	return w, nil
}

// pass forgets the keys up to w. Their keys in the store go with their generation.
func (d *DistinctOn) pass(w arrowbatch.EventTime) {
	d.dropped = d.gens.pass(w, d.dropped)
	for k, ids := range d.due {
		if k > w>>endBits {
			continue
		}
		stay := ids[:0]
		for _, id := range ids {
			if d.until[id] > w {
				stay = append(stay, id)
				continue
			}
			if d.until[id] == arrowbatch.NoTime { // it was there for another one's sake
				continue
			}
			d.until[id] = arrowbatch.NoTime
			d.live--
		}
		if len(stay) == 0 {
			delete(d.due, k)
		} else {
			d.due[k] = stay
		}
	}
}

// ProcessBarrier saves the keys that came and went.
func (d *DistinctOn) ProcessBarrier(bar exec.Barrier) error {
	if err := d.replay(); err != nil {
		return err
	}
	if err := d.expire(bar.Now); err != nil {
		return err
	}
	if delta := d.rt.Delta(); delta != nil {
		d.saveKeys(delta)
	}
	d.tier.sealed()
	err := d.reclaim()
	d.rt.Stats.State(d.live, d.bytes())
	return err
}

// Close has nothing to free.
func (d *DistinctOn) Close() {}

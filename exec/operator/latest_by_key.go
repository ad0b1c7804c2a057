package operator

import (
	"bytes"
	"encoding/binary"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// LatestByKey makes a changelog of records that change rows: an Insert is the newest row
// of its key, whatever was there before; a Delete, of which the key alone counts, says
// that the key has no row any more. What changes nothing gives nothing: the same row
// again, the deletion of a key that has none. So records that come twice do no harm.
//
// Of a batch each key gives one Delete and one Insert at most. In a finite read, where
// there are no deletes, the rows come at the end.
type LatestByKey struct {
	Keys   []int
	Shapes []arrowbatch.Shape
	// TTL, above 0, is how many microseconds of processing time a key stays that no
	// record touches; its row is then taken back.
	TTL int64
	// Anew: the records are read from their start at each start of the query; nothing is
	// kept over it.
	Anew bool
	// Budget is how many bytes of rows may be held in memory; nil: any number. It is asked
	// at barriers.
	Budget func() int

	rt  *exec.Runtime
	out exec.Output

	keys    *state.Groups
	keyVecs []*arrowbatch.Vec
	rows    rowHeap // by key
	live    int
	exp     *expiry // with TTL
	saving  []bool
	save    []int32
	tier    *tier // nil: rows stay in memory
	ages    ages
	away    bool // the store has keys that are not here
	saved   state.KeyList

	// Of the batch in work: the keys in it, each with the row that it had before and the
	// batch's row that it has now.
	ids, sel []int32
	touched  []touchedKey
	at       []int32 // by key: one more than its place in touched
	buf      []byte
}

// touchedKey is a key of the batch in work. now is a row of the batch, -1: none.
type touchedKey struct {
	id, now int32
	old     rowAt
}

// rowHeap holds a row for each key, in the row code, in one piece of memory.
type rowHeap struct {
	data []byte
	at   []rowAt
	dead int
}

// rowAt is where a row is; from -1: there is none.
type rowAt struct {
	from int64
	size int32
}

var noRow = rowAt{from: -1}

func (h *rowHeap) get(r rowAt) []byte { return h.data[r.from : r.from+int64(r.size)] }

// set gives a key another row, or none. Rows that were there before can still be read
// until the heap is packed.
func (h *rowHeap) set(id int32, row []byte) {
	h.drop(id)
	h.at[id] = rowAt{int64(len(h.data)), int32(len(row))}
	h.data = append(h.data, row...)
}

func (h *rowHeap) drop(id int32) {
	if old := h.at[id]; old != noRow {
		h.dead += int(old.size)
		h.at[id] = noRow
	}
}

// pack frees the memory of dead rows when they are the greater part.
func (h *rowHeap) pack() {
	if h.dead < 1<<16 || h.dead < len(h.data)/2 {
		return
	}
	data := make([]byte, 0, len(h.data)-h.dead)
	for id, r := range h.at {
		if r != noRow {
			h.at[id].from = int64(len(data))
			data = append(data, h.get(r)...)
		}
	}
	h.data, h.dead = data, 0
}

// Open restores the rows.
func (o *LatestByKey) Open(rt *exec.Runtime, out exec.Output) error {
	o.rt, o.out = rt, out
	o.keyVecs = make([]*arrowbatch.Vec, len(o.Keys))
	o.keys = state.NewGroups(o.keyShapes())
	if o.TTL > 0 {
		o.exp = newExpiry(o.TTL)
	}
	if rt.Store == nil || o.Anew {
		return nil
	}
	if o.exp == nil {
		o.tier = newTier(rt, o.Budget)
	}
	return o.restore()
}

func (o *LatestByKey) keyShapes() []arrowbatch.Shape {
	s := make([]arrowbatch.Shape, len(o.Keys))
	for i, k := range o.Keys {
		s[i] = o.Shapes[k]
	}
	return s
}

// ProcessBatch takes records in.
func (o *LatestByKey) ProcessBatch(_ int, b *arrowbatch.Batch) error {
	defer b.Release()
	for i, k := range o.Keys {
		o.keyVecs[i] = b.Cols[k]
	}
	o.sel, o.ids = resizeIDs(o.sel, b.Len), resizeIDs(o.ids, b.Len)
	for i := range o.sel {
		o.sel[i] = int32(i)
	}
	from := o.keys.Len()
	o.keys.Lookup(o.keyVecs, o.sel, o.ids)
	o.grow()
	if err := o.use(from); err != nil {
		return err
	}
	o.touched = o.touched[:0]
	for i, id := range o.ids {
		if o.at[id] == 0 {
			o.touched = append(o.touched, touchedKey{id: id, old: o.rows.at[id]})
			o.at[id] = int32(len(o.touched))
		}
		t := &o.touched[o.at[id]-1]
		if t.now = int32(i); b.OpAt(i) == arrowbatch.Delete {
			t.now = -1
		}
	}
	return o.settle(b)
}

func (o *LatestByKey) grow() {
	for n := o.keys.Len(); len(o.rows.at) < n; {
		o.rows.at, o.at, o.saving = append(o.rows.at, noRow), append(o.at, 0), append(o.saving, false)
	}
}

// settle gives the changes of the batch.
func (o *LatestByKey) settle(b *arrowbatch.Batch) error {
	var out *arrowbatch.Batch
	if o.rt.Store != nil {
		out = arrowbatch.NewLike(o.Shapes)
	}
	for _, t := range o.touched {
		o.at[t.id] = 0
		if t.now >= 0 {
			o.buf = arrowbatch.AppendRow(o.buf[:0], b.Cols, int(t.now))
		}
		same := t.old != noRow && t.now >= 0 && bytes.Equal(o.rows.get(t.old), o.buf)
		if same || t.old == noRow && t.now < 0 {
			o.rt.Stats.Dups(1)
			if o.exp != nil && same {
				o.touch(t.id)
			}
			continue
		}
		if t.old != noRow {
			o.live--
			if err := o.give(out, t.old); err != nil {
				out.Release()
				return err
			}
		}
		if t.now < 0 {
			o.rows.drop(t.id)
		} else {
			o.live++
			o.rows.set(t.id, o.buf)
			if out != nil {
				for c, v := range out.Cols {
					v.AppendFrom(b.Cols[c], int(t.now))
				}
				out.AppendOp(arrowbatch.Insert)
			}
		}
		o.touch(t.id)
	}
	return o.send(out)
}

// give takes a row back, where results are changes.
func (o *LatestByKey) give(out *arrowbatch.Batch, r rowAt) error {
	if out == nil {
		return nil
	}
	if _, err := arrowbatch.DecodeRow(o.rows.get(r), out.Cols); err != nil {
		return errState
	}
	out.AppendOp(arrowbatch.Delete)
	return nil
}

func (o *LatestByKey) send(out *arrowbatch.Batch) error {
	if out == nil {
		return nil
	}
	if out.Len == 0 {
		out.Release()
		return nil
	}
	return o.out.Emit(out)
}

func (o *LatestByKey) touch(id int32) {
	if o.rt.Store != nil && !o.saving[id] {
		o.saving[id] = true
		o.save = append(o.save, id)
	}
}

// ProcessWatermark passes the watermark on: nothing is late here.
func (o *LatestByKey) ProcessWatermark(w arrowbatch.EventTime) (arrowbatch.EventTime, error) {
	return w, nil
}

// ProcessBarrier saves the keys that changed.
func (o *LatestByKey) ProcessBarrier(bar exec.Barrier) error {
	if o.rt.Store == nil {
		return o.all()
	}
	if err := o.expire(bar.Now); err != nil {
		return err
	}
	if d := o.rt.Delta(); d != nil && !o.Anew {
		o.saveRows(d)
	}
	for _, id := range o.save {
		o.saving[id] = false
	}
	o.save = o.save[:0]
	o.rows.pack()
	o.tier.sealed()
	err := o.reclaim()
	o.rt.Stats.State(o.live, o.bytes())
	return err
}

// saveRows writes the keys that changed.
func (o *LatestByKey) saveRows(d *state.Delta) {
	o.saved.Begin(o.rt.Table.Prefix())
	for _, id := range o.save {
		o.ages.use(o.tier, id)
		o.saved.Add(o.keys, id)
	}
	o.saved.Sort()
	for k := range o.saved.Len() {
		id := o.saved.ID(k)
		if o.rows.at[id] == noRow {
			d.Delete(o.saved.Key(k))
			continue
		}
		date := int64(0)
		if o.exp != nil {
			date = o.exp.date(id)
		}
		o.buf = binary.AppendVarint(o.buf[:0], date)
		o.buf = append(o.buf, o.rows.get(o.rows.at[id])...)
		d.Put(o.saved.Key(k), o.buf)
	}
}

// all gives the rows of a finite read.
func (o *LatestByKey) all() error {
	const some = 4096
	for id := 0; id < len(o.rows.at); {
		out := arrowbatch.NewLike(o.Shapes)
		for ; id < len(o.rows.at) && out.Len < some; id++ {
			if o.rows.at[id] == noRow {
				continue
			}
			if _, err := arrowbatch.DecodeRow(o.rows.get(o.rows.at[id]), out.Cols); err != nil {
				out.Release()
				return errState
			}
			out.Len++
		}
		if err := o.send(out); err != nil {
			return err
		}
	}
	return nil
}

// expire takes the rows back of keys that no record has touched for TTL.
func (o *LatestByKey) expire(now int64) error {
	if o.exp == nil {
		return nil
	}
	for _, id := range o.save {
		if o.rows.at[id] != noRow {
			o.exp.touch(id, now)
		}
	}
	ids, more := o.exp.due(now)
	o.rt.WakeAt(o.exp.wake(now, more))
	out := arrowbatch.NewLike(o.Shapes)
	for _, id := range ids {
		if o.rows.at[id] == noRow {
			continue
		}
		if err := o.give(out, o.rows.at[id]); err != nil {
			out.Release()
			return err
		}
		o.rows.drop(id)
		o.live--
		o.touch(id)
	}
	return o.send(out)
}

// Close has nothing to free.
func (o *LatestByKey) Close() {}

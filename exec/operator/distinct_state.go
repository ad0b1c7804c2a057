package operator

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// Stored form of a DistinctOn: a key per key, its value the time at which it is forgotten,
// with TTL the date, with Order the row that stands for it. Where keys are forgotten by a
// watermark, they are in a table of their own, table 1, in which what they are stored under
// begins with the end of their generation; until it was so they were in table 0 as all are.

func (d *DistinctOn) bytes() int {
	size := d.keys.Bytes() + 8*cap(d.until) + cap(d.saving) + 4*(cap(d.save)+cap(d.ages)) + d.held + 56*cap(d.rows)
	for _, ids := range d.due {
		size += 4 * cap(ids)
	}
	return size
}

// table returns what all keys begin with.
func (d *DistinctOn) table() []byte {
	t := d.rt.Table
	if d.Forget >= 0 {
		t.Table = 1
	}
	return t.Prefix()
}

// part returns what the keys of a generation begin with.
func (d *DistinctOn) part(end int64) []byte {
	if d.Forget < 0 {
		return d.table()
	}
	return appendBucketEnd(d.table(), end)
}

// convert takes over keys that have no generation yet. The next epoch stores them anew.
func (d *DistinctOn) convert() error {
	prefix := d.rt.Table.Prefix()
	return d.rt.Store.Scan(prefix, state.After(prefix), func(k, v []byte) error {
		d.converted = true
		if k = k[len(prefix):]; len(k) < 1 {
			return errState
		}
		if !d.rt.Owns(k[0]) {
			return nil
		}
		id, _, err := d.keys.AddKey(k[1:])
		if err != nil {
			return errState
		}
		d.grow()
		d.touch(id)
		return d.restoreKey(id, arrowbatch.NoTime, v)
	})
}

// saveKeys writes the keys that came, and those that went with TTL.
func (d *DistinctOn) saveKeys(delta *state.Delta) {
	if d.converted {
		lo := d.rt.Table.Prefix()
		delta.DeleteRange(lo, state.After(lo))
		d.converted = false
	}
	for _, end := range d.dropped {
		lo := d.part(end)
		delta.DeleteRange(lo, state.After(lo))
	}
	d.dropped = d.dropped[:0]
	gens := make([]int64, len(d.save))
	order := make([]int, len(d.save))
	for k, id := range d.save {
		d.saving[id] = false
		d.ages.use(d.tier, id)
		order[k] = k
		if d.Forget >= 0 && d.until[id] != arrowbatch.NoTime {
			gens[k] = d.genOf(id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gens[a], gens[b]) })
	for len(order) > 0 {
		end := gens[order[0]]
		d.saved.Begin(d.part(end))
		for len(order) > 0 && gens[order[0]] == end {
			if id := d.save[order[0]]; d.Forget < 0 || d.until[id] != arrowbatch.NoTime {
				d.saved.Add(d.keys, id)
			}
			order = order[1:]
		}
		d.saved.Sort()
		for k := range d.saved.Len() {
			if id := d.saved.ID(k); d.until[id] == arrowbatch.NoTime {
				delta.Delete(d.saved.Key(k))
			} else {
				delta.Put(d.saved.Key(k), d.value(id))
			}
		}
	}
	d.save = d.save[:0]
}

// genOf is the generation of a key. One that has a row stays in the one where it is.
func (d *DistinctOn) genOf(id int32) int64 {
	if d.Order == nil {
		return d.gens.of(d.until[id], d.w)
	}
	if r := &d.rows[id]; r.gen == arrowbatch.NoTime {
		r.gen = d.gens.of(d.until[id], d.w)
	}
	return d.rows[id].gen
}

func (d *DistinctOn) value(id int32) []byte {
	d.buf = binary.AppendVarint(d.buf[:0], d.until[id])
	if d.exp != nil {
		d.buf = binary.AppendVarint(d.buf, d.exp.date(id))
	}
	if d.Order != nil {
		r := d.rows[id]
		d.buf = append(binary.AppendUvarint(d.buf, uint64(len(r.order))), r.order...)
		d.buf = append(d.buf, r.row...)
	}
	return d.buf
}

// fetch brings the keys from number from on, which are new to the table, from the store.
func (d *DistinctOn) fetch(from int) error {
	if !d.away {
		return nil
	}
	ends := []int64{0}
	if d.Forget >= 0 {
		ends = d.gens.all()
	}
	for _, end := range ends {
		err := d.tier.fetchNew(d.part(end), d.keys, from, func(id int32, val []byte) error {
			return d.restoreKey(id, end, val)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreKey gives a key what the store has of it, unless that is forgotten or a later
// generation has it, too.
func (d *DistinctOn) restoreKey(id int32, gen int64, v []byte) error {
	until, n := binary.Varint(v)
	if n <= 0 {
		return errState
	}
	if until <= d.w || until <= d.until[id] {
		return nil
	}
	v = v[n:]
	if d.exp != nil {
		date, m := binary.Varint(v)
		if m <= 0 {
			return errState
		}
		v = v[m:]
		d.exp.touch(id, date)
	}
	if d.Order != nil {
		l, m := binary.Uvarint(v)
		if m <= 0 || l > uint64(len(v)-m) {
			return errState
		}
		v = v[m:]
		d.rows[id] = keptRow{bytes.Clone(v[:l]), bytes.Clone(v[l:]), gen}
		d.held += len(v)
	}
	if d.until[id] != arrowbatch.NoTime {
		d.live--
	}
	d.enter(id, until)
	return nil
}

// restore reads the keys that this task owns, if they fit into memory.
func (d *DistinctOn) restore() error {
	prefix := d.table()
	if d.Forget >= 0 {
		if err := d.gens.find(d.rt, prefix); err != nil {
			return err
		}
		if err := d.convert(); err != nil || d.converted {
			return err
		}
	}
	n := 0
	err := d.rt.Store.Scan(prefix, state.After(prefix), func(k, v []byte) error {
		k = k[len(prefix):]
		gen := int64(0)
		if d.Forget >= 0 {
			if len(k) < 9 {
				return errState
			}
			gen, k = int64(binary.BigEndian.Uint64(k)^1<<63), k[8:]
		}
		if len(k) < 1 {
			return errState
		}
		if !d.rt.Owns(k[0]) {
			return nil
		}
		if n++; n%restoreStep == 1 && d.tier.over(d.bytes()) {
			return errTooLarge
		}
		id, _, err := d.keys.AddKey(k[1:])
		if err != nil {
			return errState
		}
		d.grow()
		return d.restoreKey(id, gen, v)
	})
	if errors.Is(err, errTooLarge) {
		d.empty()
		d.away = true
		return nil
	}
	return err
}

// empty makes the table one without keys.
func (d *DistinctOn) empty() {
	d.keys, d.due = state.NewGroups(d.keyShapes()), map[int64][]int32{}
	d.until, d.rows, d.saving, d.ages, d.live, d.held = nil, nil, nil, nil, 0, 0
}

// reclaim rebuilds the table when most of its keys are forgotten, or when it takes more
// than its budget and keys can leave.
func (d *DistinctOn) reclaim() error {
	if d.tier.over(d.bytes()) {
		d.ages.fill(d.keys.Len())
		if from, ok := d.tier.cut(d.bytes(), d.ages); ok {
			d.away = true
			return d.rebuild(func(id int32) bool { return d.ages.of(id) >= from })
		}
	}
	if d.keys.Len() < 4096 || d.live > d.keys.Len()/2 {
		return nil
	}
	return d.rebuild(func(int32) bool { return true })
}

// rebuild makes a table of the keys that stay and are not forgotten. Nothing is to be
// saved then.
func (d *DistinctOn) rebuild(stays func(id int32) bool) error {
	var keep []int32
	for id, u := range d.until {
		if u != arrowbatch.NoTime && stays(int32(id)) {
			keep = append(keep, int32(id))
		}
	}
	old, until, rows, used := d.keys, d.until, d.rows, d.ages
	d.empty()
	var key []byte
	for _, id := range keep {
		key = old.AppendKey(key[:0], id)
		n, _, err := d.keys.AddKey(key)
		if err != nil {
			return errState
		}
		d.grow()
		if d.Order != nil {
			d.rows[n] = rows[id]
			d.held += cap(rows[id].order) + cap(rows[id].row)
		}
		d.enter(n, until[id])
	}
	d.ages = used.renumbered(keep)
	if d.exp != nil {
		d.exp = d.exp.renumbered(keep)
	}
	return nil
}

package operator

import (
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/state"
)

// Stored form of a LatestByKey: a key per key, its value the date, 0 without TTL, and the
// row.

// bytes is about the memory of the rows.
func (o *LatestByKey) bytes() int {
	return o.keys.Bytes() + cap(o.rows.data) + 21*cap(o.rows.at) + 4*cap(o.ages)
}

// use notes the use of the keys of a batch, and brings those from number from on, which
// are new to the table, from the store.
func (o *LatestByKey) use(from int) error {
	if o.tier == nil {
		return nil
	}
	for _, id := range o.ids {
		o.ages.use(o.tier, id)
	}
	if !o.away {
		return nil
	}
	return o.tier.fetchNew(o.rt.Table.Prefix(), o.keys, from, o.restoreRow)
}

// restore reads the rows that this task owns, if they fit into memory.
func (o *LatestByKey) restore() error {
	lo, n := o.rt.Table.Prefix(), 0
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 1 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		if n++; n%restoreStep == 1 && o.tier.over(o.bytes()) {
			return errTooLarge
		}
		id, _, err := o.keys.AddKey(k[1:])
		if err != nil {
			return errState
		}
		o.grow()
		return o.restoreRow(id, v)
	})
	if errors.Is(err, errTooLarge) {
		o.empty()
		o.away = true
		return nil
	}
	return err
}

// restoreRow gives a key what the store has of it.
func (o *LatestByKey) restoreRow(id int32, v []byte) error {
	date, n := binary.Varint(v)
	if n <= 0 {
		return errState
	}
	o.rows.set(id, v[n:])
	o.live++
	if o.exp != nil {
		o.exp.touch(id, date)
	}
	return nil
}

// empty makes the table one without keys.
func (o *LatestByKey) empty() {
	o.keys, o.rows = state.NewGroups(o.keyShapes()), rowHeap{}
	o.at, o.saving, o.ages, o.live = nil, nil, nil, 0
}

// reclaim rebuilds the table when most of its keys have no row, or when it takes more than
// its budget and keys can leave. A key without a row stays as long as the store may have
// one of it.
func (o *LatestByKey) reclaim() error {
	if o.tier.over(o.bytes()) {
		o.ages.fill(o.keys.Len())
		if from, ok := o.tier.cut(o.bytes(), o.ages); ok {
			o.away = true
			return o.rebuild(func(id int32) bool { return o.ages.of(id) >= from })
		}
	}
	if o.keys.Len() < 4096 || o.live > o.keys.Len()/2 {
		return nil
	}
	return o.rebuild(func(id int32) bool {
		return o.rows.at[id] != noRow || o.away && o.tier.holds(o.ages.of(id))
	})
}

// rebuild makes a table of the keys that stay. Nothing is to be saved then.
func (o *LatestByKey) rebuild(stays func(id int32) bool) error {
	var keep []int32
	for id := range int32(o.keys.Len()) {
		if stays(id) {
			keep = append(keep, id)
		}
	}
	keys, rows, used := o.keys, o.rows, o.ages
	o.empty()
	var key []byte
	for _, id := range keep {
		key = keys.AppendKey(key[:0], id)
		n, _, err := o.keys.AddKey(key)
		if err != nil {
			return errState
		}
		o.grow()
		if r := rows.at[id]; r != noRow {
			o.rows.set(n, rows.get(r))
			o.live++
		}
	}
	o.ages = used.renumbered(keep)
	if o.exp != nil {
		o.exp = o.exp.renumbered(keep)
	}
	return nil
}

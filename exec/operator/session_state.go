package operator

import (
	"encoding/binary"

	"github.com/streamsql/streamsql/state"
)

// Stored form of a SessionAgg: a key per group with the group's open sessions as its
// value, each with start, end and the aggregates' states.

// saveGroups writes each changed group's open sessions under the group's key.
func (o *SessionAgg) saveGroups(d *state.Delta) {
	prefix := o.rt.Table.Prefix()
	var key, val []byte
	for _, g := range o.save {
		o.saving[g] = false
		key = appendGroupKey(append(key[:0], prefix...), o.groups, g)
		val = val[:0]
		for id := o.head[g]; id >= 0; id = o.s[id].next {
			val = binary.AppendVarint(binary.AppendVarint(val, o.s[id].start), o.s[id].end)
			for _, a := range o.accs {
				val = a.Append(val, id)
			}
		}
		if len(val) == 0 {
			d.Delete(key)
		} else {
			d.Put(key, val)
		}
	}
	o.save = o.save[:0]
}

func (o *SessionAgg) restore() error {
	lo := o.rt.Table.Prefix()
	return o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 1 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		g, err := o.group(k[1:])
		if err != nil {
			return err
		}
		for len(v) > 0 {
			start, n := binary.Varint(v)
			if n <= 0 {
				return errState
			}
			end, m := binary.Varint(v[n:])
			if m <= 0 {
				return errState
			}
			v = v[n+m:]
			id := o.newSession(g, start, end)
			if !o.FinalOnly {
				o.s[id].flags |= emitted
			}
			for _, a := range o.accs {
				if v, err = a.Merge(id, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// reclaim rebuilds the tables when most of their sessions are dead, or most of
// their groups, which stay until they are saved, are without a session.
func (o *SessionAgg) reclaim() error {
	n := len(o.s)
	if len(o.save) == 0 {
		n = max(n, o.groups.Len())
	}
	if n < 4096 || o.open > n/2 || len(o.changed) > 0 {
		return nil
	}
	return o.rebuild()
}

func (o *SessionAgg) rebuild() error {
	accs, err := o.newAccs()
	if err != nil {
		return err
	}
	groups, old, save, live := state.NewGroups(o.keyShapes), o.s, o.save, o.open
	oldGroups, oldAccs := o.groups, o.accs
	o.save = nil
	o.groups, o.accs, o.ends, o.open = groups, accs, map[int64][]int32{}, 0
	o.s = make([]session, 0, min(2*len(old)/3, 2*live+64))
	o.head, o.saving = make([]int32, 0, live+len(save)), make([]bool, 0, live+len(save))
	var key []byte
	for id := range old {
		s := &old[id]
		if s.flags&dead != 0 {
			continue
		}
		key = oldGroups.AppendKey(key[:0], s.group)
		g, err := o.group(key)
		if err != nil {
			return err
		}
		n := o.newSession(g, s.start, s.end)
		o.s[n].flags = s.flags
		for i, a := range o.accs {
			o.buf = oldAccs[i].Append(o.buf[:0], int32(id))
			if _, err := a.Merge(n, o.buf); err != nil {
				return err
			}
		}
	}
	for _, g := range save {
		n, err := o.group(oldGroups.AppendKey(key[:0], g))
		if err != nil {
			return err
		}
		o.saving[n] = true
		o.save = append(o.save, n)
	}
	return nil
}

func (o *SessionAgg) group(key []byte) (int32, error) {
	g, _, err := o.groups.AddKey(key)
	if err != nil {
		return 0, errState
	}
	for len(o.head) < o.groups.Len() {
		o.head, o.saving = append(o.head, -1), append(o.saving, false)
	}
	return g, nil
}

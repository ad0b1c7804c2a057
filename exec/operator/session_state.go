package operator

import (
	"encoding/binary"
	"errors"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/state"
)

// Stored form of a SessionAgg: table 0 has a key per group with the group's open sessions
// as its value, each with start, end and the aggregates' states. Once groups have left
// memory, table 1 has every group at or before the earliest end of its sessions.

func (o *SessionAgg) indexPrefix() []byte {
	id := o.rt.Table
	id.Table = 1
	return id.Prefix()
}

// saveGroups writes each changed group's open sessions under the group's key.
func (o *SessionAgg) saveGroups(d *state.Delta) {
	keys := &o.saved
	keys.Begin(o.rt.Table.Prefix())
	for _, g := range o.save {
		o.saving[g] = false
		o.ages.use(o.tier, g)
		keys.Add(o.groups, g)
	}
	o.save = o.save[:0]
	keys.Sort()
	val := o.buf
	for k := range keys.Len() {
		g := keys.ID(k)
		if val = o.appendSessions(val[:0], g); len(val) == 0 {
			d.Delete(keys.Key(k))
			continue
		}
		d.Put(keys.Key(k), val)
		if o.away {
			o.enlist(g, keys.Suffix(k))
		}
	}
	o.buf = val
}

// appendSessions appends the open sessions of a group.
func (o *SessionAgg) appendSessions(dst []byte, g int32) []byte {
	for id := o.head[g]; id >= 0; id = o.s[id].next {
		dst = binary.AppendVarint(binary.AppendVarint(dst, o.s[id].start), o.s[id].end)
		for _, a := range o.accs {
			dst = a.Append(dst, id)
		}
	}
	return dst
}

// restore reads the groups that this task owns, if they fit into memory, or if none has
// left it yet: then they have no index, and were in memory before.
func (o *SessionAgg) restore() error {
	left := false
	if o.tier != nil {
		if err := o.index.open(o.tier, o.indexPrefix()); err != nil {
			return err
		}
		left = o.Keep || o.index.first < arrowbatch.MaxTime
		o.away = !o.Keep && left
	} else if d := o.rt.Delta(); d != nil { // it would not be kept up
		d.DeleteRange(o.indexPrefix(), state.After(o.indexPrefix()))
	}
	lo, n := o.rt.Table.Prefix(), 0
	err := o.rt.Store.Scan(lo, state.After(lo), func(k, v []byte) error {
		k = k[len(lo):]
		if len(k) < 1 {
			return errState
		}
		if !o.rt.Owns(k[0]) {
			return nil
		}
		if n++; left && n%restoreStep == 1 && o.tier.over(o.bytes()) {
			return errTooLarge
		}
		g, err := o.group(k[1:])
		if err != nil {
			return err
		}
		return o.restoreGroup(g, v)
	})
	if errors.Is(err, errTooLarge) {
		o.away = true
		return o.empty()
	}
	if err == nil {
		err = o.restoreErrors(0)
	}
	return err
}

func (o *SessionAgg) restoreGroup(g int32, v []byte) error {
	first := arrowbatch.MaxTime
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
		first = min(first, end)
		id := o.newSession(g, start, end)
		if !o.FinalOnly {
			o.s[id].flags |= emitted
		}
		var err error
		for _, a := range o.accs {
			if v, err = a.Merge(id, v); err != nil {
				return err
			}
		}
	}
	if o.tier != nil {
		o.indexed[g] = first // or before it
	}
	return nil
}

// restoreErrors finds which sessions from one on have no result: their errors are among
// the live errors already, and their rows are not in the output.
func (o *SessionAgg) restoreErrors(from int) error {
	if o.FinalOnly || from == len(o.s) {
		return nil
	}
	ids := make([]int32, len(o.s)-from)
	for i := range ids {
		ids[i] = int32(from + i)
	}
	res, errs := o.results(ids)
	res.Release()
	for k := range errs {
		s := &o.s[ids[k]]
		s.flags = s.flags&^emitted | failed
	}
	return nil
}

// empty forgets all groups.
func (o *SessionAgg) empty() (err error) {
	if o.accs, err = o.newAccs(); err != nil {
		return err
	}
	o.groups, o.ends, o.open = state.NewGroups(o.keyShapes), map[int64][]int32{}, 0
	o.s, o.head, o.saving, o.save, o.ages, o.indexed = nil, nil, nil, nil, nil, nil
	return nil
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
	return o.rebuild(func(g int32) bool {
		return o.head[g] >= 0 || o.saving[g] || o.away && o.tier.holds(o.ages.of(g))
	})
}

// rebuild makes tables of the groups that stay.
func (o *SessionAgg) rebuild(stays func(g int32) bool) error {
	old := *o //nolint:govet // the tables are read only
	var keep []int32
	for g := range int32(o.groups.Len()) {
		if stays(g) {
			keep = append(keep, g)
		}
	}
	if err := o.empty(); err != nil {
		return err
	}
	o.s = make([]session, 0, min(2*len(old.s)/3, 2*old.open+64))
	o.head, o.saving = make([]int32, 0, len(keep)), make([]bool, 0, len(keep))
	var key []byte
	var ids []int32
	for _, g := range keep {
		key = old.groups.AppendKey(key[:0], g)
		to, err := o.group(key)
		if err != nil {
			return err
		}
		if o.tier != nil {
			o.indexed[to] = old.indexed[g]
		}
		if old.saving[g] {
			o.touchGroup(to)
		}
		ids = ids[:0]
		for id := old.head[g]; id >= 0; id = old.s[id].next {
			ids = append(ids, id)
		}
		for i := len(ids) - 1; i >= 0; i-- { // a new one becomes the head
			s := &old.s[ids[i]]
			n := o.newSession(to, s.start, s.end)
			o.s[n].flags = s.flags
			for k, a := range o.accs {
				o.buf = old.accs[k].Append(o.buf[:0], ids[i])
				if _, err := a.Merge(n, o.buf); err != nil {
					return err
				}
			}
		}
	}
	o.ages = old.ages.renumbered(keep)
	return nil
}

func (o *SessionAgg) group(key []byte) (int32, error) {
	g, _, err := o.groups.AddKey(key)
	if err != nil {
		return 0, errState
	}
	o.grow()
	return g, nil
}

func (o *SessionAgg) grow() {
	for len(o.head) < o.groups.Len() {
		o.head, o.saving = append(o.head, -1), append(o.saving, false)
		if o.tier != nil {
			o.indexed = append(o.indexed, arrowbatch.MaxTime)
		}
	}
}

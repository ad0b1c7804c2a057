package operator

import (
	"github.com/streamsql/streamsql/arrowbatch"
)

// Groups of sessions that do not fit into memory are in the store alone; see tier. Their
// sessions are found by the index when the watermark comes to their end.

// enlist puts a group into the index, unless it is there at or before its earliest end.
func (o *SessionAgg) enlist(g int32, suffix []byte) {
	if o.Keep {
		return
	}
	first := arrowbatch.MaxTime
	for id := o.head[g]; id >= 0; id = o.s[id].next {
		first = min(first, o.s[id].end)
	}
	if first < o.indexed[g] {
		o.index.put(first, suffix)
		o.indexed[g] = first
	}
}

// fetch brings the groups from number from on, which are new to the table, from the store.
func (o *SessionAgg) fetch(from int) error {
	n := len(o.s)
	err := o.tier.fetchNew(o.rt.Table.Prefix(), o.groups, from, o.restoreGroup)
	if err != nil {
		return err
	}
	return o.restoreErrors(n)
}

// spill leaves groups to the store, when all that changed is emitted and in the delta.
func (o *SessionAgg) spill() error {
	if !o.tier.over(o.bytes()) {
		return nil
	}
	o.ages.fill(o.groups.Len())
	from, ok := o.tier.cut(o.bytes(), o.ages)
	if !ok {
		return nil
	}
	if !o.away { // from now on all are in the index
		o.away = true
		o.saved.Begin(nil)
		for g := range int32(o.groups.Len()) {
			if o.indexed[g] = arrowbatch.MaxTime; o.head[g] >= 0 {
				o.saved.Add(o.groups, g)
			}
		}
		o.saved.Sort()
		for k := range o.saved.Len() {
			o.enlist(o.saved.ID(k), o.saved.Suffix(k))
		}
	}
	return o.rebuild(func(g int32) bool { return o.ages.of(g) >= from })
}

// closeAway closes the sessions up to w of the groups that are in the store alone, so many
// groups at a time.
func (o *SessionAgg) closeAway(w arrowbatch.EventTime) error {
	if !o.away {
		return nil
	}
	from := o.groups.Len()
	err := o.index.pass(w, func(suffix []byte) error {
		g, err := o.group(suffix[1:])
		if err != nil {
			return err
		}
		if int(g) < from { // it is here, and is no longer in the index
			o.indexed[g] = arrowbatch.MaxTime
			o.touchGroup(g)
		}
		if o.groups.Len()-from < finalStep {
			return nil
		}
		if err := o.closeFetched(from, w); err != nil {
			return err
		}
		from = o.groups.Len()
		return nil
	})
	if err != nil {
		return err
	}
	return o.closeFetched(from, w)
}

// closeFetched fetches the groups from number from on, closes their sessions up to w, and
// writes what is left of them.
func (o *SessionAgg) closeFetched(from int, w arrowbatch.EventTime) error {
	if o.groups.Len() == from {
		return nil
	}
	if err := o.fetch(from); err != nil {
		return err
	}
	for g := from; g < o.groups.Len(); g++ {
		if o.indexed[g] = arrowbatch.MaxTime; o.head[g] >= 0 {
			o.touchGroup(int32(g))
		}
	}
	if err := o.closeHere(w); err != nil {
		return err
	}
	o.saveGroups(o.rt.Delta())
	return o.reclaim()
}

package operator

import (
	"math"
	"sync/atomic"

	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/state"
)

// tier decides which entries of an operator's tables stay in memory and which are in the
// store alone. An operator can have one whose state has a key of the store for each entry:
//
//   - newTier at Open; nil: all stays in memory, and every method may be called.
//   - ages beside each table. Entries that are read or changed are noted with use, at
//     the latest when they are saved.
//   - A table some of whose entries have left is away. Entries that are new to such a
//     table are looked for in the store with fetch, all of a batch's at once.
//   - At the barrier, when the changes are in the delta: sealed. Then, if over, cut says
//     since when entries must have been used to stay; the table is rebuilt from those.
//
// What leaves is in the store as it is: an entry whose last change may not have been
// committed stays. Of the others those stay that were used last, as far as half of the
// budget goes.
type tier struct {
	rt     *exec.Runtime
	budget func() int
	// epoch is the one in work, committed the last one known to be in the store, both
	// counted from the start of the run; base is what ages count from.
	epoch, base uint64
	committed   atomic.Uint64
	flight      chan struct{} // closed when the last epoch's commit has ended; nil: there is none
	keys        state.KeyList
}

// newTier returns nil where there is no bound or no store to leave to.
func newTier(rt *exec.Runtime, budget func() int) *tier {
	if budget == nil || rt.Store == nil {
		return nil
	}
	return &tier{rt: rt, budget: budget, epoch: 1}
}

// over tells whether a state of that size is too large.
func (t *tier) over(size int) bool { return t != nil && size > t.budget() }

// sealed ends the epoch.
func (t *tier) sealed() {
	if t == nil {
		return
	}
	e, ended := t.epoch, make(chan struct{})
	t.rt.AfterCommit(func() {
		t.committed.Store(e)
		close(ended)
	})
	t.epoch++
	t.flight = ended
}

// landed waits until the last epoch is in the store. Its commit depends on nothing that
// this task has yet to do.
func (t *tier) landed() error {
	if t.flight == nil {
		return nil
	}
	select {
	case <-t.flight:
		t.flight = nil
		return nil
	case <-t.rt.Ctx.Done():
		return t.rt.Ctx.Err()
	}
}

// ages has for each entry of a table the epoch of its last use, counted from the tier's
// base; mostAge is any from there on.
type ages []uint32

const mostAge = math.MaxUint32

// now is the epoch in work as ages have it.
func (t *tier) now() uint32 { return uint32(min(t.epoch-t.base, mostAge)) }

// use notes the use of an entry.
func (a *ages) use(t *tier, id int32) {
	if t == nil {
		return
	}
	for len(*a) <= int(id) {
		*a = append(*a, 0)
	}
	(*a)[id] = t.now()
}

// fill makes it one of n entries.
func (a *ages) fill(n int) {
	if n > len(*a) {
		*a = append(*a, make(ages, n-len(*a))...)
	}
}

// of is when an entry was used last.
func (a ages) of(id int32) uint32 {
	if int(id) < len(a) {
		return a[id]
	}
	return 0
}

// renumbered are the ages of entries with new numbers: entry k was keep[k].
func (a ages) renumbered(keep []int32) ages {
	if len(a) == 0 {
		return nil
	}
	out := make(ages, len(keep))
	for k, id := range keep {
		out[k] = a.of(id)
	}
	return out
}

// holds tells whether the store may not have yet what an entry was when last used then.
func (t *tier) holds(age uint32) bool {
	return t != nil && (age == mostAge || t.base+uint64(age) > t.committed.Load())
}

// cutSteps is how many epochs cut tells apart; what is older counts as one.
const cutSteps = 64

// cut returns the age from which on entries stay, of tables that take size bytes. ok is
// false where next to nothing would leave.
func (t *tier) cut(size int, tables ...ages) (from uint32, ok bool) {
	if t.epoch-t.base > mostAge/2 {
		t.rebase(tables)
	}
	from = uint32(max(t.committed.Load()+1, t.base) - t.base)
	var by [cutSteps]int // entries that may leave, by the epochs since their use
	all, stay, now := 0, 0, t.now()
	for _, a := range tables {
		all += len(a)
		for _, e := range a {
			if e >= from {
				stay++
			} else {
				by[min(now-e, cutSteps-1)]++
			}
		}
	}
	room := float64(t.budget()/2) / float64(max(size, 1)) * float64(all)
	for past := uint32(0); past < min(now, cutSteps-1) && float64(stay+by[past]) <= room; past++ {
		stay += by[past]
		from = min(from, now-past)
	}
	return from, 10*stay <= 9*all
}

// rebase lets ages count from a later epoch, lest they run out of numbers. Those that
// have are taken for uses in this epoch.
func (t *tier) rebase(tables []ages) {
	const recent = 1 << 20
	shift := t.epoch - recent - t.base
	t.base += shift
	for _, a := range tables {
		for i, e := range a {
			switch {
			case e == mostAge:
				a[i] = recent
			case uint64(e) > shift:
				a[i] = e - uint32(shift)
			default:
				a[i] = 0
			}
		}
	}
}

// fetch calls fn for those keys in t.keys that the store has, in order.
func (t *tier) fetch(fn func(id int32, val []byte) error) error {
	if t.keys.Len() == 0 {
		return nil
	}
	t.keys.Sort()
	return t.rt.Store.Fetch(&t.keys, func(k int, val []byte) error { return fn(t.keys.ID(k), val) })
}

// fetchNew calls fn for the entries of a table from number from on that the store has,
// where their keys begin with prefix.
func (t *tier) fetchNew(prefix []byte, g *state.Groups, from int, fn func(id int32, val []byte) error) error {
	t.keys.Begin(prefix)
	for id := from; id < g.Len(); id++ {
		t.keys.Add(g, int32(id))
	}
	return t.fetch(fn)
}

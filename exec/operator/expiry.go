package operator

import (
	"container/heap"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

// forgetStep is how many entries one epoch looks at, at most, to forget them: what
// is left goes in the epochs that follow, which are asked for at once.
const forgetStep = 1 << 16

// expiry finds the entries of a table that no row has touched for a span. Entries
// are dated by epochs: no row is looked at for it. An entry is in one list, that of
// the date that it had when it was put there; it is looked at when that list is due,
// and moves on if it was touched since. So its cost is constant in each span.
type expiry struct {
	span  int64
	unit  int64   // dates are cut to it, which bounds the number of lists
	dates []int64 // by entry; NoTime: it is in no list
	lists map[int64][]int32
	order dateHeap // of the dates in lists
}

func newExpiry(span int64) *expiry {
	e := &expiry{span: span, unit: 1e6, lists: map[int64][]int32{}}
	switch {
	case span < 60e6:
		e.unit = 1e3
	case span < 3600e6:
		e.unit = 1e5
	}
	return e
}

// touch dates an entry.
func (e *expiry) touch(id int32, now int64) {
	for len(e.dates) <= int(id) {
		e.dates = append(e.dates, arrowbatch.NoTime)
	}
	was := e.dates[id]
	e.dates[id] = max(was, floorTo(now, e.unit, 0))
	if was == arrowbatch.NoTime {
		e.enlist(id)
	}
}

func (e *expiry) enlist(id int32) {
	d := e.dates[id]
	l, ok := e.lists[d]
	if !ok {
		heap.Push(&e.order, d)
	}
	e.lists[d] = append(l, id)
}

// date returns an entry's date.
func (e *expiry) date(id int32) int64 { return e.dates[id] }

// due takes out the entries whose span is over; more: it has not looked at all.
func (e *expiry) due(now int64) (ids []int32, more bool) {
	looked := 0
	for len(e.order) > 0 && e.order[0] <= now-e.span {
		d := e.order[0]
		l := e.lists[d]
		part := l[:min(len(l), forgetStep-looked)]
		for _, id := range part {
			if e.dates[id] <= now-e.span {
				e.dates[id] = arrowbatch.NoTime
				ids = append(ids, id)
			} else {
				e.enlist(id)
			}
		}
		looked += len(part)
		if len(part) < len(l) {
			e.lists[d] = l[len(part):]
			return ids, true
		}
		delete(e.lists, d)
		heap.Pop(&e.order)
		if looked == forgetStep {
			return ids, len(e.order) > 0 && e.order[0] <= now-e.span
		}
	}
	return ids, false
}

// wake is when an epoch is wanted to forget more, NoWake: there is nothing to forget.
// Where no rows come, epochs follow each other in no less than a fraction of the span.
func (e *expiry) wake(now int64, more bool) int64 {
	switch {
	case more:
		return now
	case len(e.order) == 0:
		return exec.NoWake
	}
	return max(e.order[0]+e.span, now+e.span/64)
}

// renumbered is an expiry for entries with new numbers: entry k was keep[k].
func (e *expiry) renumbered(keep []int32) *expiry {
	n := newExpiry(e.span)
	for k, id := range keep {
		if int(id) < len(e.dates) && e.dates[id] != arrowbatch.NoTime {
			n.touch(int32(k), e.dates[id])
		}
	}
	return n
}

type dateHeap []int64

func (h dateHeap) Len() int           { return len(h) }
func (h dateHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h dateHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dateHeap) Push(x any)        { *h = append(*h, x.(int64)) }

// Pop is called by package heap.
func (h *dateHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	*h = o[:len(o)-1]
	return x
}

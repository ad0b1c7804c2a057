package operator

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
)

// nextClose is the watermark at which the next window closes, MaxTime for none.
func (o *HashAgg) nextClose() arrowbatch.EventTime {
	next := arrowbatch.MaxTime
	if o.Window == nil && o.CloseCol < 0 || o.Keep {
		return next
	}
	for end, bk := range o.buckets {
		if end >= endNegInf || end >= next && !o.panes {
			continue
		}
		if !o.panes {
			next = end
			continue
		}
		o.Window.each(bk.start, func(_, e int64) {
			if e > o.w {
				next = min(next, e)
			}
		})
	}
	return next
}

// nextClose is the watermark at which the next session closes, MaxTime for none. A
// session that has grown may still stand where it would have closed before.
func (o *SessionAgg) nextClose() arrowbatch.EventTime {
	if o.Keep {
		return arrowbatch.MaxTime
	}
	at := make([]int64, 0, len(o.ends))
	for k := range o.ends {
		at = append(at, k)
	}
	slices.Sort(at)
	next := arrowbatch.MaxTime
	if o.away {
		next = o.index.first
	}
	for _, k := range at {
		if next>>endBits < k {
			break
		}
		for _, id := range o.ends[k] {
			if s := &o.s[id]; s.flags&dead == 0 {
				next = min(next, s.end)
			}
		}
	}
	return next
}

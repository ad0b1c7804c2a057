package operator

import (
	"bytes"

	"github.com/streamsql/streamsql/arrowbatch"
)

// flush puts what has changed of a bucket into dels and adds.
func (o *GroupTopN) flush(bk *topBucket) {
	for _, id := range bk.changed {
		bk.tops[id].changed = false
		o.walk(&bk.tops[id])
		o.bury(bk, id)
	}
	bk.changed = bk.changed[:0]
}

// rankWalk counts the rows of a group from the first on.
type rankWalk struct {
	rows, rank, dense int64 // rows before the present one; its rank and dense rank
	order             []byte
}

// next counts n copies of a row of that order; they are the present ones then.
func (w *rankWalk) next(order []byte, n int64) {
	if n > 0 && (w.dense == 0 || !bytes.Equal(w.order, order)) {
		w.rank, w.order = w.rows+1, order
		w.dense++
	}
}

// within tells how many of n present copies are in the range, and the rank of the
// first of them.
func (o *GroupTopN) within(w *rankWalk, n int64) (now, at int64) {
	first := max(o.From, w.rows+1)
	switch o.Func {
	case RankRowNumber:
		return max(0, min(o.To, w.rows+n)-first+1), first
	case RankTies:
		if w.rank <= o.To {
			return max(0, w.rows+n-first+1), first
		}
		return 0, 0
	case RankDense:
		at = w.dense
	default:
		at = w.rank
	}
	if at < o.From || at > o.To {
		return 0, 0
	}
	return n, at
}

// past tells whether the present rows and all behind them are behind the range.
func (o *GroupTopN) past(w *rankWalk) bool {
	switch o.Func {
	case RankRowNumber:
		return w.rows >= o.To
	case RankDense:
		return w.dense > o.To
	}
	return w.rank > o.To
}

// walk puts the changes of a group since it was last walked into dels and adds. It
// goes no further than the range and what was given before reach.
func (o *GroupTopN) walk(g *topGroup) {
	var w rankWalk
	left := g.given
	g.cut = g.cut[:0]
	full := false
walk:
	for k := range g.chunks {
		c := &g.chunks[k]
		for i := range c.rows {
			r := &c.rows[i]
			n := max(r.n, 0)
			w.next(c.order(i), n)
			if o.past(&w) && left == 0 {
				break walk
			}
			left -= r.out
			now, at := o.within(&w, n)
			o.differ(g, c, i, now, at)
			if !o.AppendOnly && n > 0 && !full {
				full = o.mark(g, c, i, &w, n)
			}
			if r.n == 0 {
				o.ghosts = append(o.ghosts, c.key(i)...)
				o.ghostEnds = append(o.ghostEnds, len(o.ghosts))
			}
			w.rows += n
		}
	}
	if !full {
		g.cut = nil
	}
}

// mark keeps the key of present rows as the group's cut if the range ends with them.
func (o *GroupTopN) mark(g *topGroup, c *topChunk, i int, w *rankWalk, n int64) bool {
	switch {
	case o.Func == RankRowNumber && w.rows+n >= o.To:
		g.cut = append(g.cut, c.key(i)...)
	case o.Func == RankDense && w.dense >= o.To, o.Func != RankRowNumber && o.Func != RankDense && w.rows+n >= o.To:
		g.cut = append(g.cut, c.order(i)...)
	default:
		return false
	}
	return true
}

// differ gives what makes now copies with the ranks from at on of those that were
// given of a row.
func (o *GroupTopN) differ(g *topGroup, c *topChunk, i int, now, at int64) {
	r := &c.rows[i]
	was, from := r.out, r.at
	g.given += now - was
	r.out, r.at = now, at
	if o.mute {
		return
	}
	switch {
	case o.Rank && o.Func == RankRowNumber:
		for k := from; k < from+was; k++ {
			if k < at || k >= at+now {
				o.give(&o.dels, c, i, k, arrowbatch.Delete)
			}
		}
		for k := at; k < at+now; k++ {
			if k < from || k >= from+was {
				o.give(&o.adds, c, i, k, arrowbatch.Insert)
			}
		}
		return
	case o.Rank && from != at:
		for range was {
			o.give(&o.dels, c, i, from, arrowbatch.Delete)
		}
		was = 0
	}
	for range was - now {
		o.give(&o.dels, c, i, from, arrowbatch.Delete)
	}
	for range now - was {
		o.give(&o.adds, c, i, at, arrowbatch.Insert)
	}
}

// bury takes the rows out of a group that the last walk found to be gone.
func (o *GroupTopN) bury(bk *topBucket, id int32) {
	from := 0
	for _, to := range o.ghostEnds {
		if k, i, found := bk.tops[id].search(o.ghosts[from:to]); found {
			o.forget(bk, id, k, i)
		}
		from = to
	}
	o.ghosts, o.ghostEnds = o.ghosts[:0], o.ghostEnds[:0]
}

// give puts a row with a rank into dels or adds.
func (o *GroupTopN) give(to **arrowbatch.Batch, c *topChunk, i int, rank int64, op arrowbatch.Op) {
	if *to == nil {
		*to = arrowbatch.NewLike(o.outShapes)
	}
	b := *to
	if _, err := arrowbatch.DecodeRow(c.key(i)[c.rows[i].ord:], b.Cols[:len(o.Shapes)]); err != nil {
		o.bad = true
		return
	}
	if o.Rank {
		b.Cols[len(o.Shapes)].AppendInt64(rank)
	}
	b.AppendOp(op)
}

// send emits what is in dels and adds.
func (o *GroupTopN) send() error {
	dels, adds := o.dels, o.adds
	o.dels, o.adds = nil, nil
	switch {
	case o.bad:
		dels.Release()
		adds.Release()
		return errState
	case dels == nil && adds == nil:
		return nil
	case dels == nil:
		return o.out.Emit(adds)
	case adds == nil:
		return o.out.Emit(dels)
	}
	return o.out.Emit(arrowbatch.Concat([]*arrowbatch.Batch{dels, adds}))
}

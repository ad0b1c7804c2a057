package operator

// slide puts hopping windows together from panes with a number of merges that does
// not depend on how many panes a window has: the queue of two stacks. Of the panes
// of the present window, those before mid have been merged from the back, so that
// front has for each of them the sum from it up to mid; those from mid on are summed
// in back. A window is one sum of the front and back.
//
// All of it follows from the panes and is never stored. A row that comes into a
// pane that has been merged (it is late for some windows, not for all) makes it
// stale: it is built anew for the next window.
type slide struct {
	front []*bucket // by start, descending: the last is the one that goes first
	back  *bucket
	mid   int64
	until int64 // end of the last pane in back
	built bool
}

// touchPane notes a row for a pane.
func (o *HashAgg) touchPane(bk *bucket) {
	if o.slide.built && bk.end <= o.slide.until {
		o.dropSlide()
	}
}

// dropSlide forgets the sums.
func (o *HashAgg) dropSlide() {
	for _, bk := range o.slide.front {
		o.recycle(bk)
	}
	if o.slide.back != nil {
		o.recycle(o.slide.back)
	}
	o.slide = slide{front: o.slide.front[:0]}
}

// recycle empties a bucket that is not in the store and keeps it for later use.
func (o *HashAgg) recycle(bk *bucket) {
	bk.reset()
	if len(o.free) < o.keep() {
		o.free = append(o.free, bk)
	}
}

// closeWindow merges the panes of a window and sends the result.
func (o *HashAgg) closeWindow(start, end int64) error {
	for p := start + o.pane; p <= end; p += o.pane {
		if bk := o.buckets[p]; bk != nil && bk.away {
			return o.closeAway(start, end)
		}
	}
	merged := o.newBucket(start, end)
	defer o.recycle(merged)
	var err error
	if o.Window.Cumulate {
		err = o.mergePanes(merged, start, end)
	} else if err = o.slideTo(start, end); err == nil {
		if n := len(o.slide.front); n > 0 {
			err = o.merge(merged, o.slide.front[n-1])
		}
		if err == nil {
			err = o.merge(merged, o.slide.back)
		}
	}
	if err != nil {
		return err
	}
	return o.emitFinal(merged, start, end)
}

// mergePanes adds the panes from start to end to a bucket.
func (o *HashAgg) mergePanes(into *bucket, start, end int64) error {
	for p := start + o.pane; p <= end; p += o.pane {
		if bk := o.buckets[p]; bk != nil && bk.groups.Len() > 0 {
			if err := o.merge(into, bk); err != nil {
				return err
			}
		}
	}
	return nil
}

// slideTo moves the sums to the window [start, end). Windows come in order.
func (o *HashAgg) slideTo(start, end int64) error {
	s := &o.slide
	if s.built {
		for n := len(s.front); n > 0 && s.front[n-1].start < start; n = len(s.front) {
			o.recycle(s.front[n-1])
			s.front = s.front[:n-1]
		}
		if start < s.mid && end >= s.until {
			err := o.mergePanes(s.back, s.until, end)
			s.until = end
			return err
		}
		o.dropSlide()
	}
	return o.flip(start, end)
}

// flip builds the front from the panes of a window, with an empty back.
func (o *HashAgg) flip(start, end int64) error {
	s := &o.slide
	s.mid, s.until, s.built = end, end, true
	s.back = o.newBucket(end, end)
	for p := end; p > start; p -= o.pane {
		bk := o.buckets[p]
		if bk == nil || bk.groups.Len() == 0 {
			continue
		}
		sum := o.newBucket(bk.start, end)
		if n := len(s.front); n > 0 {
			if err := o.merge(sum, s.front[n-1]); err != nil {
				return err
			}
		}
		if err := o.merge(sum, bk); err != nil {
			return err
		}
		s.front = append(s.front, sum)
	}
	return nil
}

// keep is how many emptied buckets are worth keeping: as many as come and go at once.
func (o *HashAgg) keep() int {
	n := int64(8)
	if o.panes {
		n += min(2*o.Window.Size/o.pane, 256)
	}
	return int(n)
}

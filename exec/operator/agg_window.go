package operator

import "github.com/streamsql/streamsql/arrowbatch"

// Windowing says how rows fall into windows. Spans are microseconds; a window is
// [start, start+Size), starts lie at multiples of Slide plus Offset. Cumulating
// windows start at multiples of Size plus Offset and end at each multiple of Slide
// after that.
type Windowing struct {
	TimeCol             int
	Size, Slide, Offset int64
	Cumulate            bool
}

// floorTo returns the greatest multiple of step (plus off) that is at most t.
func floorTo(t, step, off int64) int64 {
	r := (t - off) % step
	if r < 0 {
		r += step
	}
	return t - r
}

// Pane returns the length of the pieces that all windows are made of.
func (w *Windowing) Pane() int64 {
	a, b := w.Size, w.Slide
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// single tells whether every row is in exactly one window.
func (w *Windowing) single() bool { return !w.Cumulate && w.Size == w.Slide }

// each calls fn with the windows that hold time t, earliest end first.
func (w *Windowing) each(t int64, fn func(start, end int64)) {
	if w.Cumulate {
		start := floorTo(t, w.Size, w.Offset)
		for end := floorTo(t, w.Slide, start); end < start+w.Size; {
			end += w.Slide
			fn(start, end)
		}
		return
	}
	last := floorTo(t, w.Slide, w.Offset)
	first := last
	for first-w.Slide+w.Size > t {
		first -= w.Slide
	}
	for s := first; s <= last; s += w.Slide {
		if t < s+w.Size {
			fn(s, s+w.Size)
		}
	}
}

// lastEnd returns the end of the last window that holds time t.
func (w *Windowing) lastEnd(t int64) int64 {
	if w.Cumulate {
		return floorTo(t, w.Size, w.Offset) + w.Size
	}
	return floorTo(t, w.Slide, w.Offset) + w.Size
}

// firstEnd returns the end of the first window that holds time t.
func (w *Windowing) firstEnd(t int64) int64 {
	if w.Cumulate {
		start := floorTo(t, w.Size, w.Offset)
		return floorTo(t, w.Slide, start) + w.Slide
	}
	return floorTo(t-w.Size, w.Slide, w.Offset) + w.Slide + w.Size
}

// holds tells whether time t can be in windows: the infinities cannot, nor can a
// time so late that a window of it would end after the last one there is.
func (w *Windowing) holds(t int64) bool {
	return t != arrowbatch.NoTime && t < arrowbatch.MaxTime-w.Size
}

// spans tells the same of a session of the row at time t, which lasts a gap above zero.
func spans(t, gap int64) bool { return t != arrowbatch.NoTime && t < arrowbatch.MaxTime-gap }

// usable tells whether a time is one: the infinities are not.
func usable(t int64) bool { return t != arrowbatch.MaxTime && t != arrowbatch.NoTime }

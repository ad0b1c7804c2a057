package operator

import "testing"

func TestWindowsAgainstDefinition(t *testing.T) {
	for _, w := range []Windowing{
		{Size: 10, Slide: 10}, {Size: 10, Slide: 5}, {Size: 12, Slide: 5, Offset: 2},
		{Size: 7, Slide: 3, Offset: -1}, {Size: 20, Slide: 5, Cumulate: true}, {Size: 9, Slide: 3, Offset: 4, Cumulate: true},
	} {
		for at := int64(-50); at < 50; at++ {
			var want [][2]int64
			for s := int64(-100); s < 100; s++ {
				for _, size := range sizes(w) {
					starts := w.Slide
					if w.Cumulate {
						starts = w.Size
					}
					if r := (s - w.Offset) % starts; r == 0 && s <= at && at < s+size {
						want = append(want, [2]int64{s, s + size})
					}
				}
			}
			var got [][2]int64
			w.each(at, func(s, e int64) { got = append(got, [2]int64{s, e}) })
			if len(got) != len(want) {
				t.Fatalf("%+v at %d: %v, want %v", w, at, got, want)
			}
			first, last := got[0][1], got[0][1]
			for i, g := range got {
				found := false
				for _, x := range want {
					found = found || x == g
				}
				if !found || i > 0 && g[1] <= got[i-1][1] {
					t.Fatalf("%+v at %d: %v, want %v", w, at, got, want)
				}
				first, last = min(first, g[1]), max(last, g[1])
			}
			if w.firstEnd(at) != first || w.lastEnd(at) != last {
				t.Fatalf("%+v at %d: ends %d and %d, want %d and %d", w, at, w.firstEnd(at), w.lastEnd(at), first, last)
			}
			if p := w.Pane(); floorTo(at, p, w.Offset) > at || w.Size%p != 0 || w.Slide%p != 0 {
				t.Fatalf("%+v: pane %d", w, p)
			}
		}
	}
}

// sizes are the lengths of windows from one start.
func sizes(w Windowing) []int64 {
	if !w.Cumulate {
		return []int64{w.Size}
	}
	var s []int64
	for n := w.Slide; n <= w.Size; n += w.Slide {
		s = append(s, n)
	}
	return s
}

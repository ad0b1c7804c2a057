package operator

import (
	"math"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
)

// TestHoldsFarTimes: a time is in windows as long as the last of them ends at a time.
func TestHoldsFarTimes(t *testing.T) {
	const last = arrowbatch.MaxTime - 1
	for _, w := range []Windowing{
		{Size: 10, Slide: 10}, {Size: 12, Slide: 5, Offset: 2}, {Size: 20, Slide: 5, Offset: -3, Cumulate: true},
	} {
		for at := last - 50; at <= last && at > 0; at++ {
			if !w.holds(at) {
				if at <= last-w.Size {
					t.Errorf("%+v does not hold %d", w, at)
				}
				continue
			}
			n := 0
			w.each(at, func(start, end int64) {
				n++
				if start > at || end <= at || end > last {
					t.Errorf("%+v at %d: window from %d to %d", w, at, start, end)
				}
			})
			if n == 0 || w.firstEnd(at) > w.lastEnd(at) || w.lastEnd(at) > last {
				t.Errorf("%+v at %d: %d windows, which end at %d to %d", w, at, n, w.firstEnd(at), w.lastEnd(at))
			}
		}
		if w.holds(arrowbatch.MaxTime) || w.holds(arrowbatch.NoTime) {
			t.Errorf("%+v holds an infinity", w)
		}
	}
	if !spans(last-5, 5) || spans(last-5, 6) || spans(-1, arrowbatch.MaxTime) != true || spans(arrowbatch.NoTime, 1) {
		t.Error("a session ends at a time, or is none")
	}
}

// TestGapMicros: a gap that is longer than microseconds can count is the longest.
func TestGapMicros(t *testing.T) {
	for _, c := range []struct {
		gap  arrowbatch.IntervalValue
		want int64
	}{
		{arrowbatch.IntervalValue{Days: 1, Micros: 5}, microsPerDay + 5},
		{arrowbatch.IntervalValue{Months: 1}, 30 * microsPerDay},
		{arrowbatch.IntervalValue{Days: math.MaxInt32}, maxGapDays * microsPerDay},
		{arrowbatch.IntervalValue{Days: math.MaxInt32, Micros: math.MaxInt64}, arrowbatch.MaxTime},
		{arrowbatch.IntervalValue{Months: math.MinInt32, Micros: math.MinInt64}, 0},
	} {
		v := arrowbatch.NewFlat(arrowbatch.Interval, 0)
		v.Ivl, v.N = append(v.Ivl, c.gap), 1
		if got := gapMicros(v, 0); got != c.want {
			t.Errorf("%+v is %d, want %d", c.gap, got, c.want)
		}
	}
}

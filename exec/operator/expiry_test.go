package operator

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestExpiryAgainstScan compares with a table that is looked through at each step.
func TestExpiryAgainstScan(t *testing.T) {
	const span = 100e6
	r := rand.New(rand.NewPCG(5, 6))
	e, dates := newExpiry(span), map[int32]int64{}
	now := int64(1767225600e6)
	for step := range 2000 {
		now += r.Int64N(5) * 1e6
		for range r.IntN(4) {
			id := int32(r.IntN(300))
			e.touch(id, now)
			dates[id] = now
		}
		got, more := e.due(now)
		var want []int32
		for id, d := range dates {
			if d+span <= now {
				want = append(want, id)
				delete(dates, id)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if more || !slices.Equal(got, want) {
			t.Fatalf("step %d: %v are due (more: %t) instead of %v", step, got, more, want)
		}
		if step%100 == 99 { // numbers stay as they are, lists are made anew
			keep := make([]int32, 300)
			for i := range keep {
				keep[i] = int32(i)
			}
			e = e.renumbered(keep)
		}
	}
	if len(e.lists) != len(e.order) || len(e.lists) > 102 {
		t.Errorf("%d lists, %d dates", len(e.lists), len(e.order))
	}
}

// TestExpirySteps: however many are due at once, one step looks at no more than its
// share.
func TestExpirySteps(t *testing.T) {
	const n = 2*forgetStep + 10
	e := newExpiry(10e6)
	for id := range int32(n) {
		e.touch(id, int64(id/40000)*1e6)
	}
	total := 0
	for step := range 3 {
		ids, more := e.due(100e6)
		if total += len(ids); len(ids) > forgetStep || more != (step < 2) {
			t.Fatalf("step %d forgets %d, more: %t", step, len(ids), more)
		}
	}
	if total != n || len(e.lists) > 0 {
		t.Errorf("%d of %d are forgotten, %d lists are left", total, n, len(e.lists))
	}
}

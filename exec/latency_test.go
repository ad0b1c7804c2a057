package exec

import (
	"math"
	"testing"
)

func TestLatencyClasses(t *testing.T) {
	for class := range latencyClasses {
		least := leastOf(class)
		if got := latencyClass(least); got != class {
			t.Fatalf("class %d begins at %d, which is of class %d", class, least, got)
		}
		if class > 0 && latencyClass(least-1) != class-1 {
			t.Fatalf("%d is of class %d and not %d", least-1, latencyClass(least-1), class-1)
		}
	}
	if got := latencyClass(math.MaxInt64); got != latencyClasses-1 {
		t.Errorf("the longest time is of class %d of %d", got, latencyClasses)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	var l, other Latency
	if got := l.Quantile(0.5); got != 0 {
		t.Errorf("without rows: %d", got)
	}
	for v := int64(1); v <= 10_000; v++ {
		if v%2 == 0 {
			l.Add(v, 3)
		} else {
			other.Add(v, 3)
		}
	}
	l.Add(-5, 1)
	l.merge(&other)
	if l.Rows != 30_001 {
		t.Errorf("%d rows", l.Rows)
	}
	for share, want := range map[float64]float64{0.5: 5000, 0.9: 9000, 0.99: 9900, 1: 10_000} {
		if got := float64(l.Quantile(share)); math.Abs(got-want) > want/8 {
			t.Errorf("quantile %v is %v, not %v", share, got, want)
		}
	}
	if got := l.Quantile(0); got != 0 {
		t.Errorf("the least is %d", got)
	}
}

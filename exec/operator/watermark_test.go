package operator

import (
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
)

// TestWatermarkOfIdleSplits: idle splits hold nothing back, and when all are idle
// the watermark stays at what has been read, whichever fell idle first.
func TestWatermarkOfIdleSplits(t *testing.T) {
	w := &Watermark{}
	w.Splits([]string{"a", "b", "never"}, nil)
	now := func() arrowbatch.EventTime {
		t.Helper()
		m, err := w.ProcessWatermark(arrowbatch.NoTime)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := now(); m != arrowbatch.NoTime {
		t.Fatalf("%d before the first row", m)
	}
	w.split.Raise(0, 10)
	w.split.Raise(1, 20)
	if m := now(); m != arrowbatch.NoTime {
		t.Fatalf("%d though a split has had no row", m)
	}
	for i := range w.split.Len() {
		w.Idle(i, true)
	}
	if m := now(); m != 10 {
		t.Fatalf("all idle: %d, want 10", m)
	}
	w.Idle(1, false)
	if m := now(); m != 20 {
		t.Fatalf("one is not idle: %d, want 20", m)
	}
	w.Idle(1, true)
	if m := now(); m != 20 {
		t.Fatalf("all idle again: %d, want 20", m)
	}
}

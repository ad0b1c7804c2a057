package operator

import (
	"errors"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/exec"
)

func TestReplay(t *testing.T) {
	leaf := &given{rows: series(10, 1, 10), size: 3}
	r := &Replay{Leaf: leaf, Kept: &KeptRows{}}
	rt := testRuntime(t.Context())
	// A run that is ended early is no use to the next.
	if err := r.Run(rt, &kept{t: t, stop: 4}); !errors.Is(err, exec.ErrStop) {
		t.Fatal(err)
	}
	first := ""
	for i := range 3 {
		out := &kept{t: t}
		if err := r.Run(rt, out); err != nil || out.n != 10 {
			t.Fatalf("%d rows, %v", out.n, err)
		}
		if i == 0 {
			first = out.text.String()
		} else if got := out.text.String(); got != first {
			t.Errorf("run %d gives\n%s", i, got)
		}
	}
	if leaf.runs != 2 {
		t.Errorf("the leaf was read %d times", leaf.runs)
	}
}

func TestReplayOfTooMuch(t *testing.T) {
	leaf := &given{rows: arrowbatch.NewBatch(3<<20, arrowbatch.NewFlat(arrowbatch.Int64, 3<<20)), size: pairChunk}
	r := &Replay{Leaf: leaf, Kept: &KeptRows{}}
	for range 2 {
		n := 0
		err := r.Run(testRuntime(t.Context()), emitFunc(func(b *arrowbatch.Batch) error {
			n += b.Len
			b.Release()
			return nil
		}))
		if err != nil || n != 3<<20 {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
	if leaf.runs != 2 || r.Kept.batches != nil {
		t.Errorf("%d runs, %d batches kept", leaf.runs, len(r.Kept.batches))
	}
}

package blackhole

import (
	"context"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
)

func TestCounts(t *testing.T) {
	ctx := context.Background()
	s, err := Factory.Sink(ctx, &connector.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	for part := range 2 {
		w, err := s.Open(ctx, part)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := w.Write(ctx, arrowbatch.NewBatch(5)); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := w.Prepare(ctx, 1); p != nil || err != nil {
			t.Errorf("prepared %q, %v", p, err)
		}
	}
	if k := s.(*Sink); k.Rows() != 30 || k.Batches() != 6 {
		t.Errorf("%d rows in %d batches, want 30 in 6", k.Rows(), k.Batches())
	}
}

func TestCheck(t *testing.T) {
	for _, s := range []*connector.Spec{{Options: map[string]string{"topic": "x"}}, {Encode: "json"}} {
		if err := Factory.CheckSink(t.Context(), s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

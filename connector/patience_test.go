package connector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
)

// A read ends with the last trouble reported when that has lasted too long, and
// not when it healed in time.
func TestPatience(t *testing.T) {
	first, last, stopped := errors.New("first"), errors.New("last"), errors.New("stopped")
	clk := clock.NewManual(time.Unix(0, 0))
	p := NewPatience(context.Background(), clk)
	p.Report(first)
	clk.Advance(patienceTime - 1)
	p.Report(nil)
	p.Report(first)
	clk.Advance(patienceTime - 1)
	p.Report(last)
	if err := p.Ctx.Err(); err != nil {
		t.Fatalf("ended early: %v", context.Cause(p.Ctx))
	}
	clk.Advance(1)
	<-p.Ctx.Done()
	if err := p.Cause(p.Ctx.Err()); !errors.Is(err, last) {
		t.Errorf("the read ended with %v", err)
	}
	if err := p.Cause(nil); err != nil {
		t.Errorf("a read that came to its end: %v", err)
	}

	// Its own context's end is told as it is, and so is an error of the read.
	ctx, cancel := context.WithCancelCause(context.Background())
	p = NewPatience(ctx, clk)
	defer p.Cancel(nil)
	p.Report(first)
	if err := p.Cause(last); !errors.Is(err, last) {
		t.Errorf("an error of the read became %v", err)
	}
	cancel(stopped)
	if err := p.Cause(ctx.Err()); !errors.Is(err, stopped) {
		t.Errorf("a cancelled read ended with %v", err)
	}
}

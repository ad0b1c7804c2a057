package build

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
	p := newPatience(context.Background(), clk)
	p.report(first)
	clk.Advance(awayPatience - 1)
	p.report(nil)
	p.report(first)
	clk.Advance(awayPatience - 1)
	p.report(last)
	if err := p.ctx.Err(); err != nil {
		t.Fatalf("ended early: %v", context.Cause(p.ctx))
	}
	clk.Advance(1)
	<-p.ctx.Done()
	if err := p.cause(p.ctx.Err()); !errors.Is(err, last) {
		t.Errorf("the read ended with %v", err)
	}
	if err := p.cause(nil); err != nil {
		t.Errorf("a read that came to its end: %v", err)
	}

	// Its own context's end is told as it is, and so is an error of the read.
	ctx, cancel := context.WithCancelCause(context.Background())
	p = newPatience(ctx, clk)
	defer p.cancel(nil)
	p.report(first)
	if err := p.cause(last); !errors.Is(err, last) {
		t.Errorf("an error of the read became %v", err)
	}
	cancel(stopped)
	if err := p.cause(ctx.Err()); !errors.Is(err, stopped) {
		t.Errorf("a cancelled read ended with %v", err)
	}
}

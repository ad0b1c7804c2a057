package connector

import (
	"context"
	"sync"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
)

// patienceTime is how long a finite read waits for an end that is away. A
// continuous query waits as long as it takes; here somebody waits for the answer.
const patienceTime = 10 * time.Second

// Patience ends a finite read whose source has reported trouble for too long.
type Patience struct {
	// Ctx is the read's context; Cancel must be called at its end.
	Ctx    context.Context
	Cancel context.CancelCauseFunc
	clock  clock.Clock

	mu     sync.Mutex
	err    error         // the last report
	healed chan struct{} // closed when the trouble ends; nil: there is none
}

// NewPatience returns it with a context under ctx.
func NewPatience(ctx context.Context, clk clock.Clock) *Patience {
	p := &Patience{clock: clk}
	p.Ctx, p.Cancel = context.WithCancelCause(ctx)
	return p
}

// Report is the source's Spec.Report.
func (p *Patience) Report(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	switch {
	case err == nil && p.healed != nil:
		close(p.healed)
		p.healed = nil
	case err != nil && p.healed == nil:
		healed := make(chan struct{})
		p.healed = healed
		after, stop := p.clock.After(patienceTime)
		spawn.Go("patience", func() error {
			defer stop()
			select {
			case <-after:
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.healed == healed {
					p.Cancel(p.err)
				}
			case <-healed:
			case <-p.Ctx.Done():
			}
			return nil
		}, nil)
	}
}

// Cause returns why the read ended where that was lost patience, else err.
func (p *Patience) Cause(err error) error {
	if err != nil && p.Ctx.Err() != nil {
		return context.Cause(p.Ctx)
	}
	return err
}

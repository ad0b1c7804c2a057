package build

import (
	"context"
	"sync"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
)

// awayPatience is how long a finite read waits for an end that is away. A
// continuous query waits as long as it takes; here somebody waits for the answer.
const awayPatience = 10 * time.Second

// patience ends a finite read whose source has reported trouble for too long.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  clock.Clock

	mu     sync.Mutex
	err    error         // the last report
	healed chan struct{} // closed when the trouble ends; nil: there is none
}

// newPatience returns it with the context that the read is to use: its cause is
// the reported error in the end.
func newPatience(ctx context.Context, clk clock.Clock) *patience {
	p := &patience{clock: clk}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	return p
}

// report is the source's connector.Spec.Report.
func (p *patience) report(err error) {
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
		after, stop := p.clock.After(awayPatience)
		spawn.Go("patience", func() error {
			defer stop()
			select {
			case <-after:
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.healed == healed {
					p.cancel(p.err)
				}
			case <-healed:
			case <-p.ctx.Done():
			}
			return nil
		}, nil)
	}
}

// cause returns why the read ended where that was lost patience, else err.
func (p *patience) cause(err error) error {
	if err != nil && p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	return err
}

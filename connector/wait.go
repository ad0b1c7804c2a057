package connector

import (
	"context"
	"errors"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
)

// WaitIdle holds a reader that has nothing for d, or until ctx's deadline; the
// error is ctx's when it is cancelled.
func WaitIdle(ctx context.Context, c clock.Clock, d time.Duration) error {
	ch, stop := c.After(d)
	defer stop()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil
		}
		return ctx.Err()
	}
}

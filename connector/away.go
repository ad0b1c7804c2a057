package connector

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Away tells a query's status of changes only: the other end away, for another
// reason, or back. Safe for concurrent use; several parts may be away.
type Away struct {
	report func(error)
	mu     sync.Mutex
	away   map[any]string
	told   string
}

// NewAway returns it; report is a Spec's, which may be nil.
func NewAway(report func(error)) *Away { return &Away{report: report, away: map[any]string{}} }

// Failed tells that part is away.
func (s *Away) Failed(part any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[part] = err.Error()
	if s.report != nil && s.told != err.Error() {
		s.told = err.Error()
		s.report(err)
	}
}

// OK tells that part is back.
func (s *Away) OK(part any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.away[part]; !was {
		return
	}
	delete(s.away, part)
	if s.report != nil && len(s.away) == 0 {
		s.told = ""
		s.report(nil)
	}
}

// Pauses between tries, doubled from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Backoff makes growing pauses with jitter, so that many clients do not come
// back at the same instant. The zero value is ready.
type Backoff struct{ pause time.Duration }

// Wait pauses; the error is ctx's. Network waits go by the machine's clock.
func (b *Backoff) Wait(ctx context.Context) error {
	b.pause = min(max(2*b.pause, firstPause), lastPause)
	return Sleep(ctx, b.pause/2+rand.N(b.pause/2))
}

// Reset begins anew with the first pause.
func (b *Backoff) Reset() { b.pause = 0 }

// Sleep waits for d of the machine's clock; the error is ctx's.
func Sleep(ctx context.Context, d time.Duration) error {
	c, stop := clock.System{}.After(d)
	defer stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Persist repeats fn until it succeeds, ctx is done, or the error is one that
// waiting cannot heal: what explain makes of it is marked permanent, and returned.
// Meanwhile part is away.
func (s *Away) Persist(ctx context.Context, part any, fn func() error, explain func(error) error) error {
	var pause Backoff
	for {
		err := fn()
		if err == nil {
			s.OK(part)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d, ok := ctx.Deadline(); ok && !(clock.System{}).Now().Before(d) {
			return context.DeadlineExceeded // the connection's timer was the first
		}
		err = explain(err)
		var own *sqlerr.Error
		if errors.As(err, &own) && own.Permanent {
			return err
		}
		s.Failed(part, err)
		if werr := pause.Wait(ctx); werr != nil {
			return werr
		}
	}
}

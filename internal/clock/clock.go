package clock

import (
	"sync"
	"time"
)

// Clock tells and waits for time.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once, when d has passed, and a
	// function that gives up waiting.
	After(d time.Duration) (<-chan time.Time, func())
}

// System is the machine's clock.
type System struct{}

// Now returns the present time.
func (System) Now() time.Time { return time.Now() }

// After waits on a timer.
func (System) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Micros returns c's time in microseconds since the Unix epoch.
func Micros(c Clock) int64 { return c.Now().UnixMicro() }

// Manual is a clock that moves only when told. Safe for concurrent use.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
}

type waiter struct {
	at time.Time
	ch chan time.Time
}

// NewManual returns a clock that stands at t.
func NewManual(t time.Time) *Manual { return &Manual{now: t} }

// Now returns where the clock stands.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After waits until Set or Advance has moved the clock by d.
func (m *Manual) After(d time.Duration) (<-chan time.Time, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- m.now
		return ch, func() {}
	}
	m.waiters = append(m.waiters, waiter{m.now.Add(d), ch})
	return ch, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i, w := range m.waiters {
			if w.ch == ch {
				m.waiters = append(m.waiters[:i], m.waiters[i+1:]...)
				return
			}
		}
	}
}

// Set moves the clock to t and wakes who waited for it. It never moves back.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Before(m.now) {
		return
	}
	m.now = t
	rest := m.waiters[:0]
	for _, w := range m.waiters {
		if w.at.After(t) {
			rest = append(rest, w)
			continue
		}
		w.ch <- t
	}
	m.waiters = rest
}

// Advance moves the clock by d.
func (m *Manual) Advance(d time.Duration) { m.Set(m.Now().Add(d)) }

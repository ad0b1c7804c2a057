package spawn

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

var live atomic.Int64

// Live is the number of goroutines started here that have not ended.
func Live() int64 { return live.Load() }

// Go runs fn in a goroutine; report gets fn's error, or its panic as an XX000
// with the stack in Detail, or nil. report runs in the goroutine, once, last.
func Go(name string, fn func() error, report func(error)) {
	live.Add(1)
	go func() {
		defer live.Add(-1)
		err := Call(name, fn)
		if report != nil {
			report(err)
		}
	}()
}

// Abort ends the Call that is running with err. It is for limits that code without
// an error result meets, deep in a loop over rows.
func Abort(err *sqlerr.Error) { panic(err) }

// Call runs fn in this goroutine and turns its panic into an error: Abort's into
// the error given to it.
func Call(name string, fn func() error) (err error) {
	defer func() {
		p := recover()
		if e, ok := p.(*sqlerr.Error); ok {
			err = e
		} else if p != nil {
			err = sqlerr.Internal("internal error in %s: %v", name, p).
				WithDetail("%s", debug.Stack())
		}
	}()
	return fn()
}

// Group runs goroutines under one context: the first error cancels the rest.
// The zero value is not usable; call NewGroup.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	once   sync.Once
	err    error
}

// NewGroup returns a group and its context.
func NewGroup(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{ctx: ctx, cancel: cancel}, ctx
}

// Go runs fn in the group.
func (g *Group) Go(name string, fn func(context.Context) error) {
	g.wg.Add(1)
	Go(name, func() error { return fn(g.ctx) }, func(err error) {
		if err != nil {
			g.once.Do(func() {
				g.err = fmt.Errorf("%s: %w", name, err)
				g.cancel(g.err)
			})
		}
		g.wg.Done()
	})
}

// Wait waits for all and returns the first error.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(nil)
	return g.err
}

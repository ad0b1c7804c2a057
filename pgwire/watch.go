package pgwire

import (
	"sync"
	"time"

	"github.com/streamsql/streamsql/internal/spawn"
)

// watcher notices that the client of a running statement is gone. Nobody reads
// the socket then: after Options.WatchAfter the watcher does, keeping what
// comes for the connection, and cancels the statement at the end of the stream.
type watcher struct {
	c *conn

	mu    sync.Mutex
	state watchState
	timer *time.Timer
	done  chan struct{} // closed when the reading ends
}

type watchState uint8

const (
	watchOff watchState = iota
	watchArmed
	watchReading
	watchStopping
)

// arm starts the clock of a statement.
func (w *watcher) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = watchArmed
	if w.timer == nil {
		w.timer = time.AfterFunc(w.c.srv.opts.WatchAfter, w.fire)
		return
	}
	w.timer.Reset(w.c.srv.opts.WatchAfter)
}

// disarm ends the watch; after it the connection may read again.
func (w *watcher) disarm() {
	w.mu.Lock()
	reading := w.state == watchReading
	if w.state == watchArmed {
		w.timer.Stop()
	}
	w.state = watchOff
	done := w.done
	if reading {
		w.state = watchStopping
	}
	w.mu.Unlock()
	if !reading {
		return
	}
	w.c.mu.Lock()
	w.c.ring()
	w.c.mu.Unlock()
	<-done
	w.mu.Lock()
	w.state = watchOff
	w.mu.Unlock()
	w.c.mu.Lock()
	w.c.setDeadline()
	w.c.mu.Unlock()
}

// fire runs in the timer's goroutine.
func (w *watcher) fire() {
	w.mu.Lock()
	if w.state != watchArmed {
		w.mu.Unlock()
		return
	}
	w.state = watchReading
	done := make(chan struct{})
	w.done = done
	w.mu.Unlock()
	spawn.Go("pgwire watcher", w.read, func(err error) {
		if err != nil {
			w.c.cancelStatement(err)
		}
		close(done)
	})
}

// read reads ahead until it is stopped or has enough, or the client is gone.
func (w *watcher) read() error {
	for {
		n, full, err := w.c.in.readAhead()
		if err != nil || full {
			return err
		}
		if n > 0 {
			continue
		}
		w.mu.Lock()
		stopping := w.state == watchStopping
		w.mu.Unlock()
		w.c.mu.Lock()
		dying := w.c.dying
		if dying == nil && !stopping {
			w.c.setDeadline()
		}
		w.c.mu.Unlock()
		if stopping || dying != nil {
			return nil
		}
	}
}

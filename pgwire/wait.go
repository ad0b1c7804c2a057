package pgwire

import (
	"context"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// A connection's goroutine sleeps in a read. Others reach it by ringing: they
// set what they want under mu, then a read deadline in the past; the read
// returns, wake looks what is wanted and sets the deadline that is due. Both
// happen under mu, so no ring is lost.

var past = time.Unix(1, 0)

// ring interrupts the present or next read. mu is held.
func (c *conn) ring() {
	c.armed = true
	_ = c.nc.SetReadDeadline(past) // fails on a closed socket only
}

// setDeadline makes the socket's read deadline what is due: the past where wake
// has something to do at once. mu is held.
func (c *conn) setDeadline() {
	switch {
	case c.dying != nil,
		c.waiting && c.draining,
		c.copying != nil && c.copying.Err() != nil,
		c.waiting && c.resting && len(c.queue) > 0 && c.status == TxIdle:
		c.ring()
	case c.armed || !c.until.IsZero():
		c.armed = !c.until.IsZero()
		_ = c.nc.SetReadDeadline(c.until)
	}
}

// beforeRead implements readHooks: nothing that the client waits for may stay
// here while we wait for it.
func (c *conn) beforeRead() error {
	if c.out.release() != nil {
		return errGone
	}
	return nil
}

// wake implements readHooks.
func (c *conn) wake() error {
	c.mu.Lock()
	err := c.wanted()
	var due []Notification
	if err == nil {
		if c.waiting && c.resting {
			due = c.takeNotifications()
		}
		c.setDeadline()
	}
	c.mu.Unlock()
	if err != nil || len(due) == 0 {
		return err
	}
	c.sendNotifications(due)
	return c.beforeRead()
}

// wanted is what ends the present read. mu is held.
func (c *conn) wanted() error {
	switch {
	case c.dying != nil:
		return c.dying
	case c.waiting && c.draining:
		return errShutdown()
	case c.copying != nil && c.copying.Err() != nil:
		return context.Cause(c.copying)
	case !c.until.IsZero() && !c.srv.clock.Now().Before(c.until):
		return c.untilErr
	}
	return nil
}

// beginWait is called when no byte of the next message is here.
func (c *conn) beginWait() error {
	if err := c.beforeRead(); err != nil {
		return err
	}
	if c.sess == nil {
		return nil // start-up has a deadline of its own
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = c.copying == nil
	if c.resting {
		c.idleLimit()
	}
	c.setDeadline()
	return nil
}

// idleLimit sets the deadline of an idle session. mu is held.
func (c *conn) idleLimit() {
	d, err := c.limits.IdleSession, fatal(idleSessionTimeout, "terminating connection due to idle-session timeout")
	if c.status != TxIdle {
		d, err = c.limits.IdleInTransaction,
			fatal(sqlerr.IdleInTransaction, "terminating connection due to idle-in-transaction timeout")
	}
	if d > 0 {
		c.until, c.untilErr = c.srv.clock.Now().Add(d), err
	}
}

func (c *conn) endWait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = false
	if c.sess != nil {
		c.until = time.Time{}
		c.setDeadline()
	}
}

// takeNotifications empties the queue unless a transaction is open. mu is held.
func (c *conn) takeNotifications() []Notification {
	if len(c.queue) == 0 || c.status != TxIdle {
		return nil
	}
	due := c.queue
	c.queue = nil
	return due
}

func (c *conn) sendNotifications(due []Notification) {
	for _, n := range due {
		c.out.send(&pgproto3.NotificationResponse{PID: n.PID, Channel: clean(n.Channel), Payload: clean(n.Payload)})
	}
}

// Notify implements Client.
func (c *conn) Notify(n Notification) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.queue) >= maxNotifications {
		return false
	}
	c.queue = append(c.queue, n)
	if c.waiting {
		c.ring()
	}
	return true
}

// cancelStatement ends the running statement, if there is one, with cause.
func (c *conn) cancelStatement(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// setLive notes that rows come over time. Such a statement has no end to wait for
// where the server shuts down.
func (c *conn) setLive(on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live = on; on && c.draining {
		return errShutdown()
	}
	return nil
}

// drain ends the connection as soon as it is idle.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.live && c.cancel != nil {
		c.cancel(errShutdown())
	}
	if !c.serving {
		c.dying = fatal(sqlerr.CannotConnectNow, "the database system is shutting down")
		c.ring()
	}
	if c.waiting {
		c.ring()
	}
}

// terminate ends the connection now, its statement included. A client that does
// not take its last bytes in time is cut off.
func (c *conn) terminate(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dying == nil {
		c.dying = cause
	}
	if c.cancel != nil {
		c.cancel(c.dying)
	}
	c.ring()
	c.limitWrites()
}

// limitWrites cuts off a client that does not read. mu is held, so that a
// terminated connection gets one such deadline and no later one.
func (c *conn) limitWrites() {
	if !c.hurried {
		c.hurried = true
		_ = c.nc.SetWriteDeadline(c.srv.clock.Now().Add(killGrace)) // fails on a closed socket only
	}
}

package pgwire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxNotifications bounds the queue of notifications of one session.
const maxNotifications = 1024

// lingerTime is how long a refused client may go on sending before its socket
// is closed.
const lingerTime = time.Second

// conn is one connection. All but the fields under mu belong to its goroutine.
type conn struct {
	srv   *Server
	nc    net.Conn
	in    *reader
	out   writer
	be    *pgproto3.Backend
	watch watcher

	ctx  context.Context // ends with the connection
	stop context.CancelCauseFunc

	entry   *session // nil until admitted
	pid     uint32
	sess    Session
	limits  Limits
	typ     byte      // of the message in work
	skip    bool      // an error in the extended protocol: skip to Sync
	resting bool      // ReadyForQuery was the last that we said
	status  TxStatus  // in that ReadyForQuery
	since   time.Time // when the statement that is timed began; zero: none

	mu       sync.Mutex
	serving  bool                    // start-up is over
	waiting  bool                    // for the next message, nothing of it here yet
	copying  context.Context         // of the statement that reads COPY data
	cancel   context.CancelCauseFunc // of the running statement
	draining bool
	live     bool // a statement whose rows come over time is running
	dying    error
	hurried  bool      // writes have a deadline
	closed   bool      // nobody reads the queue any more
	until    time.Time // deadline of the present read; zero: none
	untilErr error
	armed    bool // the socket has a read deadline
	queue    []Notification
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc, out: writer{nc: nc}}
	c.in = newReader(nc, maxStartupBytes, c)
	c.be = pgproto3.NewBackend(c.in, nc)
	c.ctx, c.stop = context.WithCancelCause(s.ctx)
	c.watch = watcher{c: c}
	c.until, c.untilErr = s.clock.Now().Add(s.opts.StartupTimeout), errGone
	c.armed = nc.SetReadDeadline(c.until) == nil
	return c
}

// serve runs the connection to its end; the error is one to log.
func (c *conn) serve() error {
	err := spawn.Call("pgwire connection", c.run)
	told := spawn.Call("pgwire connection", func() error { return c.finish(err) })
	return errors.Join(told, c.close())
}

func (c *conn) run() error {
	ok, err := c.start()
	if !ok {
		return err
	}
	for {
		msg, err := c.receive()
		if err == nil {
			err = c.handle(msg)
		}
		if c.out.err != nil {
			err = errGone
		}
		if err != nil {
			return err
		}
	}
}

// errTerminated is the regular end: the client said goodbye.
var errTerminated = errors.New("client terminated the connection")

// handle serves one message. An error ends the connection.
func (c *conn) handle(msg pgproto3.FrontendMessage) error {
	c.resting = false
	switch msg.(type) {
	case *pgproto3.Terminate:
		return errTerminated
	case *pgproto3.Sync:
		return c.sync()
	}
	if c.skip {
		return nil
	}
	switch m := msg.(type) {
	case *pgproto3.Query:
		return c.simpleQuery(m.String)
	case *pgproto3.Parse:
		return c.extended(c.parse(m))
	case *pgproto3.Bind:
		return c.extended(c.bind(m))
	case *pgproto3.Describe:
		return c.extended(c.describe(m))
	case *pgproto3.Execute:
		return c.extended(c.execute(m))
	case *pgproto3.Close:
		return c.extended(c.closeName(m))
	case *pgproto3.Flush:
		return c.out.flush()
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // the rest of a COPY that failed
	case *pgproto3.FunctionCall:
		if err := c.fail(sqlerr.Unsupported("the function call protocol is not supported"), source{}); err != nil {
			return err
		}
		return c.ready()
	}
	return protocolError("invalid frontend message type %d", c.typ)
}

// receive reads the next message. pgproto3's decoders panic on some malformed
// bodies: that is the client's violation of the protocol.
func (c *conn) receive() (msg pgproto3.FrontendMessage, err error) {
	if c.in.buffered() == 0 {
		c.in.release()
		if err := c.beginWait(); err != nil {
			return nil, err
		}
		defer c.endWait()
	}
	if c.typ, err = c.in.await(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			msg, err = nil, protocolError("invalid message format")
		}
	}()
	if msg, err = c.be.Receive(); err != nil {
		return nil, protocolError("invalid message format: %v", err)
	}
	return msg, nil
}

// ready ends an exchange. A server that shuts down ends the session here.
func (c *conn) ready() error {
	c.since = time.Time{}
	c.status = c.sess.TxStatus() // outside mu: the session may have locks of its own
	c.mu.Lock()
	draining, dying := c.draining, c.dying
	due := c.takeNotifications()
	c.mu.Unlock()
	if dying != nil {
		return dying
	}
	if draining {
		return errShutdown()
	}
	c.sendNotifications(due)
	c.out.send(&pgproto3.ReadyForQuery{TxStatus: byte(c.status)})
	c.resting = true
	return c.out.flush()
}

// fail tells the client of an error that a statement met and lets the session
// know. It returns what ends the connection.
func (c *conn) fail(err error, src source) error {
	var told *fatalError
	if errors.As(err, &told) || errors.Is(err, errGone) {
		return err
	}
	c.sess.Abort(err)
	c.out.send(errorResponse("ERROR", err, src))
	return c.out.err
}

// finish tells the client why its connection ends, where that is due, and
// returns what belongs in the log.
func (c *conn) finish(err error) error {
	var large *tooLargeError
	switch {
	case errors.Is(err, errTerminated):
		return nil
	case errors.Is(err, errGone):
		return nil
	case errors.As(err, &large):
		err = sqlerr.New(sqlerr.ProgramLimitExceeded, "%v", large)
	}
	e := sqlerr.From(err)
	if e == nil {
		return nil
	}
	var log error
	if e.Code == sqlerr.InternalError {
		log = fmt.Errorf("%w: %s", err, e.Detail)
		e = sqlerr.New(e.Code, "internal error: the connection cannot go on")
	}
	c.mu.Lock()
	c.limitWrites()
	c.mu.Unlock()
	c.out.send(errorResponse("FATAL", e, source{}))
	if c.out.flush() == nil && (large != nil || e.Code == sqlerr.ProtocolViolation || c.in.buffered() > 0) {
		c.linger()
	}
	return log
}

// linger closes our side and reads on for a while: closing with unread input
// would reset the connection and take the message away from the client.
func (c *conn) linger() {
	if h, ok := c.nc.(interface{ CloseWrite() error }); ok && h.CloseWrite() == nil {
		c.in.discard(int64(c.srv.opts.MaxMessage)*4, c.srv.clock.Now().Add(lingerTime))
	}
}

func (c *conn) close() error {
	c.watch.disarm()
	c.mu.Lock()
	c.closed, c.queue = true, nil
	c.mu.Unlock()
	c.stop(errGone)
	var err error
	if c.sess != nil {
		err = spawn.Call("session close", c.sess.Close)
	}
	c.in.dropBuf()
	_ = c.nc.Close() // nothing more to do for it
	return err
}

// started ends the start-up phase: its deadline and its limit on messages.
func (c *conn) started() {
	c.in.limit = c.srv.opts.MaxMessage
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving = true
	c.until = time.Time{}
	c.setDeadline()
}

// begin frames the work of one statement: from here to end it can be cancelled
// and its client is watched.
func (c *conn) begin() context.Context {
	ctx, cancel := context.WithCancelCause(c.ctx)
	if d := c.limits.StatementTimeout; d > 0 {
		now := c.srv.clock.Now()
		if c.since.IsZero() {
			c.since = now
		}
		if left := d - now.Sub(c.since); left > 0 {
			timed, release := context.WithTimeoutCause(ctx, left, errTimeout())
			ctx = timed
			inner := cancel
			cancel = func(cause error) { inner(cause); release() }
		} else {
			cancel(errTimeout())
		}
	}
	c.mu.Lock()
	c.cancel = cancel
	if c.dying != nil {
		cancel(c.dying)
	}
	c.mu.Unlock()
	c.watch.arm()
	return ctx
}

func (c *conn) end() {
	c.watch.disarm()
	c.mu.Lock()
	cancel := c.cancel
	c.cancel = nil
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

// Notice implements Client. It is sent at once: the statement may go on for long.
func (c *conn) Notice(n *Notice) {
	if n.Severity.passes(c.limits.MinMessages) {
		c.out.send(n.message())
		_ = c.out.flush() // the error stays in the writer
	}
}

// Report implements Client.
func (c *conn) Report(name, value string) {
	c.out.send(&pgproto3.ParameterStatus{Name: clean(name), Value: clean(value)})
}

// Limit implements Client.
func (c *conn) Limit(l Limits) { c.limits = l }

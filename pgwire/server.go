package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/spawn"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("pgwire: server closed")

// Options configure a Server; zero fields get defaults.
type Options struct {
	// MaxConnections is the number of sessions at a time; one more is refused
	// with 53300. Default 4,096.
	MaxConnections int
	// MaxStarting is the number of connections that have not finished start-up;
	// one more is closed unheard. Default 256.
	MaxStarting int
	// StartupTimeout bounds start-up with authentication. Default 60 s.
	StartupTimeout time.Duration
	// MaxMessage is the size in bytes of a message from an authenticated client;
	// a larger one ends the connection with 54000. Default 64 MiB.
	MaxMessage int
	// WatchAfter is how long a statement runs before the server begins to watch
	// whether its client is still there. Default 250 ms.
	WatchAfter time.Duration
	// Auth lets clients in. Default Trust.
	Auth Authenticator
	// Log gets what no client is told, panics above all. Default: nothing.
	Log *slog.Logger
}

// killGrace is how long a terminated connection may take to end by itself
// before its socket is closed.
const killGrace = 2 * time.Second

func (o *Options) ensureDefaults() {
	if o.MaxConnections == 0 {
		o.MaxConnections = 4096
	}
	if o.MaxStarting == 0 {
		o.MaxStarting = 256
	}
	if o.StartupTimeout == 0 {
		o.StartupTimeout = time.Minute
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = 64 << 20
	}
	if o.WatchAfter == 0 {
		o.WatchAfter = 250 * time.Millisecond
	}
	if o.Auth == nil {
		o.Auth = Trust{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) validate() error {
	var errs []error
	check := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.MaxConnections < 0, "max connections is %d, must be positive", o.MaxConnections)
	check(o.MaxStarting < 0, "max starting connections is %d, must be positive", o.MaxStarting)
	check(o.StartupTimeout < 0, "startup timeout is %s, must be positive", o.StartupTimeout)
	check(o.WatchAfter < 0, "watch delay is %s, must be positive", o.WatchAfter)
	check(o.MaxMessage < maxStartupBytes || o.MaxMessage > 1<<30,
		"max message size is %d bytes, must be from %d to %d", o.MaxMessage, maxStartupBytes, 1<<30)
	return errors.Join(errs...)
}

// Server accepts connections and serves a Backend's sessions on them. Safe for
// concurrent use.
type Server struct {
	backend Backend
	opts    Options
	clock   clock.Clock

	ctx  context.Context // of every connection; ends when Shutdown gives up waiting
	kill context.CancelCauseFunc

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}  // all that are open
	sessions  map[uint32]*session // by process id
	starting  int
	lastPID   uint32
	wg        sync.WaitGroup // one per connection
}

// session is a place in the registry: what a cancel request names.
type session struct {
	pid, secret uint32
	conn        *conn
}

// NewServer returns a server for b. The options are checked all at once.
func NewServer(b Backend, o Options) (*Server, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		backend:   b,
		opts:      o,
		clock:     clock.System{},
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
		sessions:  map[uint32]*session{},
	}
	s.ctx, s.kill = context.WithCancelCause(context.Background())
	return s, nil
}

// Serve accepts connections from l, which it closes, until Shutdown; then it
// returns ErrServerClosed. It may run for several listeners at once.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.accept(nc)
			continue
		}
		if s.isClosed() {
			return ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		// Out of descriptors or the like: sessions that end make room.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.opts.Log.Warn("accept failed", "err", err, "retry_in", pause)
		done, stop := s.clock.After(pause)
		select {
		case <-done:
		case <-s.ctx.Done():
		}
		stop()
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// accept starts the goroutine of a connection.
func (s *Server) accept(nc net.Conn) {
	s.mu.Lock()
	if s.closed || s.starting >= s.opts.MaxStarting {
		s.mu.Unlock()
		_ = nc.Close() // nothing was said yet
		return
	}
	c := newConn(s, nc)
	s.starting++
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	spawn.Go("pgwire connection", c.serve, func(err error) {
		if err != nil {
			s.opts.Log.Error("connection failed", "pid", c.pid, "err", err)
		}
		s.forget(c)
		s.wg.Done()
	})
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if c.entry == nil {
		s.starting--
		return
	}
	delete(s.sessions, c.entry.pid)
}

// admit gives an authenticated connection its place among the sessions.
func (s *Server) admit(c *conn) error {
	var secret [4]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errShutdown()
	}
	if len(s.sessions) >= s.opts.MaxConnections {
		return fatal(sqlerr.TooManyConnections, "sorry, too many clients already")
	}
	for taken := true; taken; {
		s.lastPID = s.lastPID%maxPID + 1
		_, taken = s.sessions[s.lastPID]
	}
	c.entry = &session{pid: s.lastPID, secret: binary.BigEndian.Uint32(secret[:]), conn: c}
	c.pid = s.lastPID
	s.sessions[c.pid] = c.entry
	s.starting--
	return nil
}

// maxPID keeps process ids positive for clients that read an int4.
const maxPID = 1<<31 - 2

// cancelRequest serves a CancelRequest: the secret must fit.
func (s *Server) cancelRequest(pid, secret uint32) {
	s.mu.Lock()
	e := s.sessions[pid]
	s.mu.Unlock()
	if e == nil || subtle.ConstantTimeEq(int32(e.secret), int32(secret)) == 0 {
		s.opts.Log.Warn("wrong key in cancel request", "pid", pid)
		return
	}
	e.conn.cancelStatement(errCanceled())
}

// Cancel ends the running statement of a session as a CancelRequest does
// (pg_cancel_backend). It tells whether there is such a session.
func (s *Server) Cancel(pid uint32) bool {
	return s.with(pid, func(c *conn) { c.cancelStatement(errCanceled()) })
}

// Terminate ends a session with 57P01 (pg_terminate_backend). It tells whether
// there is such a session.
func (s *Server) Terminate(pid uint32) bool {
	return s.with(pid, func(c *conn) { c.terminate(errShutdown()) })
}

func (s *Server) with(pid uint32, fn func(*conn)) bool {
	s.mu.Lock()
	e := s.sessions[pid]
	s.mu.Unlock()
	if e != nil {
		fn(e.conn)
	}
	return e != nil
}

// Sessions returns the number of sessions.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Shutdown stops accepting and ends the sessions with 57P01: idle ones at once,
// others after their statement, followers of live rows and all when ctx ends. It returns when all
// connections are gone; ctx's error when it had to cut statements short. A
// statement that does not heed its context is left behind, with an error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		_ = l.Close() // Serve sees it
	}
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		c.drain()
	}
	gone := make(chan struct{})
	spawn.Go("pgwire shutdown", func() error { s.wg.Wait(); return nil }, func(error) { close(gone) })
	select {
	case <-gone:
		s.kill(errShutdown())
		return nil
	case <-ctx.Done():
	}
	s.kill(errShutdown())
	for _, c := range open {
		c.terminate(errShutdown())
	}
	late, stop := s.clock.After(2 * killGrace)
	defer stop()
	select {
	case <-gone:
		return context.Cause(ctx)
	case <-late:
		return fmt.Errorf("%d sessions did not end: %w", s.Sessions(), context.Cause(ctx))
	}
}

package session

import (
	"context"
	"sort"
	"sync"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/state"
)

// Config is what sessions are made of. All but System and Settings must be
// set.
type Config struct {
	Catalog    *catalog.Catalog
	Store      *state.Store
	Planner    Planner
	Executor   Executor
	Queries    Queries
	Connectors connector.Registry
	Clock      clock.Clock
	// System makes the rows of the relations that tell about running queries.
	System catalog.SystemProvider
	// Settings are the values of parameters for every new session.
	Settings []pgwire.Setting
}

// Server makes sessions and holds what they share. It is a pgwire.Backend, safe
// for concurrent use.
type Server struct {
	Config
	started   int64 // microseconds since the Unix epoch
	functions *catalog.FunctionSet

	mu       sync.Mutex
	sessions map[*Session]struct{}
	channels map[string]map[*Session]struct{}
}

// NewServer returns a server of sessions.
func NewServer(c Config) *Server {
	s := &Server{Config: c, started: clock.Micros(c.Clock), sessions: map[*Session]struct{}{},
		channels: map[string]map[*Session]struct{}{}}
	s.functions = catalog.NewFunctionSet(knownFunctions())
	return s
}

// knownFunctions lists what pg_proc shows.
func knownFunctions() []catalog.Function {
	var out []catalog.Function
	for _, f := range expr.Functions() {
		if !f.Operator {
			out = append(out, catalog.Function{Name: f.Name, Kind: 'f'})
		}
	}
	for _, name := range []string{"count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "string_agg",
		"array_agg", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"} {
		out = append(out, catalog.Function{Name: name, Kind: 'a'})
	}
	for _, name := range []string{"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag",
		"lead", "first_value", "last_value", "nth_value"} {
		out = append(out, catalog.Function{Name: name, Kind: 'w'})
	}
	return out
}

// NewSession starts a session.
func (srv *Server) NewSession(ctx context.Context, p pgwire.StartupParams, c pgwire.Client) (pgwire.Session, error) {
	s, err := srv.newSession(ctx, p, c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (srv *Server) add(s *Session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.sessions[s] = struct{}{}
}

func (srv *Server) remove(s *Session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.sessions, s)
	for name, set := range srv.channels {
		delete(set, s)
		if len(set) == 0 {
			delete(srv.channels, name)
		}
	}
}

// Sessions lists the sessions by process id.
func (srv *Server) Sessions() []catalog.SessionInfo {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	out := make([]catalog.SessionInfo, 0, len(srv.sessions))
	for s := range srv.sessions {
		out = append(out, s.activity.get())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out
}

// listen and unlisten keep who hears what; channel "" means all.
func (srv *Server) listen(s *Session, channel string) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	set := srv.channels[channel]
	if set == nil {
		set = map[*Session]struct{}{}
		srv.channels[channel] = set
	}
	set[s] = struct{}{}
}

func (srv *Server) unlisten(s *Session, channel string) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for name, set := range srv.channels {
		if channel == "" || name == channel {
			delete(set, s)
			if len(set) == 0 {
				delete(srv.channels, name)
			}
		}
	}
}

// Listening tells whether anybody listens on a channel: events need not be
// made for nobody.
func (srv *Server) Listening(channel string) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return len(srv.channels[channel]) > 0
}

// Notify sends a message to all who listen on a channel; pid is the sender's,
// 0 the server itself. It never blocks: a client that does not read loses it.
func (srv *Server) Notify(pid uint32, channel, payload string) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for s := range srv.channels[channel] {
		s.client.Notify(pgwire.Notification{PID: pid, Channel: channel, Payload: payload})
	}
}

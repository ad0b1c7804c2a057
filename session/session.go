package session

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql/types"
)

// Session is one client's session. It implements pgwire.Session.
type Session struct {
	srv    *Server
	client pgwire.Client
	user   string
	db     string
	pid    uint32
	names  *pgwire.Names
	vars   *vars
	tx     *tx // nil: none
	env    types.Env
	path   []string // search_path with $user replaced

	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	activity activity
}

func (srv *Server) newSession(ctx context.Context, p pgwire.StartupParams, c pgwire.Client) (*Session, error) {
	s := &Session{srv: srv, client: c, user: p.User, db: p.Database, pid: p.PID, names: pgwire.NewNames()}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.vars = newVars(nil)
	s.fix("session_authorization", p.User)
	s.fix("role", "none")
	for _, v := range srv.Settings {
		if err := s.vars.start(v.Name, v.Value); err != nil {
			return nil, err
		}
	}
	for _, v := range p.Settings {
		if err := s.vars.start(v.Name, v.Value); err != nil {
			return nil, err
		}
	}
	for _, name := range reported {
		c.Report(name, s.vars.get(name))
	}
	s.vars.changed = s.settingChanged
	s.refresh()
	now := clock.Micros(srv.Clock)
	s.activity.info = catalog.SessionInfo{PID: int32(p.PID), User: p.User, Database: p.Database,
		Application: s.vars.get("application_name"), State: "idle", Started: now, StateChanged: now}
	if p.Remote != nil {
		s.activity.info.ClientAddr = p.Remote.String()
	}
	srv.add(s)
	return s, nil
}

// fix sets a parameter that users cannot.
func (s *Session) fix(name, value string) {
	i, _ := s.vars.reg.find(name)
	s.vars.fix(i, value, "default")
}

// settingChanged puts a parameter's new value into force.
func (s *Session) settingChanged(def *setting, value string) {
	if def.report {
		s.client.Report(def.name, value)
	}
	if def.name == "application_name" {
		s.activity.mu.Lock()
		s.activity.info.Application = value
		s.activity.mu.Unlock()
	}
	s.refresh()
}

// refresh derives from the settings what is used with every statement.
func (s *Session) refresh() {
	loc, _, ok := loadZone(s.vars.get("TimeZone"))
	if !ok {
		loc = time.UTC
	}
	digits := int(number(s.vars.get("extra_float_digits"), 1))
	// A new Env: the old one may be in use by portals.
	s.env = types.Env{TimeZone: loc, Order: dateOrder(s.vars.get("DateStyle")), RoundFloats: digits < 1,
		ExtraFloatDigits: digits, EscapeBytea: s.vars.get("bytea_output") == "escape"}
	s.path = nil
	parts, _ := splitList(s.vars.get("search_path"))
	for _, p := range parts {
		if p == "$user" {
			// A user of a system schema's name does not live in it.
			if p = s.user; p != catalog.SchemaPublic && slices.Contains(catalog.Schemas(), p) {
				continue
			}
		}
		s.path = append(s.path, p)
	}
	s.client.Limit(pgwire.Limits{
		StatementTimeout:  s.millis("statement_timeout"),
		IdleInTransaction: s.millis("idle_in_transaction_session_timeout"),
		IdleSession:       s.millis("idle_session_timeout"),
		MinMessages:       severity(s.vars.get("client_min_messages")),
	})
}

func (s *Session) millis(name string) time.Duration {
	return time.Duration(number(s.vars.get(name), 0)) * time.Millisecond
}

func severity(level string) pgwire.Severity {
	switch {
	case strings.HasPrefix(level, "debug"):
		return pgwire.SeverityDebug
	case level == "log":
		return pgwire.SeverityLog
	case level == "warning":
		return pgwire.SeverityWarning
	case level == "error", level == "fatal", level == "panic":
		return pgwire.SeverityError
	}
	return pgwire.SeverityNotice
}

// Names holds the session's statements and portals.
func (s *Session) Names() *pgwire.Names { return s.names }

// Env returns the settings that text output depends on now.
func (s *Session) Env() *types.Env {
	e := s.env
	return &e
}

// envAt is Env with the time that 'now' and the like stand for.
func (s *Session) envAt(now int64) *types.Env {
	e := s.env
	e.Now, e.HasNow = now, true
	return &e
}

// Close ends the session.
func (s *Session) Close() error {
	s.names.DropPortals()
	if s.tx != nil {
		s.tx.rollback()
		s.tx = nil
	}
	s.cancel()
	s.srv.remove(s)
	return nil
}

// snapshot is the session's view of the catalog: along its search path, with
// the changes of its transaction.
func (s *Session) snapshot() *catalog.Snapshot {
	if s.tx != nil && s.tx.cat != nil {
		return s.tx.cat.Snapshot().WithPath(s.path)
	}
	return s.srv.Catalog.Snapshot().WithPath(s.path)
}

func (s *Session) notice(code sqlerr.Code, format string, args ...any) {
	e := sqlerr.New(code, format, args...)
	s.client.Notice(&pgwire.Notice{Code: code, Message: e.Message})
}

func (s *Session) warning(code sqlerr.Code, format string, args ...any) {
	e := sqlerr.New(code, format, args...)
	s.client.Notice(&pgwire.Notice{Severity: pgwire.SeverityWarning, Code: code, Message: e.Message})
}

// activity is what other sessions see of this one.
type activity struct {
	mu   sync.Mutex
	info catalog.SessionInfo
}

func (a *activity) get() catalog.SessionInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.info
}

func (a *activity) set(state, query string, now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.info.State, a.info.StateChanged = state, now
	if query != "" {
		a.info.Query = query
	}
}

// systemContext is what the rows of system relations are made from.
func (s *Session) systemContext(now int64) *catalog.SystemContext {
	c := &catalog.SystemContext{Catalog: s.snapshot(), User: s.user, Database: s.db, PID: int32(s.pid), Now: now,
		Started: s.srv.started, Settings: s.vars.list(), Functions: s.srv.functions, Sessions: s.srv.Sessions(),
		Provider: s.srv.System}
	for _, st := range s.names.Statements() {
		if st.Name != "" {
			c.Prepared = append(c.Prepared, catalog.PreparedInfo{Name: st.Name, Statement: st.Text, Prepared: now,
				FromSQL: st.FromSQL})
		}
	}
	for _, p := range s.names.Portals() {
		if p.Name != "" {
			c.Cursors = append(c.Cursors, catalog.CursorInfo{Name: p.Name, Statement: p.Text, Holdable: p.Hold})
		}
	}
	return c
}

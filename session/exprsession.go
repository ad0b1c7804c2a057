package session

import (
	"strings"
	"sync"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
)

// exprSession answers the functions about the session. One is made for each
// execution, which may call it from its own goroutines: it sees the settings and
// the catalog as they were at the start, and what set_config set since.
type exprSession struct {
	user, db string
	pid      int32
	reg      *registry
	cur      []string
	custom   map[string]string
	lookup   func() *catalog.Lookup

	mu      sync.Mutex
	pending []pendingSetting // of set_config, for the session to take over
}

type pendingSetting struct {
	name, value string
	local       bool
}

func (s *Session) exprSession() *exprSession {
	snap, user, functions := s.snapshot(), s.user, s.srv.functions
	return &exprSession{user: s.user, db: s.db, pid: int32(s.pid), reg: s.vars.reg, cur: s.vars.cur,
		custom: s.vars.custom,
		lookup: sync.OnceValue(func() *catalog.Lookup { return catalog.NewLookup(snap, user, functions) })}
}

// Setting returns the value of a parameter as SHOW prints it.
func (e *exprSession) Setting(name string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.pending) - 1; i >= 0; i-- {
		if strings.EqualFold(e.pending[i].name, name) {
			return e.pending[i].value, true
		}
	}
	if i, ok := e.reg.find(name); ok {
		return e.reg.all[i].show(e.cur[i]), true
	}
	v, ok := e.custom[strings.ToLower(name)]
	return v, ok
}

// SetSetting is set_config: the value is checked now and put into force when
// the session's own goroutine comes by.
func (e *exprSession) SetSetting(name, value string, local bool) error {
	if i, ok := e.reg.find(name); ok {
		def := &e.reg.all[i]
		if err := def.settable(); err != nil {
			return err
		}
		canonical, err := def.parse(value)
		if err != nil {
			return err
		}
		value = def.show(canonical)
	} else if !custom(name) {
		return e.reg.unknown(name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = append(e.pending, pendingSetting{name, value, local})
	return nil
}

// takeSettings puts into force what set_config set.
func (s *Session) takeSettings(e *exprSession) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.pending {
		if _, err := s.vars.set(p.name, p.value, p.local); err != nil {
			return err
		}
	}
	e.pending = nil
	e.cur, e.custom = s.vars.cur, s.vars.custom
	return nil
}

// User is the session's user.
func (e *exprSession) User() string { return e.user }

// Database is the session's database.
func (e *exprSession) Database() string { return e.db }

// BackendPID is the number that CancelRequest names.
func (e *exprSession) BackendPID() int32 { return e.pid }

// Catalog answers look-ups of names and oids.
func (e *exprSession) Catalog() expr.CatalogLookup { return e.lookup() }

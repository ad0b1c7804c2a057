package pgwire

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Names holds a session's prepared statements and portals. The wire's names
// and SQL's are one namespace: a statement that PREPARE made can be bound by
// name, a cursor of DECLARE described and executed. The empty name is the
// unnamed statement or portal, which the next one replaces. Not safe for
// concurrent use.
type Names struct {
	statements map[string]*NamedStatement
	portals    map[string]*NamedPortal
}

// NamedStatement is an entry of Names.
type NamedStatement struct {
	Name      string
	Statement Statement // nil: the empty statement
	Text      string
	FromSQL   bool // made by PREPARE

	query string // the whole string that the client sent, for error positions
	off   int    // where Text begins in it
}

// NamedPortal is an entry of Names.
type NamedPortal struct {
	Name    string
	Portal  Portal // nil: of the empty statement
	Text    string
	FromSQL bool // made by DECLARE
	// Hold: the portal outlives its transaction (DECLARE … WITH HOLD).
	Hold bool
	// Formats of the result columns as in Bind: none (all text), one for all, or
	// one per column; 0 is text, 1 binary.
	Formats []int16

	query   string
	off     int
	done    bool // ran to its end
	running bool
	dropped bool // to be closed when it stops running
}

// NewNames returns an empty set.
func NewNames() *Names {
	return &Names{statements: map[string]*NamedStatement{}, portals: map[string]*NamedPortal{}}
}

// PutStatement adds a statement; 42P05 if the name, unless empty, is taken.
func (n *Names) PutStatement(s *NamedStatement) error {
	if _, taken := n.statements[s.Name]; taken && s.Name != "" {
		return sqlerr.New(sqlerr.DuplicatePreparedStmt, "prepared statement %q already exists", s.Name)
	}
	n.statements[s.Name] = s
	return nil
}

// Statement returns the statement of that name, else 26000.
func (n *Names) Statement(name string) (*NamedStatement, error) {
	if s := n.statements[name]; s != nil {
		return s, nil
	}
	if name == "" {
		return nil, sqlerr.New(sqlerr.InvalidStatementName, "unnamed prepared statement does not exist")
	}
	return nil, sqlerr.New(sqlerr.InvalidStatementName, "prepared statement %q does not exist", name)
}

// DropStatement removes a statement and tells whether there was one.
func (n *Names) DropStatement(name string) bool {
	_, ok := n.statements[name]
	delete(n.statements, name)
	return ok
}

// DropStatements removes all statements (DEALLOCATE ALL).
func (n *Names) DropStatements() { clear(n.statements) }

// Statements returns the statements in no order.
func (n *Names) Statements() []*NamedStatement {
	out := make([]*NamedStatement, 0, len(n.statements))
	for _, s := range n.statements {
		out = append(out, s)
	}
	return out
}

// PutPortal adds a portal; 42P03 if the name, unless empty, is taken. On error
// the portal stays the caller's to close.
func (n *Names) PutPortal(p *NamedPortal) error {
	if _, taken := n.portals[p.Name]; taken {
		if p.Name != "" {
			return sqlerr.New(sqlerr.DuplicateCursor, "cursor %q already exists", p.Name)
		}
		n.DropPortal("")
	}
	n.portals[p.Name] = p
	return nil
}

// Portal returns the portal of that name, else 34000.
func (n *Names) Portal(name string) (*NamedPortal, error) {
	if p := n.portals[name]; p != nil {
		return p, nil
	}
	return nil, sqlerr.New(sqlerr.InvalidCursorName, "portal %q does not exist", name)
}

// Cursor is Portal with the wording of SQL: «cursor … does not exist».
func (n *Names) Cursor(name string) (*NamedPortal, error) {
	if p := n.portals[name]; p != nil && name != "" {
		return p, nil
	}
	return nil, sqlerr.New(sqlerr.InvalidCursorName, "cursor %q does not exist", name)
}

// DropPortal closes a portal and tells whether there was one. One that is
// running is closed when it stops.
func (n *Names) DropPortal(name string) bool {
	p, ok := n.portals[name]
	if ok {
		delete(n.portals, name)
		p.drop()
	}
	return ok
}

// DropPortals closes all portals (CLOSE ALL).
func (n *Names) DropPortals() {
	for name := range n.portals {
		n.DropPortal(name)
	}
}

// EndTransaction closes the portals that end with their transaction: all at a
// rollback but those that were held before it, all but the WITH HOLD ones at a
// commit. keep decides for holdable ones; nil keeps them all.
func (n *Names) EndTransaction(keep func(*NamedPortal) bool) {
	for name, p := range n.portals {
		if !p.Hold || keep != nil && !keep(p) {
			n.DropPortal(name)
		}
	}
}

// Portals returns the portals in no order.
func (n *Names) Portals() []*NamedPortal {
	out := make([]*NamedPortal, 0, len(n.portals))
	for _, p := range n.portals {
		out = append(out, p)
	}
	return out
}

func (p *NamedPortal) drop() {
	if p.running {
		p.dropped = true
		return
	}
	if p.Portal != nil {
		// A portal that cannot be closed cleanly has nobody left to tell.
		_ = p.Portal.Close()
	}
}

// start and stop frame an execution: what runs must not be closed under itself
// (COMMIT closes the transaction's portals, its own among them).
func (p *NamedPortal) start() { p.running = true }

func (p *NamedPortal) stop() {
	p.running = false
	if p.dropped {
		p.drop()
	}
}

package session

import (
	"context"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
)

func (s *Session) prepareTransaction(tree sql.Statement) *statement {
	st := s.command(func(ctx context.Context) (string, error) {
		switch t := tree.(type) {
		case *sql.Begin:
			return s.beginBlock(t)
		case *sql.Commit:
			return s.commitBlock(ctx, t.Chain)
		case *sql.Rollback:
			return s.rollbackBlock(t.Chain)
		case *sql.Savepoint:
			return s.savepoint(t.Name.Text)
		case *sql.ReleaseSavepoint:
			return s.release(t.Name.Text)
		case *sql.RollbackTo:
			return s.rollbackTo(t.Name.Text)
		}
		return "", sqlerr.Internal("not a transaction statement")
	})
	st.anyTx, st.noTx = endsTransaction(tree), true
	return st
}

func (s *Session) beginBlock(stmt *sql.Begin) (string, error) {
	tag := "BEGIN"
	if stmt.Start {
		tag = "START TRANSACTION"
	}
	if s.tx != nil && s.tx.block {
		s.warning(sqlerr.ActiveTransaction, "there is already a transaction in progress")
		return tag, s.setModes("transaction", stmt.Modes)
	}
	s.begin().block = true
	return tag, s.setModes("transaction", stmt.Modes)
}

func (s *Session) commitBlock(ctx context.Context, chain bool) (string, error) {
	switch {
	case s.tx == nil || !s.tx.block:
		if chain {
			return "", sqlerr.New(sqlerr.NoActiveTransaction, "COMMIT AND CHAIN can only be used in transaction blocks")
		}
		s.warning(sqlerr.NoActiveTransaction, "there is no transaction in progress")
		if s.tx == nil {
			return "COMMIT", nil
		}
		return "COMMIT", s.commit(ctx)
	case s.tx.failed:
		return s.rollbackBlock(chain)
	}
	modes := s.modes()
	if err := s.commit(ctx); err != nil {
		return "", err
	}
	s.chain(chain, modes)
	return "COMMIT", nil
}

func (s *Session) rollbackBlock(chain bool) (string, error) {
	if s.tx == nil || !s.tx.block {
		if chain {
			return "", sqlerr.New(sqlerr.NoActiveTransaction, "ROLLBACK AND CHAIN can only be used in transaction blocks")
		}
		s.warning(sqlerr.NoActiveTransaction, "there is no transaction in progress")
	}
	modes := s.modes()
	if s.tx != nil {
		s.rollback()
	}
	s.chain(chain, modes)
	return "ROLLBACK", nil
}

var modeNames = []string{"isolation", "read_only", "deferrable"}

// modes returns the transaction's modes, for AND CHAIN.
func (s *Session) modes() []string {
	out := make([]string, len(modeNames))
	for i, n := range modeNames {
		out[i] = s.vars.get("transaction_" + n)
	}
	return out
}

func (s *Session) chain(chain bool, modes []string) {
	if !chain {
		return
	}
	s.begin().block = true
	for i, n := range modeNames {
		k, _ := s.vars.reg.find("transaction_" + n)
		s.vars.put(k, modes[i], "session")
	}
}

// setModes puts transaction modes into force; kind is "transaction" for this
// one or "default_transaction" for those to come.
func (s *Session) setModes(kind string, m sql.TxModes) error {
	put := func(name, value string) {
		i, _ := s.vars.reg.find(kind + "_" + name)
		if kind == "transaction" {
			s.vars.put(i, value, "session")
		} else {
			s.vars.assign(i, value, false)
		}
	}
	if m.Isolation != "" {
		if kind == "transaction" && s.tx != nil && s.tx.queried && m.Isolation != s.vars.get("transaction_isolation") {
			return sqlerr.New(sqlerr.ActiveTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
		}
		put("isolation", m.Isolation)
	}
	if m.ReadOnly != nil {
		if kind == "transaction" && !*m.ReadOnly && s.tx != nil && s.tx.queried && s.vars.on("transaction_read_only") {
			return sqlerr.New(sqlerr.ActiveTransaction, "transaction read-write mode must be set before any query")
		}
		put("read_only", onOff(*m.ReadOnly))
	}
	if m.Deferrable != nil {
		put("deferrable", onOff(*m.Deferrable))
	}
	return nil
}

func (s *Session) needBlock(what string) error {
	if s.tx == nil || !s.tx.block {
		return sqlerr.New(sqlerr.NoActiveTransaction, "%s can only be used in transaction blocks", what)
	}
	return nil
}

func (s *Session) savepoint(name string) (string, error) {
	if err := s.needBlock("SAVEPOINT"); err != nil {
		return "", err
	}
	t := s.tx
	sp := savepoint{name: name, vars: s.vars.save(), cat: t.catalogTx().Mark(), log: len(t.log),
		notify: len(t.notify), listens: len(t.listens), portals: map[string]bool{}}
	for _, p := range s.names.Portals() {
		sp.portals[p.Name] = true
	}
	t.savepoints = append(t.savepoints, sp)
	return "SAVEPOINT", nil
}

// find returns the innermost savepoint of that name.
func (t *tx) find(name string) (int, error) {
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if t.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, sqlerr.New(sqlerr.InvalidSavepoint, "savepoint %q does not exist", name)
}

func (s *Session) release(name string) (string, error) {
	if err := s.needBlock("RELEASE SAVEPOINT"); err != nil {
		return "", err
	}
	i, err := s.tx.find(name)
	if err != nil {
		return "", err
	}
	s.tx.savepoints = s.tx.savepoints[:i]
	return "RELEASE", nil
}

func (s *Session) rollbackTo(name string) (string, error) {
	if err := s.needBlock("ROLLBACK TO SAVEPOINT"); err != nil {
		return "", err
	}
	t := s.tx
	i, err := t.find(name)
	if err != nil {
		return "", err
	}
	sp := t.savepoints[i]
	for _, p := range s.names.Portals() {
		if !sp.portals[p.Name] && p.Name != "" {
			s.names.DropPortal(p.Name)
		}
	}
	if err := t.replay(sp.log); err != nil {
		return "", err
	}
	s.vars.restore(sp.vars)
	t.catalogTx().BackTo(sp.cat)
	t.notify, t.listens = t.notify[:sp.notify], t.listens[:sp.listens]
	t.savepoints = t.savepoints[:i+1]
	t.failed = false
	return "ROLLBACK", nil
}

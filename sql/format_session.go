package sql

import "strings"

func (w *writer) session(s Statement) {
	switch s := s.(type) {
	case *Show:
		w.s("SHOW ", parameterIdent(s.Name.Text))
	case *ShowObjects:
		w.s("SHOW ", upper(s.What))
		if s.From.Name.Given() {
			w.s(" FROM ")
			w.qualified(s.From)
		}
		if s.Like != nil {
			w.s(" LIKE ", QuoteLiteral(s.Like.Value))
		}
	case *ShowCreate:
		w.s("SHOW CREATE ", s.Kind.String(), " ")
		w.qualified(s.Name)
	case *ShowColumns:
		w.s("SHOW COLUMNS FROM ")
		w.qualified(s.Name)
	case *ShowProgress:
		w.s("SHOW PROGRESS FOR ")
		w.qualified(s.Name)
	case *Set:
		w.set(s)
	case *Reset:
		w.s("RESET ", parameterIdent(s.Name.Text))
	case *Discard:
		w.s("DISCARD ", upper(s.What))
	case *Listen:
		w.s("LISTEN ")
		w.name(s.Channel)
	case *Unlisten:
		w.s("UNLISTEN ")
		if s.All {
			w.s("*")
		} else {
			w.name(s.Channel)
		}
	case *Notify:
		w.s("NOTIFY ")
		w.name(s.Channel)
		if s.Payload != "" {
			w.s(", ", QuoteLiteral(s.Payload))
		}
	default:
		w.transaction(s)
	}
}

// parameterIdent writes a parameter's possibly dotted name.
func parameterIdent(name string) string {
	switch name {
	case "all":
		return "ALL"
	case "session_authorization":
		return "SESSION AUTHORIZATION"
	}
	return dottedIdent(name)
}

func dottedIdent(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = ident(p)
	}
	return strings.Join(parts, ".")
}

func (w *writer) set(s *Set) {
	w.s("SET ")
	w.flag(s.Scope == ScopeLocal, "LOCAL ")
	switch {
	case s.Name.Text == "session_authorization" && len(s.Values) <= 1:
		w.s("SESSION AUTHORIZATION ")
	case s.Name.Text == "timezone" && len(s.Values) <= 1:
		w.s("TIME ZONE ")
	default:
		w.s(dottedIdent(s.Name.Text), " TO ")
	}
	if s.Values == nil {
		w.s("DEFAULT")
	}
	w.list(len(s.Values), func(i int) { w.bare(s.Values[i]) })
}

func (w *writer) transaction(s Statement) {
	chain := map[bool]string{true: " AND CHAIN"}
	switch s := s.(type) {
	case *SetTransaction:
		w.s("SET ")
		w.flag(s.Session, "SESSION CHARACTERISTICS AS ")
		w.s("TRANSACTION")
		if s.Snapshot != "" {
			w.s(" SNAPSHOT ", QuoteLiteral(s.Snapshot))
		}
		w.txModes(&s.Modes)
	case *Begin:
		w.s(map[bool]string{true: "START TRANSACTION", false: "BEGIN"}[s.Start])
		w.txModes(&s.Modes)
	case *Commit:
		w.s("COMMIT", chain[s.Chain])
	case *Rollback:
		w.s("ROLLBACK", chain[s.Chain])
	case *Savepoint:
		w.s("SAVEPOINT ")
		w.name(s.Name)
	case *ReleaseSavepoint:
		w.s("RELEASE SAVEPOINT ")
		w.name(s.Name)
	case *RollbackTo:
		w.s("ROLLBACK TO SAVEPOINT ")
		w.name(s.Name)
	}
}

func (w *writer) txModes(m *TxModes) {
	if m.Isolation != "" {
		w.s(" ISOLATION LEVEL ", upper(m.Isolation))
	}
	if m.ReadOnly != nil {
		w.s(map[bool]string{true: " READ ONLY", false: " READ WRITE"}[*m.ReadOnly])
	}
	if m.Deferrable != nil {
		w.s(map[bool]string{true: " DEFERRABLE", false: " NOT DEFERRABLE"}[*m.Deferrable])
	}
}

func (w *writer) cursor(s Statement) {
	switch s := s.(type) {
	case *DeclareCursor:
		w.s("DECLARE ")
		w.name(s.Name)
		w.flag(s.Binary, " BINARY")
		w.flag(s.Insensitive, " INSENSITIVE")
		if s.Scroll != nil {
			w.s(map[bool]string{true: " SCROLL", false: " NO SCROLL"}[*s.Scroll])
		}
		w.s(" CURSOR")
		w.flag(s.Hold, " WITH HOLD")
		w.s(" FOR ")
		w.statement(s.Stmt)
	case *Fetch:
		w.fetch(s)
	case *CloseCursor:
		w.s("CLOSE ")
		if s.All {
			w.s("ALL")
		} else {
			w.name(s.Name)
		}
	case *Copy:
		w.copy(s)
	case *Prepare:
		w.s("PREPARE ")
		w.name(s.Name)
		if len(s.Types) > 0 {
			w.s(" (")
			w.list(len(s.Types), func(i int) { w.typeName(s.Types[i]) })
			w.s(")")
		}
		w.s(" AS ")
		w.statement(s.Stmt)
	case *Execute:
		w.s("EXECUTE ")
		w.name(s.Name)
		if len(s.Args) > 0 {
			w.s("(")
			w.exprs(s.Args)
			w.s(")")
		}
	case *Deallocate:
		w.s("DEALLOCATE ")
		if s.All {
			w.s("ALL")
		} else {
			w.name(s.Name)
		}
	}
}

func (w *writer) fetch(s *Fetch) {
	w.s(map[bool]string{true: "MOVE ", false: "FETCH "}[s.Move])
	w.s([...]string{"FORWARD ", "BACKWARD ", "ABSOLUTE ", "RELATIVE "}[s.Direction])
	if s.All {
		w.s("ALL")
	} else {
		w.int64(s.Count)
	}
	w.s(" FROM ")
	w.name(s.Cursor)
}

func (w *writer) copy(s *Copy) {
	w.s("COPY ")
	if s.Table != nil {
		w.qualified(*s.Table)
		w.flag(len(s.Columns) > 0, " ")
		w.nameList(s.Columns)
	} else {
		w.s("(")
		w.statement(s.Stmt)
		w.s(")")
	}
	w.s(map[bool]string{true: " FROM ", false: " TO "}[s.From])
	switch s.End {
	case CopyStdio:
		w.s(map[bool]string{true: "STDIN", false: "STDOUT"}[s.From])
	case CopyFile:
		w.s(QuoteLiteral(s.Path))
	case CopyProgram:
		w.s("PROGRAM ", QuoteLiteral(s.Path))
	}
	if len(s.Options) > 0 {
		w.options(" WITH ", s.Options, " ")
	}
	w.clause(" WHERE ", s.Where)
}

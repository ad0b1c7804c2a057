package sql

import "strconv"

// FormatStatement writes a statement as SQL, without a semicolon. Parsing the
// text gives the same tree but for positions.
func FormatStatement(s Statement) string {
	var w writer
	w.statement(s)
	return w.String()
}

func (w *writer) statement(s Statement) {
	switch s := s.(type) {
	case *QueryStmt:
		w.query(s.Query)
	case *CreateSource, *CreateTable, *CreateView, *CreateSink, *CreateFlow:
		w.create(s)
	case *Insert, *Update, *Delete, *Truncate:
		w.change(s)
	case *Drop, *AlterSet, *AlterRename, *Comment, *LockTable, *Maintenance:
		w.object(s)
	case *Control, *Await, *Flush, *Subscribe, *Explain, *ExplainWait, *Backup:
		w.streaming(s)
	case *CreateSavepoint, *DropSavepoint:
		w.savepoint(s)
	case *DeclareCursor, *Fetch, *CloseCursor, *Copy, *Prepare, *Execute, *Deallocate:
		w.cursor(s)
	default:
		w.session(s)
	}
}

func (w *writer) flag(on bool, text string) {
	if on {
		w.s(text)
	}
}

func (w *writer) qualifiedNames(list []QualifiedName) {
	w.list(len(list), func(i int) { w.qualified(list[i]) })
}

// options writes a parenthesised list of options after words; nothing for nil.
func (w *writer) options(words string, list []Option, sign string) {
	if list == nil {
		return
	}
	w.s(words, "(")
	w.list(len(list), func(i int) {
		o := &list[i]
		w.s(optionIdent(o.Name.Text))
		if o.Value != nil {
			w.s(sign)
			w.optionValue(o.Value)
		}
	})
	w.s(")")
}

// optionIdent writes a possibly dotted option name: as words when it is plain,
// else as a string.
func optionIdent(name string) string {
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if !plainIdent(name[start:i]) {
			return QuoteLiteral(name)
		}
		start = i + 1
	}
	return name
}

func (w *writer) optionValue(x Expr) {
	switch x := x.(type) {
	case *ColumnRef:
		switch n := x.Parts[0].Text; {
		case plainIdent(n) && n != "true" && n != "false":
			w.s(n)
		default:
			w.s(ident(n))
		}
	case *Row:
		w.s("(")
		w.list(len(x.Fields), func(i int) { w.optionValue(x.Fields[i]) })
		w.s(")")
	default:
		w.bare(x)
	}
}

func (w *writer) create(s Statement) {
	switch s := s.(type) {
	case *CreateSource:
		w.s("CREATE SOURCE ")
		w.tableDef(&s.TableDef)
	case *CreateTable:
		w.s("CREATE ")
		w.flag(s.Temporary, "TEMPORARY ")
		w.s("TABLE ")
		w.createTable(s)
	case *CreateView:
		w.s("CREATE ")
		w.flag(s.OrReplace, "OR REPLACE ")
		w.flag(s.Temporary, "TEMPORARY ")
		w.flag(s.Materialized, "MATERIALIZED ")
		w.s("VIEW ")
		w.flag(s.IfNotExists, "IF NOT EXISTS ")
		w.qualified(s.Name)
		w.nameList(s.Columns)
		w.options(" WITH ", s.Options, " = ")
		w.fromSavepoint(s.Savepoint)
		w.asQuery(s.Query, s.Emit)
	case *CreateSink:
		w.s("CREATE ")
		w.flag(s.OrReplace, "OR REPLACE ")
		w.s("SINK ")
		w.flag(s.IfNotExists, "IF NOT EXISTS ")
		w.qualified(s.Name)
		if s.From != nil {
			w.s(" FROM ")
			w.relation(s.From)
		}
		w.options(" WITH ", s.Options, " = ")
		w.format(s.Format)
		w.fromSavepoint(s.Savepoint)
		if s.Query != nil {
			w.asQuery(s.Query, s.Emit)
		}
	case *CreateFlow:
		w.s("CREATE ")
		w.flag(s.OrReplace, "OR REPLACE ")
		w.s("FLOW ")
		w.flag(s.IfNotExists, "IF NOT EXISTS ")
		w.qualified(s.Name)
		w.s(" INTO ")
		w.qualified(s.Sink)
		w.options(" WITH ", s.Options, " = ")
		w.fromSavepoint(s.Savepoint)
		w.asQuery(s.Query, s.Emit)
	}
}

func (w *writer) asQuery(q *Query, e Emit) {
	w.s(" AS ")
	w.query(q)
	w.s([...]string{"", " EMIT ON WINDOW CLOSE", " EMIT CHANGES"}[e])
}

func (w *writer) createTable(s *CreateTable) {
	if s.As == nil {
		w.tableDef(&s.TableDef)
		w.flag(s.AppendOnly, " APPEND ONLY")
		return
	}
	w.flag(s.IfNotExists, "IF NOT EXISTS ")
	w.qualified(s.Name)
	w.nameList(s.ColumnNames)
	w.tableTail(&s.TableDef)
	w.flag(s.AppendOnly, " APPEND ONLY")
	w.asQuery(s.As, EmitDefault)
	w.flag(s.WithNoData, " WITH NO DATA")
}

func (w *writer) tableDef(d *TableDef) {
	w.flag(d.IfNotExists, "IF NOT EXISTS ")
	w.qualified(d.Name)
	w.s(" (")
	n := 0
	sep := func() {
		w.flag(n > 0, ", ")
		n++
	}
	inline := false
	for i := range d.Columns {
		sep()
		w.columnDef(&d.Columns[i])
		inline = inline || d.Columns[i].PrimaryKey
	}
	if d.PrimaryKey != nil && !inline {
		sep()
		w.keyDef("PRIMARY KEY ", d.PrimaryKey)
	}
	for i := range d.Uniques {
		sep()
		w.keyDef("UNIQUE ", &d.Uniques[i])
	}
	for i := range d.Checks {
		sep()
		w.check(&d.Checks[i])
	}
	for _, m := range d.Watermarks {
		sep()
		w.s("WATERMARK FOR ")
		w.name(m.Column)
		w.clause(" AS ", m.X)
	}
	w.s(")")
	w.tableTail(d)
}

func (w *writer) tableTail(d *TableDef) {
	if len(d.Include) > 0 {
		w.s(" INCLUDE ")
		w.list(len(d.Include), func(i int) {
			it := &d.Include[i]
			w.name(Name{Text: it.What})
			if it.Key != "" {
				w.s(" ", QuoteLiteral(it.Key))
			}
			if it.As.Given() {
				w.s(" AS ")
				w.name(it.As)
			}
		})
	}
	w.options(" WITH ", d.Options, " = ")
	w.format(d.Format)
}

func (w *writer) format(f *Format) {
	if f == nil {
		return
	}
	if f.Row != "" {
		w.s(" FORMAT ", upperIdent(f.Row))
	}
	if f.Encode != "" {
		w.s(" ENCODE ", upperIdent(f.Encode))
	}
	w.options(" ", f.Options, " = ")
	if f.KeyEncode != "" {
		w.s(" KEY ENCODE ", upperIdent(f.KeyEncode))
	}
	w.options(" ", f.KeyOptions, " = ")
}

// upperIdent writes a word in upper case, quoted if that would change it.
func upperIdent(s string) string {
	if plainIdent(s) {
		return upper(s)
	}
	return ident(s)
}

func (w *writer) keyDef(words string, k *KeyDef) {
	w.constraint(k.Name)
	w.s(words)
	w.nameList(k.Columns)
}

func (w *writer) columnDef(c *ColumnDef) {
	w.name(c.Name)
	if c.Type != nil {
		w.s(" ")
		w.typeName(c.Type)
	}
	if c.Collation.Name.Given() {
		w.s(" COLLATE ")
		w.qualified(c.Collation)
	}
	if c.Generated != nil {
		if c.Type == nil {
			w.s(" AS ")
			w.paren(c.Generated)
		} else {
			w.s(" GENERATED ALWAYS AS ")
			w.paren(c.Generated)
			w.s(" STORED")
		}
	}
	w.flag(c.Identity && !c.IdentityByDefault, " GENERATED ALWAYS AS IDENTITY")
	w.flag(c.IdentityByDefault, " GENERATED BY DEFAULT AS IDENTITY")
	if c.Default != nil {
		w.s(" DEFAULT ")
		w.expr(c.Default)
	}
	w.flag(c.NotNull, " NOT NULL")
	w.flag(c.PrimaryKey, " PRIMARY KEY")
	w.flag(c.Unique, " UNIQUE")
	for i := range c.Checks {
		w.s(" ")
		w.check(&c.Checks[i])
	}
}

func (w *writer) check(c *CheckDef) {
	w.constraint(c.Name)
	w.s("CHECK ")
	w.paren(c.X)
}

// constraint writes CONSTRAINT name if there is one.
func (w *writer) constraint(n Name) {
	if n.Given() {
		w.s("CONSTRAINT ")
		w.name(n)
		w.s(" ")
	}
}

func (w *writer) change(s Statement) {
	switch s := s.(type) {
	case *Insert:
		w.with(s.With)
		w.insert(s)
	case *Update:
		w.with(s.With)
		w.s("UPDATE ")
		w.relation(s.Table)
		w.s(" SET ")
		w.setItems(s.Set)
		w.fromList(" FROM ", s.From)
		w.clause(" WHERE ", s.Where)
		w.targets(" RETURNING ", s.Returning)
	case *Delete:
		w.with(s.With)
		w.s("DELETE FROM ")
		w.relation(s.Table)
		w.fromList(" USING ", s.Using)
		w.clause(" WHERE ", s.Where)
		w.targets(" RETURNING ", s.Returning)
	case *Truncate:
		w.s("TRUNCATE TABLE ")
		w.qualifiedNames(s.Tables)
		w.flag(s.RestartIdentity, " RESTART IDENTITY")
		w.flag(s.Cascade, " CASCADE")
	}
}

func (w *writer) insert(s *Insert) {
	w.s("INSERT INTO ")
	w.qualified(s.Table)
	if s.Alias.Given() {
		w.s(" AS ")
		w.name(s.Alias)
	}
	w.flag(len(s.Columns) > 0, " ")
	w.nameList(s.Columns)
	if s.Overriding != "" {
		w.s(" OVERRIDING ", s.Overriding, " VALUE")
	}
	if s.Query == nil {
		w.s(" DEFAULT VALUES")
	} else {
		w.s(" ")
		w.query(s.Query)
	}
	if c := s.OnConflict; c != nil {
		w.s(" ON CONFLICT")
		if c.Constraint.Given() {
			w.s(" ON CONSTRAINT ")
			w.name(c.Constraint)
		}
		if len(c.Keys) > 0 {
			w.s(" (")
			w.exprs(c.Keys)
			w.s(")")
		}
		w.clause(" WHERE ", c.KeyWhere)
		if len(c.Update) == 0 {
			w.s(" DO NOTHING")
		} else {
			w.s(" DO UPDATE SET ")
			w.setItems(c.Update)
			w.clause(" WHERE ", c.Where)
		}
	}
	w.targets(" RETURNING ", s.Returning)
}

func (w *writer) setItems(list []SetItem) {
	w.list(len(list), func(i int) {
		if it := &list[i]; it.Multi {
			w.nameList(it.Columns)
		} else {
			w.name(it.Columns[0])
		}
		w.s(" = ")
		w.expr(list[i].Value)
	})
}

func (w *writer) object(s Statement) {
	exists := map[bool]string{true: "IF EXISTS "}
	switch s := s.(type) {
	case *Drop:
		w.s("DROP ", s.Kind.String(), " ", exists[s.IfExists])
		w.qualifiedNames(s.Names)
		w.flag(s.Cascade, " CASCADE")
	case *AlterSet:
		w.s("ALTER ", s.Kind.String(), " ", exists[s.IfExists])
		w.qualified(s.Name)
		w.s(map[bool]string{true: " RESET ", false: " SET "}[s.Reset])
		w.options("", s.Options, " = ")
	case *AlterRename:
		w.s("ALTER ", s.Kind.String(), " ", exists[s.IfExists])
		w.qualified(s.Name)
		w.s(" RENAME TO ")
		w.name(s.NewName)
	case *Comment:
		w.s("COMMENT ON ", s.Kind.String(), " ")
		w.qualified(s.Name)
		if s.Kind == KindColumn {
			w.s(".")
			w.name(s.Column)
		}
		if s.Text == nil {
			w.s(" IS NULL")
		} else {
			w.s(" IS ", QuoteLiteral(*s.Text))
		}
	case *LockTable:
		w.s("LOCK TABLE ")
		w.qualifiedNames(s.Tables)
		w.s(" IN ", s.Mode, " MODE")
		w.flag(s.NoWait, " NOWAIT")
	case *Maintenance:
		w.s(s.Verb)
		w.flag(len(s.Tables) > 0, " ")
		w.qualifiedNames(s.Tables)
	}
}

func (w *writer) streaming(s Statement) {
	switch s := s.(type) {
	case *Control:
		w.s(s.Action.String(), " ")
		w.qualified(s.Name)
		w.fromSavepoint(s.Savepoint)
	case *Await:
		w.s("AWAIT ")
		if s.Any {
			w.s("ANY")
		} else {
			w.qualified(s.Name)
		}
		w.clause(" TIMEOUT ", s.Timeout)
	case *Flush:
		w.s("FLUSH")
	case *Subscribe:
		w.s("SUBSCRIBE TO ")
		if s.Relation != nil {
			w.relation(s.Relation)
		} else {
			w.s("(")
			w.query(s.Query)
			w.s(")")
		}
		w.options(" WITH ", s.Options, " = ")
	case *Explain:
		w.s("EXPLAIN ")
		w.options("", s.Options, " ")
		w.flag(s.Options != nil, " ")
		w.statement(s.Stmt)
	case *ExplainWait:
		w.s("EXPLAIN WAIT ")
		w.qualified(s.Name)
	case *Backup:
		w.s("BACKUP TO ", QuoteLiteral(s.Path))
		w.options(" WITH ", s.Options, " = ")
	}
}

func (w *writer) int64(n int64) { w.s(strconv.FormatInt(n, 10)) }

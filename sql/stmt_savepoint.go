package sql

// createSavepoint reads CREATE SAVEPOINT from behind these words.
func (p *parser) createSavepoint(start int) Statement {
	s := &CreateSavepoint{IfNotExists: p.ifNotExists()}
	s.Name = p.columnName()
	p.Need("for")
	s.Query = p.qualifiedName()
	s.Span = p.span(start)
	return s
}

// dropSavepoint reads DROP SAVEPOINT from behind these words.
func (p *parser) dropSavepoint(start int) Statement {
	s := &DropSavepoint{IfExists: p.ifExists()}
	for {
		s.Names = append(s.Names, p.columnName())
		if !p.AcceptPunct(",") {
			break
		}
	}
	s.Span = p.span(start)
	return s
}

// fromSavepoint reads FROM SAVEPOINT name, where it stands. A relation may be named
// savepoint: only a name behind the word makes it the clause.
func (p *parser) fromSavepoint() Name {
	if !p.savepointAhead() {
		return Name{}
	}
	p.I += 2
	return p.columnName()
}

func (p *parser) savepointAhead() bool {
	return p.Is("from", "savepoint") && p.IsColumnName(2) && !p.IsWord(2, "format") && !p.IsWord(2, "encode")
}

func (w *writer) fromSavepoint(n Name) {
	if n.Text != "" {
		w.s(" FROM SAVEPOINT ", QuoteIdent(n.Text))
	}
}

// savepoint writes the statements about savepoints of queries.
func (w *writer) savepoint(s Statement) {
	switch s := s.(type) {
	case *CreateSavepoint:
		w.s("CREATE SAVEPOINT ")
		w.flag(s.IfNotExists, "IF NOT EXISTS ")
		w.s(QuoteIdent(s.Name.Text), " FOR ")
		w.qualified(s.Query)
	case *DropSavepoint:
		w.s("DROP SAVEPOINT ")
		w.flag(s.IfExists, "IF EXISTS ")
		for i, n := range s.Names {
			w.flag(i > 0, ", ")
			w.s(QuoteIdent(n.Text))
		}
	}
}

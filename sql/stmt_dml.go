package sql

import (
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

func (p *parser) dml(start int, with *With) Statement {
	switch p.Next().Text {
	case "insert":
		return p.insert(start, with)
	case "update":
		return p.update(start, with)
	default:
		return p.delete(start, with)
	}
}

func (p *parser) insert(start int, with *With) Statement {
	s := &Insert{With: with}
	p.Need("into")
	s.Table = p.qualifiedName()
	if p.Accept("as") {
		s.Alias = p.columnName()
	}
	if p.IsPunct(0, "(") && !p.OpensQuery() {
		s.Columns = p.insertColumns()
	}
	if p.Accept("overriding") {
		if !p.Is("system") && !p.Is("user") {
			p.Syntax()
		}
		s.Overriding = upper(p.Next().Text)
		p.Need("value")
	}
	if !p.Accept("default", "values") {
		s.Query = p.query()
	}
	if p.Is("on") {
		s.OnConflict = p.onConflict()
	}
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

// insertColumns reads (column, …).
func (p *parser) insertColumns() []Name {
	p.NeedPunct("(")
	var names []Name
	for {
		names = append(names, p.columnName())
		p.wholeColumn()
		if !p.AcceptPunct(",") {
			break
		}
	}
	p.NeedPunct(")")
	return names
}

// wholeColumn refuses a subscript or field after a column to be assigned.
func (p *parser) wholeColumn() {
	if p.IsPunct(0, "[") || p.IsPunct(0, ".") {
		dialect.Unsupported(p.Pos(), "assignment to a part of a column is not supported")
	}
}

func (p *parser) onConflict() *OnConflict {
	c := &OnConflict{Pos: p.Pos()}
	p.Need("on", "conflict")
	switch {
	case p.Accept("on", "constraint"):
		c.Constraint = p.columnName()
	case p.AcceptPunct("("):
		c.Keys = p.exprList()
		p.NeedPunct(")")
		c.KeyWhere = p.where()
	}
	p.Need("do")
	if p.Accept("nothing") {
		return c
	}
	p.Need("update", "set")
	if c.Keys == nil && !c.Constraint.Given() {
		dialect.Fail(sqlerr.New(sqlerr.SyntaxError,
			"ON CONFLICT DO UPDATE requires inference specification or constraint name").At(c.Pos).
			WithHint("For example, ON CONFLICT (column_name)."))
	}
	c.Update = p.setItems()
	c.Where = p.where()
	return c
}

func (p *parser) where() Expr {
	if !p.Accept("where") {
		return nil
	}
	if p.Is("current", "of") {
		dialect.Unsupported(p.Pos(), "WHERE CURRENT OF is not supported")
	}
	return p.expr()
}

func (p *parser) returning() []Target {
	if !p.Accept("returning") {
		return nil
	}
	return p.decodeSelect(p.bridge.Targets()).Targets
}

func (p *parser) setItems() []SetItem {
	var out []SetItem
	for {
		var it SetItem
		if p.IsPunct(0, "(") {
			it.Multi = true
			it.Columns = p.columnList()
		} else {
			it.Columns = []Name{p.columnName()}
		}
		p.wholeColumn()
		if !p.IsOp(0, "=") {
			p.Syntax()
		}
		p.I++
		it.Value = p.expr()
		if it.Multi {
			p.checkMulti(&it)
		}
		out = append(out, it)
		if !p.AcceptPunct(",") {
			return out
		}
	}
}

// checkMulti refuses (a, b) = value where the value cannot have so many columns.
func (p *parser) checkMulti(it *SetItem) {
	if r, ok := it.Value.(*Row); ok {
		star := slices.ContainsFunc(r.Fields, func(x Expr) bool { _, ok := x.(*Star); return ok })
		if len(r.Fields) != len(it.Columns) && !star {
			dialect.Failf(sqlerr.SyntaxError, r.Pos, "number of columns does not match number of values")
		}
		return
	}
	if s, ok := it.Value.(*Subquery); ok && s.Kind == ScalarSubquery || len(it.Columns) == 1 {
		return
	}
	dialect.Unsupported(it.Value.Position(),
		"source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
}

// target reads [ONLY] name [*] [[AS] alias] of UPDATE and DELETE.
func (p *parser) target() *Relation {
	r := &Relation{Pos: p.Pos(), Only: p.Accept("only")}
	r.Name = p.qualifiedName()
	if p.IsOp(0, "*") {
		p.I++
	}
	if p.Accept("as") || p.IsColumnName(0) && !p.Is("set") {
		r.Alias = &Alias{Name: p.columnName()}
	}
	return r
}

func (p *parser) update(start int, with *With) Statement {
	s := &Update{With: with, Table: p.target()}
	p.Need("set")
	s.Set = p.setItems()
	if p.Accept("from") {
		s.From = p.decodeSelect(p.bridge.FromList()).From
	}
	s.Where = p.where()
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

func (p *parser) delete(start int, with *With) Statement {
	p.Need("from")
	s := &Delete{With: with, Table: p.target()}
	if p.Accept("using") {
		s.Using = p.decodeSelect(p.bridge.FromList()).From
	}
	s.Where = p.where()
	s.Returning = p.returning()
	s.Span = p.span(start)
	return s
}

func (p *parser) truncate(start int) Statement {
	s := &Truncate{}
	p.Accept("table")
	for {
		p.Accept("only")
		s.Tables = append(s.Tables, p.qualifiedName())
		if p.IsOp(0, "*") {
			p.I++
		}
		if !p.AcceptPunct(",") {
			break
		}
	}
	if p.Accept("restart", "identity") {
		s.RestartIdentity = true
	} else {
		p.Accept("continue", "identity")
	}
	s.Cascade = p.cascade()
	s.Span = p.span(start)
	return s
}

func (p *parser) cascade() bool {
	if p.Accept("cascade") {
		return true
	}
	p.Accept("restrict")
	return false
}

func (p *parser) drop(start int) Statement {
	if p.Accept("savepoint") {
		return p.dropSavepoint(start)
	}
	s := &Drop{Kind: p.kind("DROP")}
	s.IfExists = p.ifExists()
	s.Names = p.qualifiedNames()
	s.Cascade = p.cascade()
	s.Span = p.span(start)
	return s
}

func (p *parser) alter(start int) Statement {
	kind := p.kind("ALTER")
	exists := p.ifExists()
	name := p.qualifiedName()
	switch {
	case p.Is("set") && p.IsPunct(1, "("):
		p.I++
		opts := p.options(true)
		return &AlterSet{Span: p.span(start), Kind: kind, IfExists: exists, Name: name, Options: opts}
	case p.Is("reset") && p.IsPunct(1, "("):
		p.I += 2
		var opts []Option
		for {
			opts = append(opts, Option{Name: p.optionName()})
			if !p.AcceptPunct(",") {
				break
			}
		}
		p.NeedPunct(")")
		return &AlterSet{Span: p.span(start), Kind: kind, IfExists: exists, Name: name, Reset: true, Options: opts}
	case p.Is("rename", "to"):
		p.I += 2
		to := p.columnName()
		return &AlterRename{Span: p.span(start), Kind: kind, IfExists: exists, Name: name, NewName: to}
	}
	switch p.Cur().Text {
	case "add", "drop", "alter", "rename", "owner", "enable", "disable", "set", "validate", "cluster", "attach",
		"detach", "inherit", "no", "replica", "force", "of", "not", "reset":
		if p.Cur().Kind == dialect.Ident {
			dialect.Unsupported(p.Pos(), "ALTER %s ... %s is not supported", kind, upper(p.Cur().Text))
		}
	}
	p.Syntax()
	return nil
}

func (p *parser) comment(start int) Statement {
	p.Need("on")
	s := &Comment{}
	if p.Accept("column") {
		s.Kind = KindColumn
		names := []Name{p.columnName()}
		for p.AcceptPunct(".") {
			names = append(names, p.label())
		}
		if len(names) < 2 || len(names) > 4 {
			dialect.Failf(sqlerr.SyntaxError, names[0].Pos, "column name must be qualified")
		}
		s.Name, s.Column = qualify(names[:len(names)-1]), names[len(names)-1]
	} else {
		s.Kind = p.kind("COMMENT ON")
		s.Name = p.qualifiedName()
	}
	p.Need("is")
	if !p.Accept("null") {
		text := p.str()
		s.Text = &text
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) lockTable(start int) Statement {
	s := &LockTable{Mode: "ACCESS EXCLUSIVE"}
	p.Accept("table")
	for {
		p.Accept("only")
		s.Tables = append(s.Tables, p.qualifiedName())
		if p.IsOp(0, "*") {
			p.I++
		}
		if !p.AcceptPunct(",") {
			break
		}
	}
	if p.Accept("in") {
		s.Mode = p.lockMode()
		p.Need("mode")
	}
	s.NoWait = p.Accept("nowait")
	s.Span = p.span(start)
	return s
}

func (p *parser) lockMode() string {
	for _, m := range [][]string{
		{"access", "share"}, {"access", "exclusive"}, {"row", "share"}, {"row", "exclusive"},
		{"share", "update", "exclusive"}, {"share", "row", "exclusive"}, {"share"}, {"exclusive"},
	} {
		if p.Accept(m...) {
			text := upper(m[0])
			for _, w := range m[1:] {
				text += " " + upper(w)
			}
			return text
		}
	}
	p.Syntax()
	return ""
}

// maintenance reads the statements that are accepted without effect, with their
// options and relations.
func (p *parser) maintenance(word string, start int) Statement {
	if word == "analyse" {
		word = "analyze"
	}
	s := &Maintenance{Verb: upper(word)}
	if p.IsPunct(0, "(") {
		p.options(false)
	}
	words := map[string][]string{
		"vacuum":  {"full", "freeze", "verbose", "analyze"},
		"analyze": {"verbose"},
		"reindex": {"index", "table", "schema", "database", "system", "concurrently"},
	}[word]
	for again := true; again; {
		again = false
		for _, w := range words {
			again = p.Accept(w) || again
		}
	}
	if word == "checkpoint" || !p.IsColumnName(0) {
		s.Span = p.span(start)
		return s
	}
	for {
		s.Tables = append(s.Tables, p.qualifiedName())
		if p.IsPunct(0, "(") {
			p.columnList()
		}
		if !p.AcceptPunct(",") {
			break
		}
	}
	s.Span = p.span(start)
	return s
}

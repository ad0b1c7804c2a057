package sql

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// foreignKinds are objects of PostgreSQL's that streamsql does not have.
var foreignKinds = map[string]bool{
	"index": true, "unique": true, "schema": true, "database": true, "type": true, "function": true,
	"procedure": true, "role": true, "user": true, "group": true, "extension": true, "trigger": true,
	"sequence": true, "domain": true, "aggregate": true, "operator": true, "cast": true, "server": true,
	"publication": true, "subscription": true, "policy": true, "rule": true, "tablespace": true, "event": true,
	"foreign": true, "language": true, "collation": true, "conversion": true, "statistics": true,
	"access": true, "text": true, "transform": true, "connection": true, "secret": true, "system": true,
	"large": true, "constraint": true, "owned": true, "routine": true,
}

// unknownKind ends the parse at a word that names no kind of object.
func (p *parser) unknownKind(verb string) {
	if t := p.Cur(); t.Kind == dialect.Ident && foreignKinds[t.Text] {
		dialect.Unsupported(t.Pos, "%s %s is not supported", verb, upper(t.Text))
	}
	p.Syntax()
}

// kind reads the kind of an object.
func (p *parser) kind(verb string) ObjectKind {
	switch {
	case p.Accept("table"):
		return KindTable
	case p.Accept("source"):
		return KindSource
	case p.Accept("view"):
		return KindView
	case p.Accept("materialized"):
		p.Need("view")
		return KindMaterializedView
	case p.Accept("sink"):
		return KindSink
	case p.Accept("flow"):
		return KindFlow
	}
	p.unknownKind(verb)
	return 0
}

func (p *parser) ifNotExists() bool {
	if !p.Accept("if") {
		return false
	}
	p.Need("not", "exists")
	return true
}

func (p *parser) ifExists() bool {
	if !p.Accept("if") {
		return false
	}
	p.Need("exists")
	return true
}

func (p *parser) create(start int) Statement {
	replace := p.Accept("or", "replace")
	temp := p.Accept("temp") || p.Accept("temporary")
	if p.Is("unlogged") && p.IsWord(1, "table") {
		p.I++
	}
	at := p.I
	if !replace && !temp && p.Accept("savepoint") {
		return p.createSavepoint(start)
	}
	kind := p.kind("CREATE")
	if replace && (kind == KindTable || kind == KindSource) || temp && kind != KindTable && kind != KindView {
		dialect.Fail(p.SyntaxAt(at))
	}
	switch kind {
	case KindSource:
		s := &CreateSource{}
		p.tableDef(&s.TableDef, nil)
		s.Span = p.span(start)
		return s
	case KindTable:
		s := &CreateTable{Temporary: temp}
		p.tableDef(&s.TableDef, s)
		s.Span = p.span(start)
		return s
	case KindSink:
		return p.createSink(start, replace)
	case KindFlow:
		return p.createFlow(start, replace)
	}
	v := &CreateView{Materialized: kind == KindMaterializedView, OrReplace: replace, Temporary: temp}
	return p.createView(start, v)
}

func (p *parser) createView(start int, s *CreateView) Statement {
	s.IfNotExists = p.ifNotExists()
	s.Name = p.qualifiedName()
	if p.IsPunct(0, "(") {
		s.Columns = p.columnList()
	}
	s.Options = p.optionalWith()
	if s.Materialized {
		s.Savepoint = p.fromSavepoint()
	}
	p.Need("as")
	s.Query, s.QuerySpan = p.querySpan()
	s.Emit = p.emit()
	if p.Is("with") {
		p.withData(s.Materialized)
	}
	s.Span = p.span(start)
	return s
}

// withData reads WITH [NO] DATA, or what plain views may have instead.
func (p *parser) withData(materialized bool) {
	switch {
	case materialized && p.Accept("with", "data"):
	case materialized && p.Is("with", "no", "data"):
		dialect.Unsupported(p.Pos(), "WITH NO DATA is not supported: a materialized view is filled at once")
	case p.IsWord(1, "check"), p.IsWord(1, "local"), p.IsWord(1, "cascaded"):
		dialect.Unsupported(p.Pos(), "WITH CHECK OPTION is not supported")
	default:
		p.Syntax()
	}
}

func (p *parser) emit() Emit {
	switch {
	case p.Accept("emit", "on", "window", "close"):
		return EmitOnWindowClose
	case p.Accept("emit", "changes"):
		return EmitChanges
	}
	return EmitDefault
}

func (p *parser) createSink(start int, replace bool) Statement {
	s := &CreateSink{OrReplace: replace, IfNotExists: p.ifNotExists()}
	s.Name = p.qualifiedName()
	for {
		switch {
		case p.savepointAhead() && s.Savepoint.Text == "" && s.Query == nil:
			s.Savepoint = p.fromSavepoint()
		case p.Is("from") && s.From == nil && s.Query == nil:
			p.I++
			s.From = &Relation{Pos: p.Pos(), Name: p.qualifiedName()}
		case p.Is("as") && s.From == nil && s.Query == nil:
			p.I++
			s.Query, s.QuerySpan = p.querySpan()
			s.Emit = p.emit()
		case p.withAhead() && s.Options == nil:
			s.Options = p.optionalWith()
		case p.formatAhead() && s.Format == nil:
			s.Format = p.format()
		default:
			s.Span = p.span(start)
			return s
		}
	}
}

func (p *parser) createFlow(start int, replace bool) Statement {
	s := &CreateFlow{OrReplace: replace, IfNotExists: p.ifNotExists()}
	s.Name = p.qualifiedName()
	p.Need("into")
	s.Sink = p.qualifiedName()
	s.Options = p.optionalWith()
	s.Savepoint = p.fromSavepoint()
	p.Need("as")
	s.Query, s.QuerySpan = p.querySpan()
	s.Emit = p.emit()
	s.Span = p.span(start)
	return s
}

// tableDef reads what follows CREATE SOURCE and CREATE TABLE; table is nil for
// a source.
func (p *parser) tableDef(d *TableDef, table *CreateTable) {
	d.IfNotExists = p.ifNotExists()
	d.Name = p.qualifiedName()
	if p.IsPunct(0, "(") {
		if table != nil && p.asAfterColumns() {
			table.ColumnNames = p.columnList()
		} else {
			p.tableElements(d)
		}
	}
	for {
		switch {
		case p.Is("include") && d.Include == nil:
			p.I++
			d.Include = p.include()
		case p.withAhead() && d.Options == nil:
			d.Options = p.optionalWith()
		case p.formatAhead() && d.Format == nil:
			d.Format = p.format()
		case table != nil && !table.AppendOnly && p.Accept("append", "only"):
			table.AppendOnly = true
		case table != nil && p.Is("as"):
			if d.Columns != nil {
				p.Syntax()
			}
			p.I++
			if p.Is("execute") {
				dialect.Unsupported(p.Pos(), "CREATE TABLE AS EXECUTE is not supported")
			}
			table.As, table.AsSpan = p.querySpan()
			if p.Accept("with", "no", "data") {
				table.WithNoData = true
			} else {
				p.Accept("with", "data")
			}
			return
		case p.Is("inherits"), p.Is("partition"), p.Is("using"), p.Is("tablespace"), p.Is("on"):
			dialect.Unsupported(p.Pos(), "%s in CREATE TABLE is not supported", upper(p.Cur().Text))
		default:
			return
		}
	}
}

// asAfterColumns tells (a, b) AS query from a list of definitions.
func (p *parser) asAfterColumns() bool {
	m := p.Cur().Match
	if m < 0 || !(p.IsPunct(2, ",") || p.IsPunct(2, ")")) {
		return false
	}
	for n := int(m) + 1 - p.I; ; n++ {
		switch t := p.Peek(n); {
		case t.Kind == dialect.EOF || t.Kind == dialect.Bad || t.Kind == dialect.Punct && t.Text == ";":
			return false
		case t.Kind == dialect.Ident && t.Text == "as":
			return true
		}
	}
}

func (p *parser) tableElements(d *TableDef) {
	p.NeedPunct("(")
	if p.AcceptPunct(")") {
		return
	}
	for {
		p.tableElement(d)
		if !p.AcceptPunct(",") {
			break
		}
	}
	p.NeedPunct(")")
}

func (p *parser) tableElement(d *TableDef) {
	pos := p.Pos()
	var name Name
	if p.Accept("constraint") {
		name = p.columnName()
	}
	switch {
	case p.Accept("primary", "key"):
		if d.PrimaryKey != nil {
			p.multipleKeys(d, pos)
		}
		d.PrimaryKey = &KeyDef{Pos: pos, Name: name, Columns: p.columnList()}
		p.Accept("not", "enforced")
	case p.Accept("unique"):
		d.Uniques = append(d.Uniques, KeyDef{Pos: pos, Name: name, Columns: p.columnList()})
	case p.Accept("check"):
		d.Checks = append(d.Checks, CheckDef{Pos: pos, Name: name, X: p.parenExpr()})
	case p.Is("foreign", "key"):
		dialect.Unsupported(p.Pos(), "FOREIGN KEY is not supported")
	case name.Given():
		p.Syntax()
	case p.Is("like"):
		dialect.Unsupported(pos, "LIKE in CREATE TABLE is not supported")
	case p.Is("exclude") && (p.IsWord(1, "using") || p.IsPunct(1, "(")):
		dialect.Unsupported(pos, "EXCLUDE constraints are not supported")
	case p.Is("watermark", "for"):
		p.I += 2
		w := WatermarkDef{Pos: pos, Column: p.columnName()}
		if p.Accept("as") {
			w.X = p.expr()
		}
		d.Watermarks = append(d.Watermarks, w)
	default:
		c := p.columnDef()
		if c.PrimaryKey {
			if d.PrimaryKey != nil {
				p.multipleKeys(d, c.Name.Pos)
			}
			d.PrimaryKey = &KeyDef{Pos: c.Name.Pos, Columns: []Name{c.Name}}
		}
		d.Columns = append(d.Columns, c)
	}
}

func (p *parser) multipleKeys(d *TableDef, pos int) {
	dialect.Failf(sqlerr.InvalidTableDefinition, pos, "multiple primary keys for table %q are not allowed",
		d.Name.Name.Text)
}

func (p *parser) parenExpr() Expr {
	p.NeedPunct("(")
	x := p.expr()
	p.NeedPunct(")")
	return x
}

func (p *parser) columnDef() ColumnDef {
	c := ColumnDef{Name: p.columnName()}
	if !p.Is("as") {
		c.Type = p.typeName()
	}
	if p.Accept("as") {
		c.Generated = p.expr()
	}
	nullable := false
	for {
		pos := p.Pos()
		var name Name
		if p.Accept("constraint") {
			name = p.columnName()
		}
		switch {
		case p.Accept("not"):
			p.Need("null")
			c.NotNull = true
		case p.Accept("null"):
			nullable = true
		case p.Accept("primary", "key"):
			c.PrimaryKey = true
			p.Accept("not", "enforced")
		case p.Accept("unique"):
			c.Unique = true
		case p.Accept("default"):
			p.once(c.Default != nil, pos, "default values", c.Name)
			c.Default = p.expr()
		case p.Accept("check"):
			c.Checks = append(c.Checks, CheckDef{Pos: pos, Name: name, X: p.parenExpr()})
		case p.Accept("collate"):
			c.Collation = p.qualifiedName()
		case p.Is("generated"):
			p.once(c.Generated != nil || c.Identity, pos, "generation clauses", c.Name)
			p.generated(&c)
		case p.Is("references"):
			dialect.Unsupported(p.Pos(), "REFERENCES is not supported")
		default:
			if nullable && c.NotNull {
				dialect.Failf(sqlerr.SyntaxError, c.Name.Pos, "conflicting NULL/NOT NULL declarations for column %q",
					c.Name.Text)
			}
			return c
		}
	}
}

func (p *parser) once(seen bool, pos int, what string, column Name) {
	if seen {
		dialect.Failf(sqlerr.SyntaxError, pos, "multiple %s specified for column %q", what, column.Text)
	}
}

func (p *parser) generated(c *ColumnDef) {
	p.Need("generated")
	if !p.Accept("always") {
		p.Need("by", "default")
		p.Need("as")
		p.Need("identity")
		c.Identity, c.IdentityByDefault = true, true
		return
	}
	p.Need("as")
	if p.Accept("identity") {
		c.Identity = true
		return
	}
	c.Generated = p.parenExpr()
	p.Accept("stored")
}

func (p *parser) include() []IncludeItem {
	var out []IncludeItem
	for {
		it := IncludeItem{Pos: p.Pos(), What: p.label().Text}
		if p.Cur().Kind == dialect.Str {
			it.Key = p.str()
		}
		if p.Accept("as") {
			it.As = p.columnName()
		}
		out = append(out, it)
		if !p.AcceptPunct(",") && !p.Accept("include") {
			return out
		}
	}
}

func (p *parser) formatAhead() bool { return p.Is("format") || p.Is("encode") }

// format reads [FORMAT row] [ENCODE encoding [(options)]] [KEY ENCODE …].
func (p *parser) format() *Format {
	f := &Format{Pos: p.Pos()}
	if p.Accept("format") {
		f.Row = p.label().Text
	}
	if p.Accept("encode") {
		f.Encode = p.label().Text
		if p.IsPunct(0, "(") {
			f.Options = p.options(true)
		}
	}
	if p.Accept("key", "encode") {
		f.KeyEncode = p.label().Text
		if p.IsPunct(0, "(") {
			f.KeyOptions = p.options(true)
		}
	}
	return f
}

package sql

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/sql/dialect"
)

// fromList flattens the comma-separated items: joins without a condition.
func (d *decoder) fromList(n ast.ResultSetNode) []TableRef {
	var out []TableRef
	for {
		join, ok := n.(*ast.Join)
		switch {
		case ok && join.Right == nil:
			n = join.Left
			continue
		case ok && join.On == nil && join.Using == nil:
			out = append(out, d.tableRef(join.Right))
			n = join.Left
			continue
		}
		out = append(out, d.tableRef(n))
		slices.Reverse(out)
		return out
	}
}

func (d *decoder) tableRef(n ast.ResultSetNode) TableRef {
	switch r := n.(type) {
	case *ast.Join:
		if r.Right == nil {
			return d.tableRef(r.Left)
		}
		return d.join(r)
	case *ast.TableSource:
		return d.item(r)
	}
	d.broken(n)
	return nil
}

func (d *decoder) join(r *ast.Join) TableRef {
	var fact int
	out := &Join{}
	switch {
	case r.On != nil:
		if f, m := d.call(r.On.Expr); f != nil {
			_, fact = dialect.Ref(m)
			out.On = d.expr(f.Args[0])
		} else {
			_, fact = d.ref(r.On.Expr)
		}
	case len(r.Using) > 0:
		_, fact = dialect.Ref(r.Using[0].Name.O)
		for _, c := range r.Using[1:] {
			_, t := dialect.Ref(c.Name.O)
			out.Using = append(out.Using, d.name(t))
		}
	default:
		d.broken(r)
	}
	f := d.b.Joins[fact]
	out.Pos, out.Kind, out.Asof, out.Natural = d.token(f.Tok).Pos, JoinKind(f.Kind), f.Asof, f.Natural
	out.UsingAlias = d.name(f.UsingAlias)
	out.Left, out.Right = d.tableRef(r.Left), d.tableRef(r.Right)
	return out
}

func (d *decoder) item(r *ast.TableSource) TableRef {
	letter, n := dialect.Ref(r.AsName.O)
	if letter != 'a' {
		d.broken(r)
	}
	f := &d.b.Items[n]
	alias := d.alias(f)
	switch f.Kind {
	case dialect.ItemRelation:
		rel := d.relation(f)
		rel.Alias = alias
		return rel
	case dialect.ItemQuery:
		return &DerivedTable{
			Pos:       d.token(f.Start).Pos,
			Lateral:   f.Lateral,
			Query:     d.query(r.Source),
			Watermark: d.watermark(f),
			Alias:     alias,
		}
	}
	s, ok := r.Source.(*ast.SelectStmt)
	if !ok {
		d.broken(r.Source)
	}
	if f.Kind == dialect.ItemJoin {
		join, ok := d.tableRef(s.From.TableRefs).(*Join)
		if !ok {
			d.broken(s)
		}
		join.Alias = alias
		return join
	}
	return d.tableFunc(f, s, alias)
}

func (d *decoder) tableFunc(f *dialect.ItemFact, s *ast.SelectStmt, alias *Alias) TableRef {
	out := &TableFunc{
		Pos:        d.token(f.Start).Pos,
		Lateral:    f.Lateral,
		RowsFrom:   f.Kind == dialect.ItemRowsFrom,
		Ordinality: f.Ordinality,
		Watermark:  d.watermark(f),
		Alias:      alias,
	}
	for i, fld := range s.Fields.Fields {
		c := TableCall{Call: d.expr(fld.Expr)}
		if i < len(f.CallColumns) {
			c.Columns = d.columnTypes(f.CallColumns[i])
		}
		switch call := c.Call.(type) {
		case *FuncCall:
			relationArg(call)
		case *ValueFunc, *Cast:
		default:
			dialect.Fail(d.b.SyntaxAt(d.f.TokenAt(fld.Expr.OriginTextPosition())))
		}
		out.Calls = append(out.Calls, c)
	}
	if len(f.Columns) > 0 && f.Columns[0].Type >= 0 {
		out.Columns = d.columnTypes(f.Columns)
	}
	return out
}

// relationArg makes the first argument of a window function a relation.
func relationArg(c *FuncCall) {
	switch c.Name.Text {
	case "tumble", "hop", "session", "cumulate":
	default:
		return
	}
	if c.Schema.Given() || len(c.Args) == 0 {
		return
	}
	arg := &c.Args[0]
	if n, ok := (*arg).(*NamedArg); ok {
		arg = &n.Value
	}
	if r := asRelationArg(*arg); r != nil {
		*arg = r
	}
}

// asRelationArg reads a name or a query as a relation; nil when x is neither.
func asRelationArg(x Expr) *RelationArg {
	switch x := x.(type) {
	case *RelationArg:
		return x
	case *ColumnRef:
		if len(x.Parts) <= 3 {
			return &RelationArg{Pos: x.Pos, Rel: &Relation{Pos: x.Pos, Name: qualify(x.Parts)}}
		}
	case *Subquery:
		if x.Kind == ScalarSubquery {
			return &RelationArg{Pos: x.Pos, Rel: &DerivedTable{Pos: x.Pos, Query: x.Query}}
		}
	}
	return nil
}

func (d *decoder) relation(f *dialect.ItemFact) *Relation {
	return &Relation{
		Pos:       d.token(f.Start).Pos,
		Name:      d.qualified(f.Tok),
		Stream:    f.Stream,
		Only:      f.Only,
		AsOf:      d.nested(f.AsOf),
		Watermark: d.watermark(f),
	}
}

func (d *decoder) watermark(f *dialect.ItemFact) *WatermarkClause {
	if f.Watermark == nil {
		return nil
	}
	return &WatermarkClause{
		Pos:   d.token(f.Watermark.Tok).Pos,
		Time:  d.nested(f.Watermark.Time),
		As:    d.name(f.Watermark.As),
		Delay: d.nested(f.Watermark.Delay),
	}
}

// alias returns the alias of an item; a column definition list is no part of it.
func (d *decoder) alias(f *dialect.ItemFact) *Alias {
	if f.Alias < 0 {
		return nil
	}
	a := &Alias{Name: d.name(f.Alias)}
	for _, c := range f.Columns {
		if c.Type < 0 {
			a.Columns = append(a.Columns, d.name(c.Tok))
		}
	}
	return a
}

func (d *decoder) columnTypes(cols []dialect.ColumnFact) []ColumnType {
	var out []ColumnType
	for _, c := range cols {
		out = append(out, ColumnType{Name: d.name(c.Tok), Type: d.p.types[c.Type]})
	}
	return out
}

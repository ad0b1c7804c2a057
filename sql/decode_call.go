package sql

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// markerCall decodes a marker call that stands as an operand.
func (d *decoder) markerCall(f *ast.FuncCallExpr) Expr {
	if len(f.Args) == 0 {
		d.broken(f)
	}
	tok := d.tok(f.Args[0])
	pos := d.token(tok).Pos
	args := f.Args[1:]
	switch f.FnName.L {
	case "fn":
		return d.funcCall(tok, args)
	case "pre":
		return &Unary{Pos: pos, Op: d.operator(tok), X: d.expr(args[0])}
	case "not":
		return &Not{Pos: pos, X: d.expr(args[0])}
	case "castas":
		return &Cast{Pos: pos, X: d.expr(args[0]), Type: d.typeRef(args[1])}
	case "lit":
		return &TypedLit{Pos: pos, Type: d.typeRef(args[0]), Value: d.token(d.tok(args[1])).Text}
	case "row":
		return &Row{Pos: pos, Explicit: true, Fields: d.exprs(args)}
	case "array":
		return &ArrayLit{Pos: pos, Elems: d.exprs(args)}
	case "arrsub":
		s, ok := args[0].(*ast.SubqueryExpr)
		if !ok {
			d.broken(args[0])
		}
		return &Subquery{Pos: pos, Kind: ArraySubquery, Query: d.query(s.Query)}
	case "star":
		return d.star(tok, pos)
	case "named":
		return &NamedArg{Pos: pos, Name: d.name(tok), Value: d.expr(args[0])}
	case "rel":
		_, n := d.ref(args[0])
		item := &d.b.Items[n]
		rel := d.relation(item)
		rel.Pos = d.token(item.Tok).Pos
		return &RelationArg{Pos: pos, Rel: rel}
	case "extract":
		t := d.token(d.tok(args[0]))
		return catalogCall(pos, "extract", &StringLit{Pos: t.Pos, Value: t.Text}, d.expr(args[1]))
	case "position":
		return catalogCall(pos, "position", d.expr(args[1]), d.expr(args[0]))
	case "normalize":
		c := catalogCall(pos, "normalize", d.expr(args[0]))
		if len(args) > 1 {
			t := d.token(d.tok(args[1]))
			c.Args = append(c.Args, &StringLit{Pos: t.Pos, Value: upper(t.Text)})
		}
		return c
	case "collfor":
		return catalogCall(pos, "pg_collation_for", d.expr(args[0]))
	case "substring", "overlay":
		return d.substring(pos, f.FnName.L, args)
	case "trim":
		return d.trim(pos, args)
	case "any", "all":
		// the right side of an operator only; elsewhere it is no expression
		dialect.Fail(d.b.SyntaxAt(tok))
	}
	d.broken(f)
	return nil
}

func (d *decoder) star(tok, pos int) Expr {
	s := &Star{Pos: pos}
	if d.token(tok).Kind != dialect.Op {
		s.Qualifier = d.dotted(tok)
	}
	return s
}

// funcCall decodes a call: its arguments, with what belongs to them and what
// follows the parenthesis among them as markers.
func (d *decoder) funcCall(tok int, args []ast.ExprNode) Expr {
	q := d.qualified(tok)
	c := &FuncCall{Pos: d.token(tok).Pos, Schema: q.Schema, Name: q.Name}
	for _, a := range args {
		switch d.word(a) {
		case "all":
			c.Star = true
			continue
		case "distinct":
			c.Distinct = true
			continue
		case "variadic":
			c.Variadic = true
			continue
		case "ignore":
			c.IgnoreNulls = true
			continue
		}
		if w, ok := a.(*ast.WindowFuncExpr); ok {
			_, n := d.ref(w.Args[0])
			c.Over = d.window(&w.Spec, n)
			continue
		}
		if f, m := d.call(a); f != nil && d.callPart(c, f, m) {
			continue
		}
		c.Args = append(c.Args, d.expr(a))
	}
	return c
}

// callPart takes a marker that is no argument into c.
func (d *decoder) callPart(c *FuncCall, f *ast.FuncCallExpr, marker string) bool {
	switch marker {
	case "filter":
		c.Filter = d.expr(f.Args[1])
	case "within":
		if c.OrderBy != nil {
			dialect.Failf(sqlerr.SyntaxError, d.token(d.tok(f.Args[0])).Pos,
				"cannot use multiple ORDER BY clauses with WITHIN GROUP")
		}
		if c.Distinct {
			dialect.Failf(sqlerr.SyntaxError, d.token(d.tok(f.Args[0])).Pos,
				"cannot use DISTINCT with WITHIN GROUP")
		}
		if c.Variadic {
			dialect.Failf(sqlerr.SyntaxError, d.token(d.tok(f.Args[0])).Pos,
				"cannot use VARIADIC with WITHIN GROUP")
		}
		c.WithinGroup, c.OrderBy = true, d.sortItems(f.Args[1:])
	case "ord":
		c.OrderBy = d.sortItems(f.Args[1:])
	case "part", "relord":
		r := d.partitioned(c, f)
		if marker == "part" {
			r.PartitionBy = d.exprs(f.Args)
		} else {
			r.OrderBy = d.sortItems(f.Args[1:])
		}
	default:
		return false
	}
	return true
}

// partitioned makes the last argument the relation that PARTITION BY follows.
func (d *decoder) partitioned(c *FuncCall, f *ast.FuncCallExpr) *RelationArg {
	if n := len(c.Args); n > 0 {
		arg := &c.Args[n-1]
		if named, ok := (*arg).(*NamedArg); ok {
			arg = &named.Value
		}
		if r := asRelationArg(*arg); r != nil {
			*arg = r
			return r
		}
	}
	dialect.Failf(sqlerr.SyntaxError, d.startPos(f.Args[0]), "PARTITION BY must follow a relation")
	return nil
}

// substring decodes SUBSTRING and OVERLAY with words between the operands.
func (d *decoder) substring(pos int, name string, args []ast.ExprNode) Expr {
	parts := map[string]Expr{}
	first := d.expr(args[0])
	order := ""
	for i := 1; i+1 < len(args); i += 2 {
		w := d.word(args[i])
		parts[w] = d.expr(args[i+1])
		order += w + " "
	}
	one := &NumberLit{Pos: pos, Text: "1"}
	switch order {
	case "from ", "similar ":
		if name == "overlay" || order == "similar " {
			break
		}
		return catalogCall(pos, name, first, parts["from"])
	case "from for ", "for from ":
		return catalogCall(pos, name, first, parts["from"], parts["for"])
	case "for ":
		n := &Cast{Pos: pos, X: parts["for"], Type: &TypeName{Pos: pos, Name: Name{"int4", pos}}}
		return catalogCall(pos, name, first, one, n)
	case "similar escape ":
		return catalogCall(pos, name, first, parts["similar"], parts["escape"])
	case "placing from ":
		return catalogCall(pos, name, first, parts["placing"], parts["from"])
	case "placing from for ":
		return catalogCall(pos, name, first, parts["placing"], parts["from"], parts["for"])
	}
	dialect.Failf(sqlerr.SyntaxError, pos, "syntax error at or near \"%s\"", name)
	return nil
}

// trim decodes TRIM([BOTH|LEADING|TRAILING] [chars FROM] text).
func (d *decoder) trim(pos int, args []ast.ExprNode) Expr {
	name := map[string]string{"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[d.word(args[0])]
	var before, after []Expr
	from := false
	for _, a := range args[1:] {
		switch {
		case d.word(a) == "from":
			from = true
		case from:
			after = append(after, d.expr(a))
		default:
			before = append(before, d.expr(a))
		}
	}
	return catalogCall(pos, name, append(after, before...)...)
}

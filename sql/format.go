package sql

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/sql/dialect"
)

// FormatExpr writes an expression as SQL. Parentheses stand around every
// operator inside another, so its structure does not depend on precedence; only
// chains of operators of one rank (a + b - c) go without, however long they are.
func FormatExpr(x Expr) string {
	var w writer
	w.bare(x)
	return w.String()
}

// FormatQuery writes a query as SQL.
func FormatQuery(q *Query) string {
	var w writer
	w.query(q)
	return w.String()
}

// FormatType writes a type name as SQL.
func FormatType(t *TypeName) string {
	var w writer
	w.typeName(t)
	return w.String()
}

// FormatName writes a qualified name as SQL.
func FormatName(q QualifiedName) string {
	var w writer
	w.qualified(q)
	return w.String()
}

// writer writes SQL text.
type writer struct{ strings.Builder }

func (w *writer) s(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *writer) int(n int) { w.s(strconv.Itoa(n)) }

func (w *writer) name(n Name) { w.s(ident(n.Text)) }

// list writes n items separated by commas.
func (w *writer) list(n int, item func(i int)) {
	for i := range n {
		if i > 0 {
			w.s(", ")
		}
		item(i)
	}
}

func (w *writer) names(list []Name) { w.list(len(list), func(i int) { w.name(list[i]) }) }

// nameList writes a parenthesised list of names, nothing when it is empty.
func (w *writer) nameList(list []Name) {
	if len(list) > 0 {
		w.s("(")
		w.names(list)
		w.s(")")
	}
}

func (w *writer) qualified(q QualifiedName) {
	if q.Catalog.Given() {
		w.name(q.Catalog)
		w.s(".")
	}
	if q.Schema.Given() {
		w.name(q.Schema)
		w.s(".")
	}
	w.name(q.Name)
}

func (w *writer) exprs(list []Expr) { w.list(len(list), func(i int) { w.bare(list[i]) }) }

// expr writes an operand: in parentheses unless it delimits itself.
func (w *writer) expr(x Expr) {
	switch x := x.(type) {
	case *Unary, *Binary, *Logic, *Not, *IsTest, *IsDistinct, *Between, *In, *Like, *Quantified, *AtTimeZone,
		*Collate:
		w.paren(x)
	case *Subquery:
		if x.Kind == ExistsSubquery {
			w.paren(x)
			return
		}
		w.bare(x)
	default:
		w.bare(x)
	}
}

// bare writes an expression without parentheses around it.
func (w *writer) bare(x Expr) {
	switch x := x.(type) {
	case *ColumnRef:
		w.dotted(x.Parts)
	case *Star:
		w.dotted(x.Qualifier)
		if len(x.Qualifier) > 0 {
			w.s(".")
		}
		w.s("*")
	case *NumberLit:
		w.s(x.Text)
	case *StringLit:
		w.s(QuoteLiteral(x.Value))
	case *BoolLit:
		w.s(map[bool]string{true: "TRUE", false: "FALSE"}[x.Value])
	case *NullLit:
		w.s("NULL")
	case *BitLit:
		w.s(map[bool]string{true: "X'", false: "B'"}[x.Hex], x.Digits, "'")
	case *TypedLit:
		w.typedLit(x)
	case *Default:
		w.s("DEFAULT")
	case *Param:
		w.s("$")
		w.int(x.N)
	case *ValueFunc:
		w.s(strings.ToUpper(x.Name))
		if x.Precision >= 0 {
			w.s("(")
			w.int(x.Precision)
			w.s(")")
		}
	case *FuncCall:
		w.call(x)
	case *NamedArg:
		w.name(x.Name)
		w.s(" => ")
		w.bare(x.Value)
	case *RelationArg:
		w.relationArg(x)
	case *Case:
		w.caseExpr(x)
	case *Cast:
		w.expr(x.X)
		w.s("::")
		w.typeName(x.Type)
	case *Subquery:
		w.s([...]string{"", "EXISTS ", "ARRAY"}[x.Kind], "(")
		w.query(x.Query)
		w.s(")")
	case *ArrayLit:
		w.s("ARRAY[")
		w.exprs(x.Elems)
		w.s("]")
	case *Row:
		if x.Explicit {
			w.s("ROW")
		}
		w.s("(")
		w.exprs(x.Fields)
		w.s(")")
	case *Subscript, *Field, *FieldStar:
		w.selection(x)
	default:
		w.operation(x)
	}
}

func (w *writer) dotted(parts []Name) {
	for i, p := range parts {
		if i > 0 {
			w.s(".")
		}
		w.name(p)
	}
}

func (w *writer) typedLit(x *TypedLit) {
	t := *x.Type
	fields := ""
	if t.Interval != "" {
		fields = intervalText(&t)
		t.Interval, t.Mods = "", nil
	}
	w.typeName(&t)
	w.s(" ", QuoteLiteral(x.Value), fields)
}

// intervalText writes " DAY TO SECOND(3)".
func intervalText(t *TypeName) string {
	s := " " + strings.ToUpper(t.Interval)
	if len(t.Mods) > 0 {
		s += "(" + FormatExpr(t.Mods[0]) + ")"
	}
	return s
}

func (w *writer) caseExpr(x *Case) {
	w.s("CASE")
	if x.Arg != nil {
		w.s(" ")
		w.expr(x.Arg)
	}
	for _, b := range x.Whens {
		w.s(" WHEN ")
		w.bare(b.Cond)
		w.s(" THEN ")
		w.bare(b.Result)
	}
	if x.Else != nil {
		w.s(" ELSE ")
		w.bare(x.Else)
	}
	w.s(" END")
}

func (w *writer) selection(x Expr) {
	switch x := x.(type) {
	case *Subscript:
		switch x.X.(type) {
		case *ColumnRef, *Param, *Subscript, *Field:
			w.bare(x.X)
		default:
			w.paren(x.X)
		}
		w.s("[")
		if x.Slice {
			if x.Lower != nil {
				w.expr(x.Lower)
			}
			w.s(":")
			if x.Upper != nil {
				w.expr(x.Upper)
			}
		} else {
			w.expr(x.Index)
		}
		w.s("]")
	case *Field:
		w.paren(x.X)
		w.s(".")
		w.name(x.Name)
	case *FieldStar:
		w.paren(x.X)
		w.s(".*")
	}
}

func (w *writer) paren(x Expr) {
	w.s("(")
	w.bare(x)
	w.s(")")
}

func not(n bool) string {
	if n {
		return "NOT "
	}
	return ""
}

// operation writes the nodes that need parentheses as operands.
func (w *writer) operation(x Expr) {
	switch x := x.(type) {
	case *Unary:
		w.operator(x.Op)
		w.s(" ")
		w.expr(x.X)
	case *Binary:
		if l, ok := x.L.(*Binary); ok && dialect.SameRank(l.Op.Name, x.Op.Name) && !l.Op.Schema.Given() &&
			!x.Op.Schema.Given() {
			w.bare(l)
		} else {
			w.expr(x.L)
		}
		w.s(" ")
		w.operator(x.Op)
		w.s(" ")
		w.expr(x.R)
	case *Logic:
		for i, a := range x.Args {
			if i > 0 {
				w.s(map[bool]string{true: " OR ", false: " AND "}[x.Or])
			}
			w.expr(a)
		}
	case *Not:
		w.s("NOT ")
		w.expr(x.X)
	case *IsTest:
		w.expr(x.X)
		w.s(" IS ", not(x.Not), x.Test.String())
	case *IsDistinct:
		w.expr(x.L)
		w.s(" IS ", not(x.Not), "DISTINCT FROM ")
		w.expr(x.R)
	case *Between:
		w.expr(x.X)
		w.s(" ", not(x.Not), "BETWEEN ")
		if x.Symmetric {
			w.s("SYMMETRIC ")
		}
		w.expr(x.Low)
		w.s(" AND ")
		w.expr(x.High)
	case *In:
		w.expr(x.X)
		w.s(" ", not(x.Not), "IN (")
		if x.Query != nil {
			w.query(x.Query)
		} else {
			w.exprs(x.List)
		}
		w.s(")")
	case *Like:
		w.expr(x.X)
		w.s(" ", not(x.Not), x.Kind.String(), " ")
		w.expr(x.Pattern)
		if x.Escape != nil {
			w.s(" ESCAPE ")
			w.expr(x.Escape)
		}
	case *Quantified:
		w.quantified(x)
	case *AtTimeZone:
		w.expr(x.X)
		if x.Zone == nil {
			w.s(" AT LOCAL")
			return
		}
		w.s(" AT TIME ZONE ")
		w.expr(x.Zone)
	case *Collate:
		w.expr(x.X)
		w.s(" COLLATE ")
		w.qualified(x.Name)
	}
}

func (w *writer) quantified(x *Quantified) {
	w.expr(x.X)
	w.s(" ")
	w.operator(x.Op)
	w.s(map[bool]string{true: " ALL (", false: " ANY ("}[x.All])
	if x.Query != nil {
		w.query(x.Query)
	} else {
		w.bare(x.Array)
	}
	w.s(")")
}

func (w *writer) operator(op Operator) {
	if !op.Schema.Given() {
		w.s(op.Name)
		return
	}
	w.s("OPERATOR(")
	w.name(op.Schema)
	w.s(".", op.Name, ")")
}

func (w *writer) call(x *FuncCall) {
	if x.Schema.Given() {
		w.name(x.Schema)
		w.s(".", ident(x.Name.Text))
	} else {
		w.s(funcIdent(x.Name.Text))
	}
	w.s("(")
	if x.Star {
		w.s("*")
	}
	if x.Distinct {
		w.s("DISTINCT ")
	}
	w.list(len(x.Args), func(i int) {
		if x.Variadic && i == len(x.Args)-1 {
			w.s("VARIADIC ")
		}
		w.bare(x.Args[i])
	})
	if !x.WithinGroup {
		w.orderBy(x.OrderBy)
	}
	w.s(")")
	if x.WithinGroup {
		w.s(" WITHIN GROUP (ORDER BY ")
		w.sortItems(x.OrderBy)
		w.s(")")
	}
	if x.Filter != nil {
		w.s(" FILTER (WHERE ")
		w.bare(x.Filter)
		w.s(")")
	}
	if x.IgnoreNulls {
		w.s(" IGNORE NULLS")
	}
	if x.Over != nil {
		w.s(" OVER ")
		w.window(x.Over)
	}
}

func (w *writer) relationArg(x *RelationArg) {
	switch r := x.Rel.(type) {
	case *Relation:
		if r.Stream {
			w.s("STREAM ")
		} else {
			w.s("TABLE ")
		}
		w.qualified(r.Name)
	case *DerivedTable:
		w.s("(")
		w.query(r.Query)
		w.s(")")
	}
	if len(x.PartitionBy) > 0 {
		w.s(" PARTITION BY ")
		w.exprs(x.PartitionBy)
	}
	w.orderBy(x.OrderBy)
}

func (w *writer) typeName(t *TypeName) {
	if t.SetOf {
		w.s("SETOF ")
	}
	switch {
	case t.Struct != nil:
		w.s("struct<")
		w.columnTypes(t.Struct)
		w.s(">")
	case t.Schema.Given():
		w.name(t.Schema)
		w.s(".", ident(t.Name.Text))
	case t.Name.Text == "bit" && t.Mods == nil:
		w.s(`"bit"`)
	default:
		w.s(typeIdent(t.Name.Text))
	}
	if t.Interval != "" {
		w.s(intervalText(t))
	} else if t.Mods != nil {
		w.s("(")
		w.exprs(t.Mods)
		w.s(")")
	}
	for _, d := range t.Dims {
		w.s("[")
		if d >= 0 {
			w.int(d)
		}
		w.s("]")
	}
}

func (w *writer) columnTypes(cols []ColumnType) {
	w.list(len(cols), func(i int) {
		w.name(cols[i].Name)
		w.s(" ")
		w.typeName(cols[i].Type)
	})
}

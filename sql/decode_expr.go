package sql

import (
	"slices"
	"strconv"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

func (d *decoder) exprs(list []ast.ExprNode) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = d.expr(e)
	}
	return out
}

func (d *decoder) expr(e ast.ExprNode) Expr {
	switch x := e.(type) {
	case *ast.ParenthesesExpr:
		return d.expr(x.Expr)
	case *ast.ColumnNameExpr:
		return d.leaf(x)
	case *ast.BinaryOperationExpr:
		return d.binary(x)
	case *ast.RowExpr:
		return &Row{Pos: d.startPos(x), Fields: d.exprs(x.Values)}
	case *ast.SubqueryExpr:
		return &Subquery{Pos: d.startPos(x), Query: d.query(x.Query)}
	case *ast.ExistsSubqueryExpr:
		return &Subquery{Pos: d.startPos(x), Kind: ExistsSubquery, Query: d.query(x.Sel)}
	case *ast.PatternInExpr:
		return d.in(x)
	case *ast.BetweenExpr:
		return d.between(x)
	case *ast.CaseExpr:
		c := &Case{Pos: d.startPos(x)}
		if x.Value != nil {
			c.Arg = d.expr(x.Value)
		}
		for _, w := range x.WhenClauses {
			c.Whens = append(c.Whens, When{Cond: d.expr(w.Expr), Result: d.expr(w.Result)})
		}
		if x.ElseClause != nil {
			c.Else = d.expr(x.ElseClause)
		}
		return c
	case *ast.FuncCallExpr:
		if x.FnName.L == "concat" {
			return d.chain(flatConcat(x, nil))
		}
		return d.markerCall(x)
	}
	d.broken(e)
	return nil
}

// leaf decodes a token that is an operand of its own, or a column's first.
func (d *decoder) leaf(c *ast.ColumnNameExpr) Expr {
	tok := d.tok(c)
	t := d.token(tok)
	switch t.Kind {
	case dialect.Num:
		return &NumberLit{Pos: t.Pos, Text: t.Text}
	case dialect.Str:
		return &StringLit{Pos: t.Pos, Value: t.Text}
	case dialect.Bits:
		return &BitLit{Pos: t.Pos, Hex: t.Text[0] == 'x', Digits: t.Text[1:]}
	case dialect.Param:
		n, err := strconv.Atoi(t.Text)
		if err != nil || n < 1 || n > 65535 {
			dialect.Failf(sqlerr.UndefinedParameter, t.Pos, "there is no parameter $%s", t.Text)
		}
		return &Param{Pos: t.Pos, N: n}
	case dialect.Ident:
		if e := d.keyword(tok, t); e != nil {
			return e
		}
	}
	return &ColumnRef{Pos: t.Pos, Parts: d.dotted(tok)}
}

func (d *decoder) keyword(tok int, t *dialect.Token) Expr {
	switch t.Text {
	case "true", "false":
		return &BoolLit{Pos: t.Pos, Value: t.Text == "true"}
	case "null", "all":
		return &NullLit{Pos: t.Pos}
	case "default":
		return &Default{Pos: t.Pos}
	}
	if !dialect.ValueFunc(t.Text) {
		return nil
	}
	v := &ValueFunc{Pos: t.Pos, Name: t.Text, Precision: -1}
	if p := d.token(tok + 1); p.Kind == dialect.Punct && p.Text == "(" {
		n, err := strconv.Atoi(d.token(tok + 2).Text)
		if err != nil {
			dialect.Fail(d.b.SyntaxAt(tok + 2))
		}
		v.Precision = n
	}
	return v
}

func flatConcat(e ast.ExprNode, out []ast.ExprNode) []ast.ExprNode {
	for {
		f, ok := e.(*ast.FuncCallExpr)
		if !ok || f.FnName.L != "concat" {
			out = append(out, e)
			slices.Reverse(out)
			return out
		}
		out = append(out, f.Args[1])
		e = f.Args[0]
	}
}

// flatten returns the operands of a left-deep chain of one operator.
func flatten(e ast.ExprNode, op opcode.Op) []ast.ExprNode {
	var out []ast.ExprNode
	for {
		b, ok := e.(*ast.BinaryOperationExpr)
		if !ok || b.Op != op {
			out = append(out, e)
			slices.Reverse(out)
			return out
		}
		out = append(out, b.R)
		e = b.L
	}
}

var arithmetic = map[opcode.Op]string{
	opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/", opcode.Mod: "%", opcode.Xor: "^",
}

var comparisons = map[opcode.Op]string{
	opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
	opcode.NullEQ: "",
}

func (d *decoder) binary(x *ast.BinaryOperationExpr) Expr {
	switch x.Op {
	case opcode.LogicAnd, opcode.LogicOr:
		list := flatten(x, x.Op)
		return &Logic{Pos: d.token(d.opTok(list[1])).Pos, Or: x.Op == opcode.LogicOr, Args: d.exprs(list)}
	case opcode.And, opcode.Or:
		return d.opChain(flatten(x, x.Op))
	}
	if _, ok := comparisons[x.Op]; ok {
		return d.compareChain(x)
	}
	op, ok := arithmetic[x.Op]
	if !ok {
		d.broken(x)
	}
	return d.operate(d.expr(x.L), Operator{Name: op}, d.opTok(x.R), x.R)
}

// operate joins operands by an operator whose right side may be ANY or ALL.
func (d *decoder) operate(left Expr, op Operator, opTok int, right ast.ExprNode) Expr {
	pos := d.token(opTok).Pos
	f, m := d.call(right)
	if m != "any" && m != "all" {
		return &Binary{Pos: pos, Op: op, L: left, R: d.expr(right)}
	}
	q := &Quantified{Pos: pos, X: left, Op: op, All: m == "all"}
	if s, ok := f.Args[1].(*ast.SubqueryExpr); ok {
		q.Query = d.query(s.Query)
	} else {
		q.Array = d.expr(f.Args[1])
	}
	return q
}

func (d *decoder) in(x *ast.PatternInExpr) Expr {
	out := &In{X: d.expr(x.Expr), Not: x.Not}
	var tok int
	if x.Sel != nil {
		s, ok := x.Sel.(*ast.SubqueryExpr)
		if !ok {
			d.broken(x.Sel)
		}
		tok = d.opTok(s)
		out.Query = d.query(s.Query)
	} else {
		tok = d.opTok(x.List[0]) - 1 // before the bracket
		out.List = d.exprs(x.List)
	}
	out.Pos = d.notPos(tok)
	return out
}

// notPos is the position of an operator word or, if negated, of the NOT before it.
func (d *decoder) notPos(tok int) int {
	if tok > 0 && d.token(tok).Text != "not" {
		if t := d.token(tok - 1); t.Kind == dialect.Ident && t.Text == "not" {
			return t.Pos
		}
	}
	return d.token(tok).Pos
}

func (d *decoder) between(x *ast.BetweenExpr) Expr {
	out := &Between{X: d.expr(x.Expr), Not: x.Not}
	saved := d.symmetric
	d.symmetric = false
	out.Low = d.expr(x.Left)
	out.Symmetric, d.symmetric = d.symmetric, saved
	out.High = d.expr(x.Right)
	tok := d.opTok(x.Left)
	out.Pos = d.token(tok).Pos
	return out
}

// chain decodes a primary with the postfix operators glued to it. AT TIME ZONE is
// the one with an operand, which takes the tighter ones after it.
func (d *decoder) chain(items []ast.ExprNode) Expr {
	if d.word(items[0]) == "sym" {
		d.symmetric = true
		items = items[1:]
	}
	cur := d.expr(items[0])
	for i := 1; i < len(items); i++ {
		f, m := d.call(items[i])
		if f == nil {
			d.broken(items[i])
		}
		tok := d.tok(f.Args[0])
		pos := d.token(tok).Pos
		switch m {
		case "cast":
			cur = &Cast{Pos: pos, X: cur, Type: d.typeRef(f.Args[1])}
		case "coll":
			cur = &Collate{Pos: pos, X: cur, Name: d.qualified(tok + 1)}
		case "sub":
			cur = d.subscript(pos, cur, f.Args[1:])
		case "field":
			cur = &Field{Pos: pos, X: cur, Name: d.name(tok)}
		case "fieldstar":
			cur = &FieldStar{Pos: pos, X: cur}
		case "atlocal":
			cur = &AtTimeZone{Pos: pos, X: cur}
		case "attz":
			end := i + 2
			for end < len(items) && d.tight(items[end]) {
				end++
			}
			cur = &AtTimeZone{Pos: pos, X: cur, Zone: d.chain(items[i+1 : end])}
			i = end - 1
		default:
			d.broken(items[i])
		}
	}
	return cur
}

func (d *decoder) tight(e ast.ExprNode) bool {
	switch _, m := d.call(e); m {
	case "cast", "coll", "sub", "field", "fieldstar":
		return true
	}
	return false
}

func (d *decoder) typeRef(e ast.ExprNode) *TypeName {
	letter, n := d.ref(e)
	if letter != 't' {
		d.broken(e)
	}
	return d.p.types[n]
}

func (d *decoder) subscript(pos int, x Expr, args []ast.ExprNode) Expr {
	end := func(e ast.ExprNode) Expr {
		if d.word(e) == "nil" {
			return nil
		}
		return d.expr(e)
	}
	s := &Subscript{Pos: pos, X: x}
	if len(args) == 1 {
		if s.Index = end(args[0]); s.Index == nil {
			dialect.Failf(sqlerr.SyntaxError, pos, "syntax error at or near \"[\"")
		}
		return s
	}
	s.Slice, s.Lower, s.Upper = true, end(args[0]), end(args[1])
	return s
}

// opChain regroups operand, operator, operand …: PostgreSQL's other operators
// (glued by &), or LIKE, ESCAPE and OVERLAPS (glued by |).
func (d *decoder) opChain(items []ast.ExprNode) Expr {
	cur := d.expr(items[0])
	for i := 1; i < len(items); i += 2 {
		f, m := d.call(items[i])
		if f == nil || i+1 >= len(items) {
			d.broken(items[i])
		}
		tok, right := d.tok(f.Args[0]), items[i+1]
		switch m {
		case "op":
			cur = d.operate(cur, d.operator(tok), tok, right)
		case "like":
			if _, again := cur.(*Like); again && i > 1 {
				dialect.Fail(d.b.SyntaxAt(tok))
			}
			cur = d.like(cur, tok, right)
		case "esc":
			l, ok := cur.(*Like)
			if !ok || i < 3 || l.Escape != nil {
				dialect.Fail(d.b.SyntaxAt(tok))
			}
			l.Escape = d.expr(right)
		case "overlaps":
			cur = d.overlaps(cur, tok, d.expr(right))
		default:
			d.broken(items[i])
		}
	}
	return cur
}

func (d *decoder) like(left Expr, tok int, right ast.ExprNode) Expr {
	word := tok
	not := d.token(tok).Text == "not"
	if not {
		word++
	}
	kind := PlainLike
	switch d.token(word).Text {
	case "ilike":
		kind = ILike
	case "similar":
		kind = SimilarTo
	}
	if _, m := d.call(right); m == "any" || m == "all" {
		if kind == SimilarTo {
			dialect.Fail(d.b.SyntaxAt(word + 2))
		}
		op := [...]string{"~~", "~~*"}[kind]
		if not {
			op = "!" + op
		}
		return d.operate(left, Operator{Name: op}, tok, right)
	}
	return &Like{Pos: d.token(tok).Pos, Kind: kind, X: left, Pattern: d.expr(right), Not: not}
}

func (d *decoder) overlaps(l Expr, tok int, r Expr) Expr {
	lr, ok1 := l.(*Row)
	rr, ok2 := r.(*Row)
	pos := d.token(tok).Pos
	if !ok1 || !ok2 {
		dialect.Fail(d.b.SyntaxAt(tok))
	}
	for i, row := range []*Row{lr, rr} {
		if len(row.Fields) != 2 {
			dialect.Failf(sqlerr.SyntaxError, row.Pos, "wrong number of parameters on %s side of OVERLAPS expression",
				[...]string{"left", "right"}[i])
		}
	}
	return catalogCall(pos, "overlaps", append(slices.Clone(lr.Fields), rr.Fields...)...)
}

// catalogCall makes a call of a function of the system schema.
func catalogCall(pos int, name string, args ...Expr) *FuncCall {
	return &FuncCall{Pos: pos, Schema: Name{"pg_catalog", pos}, Name: Name{name, pos}, Args: args}
}

// compareItem is an operand of a comparison chain with the operator before it;
// op is "" for the glue of IS.
type compareItem struct {
	op    string
	right ast.ExprNode
}

// compareChain regroups comparisons and IS tests, which the parser behind gives
// one rank: IS is weaker than comparisons, and these do not associate.
func (d *decoder) compareChain(x *ast.BinaryOperationExpr) Expr {
	var items []compareItem
	var e ast.ExprNode = x
	for {
		b, ok := e.(*ast.BinaryOperationExpr)
		if !ok {
			break
		}
		op, ok := comparisons[b.Op]
		if !ok {
			break
		}
		items = append(items, compareItem{op, b.R})
		e = b.L
	}
	slices.Reverse(items)
	cur := d.expr(e)
	fresh := true // cur may still be the left side of a comparison
	for len(items) > 0 {
		it := items[0]
		items = items[1:]
		if it.op != "" {
			tok := d.opTok(it.right)
			if !fresh {
				dialect.Fail(d.b.SyntaxAt(tok))
			}
			cur, fresh = d.operate(cur, Operator{Name: it.op}, tok, it.right), false
			continue
		}
		f, m := d.call(it.right)
		switch m {
		case "is":
			cur, fresh = d.isTest(cur, d.tok(f.Args[0])), true
		case "isd":
			cur, items = d.isDistinct(cur, d.tok(f.Args[0]), items)
			fresh = false
		default:
			d.broken(it.right)
		}
	}
	return cur
}

func (d *decoder) isTest(x Expr, tok int) Expr {
	out := &IsTest{Pos: d.token(tok).Pos, X: x}
	switch d.token(tok).Text {
	case "isnull":
		return out
	case "notnull":
		out.Not = true
		return out
	}
	tok++
	if d.token(tok).Text == "not" {
		out.Not = true
		tok++
	}
	switch d.token(tok).Text {
	case "true":
		out.Test = IsTrue
	case "false":
		out.Test = IsFalse
	case "unknown":
		out.Test = IsUnknown
	}
	return out
}

// isDistinct takes its right side off items: an operand and at most one
// comparison. Nothing of IS's own rank may follow.
func (d *decoder) isDistinct(x Expr, tok int, items []compareItem) (Expr, []compareItem) {
	out := &IsDistinct{Pos: d.token(tok).Pos, L: x, Not: d.token(tok+1).Text == "not"}
	if len(items) == 0 || items[0].op != "" {
		d.broken(nil)
	}
	out.R = d.expr(items[0].right)
	items = items[1:]
	if len(items) > 0 && items[0].op != "" {
		out.R = d.operate(out.R, Operator{Name: items[0].op}, d.opTok(items[0].right), items[0].right)
		items = items[1:]
	}
	if len(items) > 0 {
		at := d.opTok(items[0].right)
		if f, m := d.call(items[0].right); m == "is" || m == "isd" {
			at = d.tok(f.Args[0])
		}
		dialect.Fail(d.b.SyntaxAt(at))
	}
	return out, items
}

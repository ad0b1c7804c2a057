package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/sql/types"
)

// parser reads enough of SQL's expressions to write tests in it.
type parser struct {
	toks []string
	i    int
	cols map[string]Expr
}

// parseExpr parses and binds one expression; cols are the columns it may name.
func parseExpr(src string, cols map[string]Expr) (e Expr, err error) {
	p := &parser{toks: tokens(src), cols: cols}
	defer func() {
		if r := recover(); r != nil {
			if b, ok := r.(bindError); ok {
				e, err = nil, b.err
				return
			}
			panic(fmt.Sprintf("%s: %v", src, r))
		}
	}()
	e = p.expr(0)
	if p.i < len(p.toks) {
		panic("left over: " + strings.Join(p.toks[p.i:], " "))
	}
	if e.Type().ID == types.Unknown {
		return Cast(e, types.TText, Implicit)
	}
	return e, nil
}

type bindError struct{ err error }

func must(e Expr, err error) Expr {
	if err != nil {
		panic(bindError{err})
	}
	return e
}

func tokens(s string) []string {
	var out []string
	isWord := func(c byte) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 128
	}
	for i := 0; i < len(s); {
		c := s[i]
		j := i + 1
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			i++
			continue
		case c == '\'' || (c == 'E' || c == 'e') && i+1 < len(s) && s[i+1] == '\'':
			if c != '\'' {
				j++
			}
			for ; j < len(s); j++ {
				if c != '\'' && s[j] == '\\' {
					j++
					continue
				}
				if s[j] == '\'' {
					if j+1 < len(s) && s[j+1] == '\'' {
						j++
						continue
					}
					break
				}
			}
			j++
		case c == '"':
			for s[j] != '"' {
				j++
			}
			j++
		case c >= '0' && c <= '9' || c == '.' && j < len(s) && s[j] >= '0' && s[j] <= '9':
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			if j < len(s) && (s[j] == 'e' || s[j] == 'E') {
				j++
				if s[j] == '-' || s[j] == '+' {
					j++
				}
				for j < len(s) && s[j] >= '0' && s[j] <= '9' {
					j++
				}
			}
		case isWord(c):
			for j < len(s) && isWord(s[j]) {
				j++
			}
		case strings.HasPrefix(s[i:], "::"):
			j = i + 2
		case strings.IndexByte("()[],;.:", c) >= 0:
		default:
			for j < len(s) && strings.IndexByte("+-*/<>=~!@#%^&|`?", s[j]) >= 0 {
				j++
			}
			// A trailing + or - is a sign, unless the operator has special characters.
			for j-i > 1 && (s[j-1] == '-' || s[j-1] == '+') && !strings.ContainsAny(s[i:j], "~!@#%^&|`?") {
				j--
			}
		}
		out = append(out, s[i:j])
		i = j
	}
	return out
}

func (p *parser) peek() string {
	if p.i < len(p.toks) {
		return p.toks[p.i]
	}
	return ""
}

func (p *parser) word() string { return strings.ToLower(p.peek()) }

func (p *parser) next() string {
	t := p.peek()
	p.i++
	return t
}

func (p *parser) accept(words ...string) bool {
	for k, w := range words {
		if p.i+k >= len(p.toks) || strings.ToLower(p.toks[p.i+k]) != w {
			return false
		}
	}
	p.i += len(words)
	return true
}

func (p *parser) expect(w string) {
	if !p.accept(w) {
		panic("expected " + w + " before " + p.peek())
	}
}

// Binding powers, PostgreSQL's order.
const (
	bpOr = iota + 1
	bpAnd
	bpNot
	bpIs
	bpCmp
	bpIn
	bpOther
	bpAdd
	bpMul
	bpPow
	bpAt
	bpUnary
)

func (p *parser) infix() (op string, bp int) {
	switch w := p.word(); w {
	case "or":
		return w, bpOr
	case "and":
		return w, bpAnd
	case "is":
		return w, bpIs
	case "=", "<", ">", "<=", ">=", "<>", "!=":
		return w, bpCmp
	case "in", "between", "like", "ilike", "similar":
		return w, bpIn
	case "not":
		return w, bpIn
	case "+", "-":
		return w, bpAdd
	case "*", "/", "%":
		return w, bpMul
	case "^":
		return w, bpPow
	case "at":
		return w, bpAt
	case "":
		return "", 0
	default:
		if strings.IndexByte("+-*/<>=~!@#%^&|?", w[0]) >= 0 {
			return w, bpOther
		}
		return "", 0
	}
}

func (p *parser) expr(min int) Expr {
	l := p.prefix()
	for {
		op, bp := p.infix()
		if bp == 0 || bp < min || bp == bpCmp && min == bpCmp+100 {
			return l
		}
		l = p.infixExpr(l, op, bp)
	}
}

func (p *parser) infixExpr(l Expr, op string, bp int) Expr {
	p.next()
	switch op {
	case "or":
		return must(Or(l, p.expr(bp+1)))
	case "and":
		return must(And(l, p.expr(bp+1)))
	case "is":
		return p.is(l)
	case "at":
		p.expect("time")
		p.expect("zone")
		return must(AtTimeZone(l, p.expr(bp+1)))
	case "not", "in", "between", "like", "ilike", "similar":
		return p.pattern(l, op)
	}
	if w := p.word(); w == "any" || w == "all" {
		p.next()
		p.expect("(")
		arr := p.expr(0)
		p.expect(")")
		return must(AnyAll(op, l, arr, w == "all"))
	}
	r := p.expr(bp + 1)
	if lf, ok := RowFields(l); ok {
		if rf, ok := RowFields(r); ok && bp == bpCmp {
			return must(CompareRows(op, lf, rf))
		}
	}
	return must(Binary(op, l, r))
}

func (p *parser) is(l Expr) Expr {
	neg := p.accept("not")
	switch p.next() {
	case "null", "NULL":
		return IsNull(l, neg)
	case "true":
		return must(IsTrue(l, neg))
	case "false":
		return must(IsFalse(l, neg))
	case "unknown":
		return must(IsUnknown(l, neg))
	}
	p.expect("from")
	return must(IsDistinct(l, p.expr(bpIs+1), neg))
}

func (p *parser) pattern(l Expr, op string) Expr {
	neg := op == "not"
	if neg {
		op = p.next()
	}
	switch strings.ToLower(op) {
	case "in":
		p.expect("(")
		return must(In(l, p.list(")"), neg))
	case "between":
		sym := p.accept("symmetric")
		lo := p.expr(bpIn + 1)
		p.expect("and")
		return must(Between(l, lo, p.expr(bpIn+1), neg, sym))
	}
	kind := PlainLike
	switch strings.ToLower(op) {
	case "ilike":
		kind = ILike
	case "similar":
		p.expect("to")
		kind = SimilarTo
	}
	r := p.expr(bpIn + 1)
	var esc Expr
	if p.accept("escape") {
		esc = p.expr(bpIn + 1)
	}
	return must(Like(kind, l, r, esc, neg))
}

func (p *parser) list(end string) []Expr {
	var out []Expr
	if p.accept(end) {
		return out
	}
	for {
		out = append(out, p.expr(0))
		if p.accept(end) {
			return out
		}
		p.expect(",")
	}
}

func (p *parser) prefix() Expr {
	switch w := p.word(); {
	case w == "not":
		p.next()
		return must(Not(p.expr(bpNot)))
	case w == "-" || w == "+":
		p.next()
		return must(Unary(w, p.expr(bpUnary)))
	case w != "" && strings.IndexByte("~!@|", w[0]) >= 0:
		p.next()
		return must(Unary(w, p.expr(bpOther+1)))
	}
	return p.postfix(p.primary())
}

func (p *parser) postfix(e Expr) Expr {
	for {
		switch {
		case p.accept("::"):
			e = must(Cast(e, p.typeName(), Explicit))
		case p.accept("["):
			var lo Expr
			if p.peek() != ":" {
				lo = p.expr(0)
			}
			if !p.accept(":") {
				p.expect("]")
				e = must(Subscript(e, lo))
				continue
			}
			var hi Expr
			if p.peek() != "]" {
				hi = p.expr(0)
			}
			p.expect("]")
			e = must(Slice(e, lo, hi))
		case p.peek() == "." && p.i+1 < len(p.toks):
			p.next()
			e = must(Field(e, p.next()))
		default:
			return e
		}
	}
}

var sqlTypes = map[string]types.Type{"int": types.TInt4, "integer": types.TInt4, "smallint": types.TInt2,
	"bigint": types.TInt8, "real": types.TFloat4, "boolean": types.TBool, "decimal": types.TNumeric,
	"char": {ID: types.Bpchar, Mod: 1}, "character": {ID: types.Bpchar, Mod: 1}, `"char"`: types.TChar}

func (p *parser) typeName() types.Type {
	t, ok := p.tryType()
	if !ok {
		panic("no type " + p.peek())
	}
	return t
}

func (p *parser) tryType() (types.Type, bool) {
	w := p.word()
	t, ok := sqlTypes[w]
	if !ok {
		if id, known := typeIDs[w]; known && w != "char" {
			t, ok = types.Type{ID: id}, true
		}
	}
	if w == "double" {
		p.next()
		t, ok = types.TFloat8, true
	}
	if !ok {
		return t, false
	}
	p.next()
	if p.i+1 < len(p.toks) && p.peek() == "(" && p.toks[p.i+1][0] >= '0' && p.toks[p.i+1][0] <= '9' {
		p.next()
		n, _ := strconv.Atoi(p.next())
		t.Mod = int16(n)
		if t.IsTimestamp() && n == 0 {
			t.Mod = -1
		}
		if p.accept(",") {
			s, _ := strconv.Atoi(p.next())
			t.Scale = int16(s)
		}
		p.expect(")")
	}
	if w == "timestamp" && p.accept("with", "time", "zone") {
		t.ID = types.Timestamptz
	}
	for p.accept("[", "]") {
		t = types.ArrayOf(t)
	}
	return t, true
}

func (p *parser) primary() Expr {
	t := p.peek()
	w := strings.ToLower(t)
	switch {
	case t == "(":
		p.next()
		l := p.list(")")
		if len(l) > 1 {
			return must(RowCtor(nil, l...))
		}
		return l[0]
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.':
		p.next()
		return must(ConstNumber(t))
	case strings.HasSuffix(t, "'"):
		p.next()
		return ConstUnknown(unquote(t))
	}
	switch w {
	case "null":
		p.next()
		return ConstNull(types.TUnknown)
	case "true", "false":
		p.next()
		return ConstBool(w == "true")
	case "array":
		p.next()
		p.expect("[")
		elems := p.list("]")
		if len(elems) == 0 && p.peek() == "::" {
			p.next()
			return must(ArrayCtor(p.typeName().Elem))
		}
		return must(ArrayCtor(nil, elems...))
	case "row":
		p.next()
		p.expect("(")
		return must(RowCtor(nil, p.list(")")...))
	case "case":
		p.next()
		return p.caseExpr()
	case "cast":
		p.next()
		p.expect("(")
		e := p.expr(0)
		p.expect("as")
		ty := p.typeName()
		p.expect(")")
		return must(Cast(e, ty, Explicit))
	case "current_date", "current_timestamp", "localtimestamp", "localtime", "current_user", "session_user",
		"current_catalog", "current_schema", "current_role", "user":
		p.next()
		return must(SQLValueFunction(w, -1))
	}
	if c, ok := p.cols[w]; ok {
		p.next()
		return c
	}
	at := p.i
	if ty, ok := p.tryType(); ok && strings.HasSuffix(p.peek(), "'") {
		return must(Cast(ConstUnknown(unquote(p.next())), ty, Explicit))
	}
	p.i = at
	return p.call()
}

func (p *parser) call() Expr {
	name := strings.Trim(strings.ToLower(p.next()), `"`)
	if p.accept(".") {
		name = p.next()
	}
	p.expect("(")
	var args []Expr
	variadic := false
	for !p.accept(")") {
		if len(args) > 0 {
			p.expect(",")
		}
		if p.accept("variadic") {
			variadic = true
		}
		args = append(args, p.expr(0))
	}
	switch name {
	case "coalesce":
		return must(Coalesce(args...))
	case "nullif":
		return must(NullIf(args[0], args[1]))
	case "greatest":
		return must(Greatest(args...))
	case "least":
		return must(Least(args...))
	}
	if variadic {
		return must(CallVariadic(name, args))
	}
	return must(Call(name, args))
}

func (p *parser) caseExpr() Expr {
	var operand, els Expr
	if p.word() != "when" {
		operand = p.expr(0)
	}
	var whens []When
	for p.accept("when") {
		c := p.expr(0)
		p.expect("then")
		whens = append(whens, When{c, p.expr(0)})
	}
	if p.accept("else") {
		els = p.expr(0)
	}
	p.expect("end")
	return must(Case(operand, whens, els))
}

func unquote(t string) string {
	esc := t[0] == 'E' || t[0] == 'e'
	if esc {
		t = t[1:]
	}
	t = strings.ReplaceAll(t[1:len(t)-1], "''", "'")
	if esc {
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(t, `"`, `\"`), `\'`, `'`) + `"`)
		if err != nil {
			panic(err)
		}
		return s
	}
	return t
}

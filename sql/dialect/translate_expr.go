package dialect

import (
	"slices"
	"sort"
	"strings"
)

// scope is what an expression inherits from where it stands.
type scope struct {
	// stop is the rank at and below which infix operators end the expression: the
	// operand of a prefix operator ends at the first weaker one.
	stop rank
	// noIn ends the expression at IN: POSITION(a IN b).
	noIn bool
	// between counts the BETWEENs that wait for their AND.
	between int
	// inUsed is set between one of BETWEEN, IN and LIKE and the next weaker
	// operator: they do not associate.
	inUsed bool
	// like is set where ESCAPE may follow.
	like bool
	// start holds for each rank where in the output the left operand of an operator
	// of that rank begins.
	start [rankCast + 1]int
	// links and logic count the operators since the last AND or OR, and these.
	links, logic int
	// peak is the largest links of the operands of AND and OR so far.
	peak int
}

// height bounds the height of the operator tree of the expression.
func (sc *scope) height() int { return max(sc.links, sc.peak) + sc.logic/16 }

func (b *Bridge) expr() { b.exprIn(scope{}) }

// exprAbove translates an expression of operators stronger than stop.
func (b *Bridge) exprAbove(stop rank) { b.exprIn(scope{stop: stop}) }

// exprIn translates one expression; it stops at the first token that cannot
// continue it.
func (b *Bridge) exprIn(sc scope) {
	h := b.down()
	saved := b.sc
	b.sc = sc
	for r := range b.sc.start {
		b.sc.start[r] = len(b.out)
	}
	for {
		b.operand()
		if !b.infix() {
			break
		}
	}
	links := b.sc.height()
	b.sc = saved
	b.selectable = false
	b.up(h, links)
}

func (b *Bridge) exprList() {
	for {
		b.expr()
		if !b.comma() {
			return
		}
	}
}

// operand translates a primary expression or a prefix operator with its operand.
func (b *Bridge) operand() {
	t := b.Cur()
	switch {
	case t.Kind == Ident && t.Text == "not":
		b.call("not", b.I)
		b.I++
		b.prefixed(rankNot)
	case t.Kind == Op && (t.Text == "-" || t.Text == "+"):
		b.call("pre", b.I)
		b.I++
		b.prefixed(rankMinus)
	case t.Kind == Op && !mathOp(t.Text), t.Kind == Ident && t.Text == "operator" && b.IsPunct(1, "("):
		b.call("pre", b.I)
		b.skipOperator()
		b.prefixed(rankOp)
	default:
		b.primary()
	}
}

func (b *Bridge) prefixed(stop rank) {
	b.emit(", ")
	b.exprAbove(stop)
	b.emit(")")
}

// skipOperator skips an operator or OPERATOR(schema.op).
func (b *Bridge) skipOperator() {
	if !b.Is("operator") {
		b.I++
		return
	}
	b.I += 2
	for b.Cur().IsName() {
		b.I++
		b.NeedPunct(".")
	}
	if b.Cur().Kind != Op {
		b.Syntax()
	}
	b.I++
	b.NeedPunct(")")
}

// infix consumes postfix operators and one infix operator; it is false where the
// expression ends.
func (b *Bridge) infix() bool {
	for {
		if b.sc.height() > MaxHeight {
			Fail(TooDeep(b.Pos()))
		}
		var more, operand bool
		switch t := b.Cur(); t.Kind {
		case Op:
			more, operand = b.infixOp(t)
		case Punct:
			more = b.postfix(t)
		case Ident:
			more, operand = b.infixWord(t.Text)
		}
		if operand {
			b.sc.links++
			return true
		}
		if !more {
			return false
		}
		b.sc.links++
	}
}

// weaker tells whether an operator of rank r ends the expression.
func (b *Bridge) weaker(r rank) bool { return r <= b.sc.stop }

func (b *Bridge) infixOp(t *Token) (more, operand bool) {
	r := opRank(t.Text)
	if b.weaker(r) {
		return false, false
	}
	if r < rankIn {
		b.sc.inUsed, b.sc.like = false, false
	}
	if r == rankOp {
		b.emit(" & ")
		b.call("op", b.I)
		b.emit(") & ")
	} else {
		b.emit(" " + t.Text + " ")
	}
	b.I++
	b.rightOf(r)
	if b.anyAll() {
		b.complete(r, r)
		return true, false
	}
	return true, true
}

// rightOf notes that the right operand of an operator of rank r begins.
func (b *Bridge) rightOf(r rank) {
	for k := r + 1; k <= rankCast; k++ {
		b.sc.start[k] = len(b.out)
	}
}

// complete ends a predicate of rank p that takes nothing to its right: an IS
// test, IN (list), op ANY (…). If an operator of at least rank from follows, the
// parser behind would give it only the predicate's end, so the whole predicate
// is put in parentheses.
func (b *Bridge) complete(p, from rank) {
	b.selectable = false
	if b.nextRank() < from {
		return
	}
	at := b.sc.start[p]
	b.out = slices.Insert(b.out, at, '(')
	k := sort.Search(len(b.marks), func(i int) bool { return int(b.marks[i].out) >= at })
	b.marks = slices.Insert(b.marks, k, mark{int32(at), b.marks[k].tok})
	for i := k + 1; i < len(b.marks); i++ {
		b.marks[i].out++
	}
	b.emit(")")
	for r := p; r <= rankCast; r++ {
		b.sc.start[r] = at
	}
}

// postfix consumes ::type, [subscript] and .field.
func (b *Bridge) postfix(t *Token) bool {
	switch t.Text {
	case "::":
		b.selectable = false
		b.emit(" || ")
		b.call("cast", b.I)
		b.emit(", ")
		b.I++
		b.fact('t', b.types.ParseType())
		b.emit(")")
	case "[":
		if !b.selectable {
			return false
		}
		b.subscript()
	case ".":
		if !b.selectable {
			return false
		}
		b.emit(" || ")
		switch {
		case b.Peek(1).IsName():
			b.call("field", b.I+1)
		case b.IsOp(1, "*"):
			b.call("fieldstar", b.I+1)
		default:
			b.I++
			b.Syntax()
		}
		b.emit(")")
		b.I += 2
	default:
		return false
	}
	return true
}

func (b *Bridge) subscript() {
	b.emit(" || ")
	b.call("sub", b.I)
	b.emit(", ")
	b.I++
	if b.IsPunct(0, ":") {
		b.emit("`nil`")
	} else {
		b.expr()
	}
	if b.AcceptPunct(":") {
		b.emit(", ")
		if b.IsPunct(0, "]") {
			b.emit("`nil`")
		} else {
			b.expr()
		}
	}
	b.NeedPunct("]")
	b.emit(")")
	b.selectable = true
}

func (b *Bridge) infixWord(word string) (more, operand bool) {
	switch word {
	case "and":
		return b.and()
	case "or":
		if b.weaker(rankOr) {
			return false, false
		}
		b.emit(" OR ")
		b.logical(rankOr)
		return true, true
	case "operator":
		if !b.IsPunct(1, "(") || b.weaker(rankOp) {
			return false, false
		}
		b.emit(" & ")
		b.call("op", b.I)
		b.emit(") & ")
		b.skipOperator()
		b.rightOf(rankOp)
		if b.anyAll() {
			b.complete(rankOp, rankOp)
			return true, false
		}
		return true, true
	case "is", "isnull", "notnull":
		if b.weaker(rankIs) {
			return false, false
		}
		b.sc.inUsed = false
		operand = b.is(word)
		if operand {
			b.rightOf(rankIs)
		} else {
			b.complete(rankIs, rankIn)
		}
		return true, operand
	case "not", "in", "between", "like", "ilike", "similar":
		return b.inOrLike()
	case "escape":
		if !b.sc.like {
			return false, false
		}
		b.sc.like = false
		b.emit(" | ")
		b.call("esc", b.I)
		b.emit(") | ")
		b.I++
		b.rightOf(rankIn)
		return true, true
	case "overlaps":
		if b.weaker(rankIn) {
			return false, false
		}
		b.emit(" | ")
		b.call("overlaps", b.I)
		b.emit(") | ")
		b.I++
		b.rightOf(rankIn)
		return true, true
	case "collate":
		return b.collate(), false
	case "at":
		return b.atTimeZone()
	}
	return false, false
}

func (b *Bridge) and() (more, operand bool) {
	if b.sc.between > 0 {
		b.sc.between--
		b.emit(" AND ")
		b.I++
		b.rightOf(rankIn)
		b.sc.inUsed = true
		return true, true
	}
	if b.weaker(rankAnd) {
		return false, false
	}
	b.emit(" AND ")
	b.logical(rankAnd)
	return true, true
}

// logical counts an AND or OR apart: the operators of its operands are not in
// one chain.
func (b *Bridge) logical(r rank) {
	b.I++
	b.rightOf(r)
	b.sc.inUsed, b.sc.like = false, false
	b.sc.logic++
	b.sc.peak = max(b.sc.peak, b.sc.links)
	b.sc.links = -1 // the caller counts one
}

// is translates IS tests; it is true when an operand follows (IS DISTINCT FROM).
func (b *Bridge) is(word string) bool {
	at := b.I
	b.I++
	if word == "is" {
		b.Accept("not")
		switch {
		case b.Accept("null"), b.Accept("true"), b.Accept("false"), b.Accept("unknown"):
		case b.Accept("distinct", "from"):
			b.emit(" <=> ")
			b.call("isd", at)
			b.emit(") <=> ")
			return true
		case b.Is("document"), b.Is("json"), b.Is("normalized"), b.IsWord(1, "normalized"), b.Is("of"):
			if b.IsWord(1, "normalized") {
				b.I++
			}
			Unsupported(b.Toks[at].Pos, "IS %s is not supported", strings.ToUpper(b.Cur().Text))
		default:
			b.Syntax()
		}
	}
	b.emit(" <=> ")
	b.call("is", at)
	b.emit(")")
	return false
}

func (b *Bridge) inOrLike() (more, operand bool) {
	not := 0
	if b.Is("not") {
		not = 1
	}
	w := b.Peek(not)
	if w.Kind != Ident || b.weaker(rankIn) || w.Text == "similar" && !b.IsWord(not+1, "to") {
		return false, false
	}
	switch w.Text {
	case "in", "between", "like", "ilike", "similar":
		if b.sc.inUsed && !(w.Text == "in" && b.sc.noIn) {
			b.Syntax()
		}
	}
	switch w.Text {
	case "in":
		if b.sc.noIn {
			return false, false
		}
		b.in(not)
		b.complete(rankIn, rankIn)
		return true, false
	case "between":
		b.emit([...]string{" BETWEEN ", " NOT BETWEEN "}[not])
		b.I += not + 1
		if b.Is("symmetric") {
			b.emit("`sym` || ")
			b.I++
		} else {
			b.Accept("asymmetric")
		}
		b.sc.between++
		b.sc.inUsed = true
		b.rightOf(rankIn)
		return true, true
	case "like", "ilike":
		b.emit(" | ")
		b.call("like", b.I)
		b.I += not + 1
	case "similar":
		b.emit(" | ")
		b.call("like", b.I)
		b.I += not + 2
	default:
		return false, false
	}
	b.emit(") | ")
	b.rightOf(rankIn)
	b.sc.like = true
	if b.anyAll() {
		b.complete(rankIn, rankIn)
		return true, false
	}
	b.sc.inUsed = true
	return true, true
}

func (b *Bridge) in(not int) {
	b.emit([...]string{" IN ", " NOT IN "}[not])
	b.I += not + 1
	if !b.IsPunct(0, "(") {
		b.Syntax()
	}
	if b.OpensQuery() {
		b.subquery()
		return
	}
	b.emit("(")
	b.I++
	b.exprList()
	b.NeedPunct(")")
	b.emit(")")
}

func (b *Bridge) collate() bool {
	if b.weaker(rankCollate) {
		return false
	}
	b.emit(" || ")
	b.call("coll", b.I)
	b.emit(")")
	b.I++
	b.selectable = false
	if !b.Cur().IsName() || b.Cur().Kind == Ident && reserved[b.Cur().Text] {
		b.Syntax()
	}
	b.I += b.Dotted(0)
	return true
}

func (b *Bridge) atTimeZone() (more, operand bool) {
	if b.weaker(rankAt) {
		return false, false
	}
	switch {
	case b.Is("at", "time", "zone"):
		b.emit(" || ")
		b.call("attz", b.I)
		b.emit(") || ")
		b.I += 3
		b.rightOf(rankAt)
		return true, true
	case b.Is("at", "local"):
		b.emit(" || ")
		b.call("atlocal", b.I)
		b.emit(")")
		b.I += 2
		return true, false
	}
	return false, false
}

// anyAll translates ANY, SOME or ALL (…) as the right operand of an operator.
func (b *Bridge) anyAll() bool {
	if !b.Is("any") && !b.Is("some") && !b.Is("all") {
		return false
	}
	if !b.IsPunct(1, "(") {
		b.I++
		b.Syntax()
	}
	if b.Is("all") {
		b.call("all", b.I)
	} else {
		b.call("any", b.I)
	}
	b.emit(", ")
	b.I++
	if b.OpensQuery() {
		b.subquery()
	} else {
		b.I++
		b.expr()
		b.NeedPunct(")")
	}
	b.emit(")")
	return true
}

package dialect

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// primary translates an operand: literal, name, call, parenthesis.
func (b *Bridge) primary() {
	t := b.Cur()
	b.operandOf(t)
	row := b.rowLit
	b.selectable = t.Kind == Param || t.Kind == Punct && !row || b.column
	b.rowLit = false
	b.column = false
}

func (b *Bridge) operandOf(t *Token) {
	switch t.Kind {
	case Num, Str, Bits, Param:
		b.ref(b.I)
		b.I++
	case Punct:
		if t.Text != "(" {
			b.Syntax()
		}
		if b.OpensQuery() {
			b.subquery()
			return
		}
		b.emit("(")
		b.I++
		b.expr()
		row := b.comma()
		if row {
			b.exprList()
		}
		b.NeedPunct(")")
		b.emit(")")
		b.rowLit = row
	case Quoted:
		if !b.typedLiteral() {
			b.name()
		}
	case Ident:
		b.word(t.Text)
	default:
		b.Syntax()
	}
}

// word translates an operand that starts with an unquoted word.
func (b *Bridge) word(w string) {
	paren := b.IsPunct(1, "(")
	switch w {
	case "true", "false", "null", "default":
		b.ref(b.I)
		b.I++
		return
	case "case":
		b.caseWhen()
		return
	case "array":
		b.array(paren)
		return
	case "interval":
		if b.Peek(1).Kind == Str || paren && b.Peek(2).Kind == Num && b.IsPunct(3, ")") && b.Peek(4).Kind == Str {
			at := b.I
			typ, str := b.types.ParseInterval()
			b.literal(at, typ, str)
			return
		}
	case "window": // reserved, but no clause can start an operand
		if paren {
			b.name()
			return
		}
	}
	if paren && b.special(w) {
		return
	}
	if w == "collation" && b.IsWord(1, "for") && b.IsPunct(2, "(") {
		b.call("collfor", b.I)
		b.I += 3
		b.prefixed(rankNone)
		b.NeedPunct(")")
		return
	}
	if valueFuncs[w] && !(w == "current_schema" && paren) {
		b.valueFunc(w)
		return
	}
	if reserved[w] {
		b.Syntax()
	}
	if !b.typedLiteral() {
		b.name()
	}
}

// typedLiteral translates type 'text' if that is what the cursor is at.
func (b *Bridge) typedLiteral() bool {
	n := b.literalAhead()
	if n == 0 {
		return false
	}
	at, str := b.I, b.I+n
	typ := b.types.ParseLiteralType()
	if b.I != str {
		b.Syntax()
	}
	b.I++
	b.literal(at, typ, str)
	return true
}

func (b *Bridge) literal(at, typ, str int) {
	b.call("lit", at)
	b.emit(", ")
	b.fact('t', typ)
	b.emit(", ")
	b.ref(str)
	b.emit(")")
}

// literalAhead tells whether the cursor is at type 'text', and how far the text
// is ahead; 0 when it is not.
func (b *Bridge) literalAhead() int {
	n := b.Dotted(0)
	if n == 1 && b.Cur().Kind == Ident {
		n = b.typeWords()
	}
	if b.Peek(n).Kind == Str {
		return n
	}
	if b.IsPunct(n, "(") && b.Peek(n).Match >= 0 {
		n = int(b.Peek(n).Match) + 1 - b.I
		if b.IsWord(n, "with", "time", "zone") || b.IsWord(n, "without", "time", "zone") {
			if !b.Is("timestamp") && !b.Is("time") {
				return 0
			}
			n += 3
		}
		if b.Peek(n).Kind == Str {
			return n
		}
	}
	return 0
}

// typeWords returns how many tokens the type name at the cursor has, which may
// be of several words.
func (b *Bridge) typeWords() int {
	n := 1
	switch b.Cur().Text {
	case "double":
		if b.IsWord(1, "precision") {
			n = 2
		}
	case "timestamp", "time":
		if b.IsWord(1, "with", "time", "zone") || b.IsWord(1, "without", "time", "zone") {
			n = 4
		}
	case "national":
		if b.IsWord(1, "character") || b.IsWord(1, "char") {
			n = 2
		}
		fallthrough
	case "character", "char", "nchar", "bit":
		if b.IsWord(n, "varying") {
			n++
		}
	}
	return n
}

func (b *Bridge) valueFunc(w string) {
	b.ref(b.I)
	b.I++
	switch w {
	case "current_time", "current_timestamp", "localtime", "localtimestamp":
		if b.IsPunct(0, "(") {
			if b.Peek(1).Kind != Num || !b.IsPunct(2, ")") {
				b.I++
				b.Syntax()
			}
			b.I += 3
		}
	}
}

// name translates a column, t.*, or a call.
func (b *Bridge) name() {
	first := b.I
	t := b.Cur()
	n := b.Dotted(0)
	switch {
	case b.IsPunct(n, ".") && b.IsOp(n+1, "*"):
		b.call("star", first)
		b.emit(")")
		b.I += n + 2
	case b.IsPunct(n, "("):
		b.I += n
		b.callArgs(first)
	case n == 1 && t.Kind == Ident && typeOrFunc[t.Text]:
		b.I++
		b.Syntax()
	default:
		if (n+1)/2 > 4 {
			Failf(sqlerr.SyntaxError, t.Pos, "improper qualified name (too many dotted names): %s",
				b.Src[t.Pos:b.Peek(n-1).End])
		}
		b.ref(first)
		b.I += n
		b.column = true
		if b.IsPunct(0, ".") {
			b.I++
			b.Syntax()
		}
	}
}

// callArgs translates the call whose name is at first; the cursor is at "(".
// What follows the arguments travels as further arguments.
func (b *Bridge) callArgs(first int) {
	if n := (b.I - first + 1) / 2; n > 2 {
		Failf(sqlerr.SyntaxError, b.Toks[first].Pos, "improper qualified name (too many dotted names): %s",
			b.Src[b.Toks[first].Pos:b.PrevEnd()])
	}
	b.call("fn", first)
	b.I++
	plain := b.plainCall
	b.plainCall = false
	json := sqlJSON[b.Toks[first].Text] && b.Toks[first].Kind == Ident
	if json && (b.Is("select") || b.Is("returning")) {
		b.refuseJSON(first)
	}
	b.args()
	if json && !b.IsPunct(0, ")") {
		b.refuseJSON(first)
	}
	b.NeedPunct(")")
	if plain {
		b.emit(")")
		return
	}
	b.callTail()
	b.emit(")")
}

// refuseJSON ends the parse at the SQL/JSON call that begins at token first.
func (b *Bridge) refuseJSON(first int) {
	if b.Cur().Kind == EOF || b.Cur().Kind == Bad {
		b.Syntax()
	}
	t := &b.Toks[first]
	Unsupported(t.Pos, "the SQL/JSON syntax of %s is not supported", strings.ToUpper(t.Text))
}

// callTail translates what may follow the parenthesis of a call.
func (b *Bridge) callTail() {
	if b.Is("within", "group") {
		b.emit(", ")
		b.call("within", b.I)
		b.I += 2
		b.NeedPunct("(")
		b.Need("order", "by")
		b.emit(", ")
		b.sortList()
		b.NeedPunct(")")
		b.emit(")")
	}
	if b.Is("filter") {
		b.emit(", ")
		b.call("filter", b.I)
		b.I++
		b.NeedPunct("(")
		b.Need("where")
		b.prefixed(rankNone)
		b.NeedPunct(")")
	}
	if (b.Is("ignore", "nulls") || b.Is("respect", "nulls")) && b.IsWord(2, "over") {
		if b.Is("ignore") {
			b.emit(", `ignore`")
		}
		b.I += 2
	}
	if b.Is("over") {
		b.over()
	}
}

func (b *Bridge) over() {
	b.I++
	if !b.IsPunct(0, "(") && !b.IsColumnName(0) {
		b.Syntax()
	}
	n := b.newWindow(b.I)
	b.emit(", MAX(")
	b.fact('w', n)
	b.emit(") OVER ")
	if b.IsPunct(0, "(") {
		b.windowSpec(n)
		return
	}
	b.ref(b.ColumnName())
}

func (b *Bridge) args() {
	b.argDepth++
	b.argList()
	b.argDepth--
}

func (b *Bridge) argList() {
	if b.IsPunct(0, ")") {
		return
	}
	if b.IsOp(0, "*") && b.IsPunct(1, ")") {
		b.emit(", `all`")
		b.I++
		return
	}
	if b.Accept("distinct") {
		b.emit(", `distinct`")
	} else {
		b.Accept("all")
	}
	for {
		b.emit(", ")
		b.arg()
		if b.Accept("partition") {
			b.Need("by")
			b.emit(", `part`(")
			b.exprList()
			b.emit(")")
			if b.Is("order", "by") {
				b.argOrder("relord")
			}
		}
		if !b.AcceptPunct(",") {
			break
		}
	}
	if b.Is("order", "by") {
		b.argOrder("ord")
	}
}

func (b *Bridge) argOrder(marker string) {
	b.emit(", ")
	b.call(marker, b.I)
	b.emit(", ")
	b.I += 2
	b.sortList()
	b.emit(")")
}

func (b *Bridge) arg() {
	t := b.Cur()
	switch {
	case t.Kind == Ident && t.Text == "variadic":
		b.emit("`variadic`, ")
		b.I++
	case t.IsName() && (b.IsPunct(1, "=>") || b.IsPunct(1, ":=")):
		b.call("named", b.I)
		b.emit(", ")
		b.I += 2
		b.argValue()
		b.emit(")")
		return
	}
	b.argValue()
}

// argValue translates an argument's value: TABLE t, STREAM t, or an expression.
func (b *Bridge) argValue() {
	start := b.I
	if !b.Accept("table") && !b.streamWord() {
		b.expr()
		return
	}
	f := ItemFact{Start: start, Alias: -1}
	f.Stream = b.Toks[start].Text == "stream" || b.streamWord()
	f.Tok = b.I
	b.qualified(3)
	b.Items = append(b.Items, f)
	b.call("rel", start)
	b.emit(", ")
	b.fact('a', len(b.Items)-1)
	b.emit(")")
}

package dialect

import "strings"

// caseWhen translates CASE … END.
func (b *Bridge) caseWhen() {
	b.emit("CASE ")
	b.I++
	if !b.Is("when") {
		b.expr()
	}
	if !b.Is("when") {
		b.Syntax()
	}
	for b.Is("when") {
		b.emit(" WHEN ")
		b.I++
		b.expr()
		b.emit(" THEN ")
		b.Need("then")
		b.expr()
	}
	if b.Is("else") {
		b.emit(" ELSE ")
		b.I++
		b.expr()
	}
	b.emit(" END")
	b.Need("end")
}

func (b *Bridge) array(paren bool) {
	switch {
	case b.IsPunct(1, "["):
		b.arrayLit(b.I, b.I+1)
	case paren:
		b.call("arrsub", b.I)
		b.emit(", ")
		b.I++
		b.subquery()
		b.emit(")")
	default:
		b.I++
		b.Syntax()
	}
}

// arrayLit translates the elements after the bracket at open.
func (b *Bridge) arrayLit(at, open int) {
	h := b.down()
	b.call("array", at)
	b.I = open + 1
	for !b.IsPunct(0, "]") {
		b.emit(", ")
		if b.IsPunct(0, "[") {
			b.arrayLit(b.I, b.I)
		} else {
			b.expr()
		}
		if !b.AcceptPunct(",") {
			break
		}
		if b.IsPunct(0, "]") {
			b.Syntax()
		}
	}
	b.NeedPunct("]")
	b.emit(")")
	b.up(h, 0)
}

// special translates the calls with a grammar of their own; the word is
// followed by a parenthesis.
func (b *Bridge) special(w string) bool {
	switch w {
	case "cast":
		b.call("castas", b.I)
		b.emit(", ")
		b.I += 2
		b.expr()
		b.Need("as")
		b.emit(", ")
		b.fact('t', b.types.ParseType())
		b.NeedPunct(")")
		b.emit(")")
	case "exists":
		b.emit("EXISTS ")
		b.I++
		b.subquery()
	case "row":
		b.call("row", b.I)
		b.I += 2
		if !b.IsPunct(0, ")") {
			b.emit(", ")
			b.exprList()
		}
		b.NeedPunct(")")
		b.emit(")")
	case "extract":
		b.extract()
	case "position":
		b.position()
	case "substring", "overlay":
		return b.substring(w)
	case "trim":
		b.trim()
	case "normalize":
		b.normalize()
	case "treat", "xmlconcat", "xmlelement", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmlexists",
		"xmltable", "json_table":
		Unsupported(b.Pos(), "%s is not supported", strings.ToUpper(w))
	default:
		return false
	}
	return true
}

func (b *Bridge) extract() {
	b.call("extract", b.I)
	b.I += 2
	b.emit(", ")
	if f := b.Cur(); !f.IsName() && f.Kind != Str {
		b.Syntax()
	}
	b.ref(b.I)
	b.I++
	b.Need("from")
	b.prefixed(rankNone)
	b.NeedPunct(")")
}

func (b *Bridge) position() {
	b.call("position", b.I)
	b.I += 2
	b.emit(", ")
	b.exprIn(scope{noIn: true})
	b.Need("in")
	b.emit(", ")
	b.exprIn(scope{noIn: true})
	b.NeedPunct(")")
	b.emit(")")
}

// substring translates the forms with words; false leaves the ordinary call.
func (b *Bridge) substring(w string) bool {
	if !b.wordsInParens() {
		return false
	}
	b.call(w, b.I)
	b.I += 2
	b.emit(", ")
	b.expr()
	for !b.AcceptPunct(")") {
		switch {
		case b.Is("from"), b.Is("for"):
		case w == "overlay" && b.Is("placing"):
		case w == "substring" && (b.Is("similar") || b.Is("escape")):
		default:
			b.Syntax()
		}
		b.emit(", `" + b.Cur().Text + "`, ")
		b.I++
		b.expr()
	}
	b.emit(")")
	return true
}

// wordsInParens tells whether the parenthesis after the cursor holds, at its own
// level, one of the words that separate the operands of SUBSTRING and OVERLAY.
func (b *Bridge) wordsInParens() bool {
	for i := b.I + 2; i < len(b.Toks); i++ {
		t := &b.Toks[i]
		switch {
		case t.Kind == Punct && t.Text == ")", t.Kind == Punct && t.Text == ",", t.Kind == EOF, t.Kind == Bad:
			return false
		case t.Match > int32(i):
			i = int(t.Match)
		case t.Kind == Ident:
			switch t.Text {
			case "for", "placing", "similar":
				return true
			case "from":
				if b.Toks[i-1].Text != "distinct" {
					return true
				}
			}
		}
	}
	return false
}

// normalize translates NORMALIZE(text [, form]); the form is a bare word.
func (b *Bridge) normalize() {
	b.call("normalize", b.I)
	b.I += 2
	b.emit(", ")
	b.expr()
	if b.AcceptPunct(",") {
		switch b.Cur().Text {
		case "nfc", "nfd", "nfkc", "nfkd":
		default:
			b.Syntax()
		}
		b.emit(", ")
		b.ref(b.Label())
	}
	b.NeedPunct(")")
	b.emit(")")
}

func (b *Bridge) trim() {
	b.call("trim", b.I)
	b.I += 2
	b.emit(", ")
	switch {
	case b.Is("both"), b.Is("leading"), b.Is("trailing"):
		b.emit("`" + b.Cur().Text + "`")
		b.I++
	default:
		b.emit("`both`")
	}
	if !b.Is("from") {
		b.emit(", ")
		b.exprList()
	}
	if b.Accept("from") {
		b.emit(", `from`, ")
		b.exprList()
	}
	b.NeedPunct(")")
	b.emit(")")
}

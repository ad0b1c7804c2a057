package dialect

func (b *Bridge) query() {
	h, args := b.down(), b.argDepth
	b.argDepth = 0
	if b.Is("with") {
		b.with()
	}
	links := b.setOps()
	b.tail()
	b.argDepth = args
	b.up(h, links)
}

func (b *Bridge) with() {
	b.emit("WITH ")
	b.I++
	if b.Accept("recursive") {
		b.emit("RECURSIVE ")
	}
	for {
		f := CTEFact{Tok: b.ColumnName()}
		if b.IsPunct(0, "(") {
			f.Columns = b.nameList()
		}
		b.Need("as")
		switch {
		case b.Accept("materialized"):
			f.Materialize = 1
		case b.Accept("not", "materialized"):
			f.Materialize = 2
		}
		b.CTEs = append(b.CTEs, f)
		b.fact('c', len(b.CTEs)-1)
		b.emit(" AS ")
		switch b.Peek(1).Text {
		case "insert", "update", "delete", "merge":
			if b.IsPunct(0, "(") && b.Peek(1).Kind == Ident {
				Unsupported(b.Peek(1).Pos, "data-modifying statements in WITH are not supported")
			}
		}
		b.subquery()
		if b.Is("search") || b.Is("cycle") {
			Unsupported(b.Pos(), "the SEARCH and CYCLE clauses of WITH are not supported")
		}
		if !b.comma() {
			break
		}
	}
	b.emit(" ")
}

// comma copies a comma and tells whether there was one.
func (b *Bridge) comma() bool {
	if !b.IsPunct(0, ",") {
		return false
	}
	b.emit(", ")
	b.I++
	return true
}

// nameList reads (name, …) and returns the token indexes.
func (b *Bridge) nameList() []int {
	b.NeedPunct("(")
	var names []int
	for {
		names = append(names, b.ColumnName())
		if !b.AcceptPunct(",") {
			break
		}
	}
	b.NeedPunct(")")
	return names
}

// subquery translates (query).
func (b *Bridge) subquery() {
	if !b.IsPunct(0, "(") {
		b.Syntax()
	}
	b.emit("(")
	b.I++
	if !b.OpensQuery() {
		b.Syntax()
	}
	b.query()
	if !b.IsPunct(0, ")") {
		b.Syntax()
	}
	b.emit(")")
	b.I++
}

// setOps returns how many operators it met.
func (b *Bridge) setOps() (links int) {
	b.term()
	for ; ; links++ {
		switch {
		case b.Is("union"):
			b.emit(" UNION ")
		case b.Is("intersect"):
			b.emit(" INTERSECT ")
		case b.Is("except"):
			b.emit(" EXCEPT ")
		default:
			return links
		}
		b.I++
		if b.Accept("all") {
			b.emit("ALL ")
		} else {
			b.Accept("distinct")
		}
		b.term()
	}
}

// term translates an operand of a set operation. A parenthesised query becomes a
// derived table, because the parser behind loses WITH and ORDER BY inside some
// parentheses.
func (b *Bridge) term() {
	switch {
	case b.IsPunct(0, "("):
		b.emit("SELECT `par` FROM ")
		b.subquery()
		b.emit(" AS `p`")
	case b.Is("select"):
		b.selectCore()
	case b.Is("values"):
		b.values()
	case b.Is("table"):
		b.emit("TABLE ")
		b.I++
		b.Accept("only")
		b.tableName()
	default:
		b.Syntax()
	}
}

func (b *Bridge) values() {
	b.emit("VALUES ")
	b.I++
	for {
		if !b.IsPunct(0, "(") {
			b.Syntax()
		}
		b.emit("ROW(")
		b.I++
		b.exprList()
		b.NeedPunct(")")
		b.emit(")")
		if !b.comma() {
			return
		}
	}
}

// startSelect opens a SELECT whose first field is its fact.
func (b *Bridge) startSelect(tok int) int {
	b.Selects = append(b.Selects, SelectFact{Tok: tok, Hint: -1, Dedup: -1})
	n := len(b.Selects) - 1
	b.emit("SELECT ")
	b.fact('s', n)
	return n
}

func (b *Bridge) selectCore() {
	n := b.startSelect(b.I)
	b.I++
	if b.Cur().Kind == Hint {
		b.Selects[n].Hint = b.I
		b.I++
	}
	if b.Accept("distinct") {
		b.Selects[n].Distinct = true
		if b.Accept("on") {
			b.Selects[n].DistinctOn = true
			b.NeedPunct("(")
			b.emit(", `don`(")
			b.exprList()
			b.NeedPunct(")")
			b.emit(")")
		}
		if b.selectEnds() {
			b.Syntax()
		}
	} else {
		b.Accept("all")
	}
	if !b.selectEnds() {
		b.targets()
	}
	if b.Is("into") {
		Unsupported(b.Pos(), "SELECT INTO is not supported")
	}
	if b.Is("from") {
		b.I++
		b.fromList()
	} else {
		b.Selects[n].NoFrom = true
		b.emit(" FROM `nofrom`")
	}
	if b.Is("where") {
		b.emit(" WHERE ")
		b.I++
		b.expr()
	}
	b.groupBy(n)
	if b.Is("having") {
		b.emit(" HAVING ")
		b.I++
		b.expr()
	}
	if b.Is("window") {
		b.windowClause()
	}
	if b.Is("deduplicate", "by") {
		b.dedup(n)
	}
}

// selectEnds tells whether the token ends a select list before its first item.
func (b *Bridge) selectEnds() bool {
	t := b.Cur()
	switch t.Kind {
	case EOF:
		return true
	case Punct:
		return t.Text == ")" || t.Text == ";"
	case Ident:
		switch t.Text {
		case "window": // window(…) is a call
			return !b.IsPunct(1, "(")
		case "from", "where", "group", "having", "union", "intersect", "except", "order", "limit",
			"offset", "fetch", "for", "into":
			return true
		}
	}
	return false
}

func (b *Bridge) targets() {
	for {
		b.emit(", ")
		b.target()
		if !b.AcceptPunct(",") {
			return
		}
	}
}

func (b *Bridge) target() {
	if b.IsOp(0, "*") {
		b.call("star", b.I)
		b.emit(")")
		b.I++
		return
	}
	b.expr()
	t := b.Cur()
	switch {
	case b.Accept("as"):
		b.emit(" AS ")
		b.ref(b.Label())
	case t.Kind == Quoted || t.Kind == Ident && !noBareLabel[t.Text] && !b.clauseAhead():
		b.emit(" AS ")
		b.ref(b.I)
		b.I++
	}
}

// clauseAhead tells whether a clause of ours starts here, whose first word could
// also be an alias.
func (b *Bridge) clauseAhead() bool {
	switch b.Cur().Text {
	case "emit":
		return b.Is("emit", "on", "window", "close") || b.Is("emit", "changes")
	case "deduplicate":
		return b.Is("deduplicate", "by")
	case "format":
		if b.Peek(1).Kind != Ident {
			return false
		}
		switch b.Peek(1).Text {
		case "plain", "upsert", "debezium":
			return true
		}
		return b.IsWord(2, "encode")
	}
	return false
}

func (b *Bridge) dedup(n int) {
	b.Selects[n].Dedup = b.I
	b.I += 2
	keys := b.ExprList()
	b.Selects[n].DedupKeys = keys
	if !b.Accept("within") {
		return
	}
	if b.Accept("watermark") {
		b.Selects[n].DedupWatermark = true
		return
	}
	within := b.Expr()
	b.Selects[n].DedupWithin = within
}

func (b *Bridge) groupBy(n int) {
	if !b.Is("group") {
		return
	}
	b.emit(" GROUP BY ")
	b.I++
	b.Need("by")
	if b.Accept("distinct") {
		b.Selects[n].GroupDistinct = true
	} else {
		b.Accept("all")
	}
	b.groupList()
}

func (b *Bridge) groupList() {
	for {
		b.groupItem()
		if !b.comma() {
			return
		}
	}
}

func (b *Bridge) groupItem() {
	h := b.down()
	switch {
	case b.IsPunct(0, "(") && b.IsPunct(1, ")"):
		b.call("gempty", b.I)
		b.emit(")")
		b.I += 2
	case (b.Is("rollup") || b.Is("cube")) && b.IsPunct(1, "("):
		b.call(b.Cur().Text, b.I)
		b.I += 2
		b.groupRest()
	case b.Is("grouping", "sets"):
		b.call("gsets", b.I)
		b.I += 2
		b.NeedPunct("(")
		b.groupRest()
	default:
		b.expr()
	}
	b.up(h, 0)
}

func (b *Bridge) groupRest() {
	b.emit(", ")
	b.groupList()
	b.NeedPunct(")")
	b.emit(")")
}

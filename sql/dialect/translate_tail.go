package dialect

import "github.com/streamsql/streamsql/internal/sqlerr"

// tail translates ORDER BY, LIMIT, OFFSET, FETCH and FOR: all of them become
// items of one ORDER BY, because the parser behind takes only constants as limits.
func (b *Bridge) tail() {
	t := tail{b: b}
	if b.Is("order") {
		b.I++
		b.Need("by")
		t.sep()
		t.ordered = true
		b.sortList()
	}
	for t.clause() {
	}
	if t.fact.WithTies && !t.ordered {
		Failf(sqlerr.SyntaxError, b.Toks[t.ties].Pos, "WITH TIES cannot be specified without ORDER BY clause")
	}
	for _, l := range t.fact.Locks {
		if t.fact.WithTies && l.Wait == "SKIP LOCKED" {
			Failf(sqlerr.SyntaxError, b.Toks[t.ties].Pos, "SKIP LOCKED and WITH TIES options cannot be used together")
		}
	}
	if t.fact.WithTies || t.fact.Locks != nil {
		t.sep()
		b.Queries = append(b.Queries, t.fact)
		b.fact('q', len(b.Queries)-1)
	}
}

type tail struct {
	b                               *Bridge
	started, ordered, limit, offset bool
	ties                            int
	fact                            QueryFact
}

func (t *tail) sep() {
	if t.started {
		t.b.emit(", ")
		return
	}
	t.started = true
	t.b.emit(" ORDER BY ")
}

func (t *tail) once(seen *bool) {
	if *seen {
		t.b.Syntax()
	}
	*seen = true
	t.sep()
}

func (t *tail) clause() bool {
	b := t.b
	switch {
	case b.Is("limit"):
		t.once(&t.limit)
		at := b.I
		b.call("limit", b.I)
		b.emit(", ")
		b.I++
		if b.Is("all") {
			b.ref(b.I)
			b.I++
		} else {
			b.expr()
		}
		b.emit(")")
		if b.IsPunct(0, ",") {
			Fail(sqlerr.New(sqlerr.SyntaxError, "LIMIT #,# syntax is not supported").At(b.Toks[at].Pos).
				WithHint("Use separate LIMIT and OFFSET clauses."))
		}
	case b.Is("offset"):
		t.once(&t.offset)
		b.call("offset", b.I)
		b.emit(", ")
		b.I++
		b.expr()
		b.emit(")")
		if !b.Accept("rows") {
			b.Accept("row")
		}
	case b.Is("fetch"):
		t.fetch()
	case b.Is("for"):
		t.lock()
	default:
		return false
	}
	return true
}

func (t *tail) fetch() {
	b := t.b
	t.once(&t.limit)
	b.call("limit", b.I)
	t.ties = b.I
	b.I++
	if !b.Accept("first") && !b.Accept("next") {
		b.Syntax()
	}
	if !b.Is("row") && !b.Is("rows") {
		b.emit(", ")
		b.exprAbove(rankMinus) // one operand
	}
	b.emit(")")
	if !b.Accept("row") && !b.Accept("rows") {
		b.Syntax()
	}
	if b.Accept("with", "ties") {
		t.fact.WithTies = true
		return
	}
	b.Need("only")
}

func (t *tail) lock() {
	b := t.b
	l := LockFact{Tok: b.I}
	b.I++
	switch {
	case b.Accept("update"):
		l.Strength = "UPDATE"
	case b.Accept("no", "key", "update"):
		l.Strength = "NO KEY UPDATE"
	case b.Accept("share"):
		l.Strength = "SHARE"
	case b.Accept("key", "share"):
		l.Strength = "KEY SHARE"
	case b.Accept("read", "only"): // the standard's way to ask for no lock
		return
	default:
		b.Syntax()
	}
	if b.Accept("of") {
		for {
			l.Of = append(l.Of, b.I)
			b.qualified(3)
			if !b.AcceptPunct(",") {
				break
			}
		}
	}
	switch {
	case b.Accept("nowait"):
		l.Wait = "NOWAIT"
	case b.Accept("skip", "locked"):
		l.Wait = "SKIP LOCKED"
	}
	t.fact.Locks = append(t.fact.Locks, l)
}

// sortList translates the items of an ORDER BY; what the parser behind cannot
// say follows its item as a marker item.
func (b *Bridge) sortList() {
	for {
		b.expr()
		switch {
		case b.Accept("asc"):
		case b.Is("desc"):
			b.emit(", `desc`")
			b.I++
		case b.Accept("using"):
			if b.Cur().Kind != Op && !(b.Is("operator") && b.IsPunct(1, "(")) {
				b.Syntax()
			}
			b.emit(", ")
			b.call("using", b.I)
			b.emit(")")
			b.skipOperator()
		}
		if b.Accept("nulls") {
			switch {
			case b.Accept("first"):
				b.emit(", `nfirst`")
			case b.Accept("last"):
				b.emit(", `nlast`")
			default:
				b.Syntax()
			}
		}
		if !b.comma() {
			return
		}
	}
}

func (b *Bridge) windowClause() {
	b.emit(" WINDOW ")
	b.I++
	for {
		n := b.newWindow(b.ColumnName())
		b.Need("as")
		b.fact('w', n)
		b.emit(" AS ")
		b.windowSpec(n)
		if !b.comma() {
			return
		}
	}
}

func (b *Bridge) newWindow(tok int) int {
	b.Windows = append(b.Windows, WindowFact{Tok: tok, Frame: -1})
	return len(b.Windows) - 1
}

func (b *Bridge) windowSpec(n int) {
	b.NeedPunct("(")
	b.emit("(")
	if b.IsColumnName(0) && !b.Is("partition") && !b.frameAhead() {
		b.ref(b.I)
		b.emit(" ")
		b.I++
	}
	if b.Accept("partition") {
		b.Need("by")
		b.emit("PARTITION BY ")
		b.exprList()
	}
	if b.Accept("order") {
		b.Need("by")
		b.emit(" ORDER BY ")
		b.sortList()
	}
	if b.frameAhead() {
		b.frame(n)
	}
	b.NeedPunct(")")
	b.emit(")")
}

func (b *Bridge) frameAhead() bool { return b.Is("rows") || b.Is("range") || b.Is("groups") }

func (b *Bridge) frame(n int) {
	w := &b.Windows[n]
	w.Frame = b.I
	switch b.Cur().Text {
	case "rows":
		b.emit(" ROWS ")
	case "range":
		b.emit(" RANGE ")
	default:
		b.emit(" GROUPS ")
	}
	b.I++
	w.Between = b.Accept("between")
	w.Start, w.End = b.I, b.I
	b.emit("BETWEEN ")
	b.bound()
	b.emit(" AND ")
	if b.Windows[n].Between {
		b.Need("and")
		b.Windows[n].End = b.I
		b.bound()
	} else {
		b.emit("CURRENT ROW")
	}
	if !b.Accept("exclude") {
		return
	}
	w = &b.Windows[n] // the bounds may have added windows
	switch {
	case b.Accept("current", "row"):
		w.Exclude = 1
	case b.Accept("group"):
		w.Exclude = 2
	case b.Accept("ties"):
		w.Exclude = 3
	case b.Accept("no", "others"):
	default:
		b.Syntax()
	}
}

func (b *Bridge) bound() {
	switch {
	case b.Accept("unbounded", "preceding"):
		b.emit("UNBOUNDED PRECEDING")
	case b.Accept("unbounded", "following"):
		b.emit("UNBOUNDED FOLLOWING")
	case b.Accept("current", "row"):
		b.emit("CURRENT ROW")
	default:
		b.emit("INTERVAL ")
		b.exprAbove(rankAnd)
		b.emit(" DAY ")
		if b.Accept("preceding") {
			b.emit("PRECEDING")
			return
		}
		b.Need("following")
		b.emit("FOLLOWING")
	}
}

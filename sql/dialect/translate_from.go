package dialect

import "github.com/streamsql/streamsql/internal/sqlerr"

func (b *Bridge) fromList() {
	b.emit(" FROM ")
	for {
		b.tableRef()
		if !b.comma() {
			return
		}
	}
}

// qualified skips a dotted name of at most max parts and returns its first index.
func (b *Bridge) qualified(max int) int {
	first := b.I
	if !b.IsColumnName(0) {
		b.Syntax()
	}
	n := b.Dotted(0)
	if (n+1)/2 > max {
		Failf(sqlerr.SyntaxError, b.Pos(), "improper qualified name (too many dotted names): %s",
			b.Src[b.Pos():b.Peek(n-1).End])
	}
	b.I += n
	if b.IsPunct(0, ".") {
		b.I++
		b.Syntax()
	}
	return first
}

func (b *Bridge) tableName() { b.ref(b.qualified(3)) }

// tableRef := factor { join }. It tells whether there was a join. Every join is
// written as [LEFT|RIGHT] JOIN with a qualifier; its fact says what it is.
func (b *Bridge) tableRef() bool {
	h, links := b.down(), 0
	joined := b.tableFactor()
	for b.join() {
		links++
	}
	b.up(h, links)
	return joined || links > 0
}

// tableFactor tells whether it was a parenthesised join.
func (b *Bridge) tableFactor() bool {
	f := ItemFact{Start: b.I}
	f.Lateral = b.Accept("lateral")
	switch {
	case b.IsPunct(0, "(") && b.OpensQuery():
		f.Kind, f.Tok = ItemQuery, b.I
		b.subquery()
		b.watermark(&f)
		b.alias(&f)
	case b.IsPunct(0, "(") && !f.Lateral:
		b.parenJoin(f)
		return true
	case b.Is("rows", "from") && b.IsPunct(2, "("):
		b.rowsFrom(f)
	case b.Is("table") && b.IsPunct(1, "("):
		f.Kind, f.Tok = ItemFunc, b.I+2
		b.I += 2
		b.emit("(SELECT ")
		b.funcCall()
		b.NeedPunct(")")
		b.finishFunc(f)
	case b.funcAhead():
		f.Kind, f.Tok = ItemFunc, b.I
		b.emit("(SELECT ")
		b.funcCall()
		b.finishFunc(f)
	case f.Lateral:
		if b.IsColumnName(0) {
			b.I += b.Dotted(0)
		}
		b.Syntax()
	default:
		b.relation(f.Start, f)
	}
	return false
}

// funcAhead tells whether a function stands at the cursor.
func (b *Bridge) funcAhead() bool {
	t := b.Cur()
	if !t.IsName() || b.Is("only") {
		return false
	}
	return b.IsPunct(b.Dotted(0), "(") || t.Kind == Ident && valueFuncs[t.Text]
}

func (b *Bridge) funcCall() {
	if !b.funcAhead() {
		b.Syntax()
	}
	b.plainCall = true
	b.primary()
	b.plainCall = false
}

func (b *Bridge) finishFunc(f ItemFact) {
	b.emit(")")
	f.Ordinality = b.Accept("with", "ordinality")
	b.watermark(&f)
	b.alias(&f)
}

func (b *Bridge) rowsFrom(f ItemFact) {
	f.Kind, f.Tok = ItemRowsFrom, b.I
	b.I += 3
	b.emit("(SELECT ")
	for {
		b.funcCall()
		var cols []ColumnFact
		if b.Accept("as") {
			cols = b.aliasColumns(typesNeeded)
		}
		f.CallColumns = append(f.CallColumns, cols)
		if !b.comma() {
			break
		}
	}
	b.NeedPunct(")")
	b.finishFunc(f)
}

// parenJoin translates (a JOIN b …) [AS alias]. With an alias it becomes a
// derived table, for which the parser behind has no word of its own.
func (b *Bridge) parenJoin(f ItemFact) {
	f.Kind, f.Tok = ItemJoin, b.I
	aliased := false
	if m := b.Cur().Match; m >= 0 {
		save := b.I
		b.I = int(m) + 1
		aliased = b.aliasAhead()
		b.I = save
	}
	if aliased {
		b.emit("(SELECT `join` FROM ")
	} else {
		b.emit("(")
	}
	b.I++
	if !b.tableRef() {
		b.Syntax()
	}
	b.NeedPunct(")")
	b.emit(")")
	if aliased {
		b.alias(&f)
	}
}

// relation translates [ONLY | STREAM] name [*] [FOR SYSTEM_TIME AS OF e]
// [WATERMARK …] [alias].
func (b *Bridge) relation(start int, f ItemFact) {
	f.Start = start
	f.Only = b.Accept("only")
	parens := f.Only && b.AcceptPunct("(")
	f.Stream = b.streamWord()
	f.Tok = b.I
	b.tableName()
	if parens {
		b.NeedPunct(")")
	}
	if b.IsOp(0, "*") {
		b.I++
	}
	b.asOf(&f)
	b.watermark(&f)
	f.Alias = -1
	if b.aliasAhead() {
		b.readAlias(&f)
		b.asOf(&f)
		b.watermark(&f)
	}
	if b.Is("tablesample") {
		Unsupported(b.Pos(), "TABLESAMPLE is not supported")
	}
	b.putItem(f)
}

// streamWord skips STREAM before a relation's name. A relation named stream is
// read as such where no name follows it.
func (b *Bridge) streamWord() bool {
	if !b.Is("stream") || !b.IsColumnName(1) {
		return false
	}
	b.I++
	if b.clauseAhead() || b.watermarkAhead() || b.asofAhead() {
		b.I--
		return false
	}
	return true
}

func (b *Bridge) asOf(f *ItemFact) {
	if f.AsOf != nil || !b.Is("for", "system_time", "as", "of") {
		return
	}
	b.I += 4
	f.AsOf = b.Expr()
}

// watermarkAhead tells a WATERMARK clause from an alias of that name.
func (b *Bridge) watermarkAhead() bool {
	if !b.Is("watermark") {
		return false
	}
	if b.IsPunct(1, "(") {
		m := b.Peek(1).Match
		return m >= 0 && (b.IsWord(int(m)+1-b.I, "delay") || b.IsWord(int(m)+1-b.I, "as"))
	}
	return b.IsColumnName(1)
}

func (b *Bridge) watermark(f *ItemFact) {
	if f.Watermark != nil || !b.watermarkAhead() {
		return
	}
	w := &WatermarkFact{Tok: b.I, As: -1}
	b.I++
	w.Time = b.Expr()
	if b.Accept("as") {
		w.As = b.ColumnName()
	}
	b.Need("delay", "of")
	w.Delay = b.Expr()
	f.Watermark = w
}

// asofAhead tells whether ASOF [LEFT|INNER] JOIN follows, not an alias.
func (b *Bridge) asofAhead() bool {
	return b.Is("asof", "join") || b.Is("asof", "left") || b.Is("asof", "inner")
}

func (b *Bridge) aliasAhead() bool {
	return b.Is("as") || b.IsColumnName(0) && !b.clauseAhead() && !b.asofAhead() && !b.watermarkAhead()
}

// alias reads an alias and writes it with the item's fact.
func (b *Bridge) alias(f *ItemFact) {
	f.Alias = -1
	if b.aliasAhead() {
		b.readAlias(f)
		b.watermark(f)
	}
	b.putItem(*f)
}

func (b *Bridge) putItem(f ItemFact) {
	b.Items = append(b.Items, f)
	b.emit(" AS ")
	b.fact('a', len(b.Items)-1)
}

func (b *Bridge) readAlias(f *ItemFact) {
	fn := f.Kind == ItemFunc || f.Kind == ItemRowsFrom
	if b.Accept("as") && fn && b.IsPunct(0, "(") {
		f.Columns = b.aliasColumns(typesNeeded)
		return
	}
	f.Alias = b.ColumnName()
	if b.IsPunct(0, "(") {
		mode := typesRefused
		if fn {
			mode = typesAllowed
		}
		f.Columns = b.aliasColumns(mode)
	}
}

// columnTypes says whether the columns of an alias have types.
type columnTypes uint8

const (
	typesRefused columnTypes = iota
	typesAllowed
	typesNeeded
)

// aliasColumns reads (a, b) or (a int, b text).
func (b *Bridge) aliasColumns(mode columnTypes) []ColumnFact {
	b.NeedPunct("(")
	var cols []ColumnFact
	for {
		c := ColumnFact{Tok: b.ColumnName(), Type: -1}
		defs := len(cols) > 0 && cols[0].Type >= 0
		plain := b.IsPunct(0, ",") || b.IsPunct(0, ")")
		if !plain && mode == typesRefused || plain && mode == typesNeeded || len(cols) > 0 && plain == defs {
			b.Syntax()
		}
		if !plain {
			c.Type = b.types.ParseType()
			if b.Is("collate") {
				Unsupported(b.Pos(), "COLLATE in a column definition list is not supported")
			}
		}
		cols = append(cols, c)
		if !b.AcceptPunct(",") {
			break
		}
	}
	b.NeedPunct(")")
	return cols
}

// joinStart reads the words of a join and returns what it is.
func (b *Bridge) joinStart() (f JoinFact, ok bool) {
	f = JoinFact{Tok: b.I, UsingAlias: -1}
	k := 0
	switch {
	case b.Is("natural"):
		f.Natural, k = true, 1
	case b.asofAhead():
		f.Asof, k = true, 1
	}
	w := b.Peek(k)
	if w.Kind != Ident {
		return f, false
	}
	outer := false
	switch w.Text {
	case "join":
		b.I += k + 1
		return f, true
	case "inner":
	case "cross":
		if f.Natural {
			return f, false
		}
		f.Kind = JoinCross
	case "left":
		f.Kind, outer = JoinLeft, true
	case "right":
		f.Kind, outer = JoinRight, true
	case "full":
		f.Kind, outer = JoinFull, true
	default:
		return f, false
	}
	b.I += k + 1
	if outer {
		b.Accept("outer")
	}
	b.Need("join")
	return f, true
}

func (b *Bridge) join() bool {
	f, ok := b.joinStart()
	if !ok {
		if f.Natural {
			b.I++
			b.Syntax()
		}
		return false
	}
	b.Joins = append(b.Joins, f)
	n := len(b.Joins) - 1
	switch f.Kind {
	case JoinLeft, JoinFull:
		b.emit(" LEFT JOIN ")
	case JoinRight:
		b.emit(" RIGHT JOIN ")
	default:
		b.emit(" JOIN ")
	}
	b.tableFactor()
	switch {
	case f.Kind == JoinCross:
		b.emit(" ON ")
		b.fact('j', n)
		return true
	case f.Natural:
		b.emit(" USING (")
		b.fact('j', n)
		b.emit(")")
		return true
	}
	h, links := b.down(), 0
	for !b.Is("on") && !b.Is("using") { // the right operand is itself a join
		if !b.join() {
			b.Syntax()
		}
		links++
	}
	b.up(h, links)
	if b.Accept("on") {
		b.emit(" ON ")
		b.fact('j', n)
		b.emit("(")
		b.expr()
		b.emit(")")
		return true
	}
	b.Need("using")
	b.emit(" USING (")
	b.fact('j', n)
	for _, c := range b.nameList() {
		b.emit(", ")
		b.ref(c)
	}
	b.emit(")")
	if b.Accept("as") {
		alias := b.ColumnName()
		b.Joins[n].UsingAlias = alias
	}
	return true
}

package dialect

import (
	"strconv"
)

// maxDepth bounds the recursion of the translator; brackets alone are bounded by
// MaxNesting, each costing at most three levels.
const maxDepth = 4 * MaxNesting

// MaxHeight bounds the height of the trees, and so the recursion of everybody
// who walks over them; chains of AND and OR count a sixteenth, they become flat.
const MaxHeight = 5000

// TypeParser reads what this package does not know: type names. Its methods
// read at the cursor that the bridge shares and return handles.
type TypeParser interface {
	// ParseType reads a type name.
	ParseType() int
	// ParseLiteralType reads the type of a literal such as DATE '…': no array, no SETOF.
	ParseLiteralType() int
	// ParseInterval reads INTERVAL [(p)] 'text' [fields] and returns the type and
	// the index of the string token.
	ParseInterval() (typ, str int)
}

// Bridge translates the queries and expressions of one text.
type Bridge struct {
	*Cursor
	Facts
	types TypeParser
	out   []byte
	marks []mark
	depth int
	// argDepth is positive inside the arguments of a call.
	argDepth int
	// height is that of the highest tree finished on this level.
	height int
	sc     scope
	// selectable tells whether a subscript or field may follow the operand before
	// the cursor; column and rowLit, whether the last operand was a column or (a, b).
	selectable, column, rowLit bool
	// plainCall is set for a call in FROM, which no FILTER or OVER may follow.
	plainCall bool
}

// InArgs tells whether the cursor is inside a call's arguments and not in a query
// inside them: there no alias can follow an expression.
func (b *Bridge) InArgs() bool { return b.argDepth > 0 }

// NewBridge makes a bridge that reads at c.
func NewBridge(c *Cursor, types TypeParser) *Bridge { return &Bridge{Cursor: c, types: types} }

// fragment collects what write emits.
func (b *Bridge) fragment(write func()) *Fragment {
	out, marks, sc, args := b.out, b.marks, b.sc, b.argDepth
	b.argDepth = 0
	b.out, b.marks, b.sc = make([]byte, 0, 256), make([]mark, 0, 32), scope{}
	write()
	f := &Fragment{Text: string(b.out), marks: b.marks}
	b.out, b.marks, b.sc, b.argDepth = out, marks, sc, args
	return f
}

// Query translates the query at the cursor and stops after it.
func (b *Bridge) Query() *Fragment { return b.fragment(b.query) }

// With translates the WITH clause at the cursor, as the one of an empty query.
func (b *Bridge) With() *Fragment {
	return b.fragment(func() {
		b.with()
		b.startSelect(b.I)
	})
}

// Expr translates the expression at the cursor, as a list of one.
func (b *Bridge) Expr() *Fragment {
	return b.fragment(func() {
		b.emit("SELECT ")
		b.expr()
	})
}

// ExprList translates the comma-separated expressions at the cursor.
func (b *Bridge) ExprList() *Fragment {
	return b.fragment(func() {
		b.emit("SELECT ")
		b.exprList()
	})
}

// Targets translates the select list at the cursor, as a SELECT with only that.
func (b *Bridge) Targets() *Fragment {
	return b.fragment(func() {
		b.startSelect(b.I)
		b.targets()
	})
}

// FromList translates the FROM list at the cursor, as a SELECT with only that.
func (b *Bridge) FromList() *Fragment {
	return b.fragment(func() {
		b.startSelect(b.I)
		b.fromList()
	})
}

// TableName translates a relation with its decorations, as a FROM list of one.
func (b *Bridge) TableName() *Fragment {
	return b.fragment(func() {
		b.startSelect(b.I)
		b.emit(" FROM ")
		b.relation(b.I, ItemFact{})
	})
}

// emit writes text that stands for the current token.
func (b *Bridge) emit(s string) {
	b.marks = append(b.marks, mark{int32(len(b.out)), int32(b.I)})
	b.out = append(b.out, s...)
}

// ref writes a reference to token i.
func (b *Bridge) ref(i int) {
	b.marks = append(b.marks, mark{int32(len(b.out)), int32(i)})
	b.out = append(b.out, '`')
	b.out = strconv.AppendInt(b.out, int64(i), 10)
	b.out = append(b.out, '`')
}

// fact writes a reference to fact i of the list that letter names.
func (b *Bridge) fact(letter byte, i int) {
	b.marks = append(b.marks, mark{int32(len(b.out)), int32(b.I)})
	b.out = append(b.out, '`', letter)
	b.out = strconv.AppendInt(b.out, int64(i), 10)
	b.out = append(b.out, '`')
}

// call opens a marker call whose first argument is token i.
func (b *Bridge) call(marker string, i int) {
	b.marks = append(b.marks, mark{int32(len(b.out)), int32(i)})
	b.out = append(b.out, '`')
	b.out = append(b.out, marker...)
	b.out = append(b.out, "`(`"...)
	b.out = strconv.AppendInt(b.out, int64(i), 10)
	b.out = append(b.out, '`')
}

// down enters a level of nesting and returns what up wants back.
func (b *Bridge) down() int {
	b.depth++
	if b.depth > maxDepth {
		Fail(TooDeep(b.Pos()))
	}
	h := b.height
	b.height = 0
	return h
}

// up leaves a level whose tree has links left-deep operators; the height of
// trees grows by them, whatever the nesting of the text.
func (b *Bridge) up(h, links int) {
	b.depth--
	b.height += links + 1
	if b.height > MaxHeight {
		Fail(TooDeep(b.Pos()))
	}
	b.height = max(h, b.height)
}

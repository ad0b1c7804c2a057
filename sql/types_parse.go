package sql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// systemTypes gives the system's names for the standard's one-word types.
var systemTypes = map[string]string{
	"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "real": "float4",
	"boolean": "bool", "decimal": "numeric", "dec": "numeric", "nchar": "bpchar", "char": "bpchar",
	"character": "bpchar", "float": "float8",
}

// ParseType is the bridge's way to typeName.
func (p *parser) ParseType() int { return p.keep(p.typeName()) }

// ParseLiteralType is the bridge's way to the type of a literal.
func (p *parser) ParseLiteralType() int { return p.keep(p.simpleType()) }

// ParseInterval reads an interval literal for the bridge.
func (p *parser) ParseInterval() (typ, str int) {
	t := &TypeName{Pos: p.Pos(), Name: p.label()}
	if p.IsPunct(0, "(") {
		t.Mods = p.typeMods()
	}
	str = p.I
	p.str()
	if t.Mods == nil {
		p.intervalFields(t)
		p.pluralField(t)
	}
	return p.keep(t), str
}

func (p *parser) keep(t *TypeName) int {
	p.types = append(p.types, t)
	return len(p.types) - 1
}

// typeName reads a type with SETOF and array bounds.
func (p *parser) typeName() *TypeName {
	pos := p.Pos()
	setOf := p.Accept("setof")
	t := p.simpleType()
	t.Pos, t.SetOf = pos, setOf
	if p.Accept("array") {
		t.Dims = []int{-1}
		if p.AcceptPunct("[") {
			t.Dims[0] = p.dim()
		}
		return t
	}
	for p.AcceptPunct("[") {
		t.Dims = append(t.Dims, p.dim())
	}
	return t
}

func (p *parser) dim() int {
	n := -1
	if p.Cur().Kind == dialect.Num {
		v, err := strconv.Atoi(p.Cur().Text)
		if err != nil {
			p.Syntax()
		}
		n = v
		p.I++
	}
	p.NeedPunct("]")
	return n
}

// simpleType reads a type without array bounds.
func (p *parser) simpleType() *TypeName {
	t := &TypeName{Pos: p.Pos()}
	tok := p.Cur()
	if !tok.IsName() || tok.Kind == dialect.Ident && dialect.Reserved(tok.Text) {
		p.Syntax()
	}
	qualified := p.IsPunct(1, ".") && p.Peek(2).IsName()
	if tok.Kind == dialect.Ident && !qualified && p.keywordType(t, tok.Text) {
		return t
	}
	t.Name = p.label()
	for p.IsPunct(0, ".") && p.Peek(1).IsName() {
		if t.Schema.Given() {
			dialect.Failf(sqlerr.SyntaxError, t.Pos, "improper qualified name (too many dotted names): %s",
				p.Src[t.Pos:p.Peek(1).End])
		}
		p.I++
		t.Schema, t.Name = t.Name, p.label()
	}
	if p.IsPunct(0, "(") {
		t.Mods = p.typeMods()
	}
	return t
}

// keywordType reads the types that have a grammar of their own.
func (p *parser) keywordType(t *TypeName, w string) bool {
	name := Name{Text: systemTypes[w], Pos: t.Pos}
	switch w {
	case "int", "integer", "smallint", "bigint", "real", "boolean":
		p.I++
		t.Name = name
	case "decimal", "dec":
		p.I++
		t.Name = name
		p.optionalMods(t)
	case "float":
		p.I++
		t.Name = name
		p.floatPrecision(t)
	case "double":
		if !p.IsWord(1, "precision") {
			return false
		}
		p.I += 2
		t.Name = Name{Text: "float8", Pos: t.Pos}
	case "character", "char", "nchar", "national", "bit":
		p.characterType(t, w)
	case "timestamp", "time":
		p.timeType(t, w)
	case "interval":
		t.Name = p.label()
		if p.IsPunct(0, "(") {
			t.Mods = p.typeMods()
		} else {
			p.intervalFields(t)
		}
	case "struct":
		if !p.IsOp(1, "<") {
			return false
		}
		p.structType(t)
	default:
		return false
	}
	return true
}

func (p *parser) optionalMods(t *TypeName) {
	if p.IsPunct(0, "(") {
		t.Mods = p.typeMods()
	}
}

func (p *parser) floatPrecision(t *TypeName) {
	if !p.IsPunct(0, "(") {
		return
	}
	pos := p.Peek(1).Pos
	if p.Peek(1).Kind != dialect.Num || !p.IsPunct(2, ")") {
		p.I++
		p.Syntax()
	}
	n, err := strconv.Atoi(p.Peek(1).Text)
	switch {
	case err != nil || n > 53:
		dialect.Failf(sqlerr.InvalidParameterValue, pos, "precision for type float must be less than 54 bits")
	case n < 1:
		dialect.Failf(sqlerr.InvalidParameterValue, pos, "precision for type float must be at least 1 bit")
	case n <= 24:
		t.Name.Text = "float4"
	}
	p.I += 3
}

// characterType reads [NATIONAL] CHARACTER|CHAR [VARYING] [(n)] and BIT [VARYING]
// [(n)]; without VARYING the length is 1 unless given.
func (p *parser) characterType(t *TypeName, w string) {
	p.I++
	if w == "national" && !p.Accept("character") && !p.Accept("char") {
		p.Syntax()
	}
	varying := p.Accept("varying")
	switch {
	case w == "bit" && varying:
		t.Name.Text = "varbit"
	case w == "bit":
		t.Name.Text = "bit"
	case varying:
		t.Name.Text = "varchar"
	default:
		t.Name.Text = "bpchar"
	}
	t.Name.Pos = t.Pos
	p.optionalMods(t)
	if t.Mods == nil && !varying {
		t.Mods = []Expr{&NumberLit{Pos: t.Pos, Text: "1"}}
	}
}

func (p *parser) timeType(t *TypeName, w string) {
	t.Name = p.label()
	p.optionalMods(t)
	if p.Accept("with", "time", "zone") {
		t.Name.Text = w + "tz"
		return
	}
	p.Accept("without", "time", "zone")
}

// typeMods reads (modifier, …).
func (p *parser) typeMods() []Expr {
	p.NeedPunct("(")
	var mods []Expr
	for {
		t := p.Cur()
		switch {
		case t.Kind == dialect.Num:
			mods = append(mods, &NumberLit{Pos: t.Pos, Text: t.Text})
		case t.Kind == dialect.Op && t.Text == "-" && p.Peek(1).Kind == dialect.Num:
			p.I++
			n := &NumberLit{Pos: p.Pos(), Text: p.Cur().Text}
			mods = append(mods, &Unary{Pos: t.Pos, Op: Operator{Name: "-"}, X: n})
		case t.Kind == dialect.Str:
			mods = append(mods, &StringLit{Pos: t.Pos, Value: t.Text})
		case t.Kind == dialect.Quoted || t.Kind == dialect.Ident && !dialect.Reserved(t.Text):
			mods = append(mods, &ColumnRef{Pos: t.Pos, Parts: []Name{p.nameAt(p.I)}})
		default:
			p.Syntax()
		}
		p.I++
		if !p.AcceptPunct(",") {
			break
		}
	}
	p.NeedPunct(")")
	return mods
}

// intervalEnds gives for each field those it may run to.
var intervalEnds = map[string]string{
	"year": "month", "month": "", "day": "hour minute second", "hour": "minute second", "minute": "second",
	"second": "",
}

// intervalFields reads YEAR, DAY TO SECOND(3) and the like.
func (p *parser) intervalFields(t *TypeName) {
	first := p.Cur()
	ends, ok := intervalEnds[first.Text]
	if first.Kind != dialect.Ident || !ok {
		return
	}
	p.I++
	t.Interval = first.Text
	last := first.Text
	if p.Is("to") {
		p.I++
		last = p.Cur().Text
		if p.Cur().Kind != dialect.Ident || !slices.Contains(strings.Fields(ends), last) {
			p.Syntax()
		}
		p.I++
		t.Interval += " to " + last
	}
	if last == "second" && p.IsPunct(0, "(") {
		if p.Peek(1).Kind != dialect.Num || !p.IsPunct(2, ")") {
			p.I++
			p.Syntax()
		}
		t.Mods = p.typeMods()
	}
}

// pluralField reads MINUTES for MINUTE and the like, among the arguments of a
// call only: elsewhere the word is an alias.
func (p *parser) pluralField(t *TypeName) {
	w := p.Cur()
	field, plural := strings.CutSuffix(w.Text, "s")
	if _, ok := intervalEnds[field]; !ok || !plural || w.Kind != dialect.Ident || t.Interval != "" ||
		!p.bridge.InArgs() {
		return
	}
	p.I++
	t.Interval = field
}

// structType reads STRUCT<name [:] type, …>.
func (p *parser) structType(t *TypeName) {
	t.Name = p.label()
	p.enter()
	defer p.leave()
	if !p.SplitOp('<') {
		p.Syntax()
	}
	for {
		f := ColumnType{Name: p.columnName()}
		p.AcceptPunct(":")
		f.Type = p.typeName()
		t.Struct = append(t.Struct, f)
		if !p.AcceptPunct(",") {
			break
		}
	}
	if !p.SplitOp('>') {
		p.Syntax()
	}
}

// maxStatements bounds how deep statements and struct types nest.
const maxStatements = 100

func (p *parser) enter() {
	if p.depth++; p.depth > maxStatements {
		dialect.Fail(dialect.TooDeep(p.Pos()))
	}
}

func (p *parser) leave() { p.depth-- }

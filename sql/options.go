package sql

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

// Text returns the option's value as text: a string's contents, a number as
// written, a bare word, true or false, an interval's text with its field.
// ok is false for an option without value and for a list.
func (o *Option) Text() (text string, ok bool) {
	switch v := o.Value.(type) {
	case *StringLit:
		return v.Value, true
	case *NumberLit:
		return v.Text, true
	case *BoolLit:
		if v.Value {
			return "true", true
		}
		return "false", true
	case *ColumnRef:
		return v.Parts[0].Text, true
	case *Unary:
		if n, ok := v.X.(*NumberLit); ok {
			return v.Op.Name + n.Text, true
		}
	case *TypedLit:
		if v.Type.Interval != "" {
			return v.Value + " " + v.Type.Interval, true
		}
		return v.Value, true
	}
	return "", false
}

// optionalWith reads WITH (options) if it is next.
func (p *parser) optionalWith() []Option {
	if !p.withAhead() {
		return nil
	}
	p.I++
	return p.options(true)
}

func (p *parser) withAhead() bool { return p.Is("with") && p.IsPunct(1, "(") }

// options reads (name [=] value, …); with equals the sign and a value must be
// there.
func (p *parser) options(equals bool) []Option {
	p.NeedPunct("(")
	out := []Option{}
	if p.AcceptPunct(")") {
		return out
	}
	seen := map[string]bool{}
	for {
		o := Option{Name: p.optionName()}
		if equals && seen[o.Name.Text] {
			dialect.Failf(sqlerr.SyntaxError, o.Name.Pos, "option %q is given more than once", o.Name.Text)
		}
		seen[o.Name.Text] = true
		sign := p.IsOp(0, "=")
		if sign {
			p.I++
		}
		switch {
		case sign || equals || !p.IsPunct(0, ",") && !p.IsPunct(0, ")"):
			if equals && !sign {
				p.Syntax()
			}
			o.Value = p.optionValue()
		}
		out = append(out, o)
		if !p.AcceptPunct(",") {
			break
		}
	}
	p.NeedPunct(")")
	return out
}

// optionName reads a word, a dotted name or a string.
func (p *parser) optionName() Name {
	if t := p.Cur(); t.Kind == dialect.Str {
		p.I++
		return Name{Text: t.Text, Pos: t.Pos}
	}
	n := p.label()
	for p.AcceptPunct(".") {
		n.Text += "." + p.label().Text
	}
	return n
}

func (p *parser) optionValue() Expr {
	t := p.Cur()
	switch t.Kind {
	case dialect.Str:
		p.I++
		return &StringLit{Pos: t.Pos, Value: t.Text}
	case dialect.Num:
		p.I++
		return &NumberLit{Pos: t.Pos, Text: t.Text}
	case dialect.Op:
		if (t.Text == "-" || t.Text == "+") && p.Peek(1).Kind == dialect.Num {
			p.I++
			n := p.Next()
			return &Unary{Pos: t.Pos, Op: Operator{Name: t.Text}, X: &NumberLit{Pos: n.Pos, Text: n.Text}}
		}
		if t.Text == "*" {
			p.I++
			return &Star{Pos: t.Pos}
		}
	case dialect.Punct:
		if t.Text == "(" {
			return p.optionList(t.Pos)
		}
	case dialect.Ident:
		if t.Text == "interval" && p.Peek(1).Kind == dialect.Str {
			typ, str := p.ParseInterval()
			return &TypedLit{Pos: t.Pos, Type: p.types[typ], Value: p.Toks[str].Text}
		}
		p.I++
		switch t.Text {
		case "true", "false":
			return &BoolLit{Pos: t.Pos, Value: t.Text == "true"}
		}
		return &ColumnRef{Pos: t.Pos, Parts: []Name{{t.Text, t.Pos}}}
	case dialect.Quoted:
		p.I++
		return &ColumnRef{Pos: t.Pos, Parts: []Name{{t.Text, t.Pos}}}
	}
	p.Syntax()
	return nil
}

func (p *parser) optionList(pos int) Expr {
	p.enter()
	defer p.leave()
	r := &Row{Pos: pos}
	p.NeedPunct("(")
	for {
		r.Fields = append(r.Fields, p.optionValue())
		if !p.AcceptPunct(",") {
			break
		}
	}
	p.NeedPunct(")")
	return r
}

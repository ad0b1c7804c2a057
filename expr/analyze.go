package expr

import (
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Walk calls f for e and, where f returns true, for its operands.
func Walk(e Expr, f func(Expr) bool) {
	if !f(e) {
		return
	}
	for _, c := range e.Children() {
		Walk(c, f)
	}
}

// Transform rebuilds e from the leaves up: f sees each node with its operands
// replaced already and returns what stands in its place, of the same type.
func Transform(e Expr, f func(Expr) Expr) Expr {
	kids := e.Children()
	var changed []Expr
	for i, k := range kids {
		if n := Transform(k, f); n != k {
			if changed == nil {
				changed = slices.Clone(kids)
			}
			changed[i] = n
		}
	}
	if changed != nil {
		e = e.WithChildren(changed)
	}
	return f(e)
}

// Columns returns the input columns that e reads, ascending, each once.
func Columns(e Expr) []int {
	var cols []int
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*column); ok {
			cols = append(cols, c.index)
		}
		return true
	})
	slices.Sort(cols)
	return slices.Compact(cols)
}

// Remap returns e with column i replaced by column f(i).
func Remap(e Expr, f func(int) int) Expr {
	return Transform(e, func(x Expr) Expr {
		c, ok := x.(*column)
		if !ok {
			return x
		}
		if to := f(c.index); to != c.index {
			return &column{to, c.name, c.typ}
		}
		return x
	})
}

// Substitute returns e with column i replaced by f(i), of the same type.
func Substitute(e Expr, f func(i int) Expr) Expr {
	return Transform(e, func(x Expr) Expr {
		if c, ok := x.(*column); ok {
			return f(c.index)
		}
		return x
	})
}

// AsColumn tells whether e is a bare input column, and which.
func AsColumn(e Expr) (index int, name string, ok bool) {
	c, ok := e.(*column)
	if !ok {
		return 0, "", false
	}
	return c.index, c.name, true
}

// AsConst returns the one row of a constant, which must not be changed or
// released.
func AsConst(e Expr) (*arrowbatch.Vec, bool) {
	c, ok := e.(*constant)
	if !ok {
		return nil, false
	}
	return c.v, true
}

// AsOuter tells whether e is a column of an enclosing query, and which.
func AsOuter(e Expr) (level, index int, ok bool) {
	o, ok := e.(*outer)
	if !ok {
		return 0, 0, false
	}
	return o.level, o.index, true
}

// AsParam tells whether e is a parameter, and which, from 0.
func AsParam(e Expr) (index int, ok bool) {
	p, ok := e.(*param)
	if !ok {
		return 0, false
	}
	return p.index, true
}

// AsCall returns the name and arguments of a function or operator call; an
// operator's name is its symbol.
func AsCall(e Expr) (name string, args []Expr, ok bool) {
	c, ok := e.(*call)
	if !ok {
		return "", nil, false
	}
	return c.fn.Name, c.args, true
}

// AsCast returns the operand of a cast.
func AsCast(e Expr) (x Expr, ok bool) {
	c, ok := e.(*cast)
	if !ok {
		return nil, false
	}
	return c.x, true
}

// AsNot returns the operand of a negation.
func AsNot(e Expr) (x Expr, ok bool) {
	n, ok := e.(*not)
	if !ok {
		return nil, false
	}
	return n.x, true
}

// AndTerms returns the terms of a conjunction; of anything else, itself.
func AndTerms(e Expr) []Expr {
	if l, ok := e.(*logic); ok && !l.or {
		return l.args
	}
	return []Expr{e}
}

// OrTerms returns the terms of a disjunction; of anything else, itself.
func OrTerms(e Expr) []Expr {
	if l, ok := e.(*logic); ok && l.or {
		return l.args
	}
	return []Expr{e}
}

// IsConst tells whether e has one value for a whole evaluation: it reads no
// column and is not volatile. Parameters, now() and outer columns count.
func IsConst(e Expr) bool {
	constant := true
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *column:
			constant = false
		case *call:
			constant = constant && x.fn.Volatility != Volatile
		case node:
		default: // not one of ours: nothing is known
			constant = false
		}
		return constant
	})
	return constant && !readsCaseTest(e)
}

// VolatilityOf returns the volatility of e, that of its most volatile part.
// Parameters and outer columns are Stable.
func VolatilityOf(e Expr) Volatility {
	v := Immutable
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *param, *outer:
			v = max(v, Stable)
		case *call:
			v = max(v, x.fn.Volatility)
		case *cast:
			v = max(v, x.conv.vol)
		}
		return v < Volatile
	})
	return v
}

// EvalConst computes an expression that IsConst; the caller gets the only
// reference to the one row.
func EvalConst(ctx *Ctx, e Expr) (*arrowbatch.Vec, error) {
	var v *arrowbatch.Vec
	if err := ctx.alone(func() { v = e.Eval(ctx, ctx.oneRow(), nil) }); err != nil {
		v.Release()
		return nil, err
	}
	return v, nil
}

// Fold computes the constant parts of e that are Immutable or, where ctx is not
// nil, Stable. A part that fails stays as it is and fails when it is evaluated.
func Fold(ctx *Ctx, e Expr) Expr {
	limit := Stable
	if ctx == nil {
		ctx, limit = &Ctx{}, Immutable
	}
	return fold(ctx, e, limit)
}

func fold(ctx *Ctx, e Expr, limit Volatility) Expr {
	if _, ok := e.(*constant); ok {
		return e
	}
	if IsConst(e) && VolatilityOf(e) <= limit {
		if v, err := EvalConst(ctx, e); err == nil {
			return &constant{typ: e.Type(), v: v}
		}
	}
	kids := e.Children()
	var changed []Expr
	for i, k := range kids {
		if n := fold(ctx, k, limit); n != k {
			if changed == nil {
				changed = slices.Clone(kids)
			}
			changed[i] = n
		}
	}
	if changed != nil {
		e = e.WithChildren(changed)
	}
	return simplify(e)
}

// readsCaseTest tells whether e reads the operand of a CASE or NULLIF around it.
func readsCaseTest(e Expr) bool {
	switch e := e.(type) {
	case *caseTest:
		return true
	case *caseExpr:
		if e.operand != nil {
			return readsCaseTest(e.operand) // inside it is its own
		}
	case *nullIf:
		return readsCaseTest(e.l)
	}
	return slices.ContainsFunc(e.Children(), readsCaseTest)
}

// simplify drops the operands of AND and OR that are constant and cannot matter,
// and branches of CASE that cannot be reached.
func simplify(e Expr) Expr {
	if c, ok := e.(*call); ok && c.fn.Strict {
		return nullCall(c)
	}
	l, ok := e.(*logic)
	if !ok {
		return e
	}
	var kept []Expr
	for i, a := range l.args {
		v, isConst := AsConst(a)
		switch {
		case !isConst || v.IsNull(0):
			kept = append(kept, a)
		case v.Bits.Get(0) == l.or:
			// What comes before may fail and so must stay.
			if i == 0 {
				return a
			}
			return &logic{l.or, append(kept, a)}
		}
	}
	switch len(kept) {
	case 0:
		return ConstBool(!l.or)
	case 1:
		return kept[0]
	case len(l.args):
		return e
	}
	return &logic{l.or, kept}
}

// nullCall is NULL for a strict call with an argument that is NULL, whatever the
// others are, unless one is a constant that fails: that error is kept.
func nullCall(c *call) Expr {
	null := false
	for _, a := range c.args {
		if v, ok := AsConst(a); ok {
			null = null || v.IsNull(0)
		} else if IsConst(a) && VolatilityOf(a) == Immutable {
			return c
		}
	}
	if null {
		return ConstNull(c.typ)
	}
	return c
}

// Equal tells whether two expressions are the same tree over the same columns.
// Volatile calls are equal to none.
func Equal(a, b Expr) bool {
	if !a.Type().Equal(b.Type()) || !sameNode(a, b) {
		return false
	}
	ka, kb := a.Children(), b.Children()
	if len(ka) != len(kb) {
		return false
	}
	for i := range ka {
		if !Equal(ka[i], kb[i]) {
			return false
		}
	}
	return true
}

// sameNode compares two nodes without their operands.
func sameNode(a, b Expr) bool {
	switch a := a.(type) {
	case *column:
		b, ok := b.(*column)
		return ok && a.index == b.index
	case *constant:
		b, ok := b.(*constant)
		return ok && sameConst(a, b)
	case *param:
		b, ok := b.(*param)
		return ok && a.index == b.index
	case *outer:
		b, ok := b.(*outer)
		return ok && a.level == b.level && a.index == b.index
	case *call:
		b, ok := b.(*call)
		return ok && a.fn == b.fn && a.fn.Volatility != Volatile
	case *cast:
		b, ok := b.(*cast)
		return ok && (a.ctx == Explicit) == (b.ctx == Explicit)
	case shaped:
		b, ok := b.(shaped)
		return ok && a.shape() == b.shape()
	}
	return a == b
}

// shaped nodes differ, but for operands, in a word only.
type shaped interface{ shape() string }

func sameConst(a, b *constant) bool {
	an, bn := a.v.IsNull(0), b.v.IsNull(0)
	if an || bn {
		return an && bn
	}
	var x, y [64]byte
	return string(a.text(x[:0])) == string(b.text(y[:0]))
}

package expr

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// logic is AND or OR of two or more conditions. Later operands are evaluated
// only for the rows that the earlier ones leave open.
type logic struct {
	or   bool
	args []Expr
}

func (l *logic) Type() types.Type { return types.TBool }
func (l *logic) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(l, ctx, in, sel)
}
func (l *logic) Children() []Expr              { return l.args }
func (l *logic) WithChildren(args []Expr) Expr { return &logic{l.or, args} }
func (l *logic) String() string {
	sep := " AND "
	if l.or {
		sep = " OR "
	}
	var b strings.Builder
	for i, a := range l.args {
		if i > 0 {
			b.WriteString(sep)
		}
		writeOperand(&b, a)
	}
	return b.String()
}

func (l *logic) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	first := evalArg(l.args[0], ctx, in, sel)
	if first.one {
		// A constant decides for all rows or leaves them to the rest.
		if !first.v.IsNull(0) && first.v.Bits.Get(0) == l.or {
			return first
		}
		if l.allConst(first, ctx) {
			return l.foldConst(first, ctx, in, sel)
		}
		first = arg{v: spreadArg(first, in.Len)}
	}
	out := first.v
	if out.Shared() { // a column of the input
		out = copyVec(out)
		first.v.Release()
	}
	open := ctx.getSel()
	for _, e := range l.args[1:] {
		if sel == nil && len(ctx.failed) == 0 && isCheap(e) {
			a := arg{v: spreadArg(evalArg(e, ctx, in, nil), in.Len)}
			l.combineDense(out, a.v)
			a.v.Release()
			continue
		}
		open = l.undecided(ctx, out, sel, open[:0])
		if len(open) == 0 {
			break
		}
		rows := open
		if len(open) == in.Len {
			rows = nil
		}
		a := evalArg(e, ctx, in, rows)
		if a.one {
			l.combine(out, a, open)
		} else {
			// Rows that are decided keep their value whatever stands opposite.
			l.combineDense(out, a.v)
		}
		a.v.Release()
	}
	ctx.putSel(open)
	return arg{v: out}
}

func (l *logic) allConst(first arg, ctx *Ctx) bool {
	for _, e := range l.args[1:] {
		if !IsConst(e) {
			return false
		}
	}
	return first.one
}

// isCheap tells whether e is a comparison that costs less to compute for every
// row than to leave out for some, and cannot fail.
func isCheap(e Expr) bool {
	switch e := e.(type) {
	case *call:
		_, isCmp := cmpOf[e.fn.Name]
		return isCmp && e.fn.Operator && e.fn.kernel != nil && plainOperand(e.args[0]) && plainOperand(e.args[1])
	case *isNull:
		return plainOperand(e.x)
	case *column:
		return true
	}
	return false
}

// foldConst evaluates operands that are all constant over one row.
func (l *logic) foldConst(first arg, ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	out := copyVec(first.v)
	first.v.Release()
	for _, e := range l.args[1:] {
		if !out.IsNull(0) && out.Bits.Get(0) == l.or {
			break
		}
		a := evalArg(e, ctx, in, sel)
		l.combine(out, a, []int32{0})
		a.v.Release()
	}
	return arg{out, true}
}

// undecided appends the rows of sel that can still change: not false for AND,
// not true for OR, and not failed.
func (l *logic) undecided(ctx *Ctx, v *arrowbatch.Vec, sel, dst []int32) []int32 {
	flip := uint64(0)
	if l.or {
		flip = ^uint64(0)
	}
	if sel == nil && len(ctx.failed) == 0 {
		for w, bits := range v.Bits[:arrowbatch.BitmapWords(v.N)] {
			bits ^= flip
			if v.Valid != nil {
				bits |= ^v.Valid[w]
			}
			dst = appendBits(dst, bits, w<<6, v.N)
		}
		return dst
	}
	rows, owned := ctx.live(v.N, sel)
	if rows == nil && !owned {
		return l.undecided(&Ctx{}, v, nil, dst)
	}
	for _, i := range rows {
		if v.Bits.Get(int(i)) != l.or || v.IsNull(int(i)) {
			dst = append(dst, i)
		}
	}
	if owned {
		ctx.putSel(rows)
	}
	return dst
}

// combineDense is three-valued AND or OR over whole words: a result is known if
// both sides are, or one side decides.
func (l *logic) combineDense(out, v *arrowbatch.Vec) {
	flip := uint64(0)
	if l.or {
		flip = ^uint64(0)
	}
	if v.Valid != nil && out.Valid == nil {
		out.Valid = arrowbatch.NewBitmap(out.N)
		out.Valid.Fill(out.N, true)
	}
	for w := range out.Bits[:arrowbatch.BitmapWords(out.N)] {
		a, b := out.Bits[w]^flip, v.Bits[w]^flip
		va, vb := ^uint64(0), ^uint64(0)
		if out.Valid != nil {
			va = out.Valid[w]
		}
		if v.Valid != nil {
			vb = v.Valid[w]
		}
		if out.Valid != nil {
			out.Valid[w] = va&vb | va&^a | vb&^b
		}
		// The slot of an unknown operand holds anything: it must not decide.
		out.Bits[w] = (a|^va)&(b|^vb) ^ flip
	}
}

func (l *logic) combine(out *arrowbatch.Vec, a arg, rows []int32) {
	for _, r := range rows {
		i := int(r)
		switch {
		case a.isNull(i):
			out.SetNull(i)
		case a.v.Bits.Get(a.at(i)) == l.or:
			out.Bits.Put(i, l.or)
			if out.Valid != nil {
				out.Valid.Set(i)
			}
		default: // the neutral value: what was known stays
		}
	}
}

// appendBits appends the positions of set bits below n, offset by base.
func appendBits(dst []int32, w uint64, base, n int) []int32 {
	if n-base < 64 {
		w &= 1<<uint(n-base) - 1
	}
	one := arrowbatch.Bitmap{w}
	start := len(dst)
	dst = one.AppendIndexes(dst, 64)
	for i := start; i < len(dst); i++ {
		dst[i] += int32(base)
	}
	return dst
}

func copyVec(v *arrowbatch.Vec) *arrowbatch.Vec {
	out := arrowbatch.NewVec(v.Shape(), 0)
	out.AppendVec(v)
	return out
}

// spreadArg returns a as a column of n rows and takes over its reference.
func spreadArg(a arg, n int) *arrowbatch.Vec {
	if !a.one {
		return a.v
	}
	v := repeat(a.v, n)
	a.v.Release()
	return v
}

// not is NOT x.
type not struct{ x Expr }

func (n *not) Type() types.Type { return types.TBool }
func (n *not) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(n, ctx, in, sel)
}
func (n *not) Children() []Expr           { return []Expr{n.x} }
func (n *not) WithChildren(c []Expr) Expr { return &not{c[0]} }
func (n *not) String() string {
	var b strings.Builder
	b.WriteString("NOT ")
	writeOperand(&b, n.x)
	return b.String()
}

func (n *not) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	a := evalArg(n.x, ctx, in, sel)
	out := arrowbatch.NewFlat(arrowbatch.Bool, a.v.N)
	for i, w := range a.v.Bits[:arrowbatch.BitmapWords(a.v.N)] {
		out.Bits[i] = ^w
	}
	if a.v.Valid != nil {
		out.Valid = append(arrowbatch.Bitmap(nil), a.v.Valid...)
	}
	a.v.Release()
	return arg{out, a.one}
}

// isNull is x IS [NOT] NULL.
type isNull struct {
	x       Expr
	negated bool
}

func (n *isNull) Type() types.Type { return types.TBool }
func (n *isNull) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(n, ctx, in, sel)
}
func (n *isNull) Children() []Expr           { return []Expr{n.x} }
func (n *isNull) WithChildren(c []Expr) Expr { return &isNull{c[0], n.negated} }
func (n *isNull) String() string {
	var b strings.Builder
	writeOperand(&b, n.x)
	if n.negated {
		b.WriteString(" IS NOT NULL")
	} else {
		b.WriteString(" IS NULL")
	}
	return b.String()
}

func (n *isNull) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	a := evalArg(n.x, ctx, in, sel)
	defer a.v.Release()
	out := arrowbatch.NewFlat(arrowbatch.Bool, a.v.N)
	if a.v.Layout == arrowbatch.Struct {
		for i := range a.v.N {
			out.Bits.Put(i, rowIsNull(a.v, i, n.negated))
		}
		return arg{out, a.one}
	}
	for w := range out.Bits[:arrowbatch.BitmapWords(out.N)] {
		valid := ^uint64(0)
		if a.v.Valid != nil {
			valid = a.v.Valid[w]
		}
		if !n.negated {
			valid = ^valid
		}
		out.Bits[w] = valid
	}
	return arg{out, a.one}
}

// rowIsNull tells whether every field of a row is NULL or, if negated, none.
func rowIsNull(v *arrowbatch.Vec, i int, negated bool) bool {
	if v.IsNull(i) {
		return !negated
	}
	for _, k := range v.Kids {
		if k.IsNull(i) == negated {
			return false
		}
	}
	return true
}

type boolTest uint8

const (
	testTrue boolTest = iota
	testFalse
	testUnknown
)

var testNames = [...]string{"TRUE", "FALSE", "UNKNOWN"}

// isTest is x IS [NOT] TRUE, FALSE or UNKNOWN.
type isTest struct {
	x       Expr
	test    boolTest
	negated bool
}

func (t *isTest) Type() types.Type { return types.TBool }
func (t *isTest) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(t, ctx, in, sel)
}
func (t *isTest) Children() []Expr           { return []Expr{t.x} }
func (t *isTest) WithChildren(c []Expr) Expr { return &isTest{c[0], t.test, t.negated} }
func (t *isTest) String() string {
	var b strings.Builder
	writeOperand(&b, t.x)
	b.WriteString(" IS ")
	if t.negated {
		b.WriteString("NOT ")
	}
	b.WriteString(testNames[t.test])
	return b.String()
}

func (t *isTest) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	a := evalArg(t.x, ctx, in, sel)
	defer a.v.Release()
	out := arrowbatch.NewFlat(arrowbatch.Bool, a.v.N)
	for w := range out.Bits[:arrowbatch.BitmapWords(out.N)] {
		valid := ^uint64(0)
		if a.v.Valid != nil {
			valid = a.v.Valid[w]
		}
		var r uint64
		switch t.test {
		case testTrue:
			r = a.v.Bits[w] & valid
		case testFalse:
			r = ^a.v.Bits[w] & valid
		default:
			r = ^valid
		}
		if t.negated {
			r = ^r
		}
		out.Bits[w] = r
	}
	return arg{out, a.one}
}

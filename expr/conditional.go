package expr

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// allRows fills dst with sel, or all n rows where sel is nil.
func allRows(dst []int32, n int, sel []int32) []int32 {
	if sel != nil {
		return append(dst, sel...)
	}
	for i := range int32(n) {
		dst = append(dst, i)
	}
	return dst
}

// caseExpr is CASE. With an operand the conditions compare caseTest with values.
type caseExpr struct {
	operand        Expr
	conds, results []Expr
	els            Expr
	typ            types.Type
}

func (c *caseExpr) Type() types.Type { return c.typ }
func (c *caseExpr) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}

func (c *caseExpr) Children() []Expr {
	var k []Expr
	if c.operand != nil {
		k = append(k, c.operand)
	}
	for i := range c.conds {
		k = append(k, c.conds[i], c.results[i])
	}
	return append(k, c.els)
}

func (c *caseExpr) WithChildren(k []Expr) Expr {
	d := &caseExpr{typ: c.typ, els: k[len(k)-1]}
	if c.operand != nil {
		d.operand, k = k[0], k[1:]
	}
	for i := range c.conds {
		d.conds = append(d.conds, k[2*i])
		d.results = append(d.results, k[2*i+1])
	}
	return d
}

func (c *caseExpr) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	if c.operand != nil {
		b.WriteString(" " + c.operand.String())
	}
	for i, cond := range c.conds {
		s := cond.String()
		if eq, ok := cond.(*call); ok && c.operand != nil && len(eq.args) == 2 {
			s = eq.args[1].String()
		}
		b.WriteString(" WHEN " + s + " THEN " + c.results[i].String())
	}
	b.WriteString(" ELSE " + c.els.String() + " END")
	return b.String()
}

func (c *caseExpr) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	if c.operand != nil {
		a := evalArg(c.operand, ctx, in, sel)
		ctx.caseVals = append(ctx.caseVals, a)
		defer func() {
			ctx.caseVals = ctx.caseVals[:len(ctx.caseVals)-1]
			a.v.Release()
		}()
	}
	m := newMerger(ctx, c.typ, in.Len)
	rest := allRows(ctx.getSel(), in.Len, sel)
	hit, miss := ctx.getSel(), ctx.getSel()
	for k, cond := range c.conds {
		if len(rest) == 0 {
			break
		}
		v := evalArg(cond, ctx, in, rest)
		hit, miss = hit[:0], miss[:0]
		for _, r := range rest {
			if j := v.at(int(r)); v.v.Bits.Get(j) && !v.v.IsNull(j) {
				hit = append(hit, r)
			} else {
				miss = append(miss, r)
			}
		}
		v.v.Release()
		if len(hit) > 0 {
			m.add(evalArg(c.results[k], ctx, in, hit), hit)
		}
		rest, miss = miss, rest
		if len(ctx.failed) > 0 {
			rest = dropFailed(ctx, rest)
		}
	}
	if len(rest) > 0 {
		m.add(evalArg(c.els, ctx, in, rest), rest)
	}
	ctx.putSel(rest)
	ctx.putSel(hit)
	ctx.putSel(miss)
	return arg{v: m.done()}
}

func dropFailed(ctx *Ctx, rows []int32) []int32 {
	kept := rows[:0]
	for _, r := range rows {
		if _, bad := ctx.failed[r]; !bad {
			kept = append(kept, r)
		}
	}
	return kept
}

// coalesce is the first argument that is not NULL.
type coalesce struct {
	args []Expr
	typ  types.Type
}

func (c *coalesce) Type() types.Type { return c.typ }
func (c *coalesce) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}
func (c *coalesce) Children() []Expr              { return c.args }
func (c *coalesce) WithChildren(args []Expr) Expr { return &coalesce{args, c.typ} }
func (c *coalesce) String() string                { return "COALESCE(" + joinExprs(c.args) + ")" }

func joinExprs(args []Expr) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = a.String()
	}
	return strings.Join(s, ", ")
}

func (c *coalesce) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	first := evalArg(c.args[0], ctx, in, sel)
	if first.v.Valid == nil || len(c.args) == 1 {
		return first
	}
	m := newMerger(ctx, c.typ, in.Len)
	rest := allRows(ctx.getSel(), in.Len, sel)
	hit := ctx.getSel()
	for k, e := range c.args {
		a := first
		if k > 0 {
			if len(rest) == 0 {
				break
			}
			a = evalArg(e, ctx, in, rest)
		}
		hit = hit[:0]
		kept := rest[:0]
		for _, r := range rest {
			if a.isNull(int(r)) {
				kept = append(kept, r)
			} else {
				hit = append(hit, r)
			}
		}
		rest = kept
		if k == len(c.args)-1 { // what is left is NULL
			hit = append(hit, rest...)
			slices.Sort(hit)
			rest = rest[:0]
		}
		m.add(a, hit)
		if len(ctx.failed) > 0 {
			rest = dropFailed(ctx, rest)
		}
	}
	ctx.putSel(rest)
	ctx.putSel(hit)
	return arg{v: m.done()}
}

// nullIf is NULL where eq holds, else l; eq compares caseTest, which stands for
// l, so that l is evaluated once.
type nullIf struct {
	l, eq Expr
	typ   types.Type
}

func (n *nullIf) Type() types.Type { return n.typ }
func (n *nullIf) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(n, ctx, in, sel)
}
func (n *nullIf) Children() []Expr           { return []Expr{n.l, n.eq} }
func (n *nullIf) WithChildren(c []Expr) Expr { return &nullIf{c[0], c[1], n.typ} }
func (n *nullIf) String() string {
	return "NULLIF(" + n.l.String() + ", " + n.eq.(*call).args[1].String() + ")"
}

func (n *nullIf) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	l := evalArg(n.l, ctx, in, sel)
	ctx.caseVals = append(ctx.caseVals, l)
	eq := evalArg(n.eq, ctx, in, sel)
	ctx.caseVals = ctx.caseVals[:len(ctx.caseVals)-1]
	defer eq.v.Release()
	if eq.one {
		if in.Len > 0 && eq.v.Bits.Get(0) && !eq.v.IsNull(0) {
			l.v.Release()
			return nullArg(n.typ)
		}
		return l
	}
	var out *arrowbatch.Vec
	if l.one {
		out = repeat(l.v, in.Len)
	} else {
		out = copyVec(l.v)
	}
	l.v.Release()
	for w, bits := range eq.v.Bits[:arrowbatch.BitmapWords(eq.v.N)] {
		if eq.v.Valid != nil {
			bits &= eq.v.Valid[w]
		}
		if bits == 0 {
			continue
		}
		for i := w << 6; i < min(w<<6+64, out.N); i++ {
			if bits>>(uint(i)&63)&1 != 0 {
				out.SetNull(i)
			}
		}
	}
	return arg{v: out}
}

// extreme is GREATEST or LEAST.
type extreme struct {
	args  []Expr
	typ   types.Type
	least bool
}

func (e *extreme) Type() types.Type { return e.typ }
func (e *extreme) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(e, ctx, in, sel)
}
func (e *extreme) Children() []Expr              { return e.args }
func (e *extreme) WithChildren(args []Expr) Expr { return &extreme{args, e.typ, e.least} }
func (e *extreme) String() string {
	if e.least {
		return "LEAST(" + joinExprs(e.args) + ")"
	}
	return "GREATEST(" + joinExprs(e.args) + ")"
}

func (e *extreme) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	args, n, one := evalAll(e.args, ctx, in, sel)
	defer releaseArgs(args)
	if one {
		sel = nil
	}
	pick := make([][]int32, len(args))
	cmp := comparator(e.typ)
	rows := allRows(ctx.getSel(), n, sel)
	for _, r := range rows {
		i := int(r)
		best := -1
		for k := range args {
			a := &args[k]
			if a.isNull(i) {
				continue
			}
			if best < 0 {
				best = k
				continue
			}
			b := &args[best]
			if c := cmp(a.v, a.at(i), b.v, b.at(i)); c > 0 && !e.least || c < 0 && e.least {
				best = k
			}
		}
		best = max(best, 0) // all are NULL, and so is the first
		pick[best] = append(pick[best], r)
	}
	ctx.putSel(rows)
	m := newMerger(ctx, e.typ, n)
	for k, a := range args {
		a.v.Retain()
		m.add(a, pick[k])
	}
	return arg{m.done(), one}
}

package expr

import (
	"cmp"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Filter appends to dst the rows of sel (nil: all of in) for which pred is true.
// Rows for which it is NULL are left out, and so are those that fail: they are in
// ctx. dst may share memory with sel only where both begin at the same place.
func Filter(ctx *Ctx, pred Expr, in *arrowbatch.Batch, sel, dst []int32) []int32 {
	switch p := pred.(type) {
	case *logic:
		if !p.or {
			return filterAnd(ctx, p.args, in, sel, dst)
		}
	case *call:
		if out, ok := filterCompare(ctx, p, in, sel, dst); ok {
			return out
		}
	}
	return filterVec(ctx, pred, in, sel, dst)
}

// filterAnd narrows the selection term by term.
func filterAnd(ctx *Ctx, terms []Expr, in *arrowbatch.Batch, sel, dst []int32) []int32 {
	a, b := ctx.getSel(), ctx.getSel()
	cur := sel
	for k, t := range terms {
		if k == len(terms)-1 {
			dst = Filter(ctx, t, in, cur, dst)
			break
		}
		a = Filter(ctx, t, in, cur, a[:0])
		if len(a) == 0 {
			// An empty selection is not nil, which would mean all.
			break
		}
		cur = a
		a, b = b, a
	}
	ctx.putSel(a)
	ctx.putSel(b)
	return dst
}

// filterVec evaluates pred to a column and picks the rows.
func filterVec(ctx *Ctx, pred Expr, in *arrowbatch.Batch, sel, dst []int32) []int32 {
	if in.Len == 0 || sel != nil && len(sel) == 0 {
		return dst
	}
	a := evalArg(pred, ctx, in, sel)
	defer a.v.Release()
	if a.one {
		if a.v.IsNull(0) || !a.v.Bits.Get(0) {
			return dst
		}
		rows, owned := ctx.live(in.Len, sel)
		dst = allRows(dst, in.Len, rows)
		if owned {
			ctx.putSel(rows)
		}
		return dst
	}
	start := len(dst)
	if sel == nil {
		if a.v.Valid == nil {
			dst = a.v.Bits.AppendIndexes(dst, in.Len)
		} else {
			for w, bits := range a.v.Bits[:arrowbatch.BitmapWords(in.Len)] {
				dst = appendBits(dst, bits&a.v.Valid[w], w<<6, in.Len)
			}
		}
	} else {
		for _, i := range sel {
			if a.v.Bits.Get(int(i)) && !a.v.IsNull(int(i)) {
				dst = append(dst, i)
			}
		}
	}
	if len(ctx.failed) > 0 {
		dst = dst[:start+len(dropFailed(ctx, dst[start:]))]
	}
	return dst
}

// filterCompare is the fast path of comparisons between columns and constants of
// plain layouts over a selection; without one the bitmap kernel is as fast.
func filterCompare(ctx *Ctx, c *call, in *arrowbatch.Batch, sel, dst []int32) ([]int32, bool) {
	if sel == nil || len(sel) == in.Len || len(c.args) != 2 || !c.fn.Operator || len(ctx.failed) > 0 {
		return dst, false
	}
	op, ok := cmpOf[c.fn.Name]
	if !ok || !plainOperand(c.args[0]) || !plainOperand(c.args[1]) {
		return dst, false
	}
	l, r := evalArg(c.args[0], ctx, in, sel), evalArg(c.args[1], ctx, in, sel)
	defer l.v.Release()
	defer r.v.Release()
	switch {
	case l.v.Layout != r.v.Layout, l.one:
		return dst, false
	case r.one && r.v.IsNull(0):
		return dst, true
	}
	switch l.v.Layout {
	case arrowbatch.Int32:
		return selCompare(op, l, r, l.v.I32, r.v.I32, sel, dst), true
	case arrowbatch.Int64:
		return selCompare(op, l, r, l.v.I64, r.v.I64, sel, dst), true
	}
	return dst, false
}

var cmpOf = map[string]cmpOp{"=": opEQ, "<>": opNE, "<": opLT, "<=": opLE, ">": opGT, ">=": opGE}

// plainOperand tells whether e costs nothing to evaluate.
func plainOperand(e Expr) bool {
	switch e.(type) {
	case *column, *constant, *param, *outer:
		return true
	}
	return false
}

// selCompare appends the rows of sel for which the comparison holds, without a
// branch on the outcome.
func selCompare[T integer](op cmpOp, l, r arg, x, y []T, sel, dst []int32) []int32 {
	base, negate := op.split()
	flip := bit(negate)
	n := len(dst)
	dst = append(dst, sel...)
	nullable := l.v.Valid != nil || r.v.Valid != nil && !r.one
	var c T
	if r.one {
		c = y[0]
	}
	for _, i := range sel {
		b := c
		if !r.one {
			b = y[i]
		}
		var hit uint64
		switch base {
		case opEQ:
			hit = bit(x[i] == b)
		case opLT:
			hit = bit(cmp.Less(x[i], b))
		default:
			hit = bit(cmp.Less(b, x[i]))
		}
		hit ^= flip
		if nullable && (l.v.IsNull(int(i)) || !r.one && r.v.IsNull(int(i))) {
			hit = 0
		}
		dst[n] = i
		n += int(hit)
	}
	return dst[:n]
}

package expr

import (
	"math"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// addArithmetic adds + - * / % and the prefix operators of numbers.
func addArithmetic(t *table) {
	intOps(t, "int2", vecI16, errInt2Range)
	intOps(t, "int4", vecI32, errInt4Range)
	intOps(t, "int8", vecI64, errInt8Range)
	floatOps(t, "float4", vecF32)
	floatOps(t, "float8", vecF64)
	decimalOps(t)
}

func intOps[T integer](t *table, name string, vals func(*arrowbatch.Vec) []T, err *sqlerr.Error) {
	sig := name + "," + name + ":" + name
	t.op("+", sig, nil, kernel(intArith(opAdd, vals, err)))
	t.op("-", sig, nil, kernel(intArith(opSub, vals, err)))
	t.op("*", sig, nil, kernel(intArith(opMul, vals, err)))
	t.op("/", sig, nil, kernel(intDivKernel(false, vals, err)))
	t.op("%", sig, nil, kernel(intDivKernel(true, vals, err)))
	t.fn("mod", sig, "remainder", nil, kernel(intDivKernel(true, vals, err)))
	bitOp := func(sym string, fn func(a, b T) T) {
		t.op(sym, sig, func(f *frame, i int) error {
			vals(f.out)[i] = fn(vals(f.args[0].v)[f.args[0].at(i)], vals(f.args[1].v)[f.args[1].at(i)])
			return nil
		})
	}
	bitOp("&", func(a, b T) T { return a & b })
	bitOp("|", func(a, b T) T { return a | b })
	bitOp("#", func(a, b T) T { return a ^ b })
	shift := name + ",int4:" + name
	width := uint32(16)
	switch name {
	case "int4":
		width = 32
	case "int8":
		width = 64
	}
	t.op("<<", shift, func(f *frame, i int) error {
		vals(f.out)[i] = vals(f.args[0].v)[f.args[0].at(i)] << (uint32(f.i32(1, i)) & (width - 1))
		return nil
	})
	t.op(">>", shift, func(f *frame, i int) error {
		vals(f.out)[i] = vals(f.args[0].v)[f.args[0].at(i)] >> (uint32(f.i32(1, i)) & (width - 1))
		return nil
	})
	unary := name + ":" + name
	get := func(f *frame, i int) T { return vals(f.args[0].v)[f.args[0].at(i)] }
	neg := func(f *frame, i int) error {
		x := get(f, i)
		vals(f.out)[i] = -x
		if x != 0 && x == -x {
			return err
		}
		return nil
	}
	abs := func(f *frame, i int) error {
		if get(f, i) < 0 {
			return neg(f, i)
		}
		vals(f.out)[i] = get(f, i)
		return nil
	}
	t.op("-", unary, neg)
	t.op("+", unary, func(f *frame, i int) error { vals(f.out)[i] = get(f, i); return nil })
	t.op("~", unary, func(f *frame, i int) error { vals(f.out)[i] = ^get(f, i); return nil })
	t.op("@", unary, abs)
	t.fn("abs", unary, "absolute value", abs)
}

func floatOps[T float32 | float64](t *table, name string, vals func(*arrowbatch.Vec) []T) {
	sig := name + "," + name + ":" + name
	for _, op := range "+-*/" {
		t.op(string(op), sig, nil, kernel(floatArith(byte(op), vals)))
	}
	unary := name + ":" + name
	get := func(f *frame, i int) T { return vals(f.args[0].v)[f.args[0].at(i)] }
	abs := func(f *frame, i int) error { vals(f.out)[i] = T(math.Abs(float64(get(f, i)))); return nil }
	t.op("-", unary, func(f *frame, i int) error { vals(f.out)[i] = -get(f, i); return nil })
	t.op("+", unary, func(f *frame, i int) error { vals(f.out)[i] = get(f, i); return nil })
	t.op("@", unary, abs)
	t.fn("abs", unary, "absolute value", abs)
}

func decimalOps(t *table) {
	const sig = "numeric,numeric:numeric"
	bin := func(fn func(a, b decimal.Decimal) (decimal.Decimal, error)) rowFunc {
		return func(f *frame, i int) error {
			d, err := fn(f.dec(0, i), f.dec(1, i))
			return f.setDecErr(i, d, err)
		}
	}
	t.op("+", sig, bin(decimal.Decimal.Add))
	t.op("-", sig, bin(decimal.Decimal.Sub))
	t.op("*", sig, bin(decimal.Decimal.Mul))
	t.op("/", sig, bin(decimal.Decimal.Div))
	t.op("%", sig, bin(decimal.Decimal.Mod))
	t.fn("mod", sig, "remainder", bin(decimal.Decimal.Mod))
	t.fn("div", sig, "whole part of the quotient", bin(decimal.Decimal.QuoInt))
	un := func(fn func(a decimal.Decimal) decimal.Decimal) rowFunc {
		return func(f *frame, i int) error { f.setDec(i, fn(f.dec(0, i))); return nil }
	}
	t.op("-", "numeric:numeric", un(decimal.Decimal.Neg))
	t.op("+", "numeric:numeric", un(func(d decimal.Decimal) decimal.Decimal { return d }))
	t.op("@", "numeric:numeric", un(decimal.Decimal.Abs))
	t.fn("abs", "numeric:numeric", "absolute value", un(decimal.Decimal.Abs))
}

// addComparisons adds = <> < <= > >= for every type that has an order.
func addComparisons(t *table) {
	dense := map[string]arrowbatch.Layout{"bool": arrowbatch.Bool, "int2": arrowbatch.Int16, "int4": arrowbatch.Int32,
		"int8": arrowbatch.Int64, "float4": arrowbatch.Float32, "float8": arrowbatch.Float64,
		"date": arrowbatch.Int32, "time": arrowbatch.Int64, "timestamp": arrowbatch.Int64,
		"timestamptz": arrowbatch.Int64, "oid": arrowbatch.Int64}
	for op := opEQ; op <= opGE; op++ {
		for _, name := range []string{"bool", "int2", "int4", "int8", "float4", "float8", "date", "time",
			"timestamp", "timestamptz", "oid"} {
			t.op(cmpNames[op], name+","+name+":bool", nil, kernel(compareKernel(dense[name], op)))
		}
		for _, name := range []string{"text", "name", "bytea", "char"} {
			t.op(cmpNames[op], name+","+name+":bool", nil, kernel(bytesKernel(op)))
		}
		t.op(cmpNames[op], "name,text:bool", nil, kernel(bytesKernel(op)))
		t.op(cmpNames[op], "text,name:bool", nil, kernel(bytesKernel(op)))
		for _, name := range []string{"numeric", "bpchar", "interval", "uuid", "jsonb", "anyarray", "record"} {
			t.op(cmpNames[op], name+","+name+":bool", compareRow(op))
		}
	}
}

// isDistinct is l IS [NOT] DISTINCT FROM r, over the operands of an equality.
type isDistinct struct {
	eq      *call
	negated bool
}

func (d *isDistinct) Type() types.Type { return types.TBool }
func (d *isDistinct) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(d, ctx, in, sel)
}
func (d *isDistinct) Children() []Expr { return d.eq.args }
func (d *isDistinct) WithChildren(c []Expr) Expr {
	return &isDistinct{d.eq.WithChildren(c).(*call), d.negated}
}
func (d *isDistinct) String() string {
	op := " IS DISTINCT FROM "
	if d.negated {
		op = " IS NOT DISTINCT FROM "
	}
	return d.eq.args[0].String() + op + d.eq.args[1].String()
}

func (d *isDistinct) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	l := evalArg(d.eq.args[0], ctx, in, sel)
	r := evalArg(d.eq.args[1], ctx, in, sel)
	f := ctx.getFrame()
	defer ctx.putFrame(f)
	f.args = append(f.args, l, r)
	defer releaseArgs(f.args)
	f.ctx, f.call, f.n, f.sel = ctx, d.eq, in.Len, sel
	var eq arg
	if l.one && r.one {
		f.n, f.sel = 1, nil
	}
	eq = d.eq.evalRows(f)
	defer eq.v.Release()
	n := f.n
	out := arrowbatch.NewFlat(arrowbatch.Bool, n)
	for w := range out.Bits[:arrowbatch.BitmapWords(n)] {
		lv, rv := validWord(l, w), validWord(r, w)
		var same uint64
		if !eq.one || n == 1 { // a NULL constant leaves one row
			same = eq.v.Bits[w]
		}
		same = same&lv&rv | ^lv&^rv
		if !d.negated {
			same = ^same
		}
		out.Bits[w] = same
	}
	return arg{out, l.one && r.one}
}

// validWord is a word of the validity of a, spread for a constant.
func validWord(a arg, w int) uint64 {
	switch {
	case a.v.Valid == nil:
		return ^uint64(0)
	case !a.one:
		return a.v.Valid[w]
	case a.v.IsNull(0):
		return 0
	}
	return ^uint64(0)
}

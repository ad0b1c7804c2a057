package expr

import (
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// arg is a value of an evaluation: a column, or one row that stands for all.
type arg struct {
	v *arrowbatch.Vec
	// one: v has a single row, valid for every row of the batch.
	one bool
}

// at returns the place of row i in the vector.
func (a *arg) at(i int) int {
	if a.one {
		return 0
	}
	return i
}

func (a *arg) isNull(i int) bool { return a.v.Valid != nil && a.v.IsNull(a.at(i)) }

// node is what every expression of this package implements. eval is Eval that
// may answer with one row for all.
type node interface {
	Expr
	eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg
}

// evalArg evaluates any expression; a foreign implementation gives a column.
func evalArg(e Expr, ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	if n, ok := e.(node); ok {
		return n.eval(ctx, in, sel)
	}
	return arg{v: e.Eval(ctx, in, sel)}
}

// spread is Eval in terms of eval.
func spread(n node, ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	a := n.eval(ctx, in, sel)
	v := a.v
	if a.one && !(in.Len == 1 && v.N == 1) {
		v = repeat(a.v, in.Len)
		a.v.Release()
	}
	if len(ctx.failed) == 0 || v.Shared() {
		return v // a shared column is an input and had no part in the failure
	}
	for r := range ctx.failed {
		if int(r) < v.N {
			v.SetNull(int(r))
		}
	}
	return v
}

// repeat returns n copies of row 0 of v.
func repeat(v *arrowbatch.Vec, n int) *arrowbatch.Vec {
	if v.Layout == arrowbatch.Int64 && v.Valid == nil {
		out := arrowbatch.NewFlat(arrowbatch.Int64, n)
		x := v.I64[0]
		for i := range out.I64 {
			out.I64[i] = x
		}
		return out
	}
	idx := make([]int32, n)
	return v.Take(idx)
}

// nullArg is one NULL row of a type.
func nullArg(t types.Type) arg {
	v := arrowbatch.NewVec(t.Shape(), 0)
	v.AppendNull()
	return arg{v, true}
}

// column is a column of the input batch.
type column struct {
	index int
	name  string
	typ   types.Type
}

func (c *column) Type() types.Type { return c.typ }
func (c *column) Eval(_ *Ctx, in *arrowbatch.Batch, _ []int32) *arrowbatch.Vec {
	return in.Cols[c.index].Retain()
}
func (c *column) eval(_ *Ctx, in *arrowbatch.Batch, _ []int32) arg {
	return arg{v: in.Cols[c.index].Retain()}
}
func (c *column) Children() []Expr         { return nil }
func (c *column) WithChildren([]Expr) Expr { return c }
func (c *column) String() string {
	if c.name == "" {
		return "#" + strconv.Itoa(c.index)
	}
	return quoteIdent(c.name)
}

// constant is one value. Its vector has one row and is never given back.
type constant struct {
	typ types.Type
	v   *arrowbatch.Vec
	// number is the text of a number as written in SQL; a minus before it belongs
	// to it.
	number string
}

func (c *constant) Type() types.Type { return c.typ }
func (c *constant) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}
func (c *constant) eval(*Ctx, *arrowbatch.Batch, []int32) arg { return arg{c.v.Retain(), true} }
func (c *constant) Children() []Expr                          { return nil }
func (c *constant) WithChildren([]Expr) Expr                  { return c }
func (c *constant) String() string                            { return constString(c.typ, c.v) }

// param is a parameter of a prepared statement.
type param struct {
	index int
	typ   types.Type
}

func (p *param) Type() types.Type { return p.typ }
func (p *param) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(p, ctx, in, sel)
}
func (p *param) eval(ctx *Ctx, _ *arrowbatch.Batch, _ []int32) arg {
	if p.index >= len(ctx.Params) || ctx.Params[p.index] == nil {
		return nullArg(p.typ)
	}
	return arg{ctx.Params[p.index].Retain(), true}
}
func (p *param) Children() []Expr         { return nil }
func (p *param) WithChildren([]Expr) Expr { return p }
func (p *param) String() string           { return "$" + strconv.Itoa(p.index+1) }

// outer is a column of an enclosing query's current row.
type outer struct {
	level, index int
	name         string
	typ          types.Type
}

func (o *outer) Type() types.Type { return o.typ }
func (o *outer) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(o, ctx, in, sel)
}
func (o *outer) eval(ctx *Ctx, _ *arrowbatch.Batch, _ []int32) arg {
	row := ctx.Outer[len(ctx.Outer)-o.level]
	return arg{row.Cols[o.index].Retain(), true}
}
func (o *outer) Children() []Expr         { return nil }
func (o *outer) WithChildren([]Expr) Expr { return o }
func (o *outer) String() string           { return quoteIdent(o.name) }

// caseTest stands for the operand of the innermost CASE.
type caseTest struct{ typ types.Type }

func (c *caseTest) Type() types.Type { return c.typ }
func (c *caseTest) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}
func (c *caseTest) eval(ctx *Ctx, _ *arrowbatch.Batch, _ []int32) arg {
	a := ctx.caseVals[len(ctx.caseVals)-1]
	a.v.Retain()
	return a
}
func (c *caseTest) Children() []Expr         { return nil }
func (c *caseTest) WithChildren([]Expr) Expr { return c }
func (c *caseTest) String() string           { return "CASE_TEST" }

func quoteIdent(s string) string { return string(appendIdent(nil, s)) }

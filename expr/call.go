package expr

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// call is a function or operator applied to arguments of its types.
type call struct {
	fn   *Function
	args []Expr
	typ  types.Type
	// spread tells that a VARIADIC parameter was given as single arguments.
	spreadArgs bool
}

func (c *call) Type() types.Type { return c.typ }

func (c *call) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}

func (c *call) Children() []Expr { return c.args }

func (c *call) WithChildren(args []Expr) Expr {
	d := *c
	d.args = args
	return &d
}

func (c *call) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	f := ctx.getFrame()
	defer ctx.putFrame(f)
	one := c.fn.Volatility != Volatile
	before := len(ctx.failed)
	for _, e := range c.args {
		a := evalArg(e, ctx, in, sel)
		one = one && a.one
		f.args = append(f.args, a)
	}
	defer releaseArgs(f.args)
	f.ctx, f.call, f.n, f.sel = ctx, c, in.Len, sel
	if len(ctx.failed) > before && !c.fn.Strict {
		rows, owned := ctx.live(in.Len, sel)
		if owned {
			defer ctx.putSel(rows)
		}
		f.sel = rows
	}
	if one {
		return c.evalOne(f)
	}
	return c.evalRows(f)
}

func releaseArgs(args []arg) {
	for _, a := range args {
		a.v.Release()
	}
}

// evalOne computes the one value that constant arguments give.
func (c *call) evalOne(f *frame) arg {
	n, sel := f.n, f.sel
	if n == 0 || sel != nil && len(sel) == 0 {
		return nullArg(c.typ)
	}
	f.n, f.sel = 1, nil
	var res arg
	if err := f.ctx.alone(func() { res = c.evalRows(f) }); err != nil {
		f.ctx.failAll(n, sel, err)
	}
	res.one = true
	return res
}

func (c *call) evalRows(f *frame) arg {
	f.out = arrowbatch.NewVec(c.typ.Shape(), f.n)
	if c.fn.Strict && f.strictValid() {
		f.out.Release()
		return nullArg(c.typ)
	}
	if c.fn.kernel != nil {
		c.fn.kernel(f)
	} else {
		f.each(c.fn.row)
	}
	return arg{v: f.out}
}

func (c *call) String() string {
	var b strings.Builder
	switch {
	case c.fn.Operator && len(c.args) == 2:
		writeOperand(&b, c.args[0])
		b.WriteString(" " + c.fn.Name + " ")
		writeOperand(&b, c.args[1])
	case c.fn.Operator:
		b.WriteString(c.fn.Name)
		if s := c.args[0].String(); strings.HasPrefix(s, "-") {
			b.WriteString("(" + s + ")")
		} else {
			writeOperand(&b, c.args[0])
		}
	default:
		b.WriteString(c.fn.Name + "(")
		for i, a := range c.args {
			if i > 0 {
				b.WriteString(", ")
			}
			if c.fn.Variadic && !c.spreadArgs && i == len(c.args)-1 {
				b.WriteString("VARIADIC ")
			}
			b.WriteString(a.String())
		}
		b.WriteString(")")
	}
	return b.String()
}

// writeOperand writes e, in parentheses unless it reads as one word.
func writeOperand(b *strings.Builder, e Expr) {
	s := e.String()
	switch e := e.(type) {
	case *column, *constant, *param, *outer, *caseExpr, *caseTest, *coalesce, *cast:
		b.WriteString(s)
		return
	case *call:
		if !e.fn.Operator {
			b.WriteString(s)
			return
		}
	}
	b.WriteString("(" + s + ")")
}

// newCall binds fn to arguments that have its types already.
func newCall(fn *Function, typ types.Type, args ...Expr) *call {
	return &call{fn: fn, args: args, typ: typ}
}

// undefinedHint is PostgreSQL's hint when no overload fits.
const undefinedHint = "No %s matches the given name and argument type%s. " +
	"You might need to add explicit type casts."

func undefinedFunction(name string, args []Expr) *sqlerr.Error {
	err := sqlerr.New(sqlerr.UndefinedFunction, "function %s(%s) does not exist", name, typeList(args))
	if len(functionTable().byName[name]) == 0 {
		if near := sqlerr.Nearest(name, functionTable().names); near != "" {
			return err.WithHint("Perhaps you meant the function %q.", near)
		}
	}
	return err.WithHint(undefinedHint, "function", "s")
}

func undefinedOperator(op string, args []Expr) *sqlerr.Error {
	if len(args) == 1 {
		return sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s %s", op, args[0].Type().Base()).
			WithHint(undefinedHint, "operator", "")
	}
	return sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s %s %s",
		args[0].Type().Base(), op, args[1].Type().Base()).WithHint(undefinedHint, "operator", "s")
}

func typeList(args []Expr) string {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.Type().Base().String()
	}
	return strings.Join(names, ", ")
}

package expr

import (
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// converter turns one column into another.
type converter struct {
	// relabel: the values stay as they are.
	relabel bool
	row     rowFunc
	kernel  func(f *frame)
	vol     Volatility
}

// cast is x::typ.
type cast struct {
	x    Expr
	typ  types.Type
	ctx  CastContext
	conv converter
}

func (c *cast) Type() types.Type { return c.typ }
func (c *cast) Eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) *arrowbatch.Vec {
	return spread(c, ctx, in, sel)
}
func (c *cast) Children() []Expr { return []Expr{c.x} }
func (c *cast) WithChildren(k []Expr) Expr {
	d := *c
	d.x = k[0]
	return &d
}

func (c *cast) String() string {
	if c.ctx == Implicit {
		return c.x.String()
	}
	var b strings.Builder
	writeOperand(&b, c.x)
	b.WriteString("::" + castName(c.typ))
	return b.String()
}

func (c *cast) eval(ctx *Ctx, in *arrowbatch.Batch, sel []int32) arg {
	a := evalArg(c.x, ctx, in, sel)
	if c.conv.relabel {
		return a
	}
	f := ctx.getFrame()
	defer ctx.putFrame(f)
	f.args = append(f.args, a)
	defer a.v.Release()
	f.ctx, f.cast, f.n, f.sel = ctx, c, in.Len, sel
	if !a.one {
		return arg{v: c.run(f)}
	}
	if in.Len == 0 || sel != nil && len(sel) == 0 {
		return nullArg(c.typ)
	}
	f.n, f.sel = 1, nil
	var res arg
	if err := ctx.alone(func() { res = arg{c.run(f), true} }); err != nil {
		ctx.failAll(in.Len, sel, err)
	}
	return res
}

func (c *cast) run(f *frame) *arrowbatch.Vec {
	f.out = arrowbatch.NewVec(c.typ.Shape(), f.n)
	if v := f.args[0].v.Valid; v != nil {
		f.out.Valid = append(arrowbatch.Bitmap(nil), v...)
	}
	if c.conv.kernel != nil {
		c.conv.kernel(f)
	} else {
		f.each(c.conv.row)
	}
	return f.out
}

// Cast converts e to t. 42846 where PostgreSQL has no such cast, 42804 where it
// has one that the context does not allow. Untyped literals are read at once, and
// their syntax errors returned, unless what they mean depends on the session.
func Cast(e Expr, t types.Type, ctx CastContext) (Expr, error) {
	from := e.Type()
	if from.ID == t.ID && from.Equal(t) {
		if c, ok := e.(*constant); ok && c.number != "" {
			return &constant{typ: c.typ, v: c.v}, nil // a minus before a cast is an operator
		}
		return e, nil
	}
	if from.ID == types.Unknown {
		return castUnknown(e, t, ctx)
	}
	if !CanCast(from, t, ctx) {
		return nil, castError(from, t, ctx)
	}
	if from.ID == types.Array && t.ID == types.Array && t.Elem == nil {
		return e, nil
	}
	// The value is brought to the type first and to its modifier then.
	base, mod := t, t
	if t.Mod != 0 && from.ID != t.ID {
		base = t.Base()
	}
	c := &cast{x: e, typ: base, ctx: ctx, conv: findConverter(from, base, ctx)}
	var out Expr = c
	if !base.Equal(mod) {
		out = &cast{x: c, typ: mod, ctx: ctx, conv: findConverter(base, mod, ctx)}
	}
	return foldConstCast(out), nil
}

// Coerce is Cast in implicit context.
func Coerce(e Expr, t types.Type) (Expr, error) { return Cast(e, t, Implicit) }

// CoerceAssign casts a value that is stored in a column. 42804 where the types do
// not fit, with PostgreSQL's words.
func CoerceAssign(e Expr, column string, t types.Type) (Expr, error) {
	out, err := Cast(e, t, Assignment)
	if err == nil || e.Type().ID == types.Unknown || CanCast(e.Type(), t, Assignment) {
		return out, err
	}
	return nil, sqlerr.New(sqlerr.DatatypeMismatch, "column %q is of type %s but expression is of type %s",
		column, t.Base(), e.Type().Base()).WithHint("You will need to rewrite or cast the expression.")
}

func castError(from, to types.Type, ctx CastContext) error {
	err := sqlerr.New(sqlerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
	if ctx != Explicit && CanCast(from, to, Explicit) {
		err.Code = sqlerr.DatatypeMismatch
		return err.WithHint("An explicit cast is needed.")
	}
	return err
}

// castUnknown types an untyped literal, or NULL, or a parameter without a type.
func castUnknown(e Expr, t types.Type, ctx CastContext) (Expr, error) {
	if t.ID == types.Unknown {
		return e, nil
	}
	if t.ID == types.Array && t.Elem == nil || t.ID == types.Struct && len(t.Fields) == 0 {
		return nil, sqlerr.New(sqlerr.IndeterminateDatatype,
			"could not determine polymorphic type because input has type unknown")
	}
	c, ok := e.(*constant)
	if !ok {
		if p, isParam := e.(*param); isParam {
			return &param{p.index, t}, nil
		}
		return &cast{x: e, typ: t, ctx: ctx, conv: findConverter(types.TText, t, ctx)}, nil
	}
	if c.v.IsNull(0) {
		return ConstNull(t), nil
	}
	// varchar(3) 'abcd' is cut when the cast is explicit, as everywhere.
	if t.Mod != 0 && ctx == Explicit && (t.ID == types.Varchar || t.ID == types.Bpchar) {
		inner, err := castUnknown(e, t.Base(), ctx)
		if err != nil {
			return nil, err
		}
		return Cast(inner, t, ctx)
	}
	s := string(c.v.BytesAt(0))
	if isReg(t.ID) {
		return &cast{x: &constant{typ: types.TText, v: c.v}, typ: t, ctx: ctx, conv: findConverter(types.TText, t, ctx)}, nil
	}
	v := arrowbatch.NewVec(t.Shape(), 0)
	err := types.ParseString(t, s, v, checkEnv)
	if err != nil {
		v.Release()
		return nil, sqlerr.From(err)
	}
	if dependsOnEnv(t, s) {
		v.Release()
		return &cast{x: &constant{typ: types.TText, v: c.v}, typ: t, ctx: ctx, conv: findConverter(types.TText, t, ctx)}, nil
	}
	return &constant{typ: t, v: v}, nil
}

// checkEnv reads literals for their syntax.
var checkEnv = &types.Env{HasNow: true}

// dependsOnEnv tells whether the meaning of a literal may depend on the session:
// its time zone, its order of day and month, its clock.
func dependsOnEnv(t types.Type, s string) bool {
	switch t.ID {
	case types.Timestamptz:
		return true
	case types.Date, types.Time, types.Timestamp:
		if len(s) == 0 || s[0] < '0' || s[0] > '9' {
			return true
		}
		return strings.ContainsAny(s, "/.") && t.ID != types.Time && !strings.Contains(s, "-") ||
			strings.ContainsAny(s, "owOW")
	case types.Array:
		return t.Elem.ID != types.Text && dependsOnEnv(*t.Elem, "")
	case types.Struct:
		for _, f := range t.Fields {
			if dependsOnEnv(f.Type, "") {
				return true
			}
		}
	}
	return isReg(t.ID)
}

func isReg(id types.ID) bool {
	return id == types.Regclass || id == types.Regtype || id == types.Regproc || id == types.Regnamespace
}

// foldConstCast computes a cast of a constant where that cannot fail and does not
// depend on the session; else it is left for the evaluation.
func foldConstCast(e Expr) Expr {
	c, ok := e.(*cast)
	if !ok {
		return e
	}
	if inner, isCast := c.x.(*cast); isCast {
		folded := foldConstCast(inner)
		if folded != Expr(inner) {
			d := *c
			d.x = folded
			c = &d
		}
	}
	if _, ok := c.x.(*constant); !ok || c.conv.vol != Immutable {
		return c
	}
	ctx := &Ctx{}
	a := c.eval(ctx, ctx.oneRow(), nil)
	if ctx.Failed() {
		a.v.Release()
		return c
	}
	return &constant{typ: c.typ, v: a.v}
}

// Unify brings expressions to their common type, for UNION, VALUES, CASE and the
// like; what names the construct in the error, 42804.
func Unify(what string, exprs ...Expr) ([]Expr, types.Type, error) {
	t, err := types.Common(what, argTypes(exprs)...)
	if err != nil {
		return nil, t, err
	}
	out := make([]Expr, len(exprs))
	for i, e := range exprs {
		c, err := Cast(e, t, Implicit)
		if err != nil {
			return nil, t, err
		}
		out[i] = c
	}
	return out, t, nil
}

package bind

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

var microsecond = arrowbatch.IntervalValue{Micros: 1}

// scalar binds an expression over the level's plan. clause names the place for
// errors about what may not stand there.
func (l *level) scalar(x sql.Expr, clause string) (expr.Expr, error) {
	if e := l.bound[x]; e != nil {
		return e, nil
	}
	if l.group != nil {
		if e, ok := l.group.match(x); ok {
			return e, nil
		}
	}
	e, err := l.bind(x, clause)
	if err != nil {
		return nil, at(literalError(err, x), x.Position())
	}
	return e, nil
}

// bind is one case per kind of expression.
func (l *level) bind(x sql.Expr, clause string) (expr.Expr, error) {
	switch x := x.(type) {
	case *sql.ColumnRef:
		return l.column(x)
	case *sql.NumberLit:
		return expr.ConstNumber(x.Text)
	case *sql.StringLit:
		return expr.ConstUnknown(x.Value), nil
	case *sql.BoolLit:
		return expr.ConstBool(x.Value), nil
	case *sql.NullLit:
		return expr.ConstNull(types.TUnknown), nil
	case *sql.TypedLit:
		return l.typedLit(x)
	case *sql.Param:
		return l.b.param(x)
	case *sql.Unary:
		return l.unary(x, clause)
	case *sql.Binary:
		return l.binary(x, clause)
	case *sql.Logic:
		args, err := l.list(x.Args, clause)
		if err != nil {
			return nil, err
		}
		for i, a := range args {
			if _, err := expr.NeedBool(map[bool]string{false: "AND", true: "OR"}[x.Or], a); err != nil {
				return nil, at(err, x.Args[i].Position())
			}
		}
		if x.Or {
			return expr.Or(args...)
		}
		return expr.And(args...)
	case *sql.Not:
		e, err := l.scalar(x.X, clause)
		if err != nil {
			return nil, err
		}
		e, err = expr.Not(e)
		return e, at(err, x.X.Position())
	case *sql.IsTest:
		return l.isTest(x, clause)
	case *sql.IsDistinct:
		a, b, err := l.pair(x.L, x.R, clause)
		if err != nil {
			return nil, err
		}
		return expr.IsDistinct(a, b, x.Not)
	case *sql.Between:
		es, err := l.list([]sql.Expr{x.X, x.Low, x.High}, clause)
		if err != nil {
			return nil, err
		}
		return expr.Between(es[0], es[1], es[2], x.Not, x.Symmetric)
	case *sql.In:
		return l.in(x, clause)
	case *sql.Like:
		return l.like(x, clause)
	}
	return l.bindMore(x, clause)
}

// bindMore goes on with the kinds that are not operators.
func (l *level) bindMore(x sql.Expr, clause string) (expr.Expr, error) {
	switch x := x.(type) {
	case *sql.Case:
		return l.caseExpr(x, clause)
	case *sql.Cast:
		return l.cast(x, clause)
	case *sql.FuncCall:
		return l.call(x, clause)
	case *sql.ValueFunc:
		return expr.SQLValueFunction(x.Name, x.Precision)
	case *sql.Subquery:
		return l.subquery(x, clause)
	case *sql.Quantified:
		return l.quantified(x, clause)
	case *sql.ArrayLit:
		return l.array(x, nil, clause)
	case *sql.Row:
		return l.row(x, clause)
	case *sql.Subscript:
		return l.subscript(x, clause)
	case *sql.Field:
		return l.field(x, clause)
	case *sql.AtTimeZone:
		e, err := l.scalar(x.X, clause)
		if err != nil || x.Zone == nil {
			if err != nil {
				return nil, err
			}
			return expr.AtTimeZone(e, nil)
		}
		z, err := l.scalar(x.Zone, clause)
		if err != nil {
			return nil, err
		}
		return expr.AtTimeZone(e, z)
	case *sql.Collate:
		return l.collate(x, clause)
	case *sql.BitLit:
		return nil, sqlerr.Unsupported("type bit is not supported")
	case *sql.Default:
		return nil, sqlerr.New(sqlerr.SyntaxError, "DEFAULT is not allowed in this context")
	case *sql.Star:
		if len(x.Qualifier) == 0 {
			return nil, sqlerr.New(sqlerr.SyntaxError, "row expansion via \"*\" is not supported here")
		}
		return l.column(&sql.ColumnRef{Pos: x.Pos, Parts: x.Qualifier[len(x.Qualifier)-1:]})
	case *sql.FieldStar: // a row as it is
		return l.scalar(x.X, clause)
	case *sql.NamedArg:
		return nil, sqlerr.Unsupported("named arguments are not supported here")
	case *sql.RelationArg:
		return nil, sqlerr.New(sqlerr.SyntaxError, "a relation cannot be an argument here")
	}
	return nil, sqlerr.Internal("unknown expression %T", x)
}

func (l *level) list(xs []sql.Expr, clause string) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(xs))
	for i, x := range xs {
		e, err := l.scalar(x, clause)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func (l *level) pair(a, b sql.Expr, clause string) (expr.Expr, expr.Expr, error) {
	es, err := l.list([]sql.Expr{a, b}, clause)
	if err != nil {
		return nil, nil, err
	}
	return es[0], es[1], nil
}

func (l *level) typedLit(x *sql.TypedLit) (expr.Expr, error) {
	t, err := TypeOf(x.Type)
	if err != nil {
		return nil, err
	}
	if x.Type.Interval == "" {
		return expr.Cast(expr.ConstUnknown(x.Value), t, expr.Explicit)
	}
	return restrictInterval(x.Value, x.Type.Interval)
}

// checkOperator admits operators of pg_catalog only.
func checkOperator(op sql.Operator) error {
	if s := op.Schema.Text; s != "" && s != "pg_catalog" {
		return sqlerr.New(sqlerr.UndefinedFunction, "operator does not exist: %s.%s", s, op.Name)
	}
	return nil
}

func (l *level) unary(x *sql.Unary, clause string) (expr.Expr, error) {
	if err := checkOperator(x.Op); err != nil {
		return nil, err
	}
	// The smallest bigint is a minus and a number that is none.
	if n, ok := x.X.(*sql.NumberLit); ok && x.Op.Name == "-" && n.Text == "9223372036854775808" {
		return expr.ConstInt8(-9223372036854775808), nil
	}
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	e, err = expr.Unary(x.Op.Name, e)
	if err != nil {
		return nil, err
	}
	return foldLiteral(e), nil
}

// foldLiteral computes the sign of a number.
func foldLiteral(e expr.Expr) expr.Expr {
	if _, args, ok := expr.AsCall(e); ok && len(args) == 1 {
		if _, isConst := expr.AsConst(args[0]); isConst {
			return expr.Fold(nil, e)
		}
	}
	return e
}

func (l *level) binary(x *sql.Binary, clause string) (expr.Expr, error) {
	if err := checkOperator(x.Op); err != nil {
		return nil, err
	}
	a, b, err := l.pair(x.L, x.R, clause)
	if err != nil {
		return nil, err
	}
	if lf, ok := rowParts(x.L, a); ok {
		if rf, ok := rowParts(x.R, b); ok {
			return expr.CompareRows(x.Op.Name, lf, rf)
		}
	}
	return expr.Binary(x.Op.Name, a, b)
}

// rowParts returns the fields of a row that is written as one.
func rowParts(x sql.Expr, e expr.Expr) ([]expr.Expr, bool) {
	if _, ok := x.(*sql.Row); !ok {
		return nil, false
	}
	return expr.RowFields(e)
}

func (l *level) isTest(x *sql.IsTest, clause string) (expr.Expr, error) {
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	test := map[sql.Test]func(expr.Expr, bool) (expr.Expr, error){sql.IsTrue: expr.IsTrue, sql.IsFalse: expr.IsFalse,
		sql.IsUnknown: expr.IsUnknown}[x.Test]
	if test != nil {
		e, err = test(e, x.Not)
		return e, at(err, x.X.Position())
	}
	if e.Type().ID == types.Unknown {
		if e, err = expr.Cast(e, types.TText, expr.Implicit); err != nil {
			return nil, err
		}
	}
	return expr.IsNull(e, x.Not), nil
}

func (l *level) in(x *sql.In, clause string) (expr.Expr, error) {
	if x.Query != nil {
		return l.inQuery(x, clause)
	}
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	list, err := l.list(x.List, clause)
	if err != nil {
		return nil, err
	}
	return expr.In(e, list, x.Not)
}

func (l *level) like(x *sql.Like, clause string) (expr.Expr, error) {
	es, err := l.list([]sql.Expr{x.X, x.Pattern}, clause)
	if err != nil {
		return nil, err
	}
	var escape expr.Expr
	if x.Escape != nil {
		if escape, err = l.scalar(x.Escape, clause); err != nil {
			return nil, err
		}
	}
	kind := [...]expr.LikeKind{sql.PlainLike: expr.PlainLike, sql.ILike: expr.ILike, sql.SimilarTo: expr.SimilarTo}[x.Kind]
	return expr.Like(kind, es[0], es[1], escape, x.Not)
}

func (l *level) caseExpr(x *sql.Case, clause string) (expr.Expr, error) {
	var arg, els expr.Expr
	var err error
	if x.Arg != nil {
		if arg, err = l.scalar(x.Arg, clause); err != nil {
			return nil, err
		}
	}
	whens := make([]expr.When, len(x.Whens))
	for i, w := range x.Whens {
		if whens[i].Cond, whens[i].Result, err = l.pair(w.Cond, w.Result, clause); err != nil {
			return nil, err
		}
		if x.Arg == nil {
			if _, err = expr.NeedBool("CASE/WHEN", whens[i].Cond); err != nil {
				return nil, at(err, w.Cond.Position())
			}
		}
	}
	if x.Else != nil {
		if els, err = l.scalar(x.Else, clause); err != nil {
			return nil, err
		}
	}
	e, err := expr.Case(arg, whens, els)
	if err == nil {
		return e, nil
	}
	var xs []sql.Expr
	var es []expr.Expr
	if els != nil {
		xs, es = append(xs, x.Else), append(es, els)
	}
	for i, w := range x.Whens {
		xs, es = append(xs, w.Result), append(es, whens[i].Result)
	}
	return nil, unmatched(err, xs, es)
}

func (l *level) cast(x *sql.Cast, clause string) (expr.Expr, error) {
	t, err := TypeOf(x.Type)
	if err != nil {
		return nil, err
	}
	if a, ok := x.X.(*sql.ArrayLit); ok && t.ID == types.Array {
		return l.array(a, t.Elem, clause)
	}
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	e, err = expr.Cast(e, t, expr.Explicit)
	if err != nil {
		return nil, at(literalError(err, x), x.Pos)
	}
	if x.Type.Interval != "" && t.ID == types.Interval {
		return nil, sqlerr.Unsupported("an interval with field restriction is not supported in a cast")
	}
	return e, nil
}

func (l *level) array(x *sql.ArrayLit, elem *types.Type, clause string) (expr.Expr, error) {
	elems := make([]expr.Expr, len(x.Elems))
	for i, e := range x.Elems {
		if _, nested := e.(*sql.ArrayLit); nested {
			return nil, sqlerr.Unsupported("arrays of more than one dimension are not supported").At(e.Position())
		}
		b, err := l.scalar(e, clause)
		if err != nil {
			return nil, err
		}
		if b.Type().ID == types.Array {
			return nil, sqlerr.Unsupported("arrays of more than one dimension are not supported").At(e.Position())
		}
		elems[i] = b
	}
	e, err := expr.ArrayCtor(elem, elems...)
	return e, unmatched(err, x.Elems, elems)
}

func (l *level) row(x *sql.Row, clause string) (expr.Expr, error) {
	var fields []expr.Expr
	for _, f := range x.Fields {
		if s, ok := f.(*sql.Star); ok {
			cols, err := l.star(s)
			if err != nil {
				return nil, err
			}
			for _, c := range cols {
				e := c.e
				if l.group != nil {
					if e, err = l.group.replace(e); err != nil {
						return nil, err
					}
				}
				fields = append(fields, e)
			}
			continue
		}
		e, err := l.scalar(f, clause)
		if err != nil {
			return nil, err
		}
		fields = append(fields, e)
	}
	return expr.RowCtor(nil, fields...)
}

func (l *level) subscript(x *sql.Subscript, clause string) (expr.Expr, error) {
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	if !x.Slice {
		i, err := l.scalar(x.Index, clause)
		if err != nil {
			return nil, err
		}
		return expr.Subscript(e, i)
	}
	var lo, hi expr.Expr
	if x.Lower != nil {
		if lo, err = l.scalar(x.Lower, clause); err != nil {
			return nil, err
		}
	}
	if x.Upper != nil {
		if hi, err = l.scalar(x.Upper, clause); err != nil {
			return nil, err
		}
	}
	return expr.Slice(e, lo, hi)
}

// field binds (x).name. Of a row that is written out it is the field itself.
func (l *level) field(x *sql.Field, clause string) (expr.Expr, error) {
	if c, ok := x.X.(*sql.FuncCall); ok && isGroupingWindow(c) && l.windowed != nil {
		return l.windowPart(x)
	}
	if ref, ok := x.X.(*sql.ColumnRef); ok && len(ref.Parts) == 1 {
		if r := l.scope.rel("", ref.Parts[0].Text); r != nil {
			if _, n := find(l.scope.cols, ref.Parts[0].Text); n == 0 {
				return l.column(&sql.ColumnRef{Pos: ref.Pos, Parts: []sql.Name{ref.Parts[0], x.Name}})
			}
		}
	}
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	if parts, ok := expr.RowFields(e); ok {
		for i, f := range e.Type().Fields {
			if f.Name == x.Name.Text {
				return parts[i], nil
			}
		}
	}
	return expr.Field(e, x.Name.Text)
}

// windowPart is the start or end of the level's window.
func (l *level) windowPart(x *sql.Field) (expr.Expr, error) {
	e := l.windowed.start
	switch x.Name.Text {
	case "start":
	case "end":
		e = l.windowed.end
	default:
		err := sqlerr.New(sqlerr.UndefinedColumn, "a window has no field %q", x.Name.Text)
		err.Hint = "Its fields are start and end."
		return nil, err
	}
	if l.group != nil {
		return l.group.replace(e)
	}
	return e, nil
}

// collate admits the collations that sort by bytes; the default one does.
func (l *level) collate(x *sql.Collate, clause string) (expr.Expr, error) {
	switch name := x.Name.Name.Text; name {
	case "default", "C", "POSIX", "ucs_basic":
	default:
		return nil, sqlerr.New(sqlerr.UndefinedObject, "collation %q for encoding \"UTF8\" does not exist", name).
			At(x.Name.Pos()).
			WithHint("Text is compared by bytes: the collation \"C\".")
	}
	e, err := l.scalar(x.X, clause)
	if err != nil {
		return nil, err
	}
	switch t := e.Type(); {
	case t.IsString():
		return e, nil
	default:
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "collations are not supported by type %s", t)
	}
}

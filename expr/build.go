package expr

import (
	"math"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// NewColumn is column index of the input batch; name is for display.
func NewColumn(index int, name string, t types.Type) Expr {
	return &column{index: index, name: name, typ: t}
}

// NewParam is parameter i of the statement, from 0.
func NewParam(i int, t types.Type) Expr { return &param{index: i, typ: t} }

// NewOuter is a column of an enclosing query: level 1 is the nearest one, the
// last of Ctx.Outer.
func NewOuter(level, index int, name string, t types.Type) Expr {
	return &outer{level: level, index: index, name: name, typ: t}
}

// NewConst is the one row of v, which it takes over.
func NewConst(t types.Type, v *arrowbatch.Vec) Expr { return &constant{typ: t, v: v} }

// ConstNull is NULL of a type; of types.TUnknown it is the bare word NULL.
func ConstNull(t types.Type) Expr { return &constant{typ: t, v: nullArg(t).v} }

// ConstUnknown is a quoted literal without a type: the context decides.
func ConstUnknown(s string) Expr { return constBytes(types.TUnknown, s) }

// ConstText is a value of type text.
func ConstText(s string) Expr { return constBytes(types.TText, s) }

func constBytes(t types.Type, s string) Expr {
	v := arrowbatch.NewFlat(arrowbatch.Bytes, 0)
	v.AppendString(s)
	return &constant{typ: t, v: v}
}

// ConstBool is true or false.
func ConstBool(b bool) Expr {
	v := arrowbatch.NewFlat(arrowbatch.Bool, 0)
	v.AppendBool(b)
	return &constant{typ: types.TBool, v: v}
}

// ConstInt is an integer literal: integer, or bigint where that is too small.
func ConstInt(i int64) Expr {
	if i < math.MinInt32 || i > math.MaxInt32 {
		return ConstInt8(i)
	}
	v := arrowbatch.NewFlat(arrowbatch.Int32, 0)
	v.AppendInt32(int32(i))
	return &constant{typ: types.TInt4, v: v}
}

// ConstInt8 is a bigint.
func ConstInt8(i int64) Expr { return constInt64(types.TInt8, i) }

func constInt64(t types.Type, i int64) Expr {
	v := arrowbatch.NewFlat(arrowbatch.Int64, 0)
	v.AppendInt64(i)
	return &constant{typ: t, v: v}
}

// ConstFloat is a double precision.
func ConstFloat(f float64) Expr {
	v := arrowbatch.NewFlat(arrowbatch.Float64, 0)
	v.AppendFloat64(f)
	return &constant{typ: types.TFloat8, v: v}
}

// ConstTimestamptz is a point in time, in microseconds since the Unix epoch.
func ConstTimestamptz(us int64) Expr { return constInt64(types.TTimestamptz, us) }

// ConstInterval is an interval.
func ConstInterval(iv arrowbatch.IntervalValue) Expr {
	v := arrowbatch.NewFlat(arrowbatch.Interval, 0)
	v.AppendInterval(iv)
	return &constant{typ: types.TInterval, v: v}
}

// ConstNumber is a number as written in SQL: integer, bigint or, with a point, an
// exponent or too many digits, numeric. Unary joins a minus before it with it:
// -2147483648 is an integer though 2147483648 is not.
func ConstNumber(text string) (Expr, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		c := ConstInt(i).(*constant)
		c.number = text
		return c, nil
	}
	d, err := decimal.Parse(text)
	if sqlerr.CodeOf(err) == sqlerr.NumericValueOutOfRange {
		// Beyond what numeric holds here, but not beyond double precision: 1e308.
		if f, ferr := strconv.ParseFloat(text, 64); ferr == nil {
			return ConstFloat(f), nil
		}
	}
	if err != nil {
		return nil, sqlerr.From(err)
	}
	v := arrowbatch.NewFlat(arrowbatch.Decimal, 0)
	v.AppendDecimal(d)
	return &constant{typ: types.TNumeric, v: v, number: text}, nil
}

// needBool checks that an argument of a logical construct is boolean, which an
// untyped literal may become.
func needBool(what string, e Expr) (Expr, error) {
	switch e.Type().ID {
	case types.Bool:
		return e, nil
	case types.Unknown:
		return Cast(e, types.TBool, Implicit)
	}
	return nil, sqlerr.New(sqlerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s",
		what, e.Type().Base())
}

// NeedBool is what WHERE, HAVING, FILTER and JOIN/ON demand of their condition;
// what is the clause for the message.
func NeedBool(what string, e Expr) (Expr, error) { return needBool(what, e) }

// And joins conditions; of one it is that one, of none true. Nested ANDs become
// one.
func And(args ...Expr) (Expr, error) { return newLogic(false, args) }

// Or joins conditions; of one it is that one, of none false.
func Or(args ...Expr) (Expr, error) { return newLogic(true, args) }

func newLogic(or bool, args []Expr) (Expr, error) {
	name := "AND"
	if or {
		name = "OR"
	}
	var flat []Expr
	for _, a := range args {
		b, err := needBool(name, a)
		if err != nil {
			return nil, err
		}
		if l, ok := b.(*logic); ok && l.or == or {
			flat = append(flat, l.args...)
		} else {
			flat = append(flat, b)
		}
	}
	switch len(flat) {
	case 0:
		return ConstBool(!or), nil
	case 1:
		return flat[0], nil
	}
	return &logic{or: or, args: flat}, nil
}

// Not negates a condition.
func Not(x Expr) (Expr, error) {
	b, err := needBool("NOT", x)
	if err != nil {
		return nil, err
	}
	return &not{x: b}, nil
}

// IsNull is x IS NULL, or IS NOT NULL if negated. Of a struct it asks, as in
// PostgreSQL, whether all fields are (not) NULL.
func IsNull(x Expr, negated bool) Expr { return &isNull{x: x, negated: negated} }

// IsTrue is x IS [NOT] TRUE.
func IsTrue(x Expr, negated bool) (Expr, error) { return newTest(testTrue, x, negated) }

// IsFalse is x IS [NOT] FALSE.
func IsFalse(x Expr, negated bool) (Expr, error) { return newTest(testFalse, x, negated) }

// IsUnknown is x IS [NOT] UNKNOWN.
func IsUnknown(x Expr, negated bool) (Expr, error) { return newTest(testUnknown, x, negated) }

func newTest(t boolTest, x Expr, negated bool) (Expr, error) {
	name := "IS "
	if negated {
		name += "NOT "
	}
	b, err := needBool(name+testNames[t], x)
	if err != nil {
		return nil, err
	}
	return &isTest{x: b, test: t, negated: negated}, nil
}

// IsDistinct is l IS [NOT] DISTINCT FROM r.
func IsDistinct(l, r Expr, negated bool) (Expr, error) {
	eq, err := Binary("=", l, r)
	if err != nil {
		return nil, err
	}
	return &isDistinct{eq: eq.(*call), negated: negated}, nil
}

// When is a branch of CASE.
type When struct{ Cond, Result Expr }

// Case is CASE [operand] WHEN … THEN … [ELSE els] END; operand and els may be nil.
// With an operand each Cond is a value to compare with it.
func Case(operand Expr, whens []When, els Expr) (Expr, error) {
	c := &caseExpr{}
	var test Expr
	if operand != nil {
		if operand.Type().ID == types.Unknown {
			var err error
			if operand, err = Cast(operand, types.TText, Implicit); err != nil {
				return nil, err
			}
		}
		c.operand, test = operand, &caseTest{typ: operand.Type()}
	}
	if els == nil {
		els = ConstNull(types.TUnknown)
	}
	results := []Expr{els}
	for _, w := range whens {
		cond := w.Cond
		var err error
		if test != nil {
			cond, err = Binary("=", test, cond)
		}
		if err == nil {
			cond, err = needBool("CASE/WHEN", cond)
		}
		if err != nil {
			return nil, err
		}
		c.conds = append(c.conds, cond)
		results = append(results, w.Result)
	}
	results, typ, err := Unify("CASE", results...)
	if err != nil {
		return nil, err
	}
	c.els, c.results, c.typ = results[0], results[1:], typ
	return c, nil
}

// Coalesce is the first argument that is not NULL; later ones are not evaluated.
func Coalesce(args ...Expr) (Expr, error) {
	args, typ, err := Unify("COALESCE", args...)
	if err != nil {
		return nil, err
	}
	return &coalesce{args: args, typ: typ}, nil
}

// NullIf is NULL where l = r, else l.
func NullIf(l, r Expr) (Expr, error) {
	if l.Type().ID == types.Unknown {
		// The operator decides what an untyped literal is.
		eq, err := Binary("=", l, r)
		if err != nil {
			return nil, err
		}
		if l, err = Cast(l, eq.Children()[0].Type(), Implicit); err != nil {
			return nil, err
		}
	}
	eq, err := Binary("=", &caseTest{typ: l.Type()}, r)
	if err != nil {
		return nil, err
	}
	return &nullIf{l: l, eq: eq, typ: l.Type()}, nil
}

// Greatest is the largest argument that is not NULL.
func Greatest(args ...Expr) (Expr, error) { return newExtreme("GREATEST", args) }

// Least is the smallest argument that is not NULL.
func Least(args ...Expr) (Expr, error) { return newExtreme("LEAST", args) }

func newExtreme(name string, args []Expr) (Expr, error) {
	args, typ, err := Unify(name, args...)
	if err != nil {
		return nil, err
	}
	if typ.ID == types.JSON {
		return nil, sqlerr.New(sqlerr.UndefinedFunction, "could not identify a comparison function for type json")
	}
	return &extreme{args: args, typ: typ, least: name == "LEAST"}, nil
}

// Between is x [NOT] BETWEEN [SYMMETRIC] lo AND hi.
func Between(x, lo, hi Expr, negated, symmetric bool) (Expr, error) {
	pair := func(lo, hi Expr) (Expr, error) {
		ops := [2]string{">=", "<="}
		if negated {
			ops = [2]string{"<", ">"}
		}
		l, err := Binary(ops[0], x, lo)
		if err != nil {
			return nil, err
		}
		r, err := Binary(ops[1], x, hi)
		if err != nil {
			return nil, err
		}
		return newLogic(negated, []Expr{l, r})
	}
	a, err := pair(lo, hi)
	if err != nil || !symmetric {
		return a, err
	}
	b, err := pair(hi, lo)
	if err != nil {
		return nil, err
	}
	return newLogic(!negated, []Expr{a, b})
}

// LikeKind tells LIKE, ILIKE and SIMILAR TO apart.
type LikeKind uint8

// The pattern predicates.
const (
	PlainLike LikeKind = iota
	ILike
	SimilarTo
)

// Like is x [NOT] LIKE|ILIKE|SIMILAR TO pattern [ESCAPE escape]; escape may be nil.
func Like(kind LikeKind, x, pattern, escape Expr, negated bool) (Expr, error) {
	var err error
	op := [...]string{"~~", "~~*", "~"}[kind]
	switch {
	case kind == SimilarTo:
		args := []Expr{pattern}
		if escape != nil {
			args = append(args, escape)
		}
		pattern, err = Call("similar_to_escape", args)
	case escape != nil:
		pattern, err = Call("like_escape", []Expr{pattern, escape})
	}
	if err != nil {
		return nil, err
	}
	if negated {
		op = "!" + op
	}
	return Binary(op, x, pattern)
}

// AtTimeZone is x AT TIME ZONE zone; zone nil is the session's.
func AtTimeZone(x, zone Expr) (Expr, error) {
	if zone == nil {
		var err error
		if zone, err = Call("current_setting", []Expr{ConstText("TimeZone")}); err != nil {
			return nil, err
		}
	}
	return Call("timezone", []Expr{zone, x})
}

// SQLValueFunction is a function written without parentheses: current_date,
// current_timestamp, current_user … precision is -1 where none is given.
func SQLValueFunction(name string, precision int) (Expr, error) {
	var src string
	var typ types.Type
	switch name {
	case "current_date":
		src, typ = "now", types.TDate
	case "current_time":
		return nil, sqlerr.Unsupported("type time with time zone is not supported").
			WithHint("Use LOCALTIME or CURRENT_TIMESTAMP.")
	case "localtime":
		src, typ = "now", types.TTime
	case "current_timestamp":
		src, typ = "now", types.TTimestamptz
	case "localtimestamp":
		src, typ = "now", types.TTimestamp
	case "current_role", "user":
		return Call("current_user", nil)
	case "current_catalog":
		return Call("current_database", nil)
	default:
		return Call(name, nil)
	}
	e, err := Call(src, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case typ.ID == types.Date || precision < 0 || precision >= 6:
	case precision == 0:
		typ.Mod = -1
	default:
		typ.Mod = int16(precision)
	}
	return Cast(e, typ, Explicit)
}

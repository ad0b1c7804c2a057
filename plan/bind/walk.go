package bind

import "github.com/streamsql/streamsql/sql"

// operands returns the expressions directly inside e, in the order of the text.
// Subqueries are not entered.
func operands(e sql.Expr) []sql.Expr {
	switch e := e.(type) {
	case *sql.Unary:
		return []sql.Expr{e.X}
	case *sql.Binary:
		return []sql.Expr{e.L, e.R}
	case *sql.Logic:
		return e.Args
	case *sql.Not:
		return []sql.Expr{e.X}
	case *sql.IsTest:
		return []sql.Expr{e.X}
	case *sql.IsDistinct:
		return []sql.Expr{e.L, e.R}
	case *sql.Between:
		return []sql.Expr{e.X, e.Low, e.High}
	case *sql.In:
		return append([]sql.Expr{e.X}, e.List...)
	case *sql.Like:
		return present(e.X, e.Pattern, e.Escape)
	case *sql.Case:
		out := present(e.Arg)
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Result)
		}
		return append(out, present(e.Else)...)
	case *sql.Cast:
		return []sql.Expr{e.X}
	case *sql.FuncCall:
		return callOperands(e)
	case *sql.NamedArg:
		return []sql.Expr{e.Value}
	case *sql.Quantified:
		return present(e.X, e.Array)
	case *sql.ArrayLit:
		return e.Elems
	case *sql.Row:
		return e.Fields
	case *sql.Subscript:
		return present(e.X, e.Index, e.Lower, e.Upper)
	case *sql.Field:
		return []sql.Expr{e.X}
	case *sql.FieldStar:
		return []sql.Expr{e.X}
	case *sql.AtTimeZone:
		return present(e.X, e.Zone)
	case *sql.Collate:
		return []sql.Expr{e.X}
	}
	return nil
}

func callOperands(e *sql.FuncCall) []sql.Expr {
	out := append([]sql.Expr(nil), e.Args...)
	for _, o := range e.OrderBy {
		out = append(out, o.X)
	}
	out = append(out, present(e.Filter)...)
	if e.Over != nil {
		out = append(out, e.Over.PartitionBy...)
		for _, o := range e.Over.OrderBy {
			out = append(out, o.X)
		}
		if f := e.Over.Frame; f != nil {
			out = append(out, present(f.Start.Offset, f.End.Offset)...)
		}
	}
	return out
}

func present(es ...sql.Expr) []sql.Expr {
	var out []sql.Expr
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// walk calls f for e and what is inside it; f returns whether to go deeper.
func walk(e sql.Expr, f func(sql.Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, o := range operands(e) {
		walk(o, f)
	}
}

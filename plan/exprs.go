package plan

import (
	"github.com/streamsql/streamsql/expr"
)

// ColumnOf tells whether e is a plain input column, and which.
func ColumnOf(e expr.Expr) (col int, ok bool) { return expr.AsColumn(e) }

// ConstOf tells whether e is a constant.
func ConstOf(e expr.Expr) (expr.Expr, bool) { return e, expr.IsConst(e) }

// IsNullConst tells whether e is the constant NULL.
func IsNullConst(e expr.Expr) bool {
	if !expr.IsConst(e) {
		return false
	}
	v, err := expr.EvalConst(e, nil)
	if err != nil {
		return false
	}
	defer v.Release()
	return v.IsNull(0)
}

// SameExpr tells whether two expressions always have the same value.
func SameExpr(a, b expr.Expr) bool {
	return expr.Equal(a, b) && expr.VolatilityOf(a) != expr.Volatile
}

// Map rebuilds e from the leaves up: f gets each expression with its operands
// done already.
func Map(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	kids := e.Children()
	if len(kids) > 0 {
		out := make([]expr.Expr, len(kids))
		changed := false
		for i, k := range kids {
			out[i] = Map(k, f)
			changed = changed || out[i] != k
		}
		if changed {
			e = e.WithChildren(out)
		}
	}
	return f(e)
}

// Any tells whether f is true of e or an operand at any depth.
func Any(e expr.Expr, f func(expr.Expr) bool) bool {
	if f(e) {
		return true
	}
	for _, k := range e.Children() {
		if Any(k, f) {
			return true
		}
	}
	return false
}

// MapColumns replaces the columns of e by other expressions.
func MapColumns(e expr.Expr, f func(col int, e expr.Expr) expr.Expr) expr.Expr {
	return Map(e, func(x expr.Expr) expr.Expr {
		if c, ok := expr.AsColumn(x); ok {
			return f(c, x)
		}
		return x
	})
}

// Remap moves the columns of e to other places.
func Remap(e expr.Expr, at func(int) int) expr.Expr {
	return MapColumns(e, func(c int, x expr.Expr) expr.Expr {
		if n := at(c); n != c {
			return expr.NewColumn(n, ColumnLabel(x), x.Type())
		}
		return x
	})
}

// ColumnLabel is the name that a column shows, without quotes.
func ColumnLabel(e expr.Expr) string { return expr.NameOf(e) }

// Columns returns the input columns that e reads, each once.
func Columns(es ...expr.Expr) []int {
	var out []int
	seen := map[int]bool{}
	for _, e := range es {
		Any(e, func(x expr.Expr) bool {
			if c, ok := expr.AsColumn(x); ok && !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
			return false
		})
	}
	return out
}

// RefersOuter tells whether e refers to the row of the enclosing query at level.
func RefersOuter(e expr.Expr, level int) bool { return len(OuterColumns(e, level)) > 0 }

// OuterColumns returns the columns of the enclosing row at level that e reads.
func OuterColumns(e expr.Expr, level int) []int {
	var out []int
	Any(e, func(x expr.Expr) bool {
		if l, c, ok := expr.AsOuter(x); ok && l == level {
			out = append(out, c)
		}
		return false
	})
	return out
}

// MapOuter moves e's references to enclosing rows.
func MapOuter(e expr.Expr, f func(level, col int) (int, int)) expr.Expr {
	return Map(e, func(x expr.Expr) expr.Expr {
		l, c, ok := expr.AsOuter(x)
		if !ok {
			return x
		}
		nl, nc := f(l, c)
		if nl == l && nc == c {
			return x
		}
		return expr.NewOuter(nl, nc, ColumnLabel(x), x.Type())
	})
}

// IntoSubquery turns an expression over a row into one that a subquery of that
// row can use: columns become references to the enclosing row.
func IntoSubquery(e expr.Expr) expr.Expr {
	return Map(e, func(x expr.Expr) expr.Expr {
		if c, ok := expr.AsColumn(x); ok {
			return expr.NewOuter(1, c, ColumnLabel(x), x.Type())
		}
		if l, c, ok := expr.AsOuter(x); ok {
			return expr.NewOuter(l+1, c, ColumnLabel(x), x.Type())
		}
		return x
	})
}

// Conjuncts splits a condition at its ANDs.
func Conjuncts(e expr.Expr) []expr.Expr {
	if e == nil {
		return nil
	}
	if and, ok := expr.AsAnd(e); ok {
		var out []expr.Expr
		for _, a := range and {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []expr.Expr{e}
}

// Conjunction joins conditions; nil for none.
func Conjunction(es []expr.Expr) expr.Expr {
	if len(es) == 0 {
		return nil
	}
	e, err := expr.And(es...)
	if err != nil { // all are boolean already
		panic(err)
	}
	return e
}

// NamedExprs lists expressions with the names that their columns have in s.
func NamedExprs(es []expr.Expr, s *Schema) string {
	out := ""
	for i, e := range es {
		if i > 0 {
			out += ", "
		}
		t := e.String()
		out += t
		if name := s.Fields[i].Name; name != "" && name != t {
			out += " AS " + name
		}
	}
	return out
}

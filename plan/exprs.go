package plan

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/expr"
)

// ColumnOf tells whether e is a plain input column, and which.
func ColumnOf(e expr.Expr) (col int, ok bool) {
	col, _, ok = expr.AsColumn(e)
	return col, ok
}

// IsNullConst tells whether e is the constant NULL.
func IsNullConst(e expr.Expr) bool {
	v, ok := expr.AsConst(e)
	return ok && v.IsNull(0)
}

// MapColumns replaces the columns of e by other expressions of the same types.
func MapColumns(e expr.Expr, f func(col int, e expr.Expr) expr.Expr) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		if c, _, ok := expr.AsColumn(x); ok {
			return f(c, x)
		}
		return x
	})
}

// Columns returns the input columns that the expressions read, ascending, each
// once.
func Columns(es ...expr.Expr) []int {
	var out []int
	for _, e := range es {
		out = append(out, expr.Columns(e)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RefersOuter tells whether e refers to the row of the enclosing query at level.
func RefersOuter(e expr.Expr, level int) bool { return len(OuterColumns(e, level)) > 0 }

// OuterColumns returns the columns of the enclosing row at level that e reads.
func OuterColumns(e expr.Expr, level int) []int {
	var out []int
	expr.Walk(e, func(x expr.Expr) bool {
		if l, c, ok := expr.AsOuter(x); ok && l == level {
			out = append(out, c)
		}
		return true
	})
	return out
}

// MapOuter moves e's references to enclosing rows.
func MapOuter(e expr.Expr, f func(level, col int) (int, int)) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		l, c, ok := expr.AsOuter(x)
		if !ok {
			return x
		}
		nl, nc := f(l, c)
		if nl == l && nc == c {
			return x
		}
		return expr.NewOuter(nl, nc, Label(x), x.Type())
	})
}

// IntoSubquery turns an expression over a row into one that a subquery of that
// row can use: columns become references to the enclosing row.
func IntoSubquery(e expr.Expr) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		if c, name, ok := expr.AsColumn(x); ok {
			return expr.NewOuter(1, c, name, x.Type())
		}
		if l, c, ok := expr.AsOuter(x); ok {
			return expr.NewOuter(l+1, c, Label(x), x.Type())
		}
		return x
	})
}

// Label is the name that a reference to an enclosing row shows, without quotes.
func Label(e expr.Expr) string {
	s := e.String()
	if len(s) > 1 && s[0] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Simplify takes fields out of rows that are written out: (ROW(a, b)).f1 is a.
func Simplify(e expr.Expr) expr.Expr {
	return expr.Transform(e, func(x expr.Expr) expr.Expr {
		kids := x.Children()
		if len(kids) != 1 {
			return x
		}
		parts, ok := expr.RowFields(kids[0])
		if !ok {
			return x
		}
		for i, f := range kids[0].Type().Fields {
			if field, err := expr.Field(kids[0], f.Name); err == nil && expr.Equal(field, x) {
				return parts[i]
			}
		}
		return x
	})
}

// Conjuncts splits a condition at its ANDs; nil has none.
func Conjuncts(e expr.Expr) []expr.Expr {
	if e == nil {
		return nil
	}
	terms := expr.AndTerms(e)
	if len(terms) == 1 {
		return terms
	}
	var out []expr.Expr
	for _, t := range terms {
		out = append(out, Conjuncts(t)...)
	}
	return out
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

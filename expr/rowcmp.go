package expr

import "github.com/streamsql/streamsql/internal/sqlerr"

// CompareRows is a comparison of two ROW(…) constructors field by field, as SQL
// defines it: = and <> join the fields' results, < and the like look at the first
// pair that differs.
func CompareRows(op string, l, r []Expr) (Expr, error) {
	if len(l) != len(r) {
		return nil, sqlerr.New(sqlerr.SyntaxError, "unequal number of entries in row expressions")
	}
	if len(l) == 0 {
		return nil, sqlerr.Unsupported("cannot compare rows of zero length")
	}
	if op == "!=" {
		op = "<>"
	}
	switch op {
	case "=", "<>":
		terms := make([]Expr, len(l))
		for i := range l {
			t, err := rowOrBinary(op, l[i], r[i])
			if err != nil {
				return nil, err
			}
			terms[i] = t
		}
		return newLogic(op == "<>", terms)
	case "<", "<=", ">", ">=":
		return rowOrder(op, l, r)
	}
	return nil, sqlerr.Unsupported("could not determine interpretation of row comparison operator %s", op)
}

// rowOrder writes (a, b) < (c, d) as CASE WHEN a < c THEN true WHEN a = c THEN
// b < d … END, which is NULL where PostgreSQL's is.
func rowOrder(op string, l, r []Expr) (Expr, error) {
	last, err := rowOrBinary(op, l[len(l)-1], r[len(r)-1])
	if err != nil {
		return nil, err
	}
	for i := len(l) - 2; i >= 0; i-- {
		eq, err := rowOrBinary("=", l[i], r[i])
		if err != nil {
			return nil, err
		}
		strict, err := rowOrBinary(op[:1], l[i], r[i])
		if err != nil {
			return nil, err
		}
		// Where the fields are equal the rest decides; where they differ, they do.
		if last, err = Case(nil, []When{{Cond: eq, Result: last}}, strict); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// rowOrBinary is Binary that takes two row constructors apart.
func rowOrBinary(op string, l, r Expr) (Expr, error) {
	lf, lok := RowFields(l)
	rf, rok := RowFields(r)
	if lok && rok {
		return CompareRows(op, lf, rf)
	}
	return Binary(op, l, r)
}

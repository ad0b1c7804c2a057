package bind

import "github.com/streamsql/streamsql/sql"

// mentions tells whether a query reads a relation of that bare name, subqueries
// included. A name that an inner WITH hides counts as well.
func mentions(q *sql.Query, name string) bool {
	if q == nil {
		return false
	}
	if q.With != nil {
		for _, c := range q.With.CTEs {
			if mentions(c.Query, name) {
				return true
			}
		}
	}
	for _, o := range q.OrderBy {
		if mentionsExpr(o.X, name) {
			return true
		}
	}
	return mentionsBody(q.Body, name)
}

func mentionsBody(b sql.QueryBody, name string) bool {
	switch b := b.(type) {
	case *sql.Query:
		return mentions(b, name)
	case *sql.SetOp:
		return mentionsBody(b.Left, name) || mentionsBody(b.Right, name)
	case *sql.TableBody:
		return mentionsRef(b.Rel, name)
	case *sql.Values:
		for _, r := range b.Rows {
			if mentionsAny(r, name) {
				return true
			}
		}
	case *sql.Select:
		for _, f := range b.From {
			if mentionsRef(f, name) {
				return true
			}
		}
		for _, t := range b.Targets {
			if mentionsExpr(t.X, name) {
				return true
			}
		}
		return mentionsExpr(b.Where, name) || mentionsExpr(b.Having, name)
	}
	return false
}

func mentionsRef(t sql.TableRef, name string) bool {
	switch t := t.(type) {
	case *sql.Relation:
		return !t.Name.Schema.Given() && t.Name.Name.Text == name
	case *sql.DerivedTable:
		return mentions(t.Query, name)
	case *sql.Join:
		return mentionsRef(t.Left, name) || mentionsRef(t.Right, name) || mentionsExpr(t.On, name)
	case *sql.TableFunc:
		for _, c := range t.Calls {
			if mentionsExpr(c.Call, name) {
				return true
			}
		}
	}
	return false
}

func mentionsAny(es []sql.Expr, name string) bool {
	for _, e := range es {
		if mentionsExpr(e, name) {
			return true
		}
	}
	return false
}

func mentionsExpr(e sql.Expr, name string) bool {
	found := false
	walk(e, func(x sql.Expr) bool {
		switch x := x.(type) {
		case *sql.Subquery:
			found = found || mentions(x.Query, name)
		case *sql.In:
			found = found || mentions(x.Query, name)
		case *sql.Quantified:
			found = found || mentions(x.Query, name)
		case *sql.RelationArg:
			found = found || mentionsRef(x.Rel, name)
		}
		return !found
	})
	return found
}

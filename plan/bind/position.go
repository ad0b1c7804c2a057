package bind

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// literalError points an error about the text of a literal among x's operands at
// the literal, as PostgreSQL does.
func literalError(err error, x sql.Expr) error {
	e := sqlerr.From(err)
	if e.Pos != 0 || !strings.HasPrefix(string(e.Code), "22") {
		return err
	}
	for _, o := range operands(x) {
		if s, ok := o.(*sql.StringLit); ok && strings.HasSuffix(e.Message, ": \""+s.Value+"\"") {
			return e.At(s.Pos)
		}
	}
	return err
}

// unmatched points an error about types without a common one at the first
// operand that does not fit those before it.
func unmatched(err error, xs []sql.Expr, es []expr.Expr) error {
	if err == nil || sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch {
		return err
	}
	var ts []types.Type
	for i, e := range es {
		ts = append(ts, e.Type())
		if _, bad := types.Common("", ts...); bad != nil {
			return at(err, xs[i].Position())
		}
	}
	return err
}

// columnPos is where column i of a query body is written.
func columnPos(q sql.QueryBody, i int) int {
	switch b := q.(type) {
	case *sql.Query:
		return columnPos(b.Body, i)
	case *sql.SetOp:
		return columnPos(b.Left, i)
	case *sql.Select:
		if i < len(b.Targets) {
			return b.Targets[i].X.Position()
		}
	case *sql.Values:
		if i < len(b.Rows[0]) {
			return b.Rows[0][i].Position()
		}
	}
	return q.Position()
}

// bodyLiteral is literalError for the select list of a query.
func bodyLiteral(err error, q sql.QueryBody) error {
	if s, ok := q.(*sql.Select); ok {
		row := &sql.Row{}
		for _, t := range s.Targets {
			row.Fields = append(row.Fields, t.X)
		}
		return literalError(err, row)
	}
	return err
}

package plan

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/sql/types"
)

// SetFunc is a call of a function that returns rows.
type SetFunc struct {
	// Name is the function's, in lower case: generate_series, unnest …
	Name string
	Args []expr.Expr
	// Types are the columns that it returns.
	Types []types.Type
}

// String shows the call.
func (f SetFunc) String() string { return f.Name + "(" + ExprList(f.Args) + ")" }

// ExprList shows expressions, separated by commas.
func ExprList(es []expr.Expr) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = e.String()
	}
	return strings.Join(s, ", ")
}

package logical

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql/types"
)

// TableFunc calls functions in FROM, their rows side by side; see the physical
// node of the same name.
type TableFunc struct {
	base
	Calls          []plan.SetFunc
	WithOrdinality bool
}

// NewTableFunc returns the node; its columns are fields.
func NewTableFunc(calls []plan.SetFunc, ordinality bool, fields ...plan.Field) *TableFunc {
	if ordinality {
		fields = append(fields[:len(fields):len(fields)], plan.Field{Name: "ordinality", Type: types.TInt8, NotNull: true})
	}
	return &TableFunc{base{nil, plan.NewSchema(fields...)}, calls, ordinality}
}

// WithChildren returns n, which has no inputs.
func (n *TableFunc) WithChildren([]Node) Node { return n }

// Exprs returns the arguments of all calls.
func (n *TableFunc) Exprs() []expr.Expr { return callArgs(n.Calls) }

// WithExprs returns a copy with other arguments.
func (n *TableFunc) WithExprs(e []expr.Expr) Node {
	c := *n
	c.Calls = withArgs(n.Calls, e)
	return &c
}

// Describe shows the node.
func (n *TableFunc) Describe() plan.Desc {
	d := plan.Desc{Op: "TableFunc"}.With("calls", callList(n.Calls))
	if n.WithOrdinality {
		d = d.With("ordinality", "yes")
	}
	return d
}

func callArgs(calls []plan.SetFunc) []expr.Expr {
	var out []expr.Expr
	for _, c := range calls {
		out = append(out, c.Args...)
	}
	return out
}

func withArgs(calls []plan.SetFunc, e []expr.Expr) []plan.SetFunc {
	out := make([]plan.SetFunc, len(calls))
	for i, c := range calls {
		k := len(c.Args)
		c.Args, e = e[:k:k], e[k:]
		out[i] = c
	}
	return out
}

func callList(calls []plan.SetFunc) string {
	s := make([]string, len(calls))
	for i, c := range calls {
		s[i] = c.String()
	}
	return strings.Join(s, ", ")
}

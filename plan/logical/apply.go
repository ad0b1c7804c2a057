package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql/types"
)

// Apply runs the subquery, its right input, for rows of its left input and adds
// columns; Kind says which.
type Apply struct {
	base
	Kind plan.ApplyKind
	Test expr.Expr
	Pos  int
}

// NewApply returns the node.
func NewApply(l, sub Node, kind plan.ApplyKind, test expr.Expr, pos int) *Apply {
	var add []plan.Field
	rs := sub.Schema()
	switch kind {
	case plan.ApplyScalar:
		add = []plan.Field{{Name: rs.Fields[0].Name, Type: rs.Fields[0].Type}}
	case plan.ApplyExists:
		add = []plan.Field{{Name: "exists", Type: types.TBool, NotNull: true}}
	case plan.ApplyAny, plan.ApplyAll:
		add = []plan.Field{{Name: kind.String(), Type: types.TBool}}
	case plan.ApplyArray:
		add = []plan.Field{{Name: "array", Type: types.ArrayOf(rs.Fields[0].Type), NotNull: true}}
	case plan.ApplyCross:
		add = rs.Fields
	case plan.ApplyRow, plan.ApplyLeft:
		add = rs.Nullable().Fields
	}
	return &Apply{base{[]Node{l, sub}, l.Schema().Concat(plan.NewSchema(add...))}, kind, test, pos}
}

// WithChildren returns a copy with other inputs.
func (n *Apply) WithChildren(c []Node) Node { return NewApply(c[0], c[1], n.Kind, n.Test, n.Pos) }

// Exprs returns the test.
func (n *Apply) Exprs() []expr.Expr { return optional(n.Test) }

// WithExprs returns a copy with another test.
func (n *Apply) WithExprs(e []expr.Expr) Node {
	c := *n
	c.Test = take(n.Test, &e)
	return &c
}

// Describe shows the node.
func (n *Apply) Describe() plan.Desc {
	d := plan.Desc{Op: "Apply"}.With("kind", n.Kind.String())
	if n.Test != nil {
		d = d.With("test", n.Test.String())
	}
	return d
}

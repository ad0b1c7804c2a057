package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Union gives the rows of all inputs, which have the same types.
type Union struct{ base }

// NewUnion returns the node; the columns are called as the first input's.
func NewUnion(in ...Node) *Union {
	f := append([]plan.Field(nil), in[0].Schema().Fields...)
	for i := range f {
		f[i].Table, f[i].Attr = 0, 0
		for _, n := range in {
			f[i].NotNull = f[i].NotNull && n.Schema().Fields[i].NotNull
		}
	}
	return &Union{base{in, plan.NewSchema(f...)}}
}

// WithChildren returns a copy with other inputs.
func (n *Union) WithChildren(c []Node) Node { return NewUnion(c...) }

// Exprs returns nil.
func (n *Union) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Union) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Union) Describe() plan.Desc { return plan.Desc{Op: "Union"} }

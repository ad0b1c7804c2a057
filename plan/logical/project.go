package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Project computes one column per expression.
type Project struct {
	base
	List []expr.Expr
}

// NewProject returns the node; names are the output columns'.
func NewProject(in Node, list []expr.Expr, names []string) *Project {
	f := make([]plan.Field, len(list))
	for i, e := range list {
		f[i] = plan.Field{Name: names[i], Type: e.Type()}
		if c, ok := plan.ColumnOf(e); ok {
			src := in.Schema().Fields[c]
			f[i].NotNull, f[i].Table, f[i].Attr = src.NotNull, src.Table, src.Attr
		} else if v, ok := expr.AsConst(e); ok {
			f[i].NotNull = !v.IsNull(0)
		}
	}
	return &Project{base{[]Node{in}, plan.NewSchema(f...)}, list}
}

// WithChildren returns a copy with another input.
func (n *Project) WithChildren(c []Node) Node { return NewProject(c[0], n.List, n.schema.Names()) }

// Exprs returns the expressions.
func (n *Project) Exprs() []expr.Expr { return n.List }

// WithExprs returns a copy with other expressions.
func (n *Project) WithExprs(e []expr.Expr) Node {
	return NewProject(n.in[0], e, n.schema.Names())
}

// Describe shows the node.
func (n *Project) Describe() plan.Desc {
	return plan.Desc{Op: "Project"}.With("columns", plan.NamedExprs(n.List, n.schema))
}

// Extend returns in with computed columns added at the end, and their positions.
// Expressions that are columns already are not computed again.
func Extend(in Node, list []expr.Expr, names []string) (Node, []int) {
	s := in.Schema()
	at := make([]int, len(list))
	exprs, all := Identity(s), s.Names()
	for i, e := range list {
		if c, ok := plan.ColumnOf(e); ok {
			at[i] = c
			continue
		}
		at[i] = -1
		for k := s.Len(); k < len(exprs); k++ {
			if expr.Equal(exprs[k], e) {
				at[i] = k
			}
		}
		if at[i] < 0 {
			at[i] = len(exprs)
			exprs, all = append(exprs, e), append(all, names[i])
		}
	}
	if len(exprs) == s.Len() {
		return in, at
	}
	return NewProject(in, exprs, all), at
}

// Identity returns the columns of s as expressions.
func Identity(s *plan.Schema) []expr.Expr {
	out := make([]expr.Expr, s.Len())
	for i, f := range s.Fields {
		out[i] = expr.NewColumn(i, f.Name, f.Type)
	}
	return out
}

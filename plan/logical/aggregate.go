package logical

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Aggregate groups rows by columns. The output is one column per GroupBy entry,
// then one per aggregate. Without aggregates it is DISTINCT. With neither it is
// one row.
type Aggregate struct {
	base
	GroupBy []int
	Aggs    []plan.AggCall
	// Keyless: no GROUP BY: one row also for an empty input.
	Keyless bool
	// Late are columns of the input that late rows are to be shown with. They are set
	// right before columns are pruned, and have no meaning afterwards.
	Late []int
	Pos  int
}

// NewAggregate returns the node.
func NewAggregate(in Node, groupBy []int, aggs []plan.AggCall, keyless bool, pos int) *Aggregate {
	f := in.Schema().Select(groupBy).Fields
	for _, a := range aggs {
		f = append(f, plan.Field{Name: a.Name, Type: a.Type, NotNull: a.Name == "count"})
	}
	return &Aggregate{base{[]Node{in}, plan.NewSchema(f...)}, groupBy, aggs, keyless, nil, pos}
}

// NewDistinct returns in without duplicates.
func NewDistinct(in Node, pos int) *Aggregate {
	return NewAggregate(in, allOf(in.Schema()), nil, false, pos)
}

// WithChildren returns a copy with another input.
func (n *Aggregate) WithChildren(c []Node) Node {
	return NewAggregate(c[0], n.GroupBy, n.Aggs, n.Keyless, n.Pos)
}

// Exprs returns nil.
func (n *Aggregate) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Aggregate) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Aggregate) Describe() plan.Desc {
	in := n.in[0].Schema()
	s := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		s[i] = a.Describe(in)
	}
	return plan.Desc{Op: "Aggregate"}.With("group", in.ColumnNames(n.GroupBy)).
		With("aggregates", strings.Join(s, ", "))
}

package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Node is an operation of a logical plan.
type Node interface {
	Schema() *plan.Schema
	Children() []Node
	// WithChildren returns a copy with other inputs. Their columns may differ in
	// what they are called, not in number, order and type.
	WithChildren(c []Node) Node
	// Exprs are the node's own expressions, none nil.
	Exprs() []expr.Expr
	// WithExprs returns a copy with other expressions, in the order of Exprs.
	WithExprs(e []expr.Expr) Node
	Describe() plan.Desc
}

// base is what nodes have in common.
type base struct {
	in     []Node
	schema *plan.Schema
}

func (b *base) Schema() *plan.Schema { return b.schema }
func (b *base) Children() []Node     { return b.in }

// Input returns the only, or left, input.
func (b *base) Input() Node { return b.in[0] }

// Transform rebuilds a plan from the leaves up: f gets each node with its inputs
// done already.
func Transform(n Node, f func(Node) Node) Node {
	return f(mapChildren(n, func(c Node) Node { return Transform(c, f) }))
}

// mapChildren applies f to the inputs and keeps n when none of them changes.
func mapChildren(n Node, f func(Node) Node) Node {
	in := n.Children()
	if len(in) == 0 {
		return n
	}
	out := make([]Node, len(in))
	changed := false
	for i, c := range in {
		out[i] = f(c)
		changed = changed || out[i] != c
	}
	if !changed {
		return n
	}
	return n.WithChildren(out)
}

// MapExprs returns n with f applied to each of its expressions.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	es := n.Exprs()
	if len(es) == 0 {
		return n
	}
	out := make([]expr.Expr, len(es))
	changed := false
	for i, e := range es {
		out[i] = f(e)
		changed = changed || out[i] != e
	}
	if !changed {
		return n
	}
	return n.WithExprs(out)
}

// Count returns the number of nodes, at most limit.
func Count(n Node, limit int) int {
	c := 1
	for _, i := range n.Children() {
		if c >= limit {
			return c
		}
		c += Count(i, limit-c)
	}
	return c
}

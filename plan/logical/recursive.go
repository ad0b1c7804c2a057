package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Recursive is a recursive common table expression: its first input once, then
// its second until it gives no rows, WorkTable nodes of the same Table giving
// the rows of the run before. Without All duplicates are dropped.
type Recursive struct {
	base
	Table int
	Name  string
	All   bool
	Pos   int
}

// NewRecursive returns the node; its columns are s.
func NewRecursive(first, step Node, s *plan.Schema, table int, name string, all bool, pos int) *Recursive {
	return &Recursive{base{[]Node{first, step}, s}, table, name, all, pos}
}

// WithChildren returns a copy with other inputs.
func (n *Recursive) WithChildren(c []Node) Node {
	return NewRecursive(c[0], c[1], n.schema, n.Table, n.Name, n.All, n.Pos)
}

// Exprs returns nil.
func (n *Recursive) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *Recursive) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *Recursive) Describe() plan.Desc {
	d := plan.Desc{Op: "Recursive"}.With("name", n.Name)
	if n.All {
		d = d.With("all", "yes")
	}
	return d
}

// WorkTable gives the rows of the previous run of a Recursive.
type WorkTable struct {
	base
	Table int
	Name  string
}

// NewWorkTable returns the node.
func NewWorkTable(s *plan.Schema, table int, name string) *WorkTable {
	return &WorkTable{base{nil, s}, table, name}
}

// WithChildren returns n, which has no inputs.
func (n *WorkTable) WithChildren([]Node) Node { return n }

// Exprs returns nil.
func (n *WorkTable) Exprs() []expr.Expr { return nil }

// WithExprs returns n.
func (n *WorkTable) WithExprs([]expr.Expr) Node { return n }

// Describe shows the node.
func (n *WorkTable) Describe() plan.Desc { return plan.Desc{Op: "WorkTable"}.With("name", n.Name) }

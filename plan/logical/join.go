package logical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Join joins two inputs by a condition over the left columns followed by the
// right ones; nil: every pair. Semi and anti joins give left columns only.
type Join struct {
	base
	Kind plan.JoinKind
	On   expr.Expr
	// Regular asks for a join that follows changes of both sides, where a broadcast
	// join would be the choice.
	Regular bool
	Pos     int
}

// NewJoin returns the node.
func NewJoin(l, r Node, kind plan.JoinKind, on expr.Expr, pos int) *Join {
	ls, rs := l.Schema(), r.Schema()
	switch kind {
	case plan.LeftJoin:
		rs = rs.Nullable()
	case plan.RightJoin:
		ls = ls.Nullable()
	case plan.FullJoin:
		ls, rs = ls.Nullable(), rs.Nullable()
	}
	s := ls
	if kind != plan.SemiJoin && kind != plan.AntiJoin {
		s = ls.Concat(rs)
	}
	return &Join{base: base{[]Node{l, r}, s}, Kind: kind, On: on, Pos: pos}
}

// WithChildren returns a copy with other inputs.
func (n *Join) WithChildren(c []Node) Node {
	j := NewJoin(c[0], c[1], n.Kind, n.On, n.Pos)
	j.Regular = n.Regular
	return j
}

// Exprs returns the condition.
func (n *Join) Exprs() []expr.Expr { return optional(n.On) }

// WithExprs returns a copy with another condition.
func (n *Join) WithExprs(e []expr.Expr) Node {
	c := *n
	c.On = take(n.On, &e)
	return &c
}

// Describe shows the node.
func (n *Join) Describe() plan.Desc {
	d := plan.Desc{Op: "Join"}.With("kind", n.Kind.String())
	if n.Regular {
		d = d.With("hint", "regular")
	}
	if n.On != nil {
		d = d.With("on", n.On.String())
	}
	return d
}

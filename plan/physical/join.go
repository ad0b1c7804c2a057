package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// JoinKind is a kind of join.
type JoinKind = plan.JoinKind

// The kinds of joins. Semi and anti give left rows only.
const (
	InnerJoin = plan.InnerJoin
	LeftJoin  = plan.LeftJoin
	RightJoin = plan.RightJoin
	FullJoin  = plan.FullJoin
	CrossJoin = plan.CrossJoin
	SemiJoin  = plan.SemiJoin
	AntiJoin  = plan.AntiJoin
)

// Join joins its left and right input. The output is the left columns followed by
// the right ones (semi and anti: the left ones).
type Join struct {
	Base
	Kind JoinKind
	// LeftKeys and RightKeys are equal pairwise in matching rows; both empty: every
	// pair is tried. NullSafe tells for each pair whether NULL equals NULL.
	LeftKeys, RightKeys []int
	NullSafe            []bool
	// Residual is a further condition over left and right columns, or nil. For an
	// outer join it decides whether a pair matches, it does not filter the result.
	Residual expr.Expr
	// Broadcast: one side is static. It is read completely before the first row of
	// the other side, later changes of it affect later rows only, and the other
	// side is not kept. StaticRight tells which one it is.
	Broadcast   bool
	StaticRight bool
}

// Describe shows the node.
func (n *Join) Describe() plan.Desc {
	l, r := n.Input[0].Schema(), n.Input[1].Schema()
	d := plan.Desc{Op: "Join"}.With("kind", n.Kind.String())
	if n.Broadcast {
		side := "left"
		if n.StaticRight {
			side = "right"
		}
		d = d.With("broadcast", side)
	}
	s := ""
	for i, k := range n.LeftKeys {
		if i > 0 {
			s += " AND "
		}
		op := " = "
		if n.NullSafe[i] {
			op = " IS NOT DISTINCT FROM "
		}
		s += l.ColumnName(k) + op + r.ColumnName(n.RightKeys[i])
	}
	d = d.With("on", s)
	if n.Residual != nil {
		d = d.With("where", n.Residual.String())
	}
	return d
}

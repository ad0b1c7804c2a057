package physical

import "github.com/streamsql/streamsql/plan"

// Exchange moves rows between parallel tasks so that they are spread as To says.
type Exchange struct {
	Base
	To Dist
}

// Describe shows the node.
func (n *Exchange) Describe() plan.Desc {
	to := n.To.String()
	if n.To.Kind == DistHash {
		to = "hash(" + n.Out.ColumnNames(n.To.Cols) + ")"
	}
	return plan.Desc{Op: "Exchange"}.With("to", to)
}

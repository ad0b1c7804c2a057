package physical

import "github.com/streamsql/streamsql/plan"

// Union gives the rows of all inputs (UNION ALL). The inputs have the same types.
type Union struct{ Base }

// Describe shows the node.
func (n *Union) Describe() plan.Desc { return plan.Desc{Op: "Union"} }

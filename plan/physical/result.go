package physical

import "github.com/streamsql/streamsql/plan"

// Result is the root of a SELECT: its rows go to the client.
type Result struct{ Base }

// Describe shows the node.
func (n *Result) Describe() plan.Desc { return plan.Desc{Op: "Result"} }

package physical

import "github.com/streamsql/streamsql/plan"

// NodeID is the node's pre-order number in its plan, from 1.
type NodeID int

// Node is an operator of a physical plan.
type Node interface {
	ID() NodeID
	Schema() *plan.Schema
	Children() []Node
	Props() *Props
	// Describe says what the node does; EXPLAIN adds the properties.
	Describe() plan.Desc
}

// Base is what all nodes have in common.
type Base struct {
	Num   NodeID
	Out   *plan.Schema
	Prop  Props
	Input []Node
}

// ID returns the node's number.
func (b *Base) ID() NodeID { return b.Num }

// Schema returns the columns of the output.
func (b *Base) Schema() *plan.Schema { return b.Out }

// Children returns the inputs, left first.
func (b *Base) Children() []Node { return b.Input }

// Props returns what is known of the output.
func (b *Base) Props() *Props { return &b.Prop }

// SetID numbers the node; only the planner calls it, once.
func (b *Base) SetID(n NodeID) { b.Num = n }

package physical

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/plan"
)

// SinkWrite hands the rows to a sink. Key holds the input columns that identify a
// row; nil: none.
type SinkWrite struct {
	Base
	Object  *catalog.Object
	Columns []catalog.Column
	Key     []int
}

// Describe shows the node.
func (n *SinkWrite) Describe() plan.Desc {
	d := plan.Desc{Op: "SinkWrite"}.With("sink", n.Object.Name.String())
	if n.Key != nil {
		d = d.With("key", n.Out.ColumnNames(n.Key))
	}
	return d
}

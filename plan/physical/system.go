package physical

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/plan"
)

// SystemScan reads a relation of pg_catalog, information_schema or streamsql,
// whose rows the session delivers at run time.
type SystemScan struct {
	Base
	Object *catalog.Object
	// Columns are the positions in Object.Columns that the output has, in order.
	Columns []int
}

// Describe shows the node.
func (n *SystemScan) Describe() plan.Desc {
	return plan.Desc{Op: "SystemScan"}.With("relation", n.Object.Name.String()).
		With("columns", n.Out.ColumnNames(all(n.Out)))
}

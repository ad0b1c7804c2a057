package physical

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/plan"
)

// Materialize stores the rows of a materialized view under its key. Key holds
// the input columns of the stream key; nil: the rows are a multiset, stored under
// a hidden row id (append-only input) or with a count per distinct row.
type Materialize struct {
	Base
	Object *catalog.Object
	Key    []int
}

// Describe shows the node.
func (n *Materialize) Describe() plan.Desc {
	d := plan.Desc{Op: "Materialize"}.With("view", n.Object.Name.String())
	switch {
	case n.Key == nil:
		return d.With("key", "none")
	case len(n.Key) == 0:
		return d.With("key", "one row")
	}
	return d.With("key", n.Out.ColumnNames(n.Key))
}

package physical

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/plan"
)

// SourceScan reads a source. Its output is the columns with Used set, in
// declared order. Generated columns are not among them: a Project above computes
// them.
type SourceScan struct {
	Base
	Object *catalog.Object
	// Columns are all declared columns that are not generated, in order, metadata
	// columns included; Attrs holds the position of each in Object.Columns.
	Columns []catalog.Column
	Attrs   []int
	// Used tells which of Columns the plan reads; a decoder need not fill others.
	Used []bool
	// Bounded: read from the start to what is there now, then end (a SELECT).
	Bounded bool
}

// Describe shows the node.
func (n *SourceScan) Describe() plan.Desc {
	d := plan.Desc{Op: "SourceScan"}.With("source", n.Object.Name.String())
	if n.Object.Changing() {
		d = d.With("records", "changes")
	}
	return d.With("columns", n.Out.ColumnNames(all(n.Out)))
}

func all(s *plan.Schema) []int {
	c := make([]int, s.Len())
	for i := range c {
		c[i] = i
	}
	return c
}

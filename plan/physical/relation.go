package physical

import (
	"strings"

	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// RelationScan reads the stored rows of a table or materialized view.
type RelationScan struct {
	Base
	Object *catalog.Object
	// Columns are the positions in Object.Columns that the output has, in order.
	Columns []int
	// Feed: a continuous query reads the snapshot first and then the change feed,
	// whose offset is the upstream epoch. Otherwise one snapshot is read.
	Feed bool
	// Stream: only the inserts matter, as an unbounded append-only stream
	// (STREAM r of an append-only relation). Implies Feed.
	Stream bool
	// KeyEq, in a SELECT, are values for the first columns of Object.Key: only rows
	// with that key prefix are read. They refer to no columns but those of
	// enclosing queries. A NULL value finds no row.
	KeyEq []expr.Expr
}

// Describe shows the node.
func (n *RelationScan) Describe() plan.Desc {
	d := plan.Desc{Op: "RelationScan"}.With(strings.ReplaceAll(n.Object.Kind.String(), " ", "_"), n.Object.Name.String())
	d = d.With("columns", n.Out.ColumnNames(all(n.Out)))
	if len(n.KeyEq) > 0 {
		var b strings.Builder
		for i, e := range n.KeyEq {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(n.Object.Columns[n.Object.Key[i]].Name + " = " + e.String())
		}
		d = d.With("key", b.String())
	}
	switch {
	case n.Stream:
		d = d.With("read", "stream of inserts")
	case n.Feed:
		d = d.With("read", "changes")
	}
	return d
}

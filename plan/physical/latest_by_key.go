package physical

import "github.com/streamsql/streamsql/plan"

// LatestByKey makes rows of records that change rows: of each key it keeps the newest row,
// takes it back when another comes, and drops it when its deletion does. Records come as
// inserts of new rows, and as deletes of which the key alone has values.
type LatestByKey struct {
	Base
	Keys []int
	// TTL, if not 0, is how many microseconds of processing time a key stays that no
	// record touches; its row is then taken back.
	TTL int64
}

// Describe shows the node.
func (n *LatestByKey) Describe() plan.Desc {
	d := plan.Desc{Op: "LatestByKey"}.With("keys", n.Out.ColumnNames(n.Keys))
	if n.TTL > 0 {
		d = d.With("forget", "after "+plan.Micros(n.TTL))
	}
	return d
}

package physical

import "github.com/streamsql/streamsql/plan"

// DistinctOn keeps the first row of each group of equal Keys, first by OrderBy
// and then by arrival. In a SELECT the input is sorted already.
type DistinctOn struct {
	Base
	Keys    []int
	OrderBy []SortKey

	// Of a continuous query:

	// Time is the event-time column: a row for which it is at or before the watermark
	// is late. -1: nothing is late.
	Time int
	// Forget is the column that bounds a key's stay, or -1: the key is forgotten when
	// its first row's value + Lag <= watermark.
	Forget int
	Lag    int64
	// TTL, if not 0, is how many microseconds of processing time a key stays that no
	// row touches.
	TTL int64
	// Replace: a row that comes first by OrderBy takes the place of the one given
	// before.
	Replace bool
}

// Describe shows the node.
func (n *DistinctOn) Describe() plan.Desc {
	return plan.Desc{Op: "DistinctOn"}.With("keys", n.Out.ColumnNames(n.Keys)).
		With("order", plan.DescribeKeys(n.Out, n.OrderBy)).With("forget", n.forget())
}

func (n *DistinctOn) forget() string {
	if n.TTL > 0 {
		return "after " + plan.Micros(n.TTL)
	}
	if n.Forget < 0 {
		return ""
	}
	return "when " + n.Out.ColumnName(n.Forget) + " + " + plan.Micros(n.Lag) + " <= watermark"
}

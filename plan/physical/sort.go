package physical

import "github.com/streamsql/streamsql/plan"

// SortKey is one column of an order. Text sorts by bytes.
type SortKey struct {
	Col        int
	Desc       bool
	NullsFirst bool
}

func sortKeys(s *plan.Schema, keys []SortKey) string {
	out := ""
	for i, k := range keys {
		if i > 0 {
			out += ", "
		}
		out += colName(s, k.Col)
		if k.Desc {
			out += " DESC"
		}
		if k.NullsFirst != k.Desc {
			if k.NullsFirst {
				out += " NULLS FIRST"
			} else {
				out += " NULLS LAST"
			}
		}
	}
	return out
}

// Sort orders all rows; equal rows keep their order.
type Sort struct {
	Base
	Keys []SortKey
}

// Describe shows the node.
func (n *Sort) Describe() plan.Desc {
	return plan.Desc{Op: "Sort"}.With("by", sortKeys(n.Out, n.Keys))
}

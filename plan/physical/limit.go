package physical

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/plan"
)

// Limit passes Limit rows after skipping Offset. Both are bigint expressions
// without columns, nil or NULL for none; a negative value is 2201W or 2201X.
// WithTies (the input is sorted by Ties) also passes the rows that tie with the
// last one.
type Limit struct {
	Base
	Limit, Offset expr.Expr
	WithTies      bool
	Ties          []SortKey
}

// Describe shows the node.
func (n *Limit) Describe() plan.Desc {
	return describeLimit(plan.Desc{Op: "Limit"}, n.Limit, n.Offset, n.WithTies)
}

func describeLimit(d plan.Desc, limit, offset expr.Expr, ties bool) plan.Desc {
	if limit != nil {
		d = d.With("limit", limit.String())
	}
	if offset != nil {
		d = d.With("offset", offset.String())
	}
	if ties {
		d = d.With("ties", "yes")
	}
	return d
}

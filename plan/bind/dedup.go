package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
)

// dedup puts DEDUPLICATE BY on the level's plan: of the rows that FROM and WHERE give,
// the first of each key stays.
func (l *level) dedup(d *sql.Dedup) error {
	if d == nil {
		return nil
	}
	list := logical.Identity(l.node.Schema())
	names := make([]string, len(list), len(list)+len(d.Keys))
	for i := range list {
		names[i] = l.node.Schema().Fields[i].Name
	}
	var keys []int
	for _, k := range d.Keys {
		e, err := l.scalar(k, "DEDUPLICATE BY")
		if err != nil {
			return err
		}
		if c, _, ok := expr.AsColumn(e); ok {
			keys = append(keys, c)
			continue
		}
		keys = append(keys, len(list))
		list, names = append(list, e), append(names, "")
	}
	time := eventTime(l.node)
	in := l.node
	if len(list) > in.Schema().Len() {
		in = logical.NewProject(in, list, names)
	}
	var order []plan.SortKey
	for _, k := range keys {
		order = append(order, plan.SortKey{Col: k})
	}
	n := logical.NewDistinctOn(in, keys, order, d.Pos)
	n.Time = time
	switch {
	case d.WithinWatermark:
		n.Within = plan.WithinWatermark
	case d.Within != nil:
		us, err := l.span(d.Within, "span of DEDUPLICATE BY")
		if err != nil {
			return err
		}
		if us <= 0 {
			return sqlerr.New(sqlerr.InvalidParameterValue, "span of DEDUPLICATE BY must be greater than zero").
				At(d.Within.Position())
		}
		n.Within, n.Span = plan.WithinSpan, us
	}
	l.node = n
	return nil
}

// eventTime returns the column that the watermark below a node is of, -1 for none.
func eventTime(n logical.Node) int {
	switch n := n.(type) {
	case *logical.Watermark:
		return n.Column
	case *logical.Filter:
		return eventTime(n.Input())
	case *logical.Project:
		below := eventTime(n.Input())
		for i, e := range n.List {
			if c, _, ok := expr.AsColumn(e); ok && below >= 0 && c == below {
				return i
			}
		}
	}
	return -1
}

package planner

import (
	"slices"

	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/plan/physical"
)

// changing lowers the scan of a source whose records change rows: behind it the newest
// row of each key is kept, for which the key must be read.
func (lw *lowerer) changing(n *logical.Scan) (physical.Node, error) {
	cols := slices.Clone(n.Columns)
	for _, k := range n.Object.Key {
		if !slices.Contains(cols, k) {
			cols = append(cols, k)
		}
	}
	slices.Sort(cols)
	scan := logical.NewScan(n.Object, cols, false, n.Pos)
	b := base(scan.Schema())
	s := sourceScan(scan, b)
	s.Prop.AppendOnly = true
	s.Bounded = lw.batch || lw.env.Bounded != nil && lw.env.Bounded(n.Object)
	s.Prop.Bounded = s.Bounded
	l := &physical.LatestByKey{Base: same(s), Keys: keyOf(n.Object, cols)}
	l.Prop.Key, l.Prop.AppendOnly = l.Keys, lw.batch
	l.Prop.State, l.Prop.Bound = "newest row of each key", byKeys
	lw.latestState(l)
	if slices.Equal(cols, n.Columns) {
		return l, nil
	}
	at := make([]int, len(n.Columns))
	for i, c := range n.Columns {
		at[i] = slices.Index(cols, c)
	}
	return reorder(l, at, n.Schema()), nil
}

// latestState says what bounds the keys. What is above has the rows of a table.
func (lw *lowerer) latestState(l *physical.LatestByKey) {
	in := lw.rowsBound(l.Input[0])
	rows := "rows of " + relations(l)
	switch {
	case lw.batch:
	case in != "":
		l.Prop.Bound = in
	case lw.ttl > 0:
		l.TTL, l.Prop.Bound = lw.ttl, lw.byTTL()
		rows = l.Prop.Bound
	}
	lw.setRows(l, rows)
}

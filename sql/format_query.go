package sql

import "strings"

func (w *writer) query(q *Query) {
	w.with(q.With)
	w.body(q.Body, false)
	w.orderBy(q.OrderBy)
	switch {
	case q.WithTies:
		w.s(" FETCH FIRST ")
		w.paren(q.Limit)
		w.s(" ROWS WITH TIES")
	case q.Limit != nil:
		w.s(" LIMIT ")
		w.bare(q.Limit)
	}
	if q.Offset != nil {
		w.s(" OFFSET ")
		w.bare(q.Offset)
	}
	for _, l := range q.Locks {
		w.s(" FOR ", l.Strength)
		if len(l.Of) > 0 {
			w.s(" OF ")
			w.list(len(l.Of), func(i int) { w.qualified(l.Of[i]) })
		}
		if l.Wait != "" {
			w.s(" ", l.Wait)
		}
	}
}

func (w *writer) with(c *With) {
	if c == nil {
		return
	}
	w.s("WITH ")
	if c.Recursive {
		w.s("RECURSIVE ")
	}
	w.list(len(c.CTEs), func(i int) {
		e := &c.CTEs[i]
		w.name(e.Name)
		w.nameList(e.Columns)
		w.s(" AS ", [...]string{"", "MATERIALIZED ", "NOT MATERIALIZED "}[e.Materialize], "(")
		w.query(e.Query)
		w.s(")")
	})
	w.s(" ")
}

// body writes the body of a query; parens asks for parentheses around set
// operations.
func (w *writer) body(b QueryBody, parens bool) {
	switch b := b.(type) {
	case *Query:
		w.s("(")
		w.query(b)
		w.s(")")
	case *SetOp:
		if parens {
			w.s("(")
			defer w.s(")")
		}
		left, ok := b.Left.(*SetOp)
		w.body(b.Left, ok && b.Op == Intersect && left.Op != Intersect)
		w.s(" ", b.Op.String(), " ")
		if b.All {
			w.s("ALL ")
		}
		right, ok := b.Right.(*SetOp)
		w.body(b.Right, ok && (right.Op != Intersect || b.Op == Intersect))
	case *Values:
		w.s("VALUES ")
		w.list(len(b.Rows), func(i int) {
			w.s("(")
			w.exprs(b.Rows[i])
			w.s(")")
		})
	case *TableBody:
		w.s("TABLE ")
		w.relation(b.Rel)
	case *Select:
		w.selectCore(b)
	}
}

func (w *writer) selectCore(s *Select) {
	w.s("SELECT")
	if len(s.Hints) > 0 {
		w.s(" /*+")
		for _, h := range s.Hints {
			w.s(" ")
			w.name(h.Name)
			w.nameList(h.Args)
		}
		w.s(" */")
	}
	if s.Distinct {
		w.s(" DISTINCT")
	}
	if len(s.DistinctOn) > 0 {
		w.s(" ON (")
		w.exprs(s.DistinctOn)
		w.s(")")
	}
	w.targets(" ", s.Targets)
	w.fromList(" FROM ", s.From)
	w.clause(" WHERE ", s.Where)
	if len(s.GroupBy) > 0 {
		w.s(" GROUP BY ")
		if s.GroupDistinct {
			w.s("DISTINCT ")
		}
		w.groupItems(s.GroupBy)
	}
	w.clause(" HAVING ", s.Having)
	if len(s.Windows) > 0 {
		w.s(" WINDOW ")
		w.list(len(s.Windows), func(i int) {
			w.name(s.Windows[i].Name)
			w.s(" AS ")
			w.window(s.Windows[i].Spec)
		})
	}
	if d := s.Dedup; d != nil {
		w.s(" DEDUPLICATE BY ")
		w.exprs(d.Keys)
		if d.WithinWatermark {
			w.s(" WITHIN WATERMARK")
		}
		w.clause(" WITHIN ", d.Within)
	}
}

// clause writes an optional expression after its words.
func (w *writer) clause(words string, x Expr) {
	if x != nil {
		w.s(words)
		w.bare(x)
	}
}

func (w *writer) targets(words string, list []Target) {
	if len(list) == 0 {
		return
	}
	w.s(words)
	w.list(len(list), func(i int) {
		w.bare(list[i].X)
		if list[i].Alias.Given() {
			w.s(" AS ")
			w.name(list[i].Alias)
		}
	})
}

func (w *writer) groupItems(items []GroupItem) {
	w.list(len(items), func(i int) {
		g := &items[i]
		switch g.Kind {
		case GroupExpr:
			w.bare(g.X)
			return
		case GroupEmpty:
			w.s("()")
			return
		case GroupRollup:
			w.s("ROLLUP (")
		case GroupCube:
			w.s("CUBE (")
		case GroupSets:
			w.s("GROUPING SETS (")
		}
		w.groupItems(g.Items)
		w.s(")")
	})
}

func (w *writer) orderBy(items []SortItem) {
	if len(items) > 0 {
		w.s(" ORDER BY ")
		w.sortItems(items)
	}
}

func (w *writer) sortItems(items []SortItem) {
	w.list(len(items), func(i int) {
		it := &items[i]
		w.bare(it.X)
		switch it.Order {
		case Descending:
			w.s(" DESC")
		case SortUsing:
			w.s(" USING ")
			w.operator(it.Using)
		}
		w.s([...]string{"", " NULLS FIRST", " NULLS LAST"}[it.Nulls])
	})
}

func (w *writer) window(s *WindowSpec) {
	if s.Bare {
		w.name(s.Ref)
		return
	}
	w.s("(")
	sep := ""
	if s.Ref.Given() {
		w.name(s.Ref)
		sep = " "
	}
	if len(s.PartitionBy) > 0 {
		w.s(sep, "PARTITION BY ")
		w.exprs(s.PartitionBy)
		sep = " "
	}
	if len(s.OrderBy) > 0 {
		w.s(sep, "ORDER BY ")
		w.sortItems(s.OrderBy)
		sep = " "
	}
	if f := s.Frame; f != nil {
		w.s(sep, [...]string{"ROWS", "RANGE", "GROUPS"}[f.Unit], " BETWEEN ")
		w.bound(f.Start)
		w.s(" AND ")
		w.bound(f.End)
		w.s([...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclude])
	}
	w.s(")")
}

func (w *writer) bound(b FrameBound) {
	if b.Offset != nil {
		w.expr(b.Offset)
		w.s(" ")
	}
	w.s([...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[b.Kind])
}

func (w *writer) fromList(words string, list []TableRef) {
	if len(list) > 0 {
		w.s(words)
		w.list(len(list), func(i int) { w.tableRef(list[i]) })
	}
}

func (w *writer) tableRef(t TableRef) {
	switch t := t.(type) {
	case *Relation:
		w.relation(t)
	case *DerivedTable:
		if t.Lateral {
			w.s("LATERAL ")
		}
		w.s("(")
		w.query(t.Query)
		w.s(")")
		w.watermark(t.Watermark)
		w.alias(t.Alias)
	case *TableFunc:
		w.tableFunc(t)
	case *Join:
		if t.Alias != nil {
			w.s("(")
			w.join(t)
			w.s(")")
			w.alias(t.Alias)
			return
		}
		w.join(t)
	}
}

func (w *writer) relation(r *Relation) {
	if r.Only {
		w.s("ONLY ")
	}
	if r.Stream {
		w.s("STREAM ")
	}
	w.qualified(r.Name)
	if r.AsOf != nil {
		w.s(" FOR SYSTEM_TIME AS OF ")
		w.expr(r.AsOf)
	}
	w.watermark(r.Watermark)
	w.alias(r.Alias)
}

func (w *writer) watermark(c *WatermarkClause) {
	if c == nil {
		return
	}
	w.s(" WATERMARK ")
	if _, ok := c.Time.(*ColumnRef); ok {
		w.bare(c.Time)
	} else {
		w.paren(c.Time)
	}
	if c.As.Given() {
		w.s(" AS ")
		w.name(c.As)
	}
	w.s(" DELAY OF ")
	w.expr(c.Delay)
}

func (w *writer) alias(a *Alias) {
	if a != nil {
		w.s(" AS ")
		w.name(a.Name)
		w.nameList(a.Columns)
	}
}

func (w *writer) tableFunc(t *TableFunc) {
	if t.Lateral {
		w.s("LATERAL ")
	}
	if t.RowsFrom {
		w.s("ROWS FROM (")
	}
	w.list(len(t.Calls), func(i int) {
		c := &t.Calls[i]
		if x, ok := c.Call.(*Cast); ok {
			w.s("CAST(")
			w.bare(x.X)
			w.s(" AS ")
			w.typeName(x.Type)
			w.s(")")
		} else {
			w.bare(c.Call)
		}
		if len(c.Columns) > 0 {
			w.s(" AS (")
			w.columnTypes(c.Columns)
			w.s(")")
		}
	})
	if t.RowsFrom {
		w.s(")")
	}
	if t.Ordinality {
		w.s(" WITH ORDINALITY")
	}
	w.watermark(t.Watermark)
	w.alias(t.Alias)
	if len(t.Columns) > 0 {
		if t.Alias == nil {
			w.s(" AS ")
		}
		w.s("(")
		w.columnTypes(t.Columns)
		w.s(")")
	}
}

func (w *writer) join(j *Join) {
	w.tableRef(j.Left)
	w.s(" ")
	if j.Natural {
		w.s("NATURAL ")
	}
	if j.Asof {
		w.s("ASOF ")
	}
	w.s(j.Kind.String(), " ")
	if right, ok := j.Right.(*Join); ok && right.Alias == nil {
		w.s("(")
		w.join(right)
		w.s(")")
	} else {
		w.tableRef(j.Right)
	}
	w.clause(" ON ", j.On)
	if len(j.Using) > 0 {
		w.s(" USING ")
		w.nameList(j.Using)
	}
	if j.UsingAlias.Given() {
		w.s(" AS ")
		w.name(j.UsingAlias)
	}
}

func upper(s string) string { return strings.ToUpper(s) }

package sql

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/dialect"
)

func (d *decoder) query(n ast.Node) *Query {
	var q Query
	var order *ast.OrderByClause
	first := 0
	switch s := n.(type) {
	case *ast.SelectStmt:
		q.With = d.with(s.With)
		q.Body, first = d.body(s)
		order = s.OrderBy
	case *ast.SetOprStmt:
		q.With = d.with(s.With)
		q.Body, first = d.setOps(s.SelectList.Selects)
		order = s.OrderBy
	case *ast.SubqueryExpr:
		return d.query(s.Query)
	default:
		d.broken(n)
	}
	q.Pos = d.token(first).Pos
	if q.With != nil {
		q.Pos = q.With.Pos
	}
	d.tail(&q, order)
	if inner, ok := q.Body.(*Query); ok && q.bare() {
		return inner
	}
	return &q
}

// bare tells whether the query adds nothing to its body.
func (q *Query) bare() bool {
	return q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil && q.Locks == nil
}

func (d *decoder) with(w *ast.WithClause) *With {
	if w == nil {
		return nil
	}
	out := &With{Recursive: w.IsRecursive}
	for i, c := range w.CTEs {
		_, n := dialect.Ref(c.Name.O)
		f := d.b.CTEs[n]
		if i == 0 {
			at := f.Tok - 1
			if w.IsRecursive {
				at--
			}
			out.Pos = d.token(at).Pos
		}
		out.CTEs = append(out.CTEs, CTE{
			Name:        d.name(f.Tok),
			Columns:     d.names(f.Columns),
			Materialize: Materialization(f.Materialize),
			Query:       d.query(c.Query),
		})
	}
	return out
}

// body decodes one operand of a query and returns its first token.
func (d *decoder) body(s *ast.SelectStmt) (QueryBody, int) {
	switch s.Kind {
	case ast.SelectStmtKindValues:
		return d.values(s)
	case ast.SelectStmtKindTable:
		src, ok := s.From.TableRefs.Left.(*ast.TableSource)
		if !ok {
			d.broken(s.From.TableRefs.Left)
		}
		name := d.tableTok(src.Source)
		first := name - 1
		only := d.token(first).Text == "only"
		if only {
			first--
		}
		rel := &Relation{Pos: d.token(name).Pos, Name: d.qualified(name), Only: only}
		return &TableBody{Pos: d.token(first).Pos, Rel: rel}, first
	}
	if e := s.Fields.Fields[0].Expr; d.word(e) == "par" {
		src, ok := s.From.TableRefs.Left.(*ast.TableSource)
		if !ok {
			d.broken(s.From.TableRefs.Left)
		}
		q := d.query(src.Source)
		first := d.f.TokenAt(e.OriginTextPosition())
		if q.bare() {
			return q.Body, first
		}
		return q, first
	}
	sel := d.selectCore(s)
	return sel, d.selectFact(s).Tok
}

func (d *decoder) values(s *ast.SelectStmt) (QueryBody, int) {
	v := &Values{Rows: make([][]Expr, len(s.Lists))}
	for i, r := range s.Lists {
		v.Rows[i] = d.exprs(r.Values)
		if len(v.Rows[i]) != len(v.Rows[0]) {
			dialect.Failf(sqlerr.SyntaxError, v.Rows[i][0].Position(), "VALUES lists must all be the same length")
		}
	}
	first := d.opTok(s.Lists[0].Values[0]) - 1
	v.Pos = d.token(first).Pos
	return v, first
}

// setOps combines the operands of a flat list, left to right, INTERSECT first.
func (d *decoder) setOps(list []ast.Node) (QueryBody, int) {
	var left, pending QueryBody // left op pending
	var op *SetOp
	start := 0
	for i, n := range list {
		s, ok := n.(*ast.SelectStmt)
		if !ok {
			d.broken(n)
		}
		term, first := d.body(s)
		if i == 0 {
			pending, start = term, first
			continue
		}
		next := d.setOp(*s.AfterSetOperator, first)
		if next.Op == Intersect {
			next.Left, next.Right = pending, term
			pending = next
			continue
		}
		if op != nil {
			op.Left, op.Right = left, pending
			pending = op
		}
		left, pending, op = pending, term, next
	}
	if op != nil {
		op.Left, op.Right = left, pending
		return op, start
	}
	return pending, start
}

// setOp makes the operator before the operand whose first token is given.
func (d *decoder) setOp(t ast.SetOprType, first int) *SetOp {
	s := &SetOp{}
	switch t {
	case ast.UnionAll, ast.ExceptAll, ast.IntersectAll:
		s.All = true
	}
	switch t {
	case ast.Except, ast.ExceptAll:
		s.Op = Except
	case ast.Intersect, ast.IntersectAll:
		s.Op = Intersect
	}
	at := first - 1
	if w := d.token(at).Text; w == "all" || w == "distinct" {
		at--
	}
	s.Pos = d.token(at).Pos
	return s
}

func (d *decoder) selectFact(s *ast.SelectStmt) *dialect.SelectFact {
	letter, n := d.ref(s.Fields.Fields[0].Expr)
	if letter != 's' {
		d.broken(s)
	}
	return &d.b.Selects[n]
}

func (d *decoder) selectCore(s *ast.SelectStmt) *Select {
	f := d.selectFact(s)
	out := &Select{
		Pos:           d.token(f.Tok).Pos,
		Distinct:      f.Distinct,
		GroupDistinct: f.GroupDistinct,
	}
	if f.Hint >= 0 {
		out.Hints = d.hints(f.Hint)
	}
	fields := s.Fields.Fields[1:]
	if f.DistinctOn {
		don, _ := d.call(fields[0].Expr)
		out.DistinctOn = d.exprs(don.Args)
		fields = fields[1:]
	}
	for _, fld := range fields {
		t := Target{X: d.expr(fld.Expr)}
		if fld.AsName.O != "" {
			_, n := dialect.Ref(fld.AsName.O)
			t.Alias = d.name(n)
		}
		out.Targets = append(out.Targets, t)
	}
	if s.From != nil && !f.NoFrom {
		out.From = d.fromList(s.From.TableRefs)
	}
	if s.Where != nil {
		out.Where = d.expr(s.Where)
	}
	if s.GroupBy != nil {
		for _, it := range s.GroupBy.Items {
			out.GroupBy = append(out.GroupBy, d.groupItem(it.Expr))
		}
	}
	if s.Having != nil {
		out.Having = d.expr(s.Having.Expr)
	}
	for i := range s.WindowSpecs {
		w := s.WindowSpecs[i]
		_, n := dialect.Ref(w.Name.O)
		name := d.name(d.b.Windows[n].Tok)
		w.Name = w.Ref
		out.Windows = append(out.Windows, NamedWindow{Name: name, Spec: d.window(&w, n)})
	}
	if f.Dedup >= 0 {
		out.Dedup = &Dedup{
			Pos:             d.token(f.Dedup).Pos,
			Keys:            d.p.decodeExprs(f.DedupKeys),
			WithinWatermark: f.DedupWatermark,
			Within:          d.nested(f.DedupWithin),
		}
	}
	return out
}

// hints reads NAME(arg, …) … from the text of a hint comment.
func (d *decoder) hints(tok int) []Hint {
	t := d.token(tok)
	c := dialect.NewCursor(t.Text)
	at := t.Pos + len("/*+")
	name := func() Name {
		w := c.Cur()
		n := Name{Text: w.Text, Pos: at + w.Pos}
		if !w.IsName() {
			dialect.Failf(sqlerr.SyntaxError, n.Pos, "invalid hint: a hint is NAME or NAME(relation, ...)")
		}
		c.I++
		return n
	}
	var out []Hint
	for c.Cur().Kind != dialect.EOF {
		h := Hint{Name: name()}
		if c.AcceptPunct("(") {
			for !c.AcceptPunct(")") {
				h.Args = append(h.Args, name())
				c.AcceptPunct(",")
			}
		}
		out = append(out, h)
		c.AcceptPunct(",")
	}
	return out
}

func (d *decoder) groupItem(e ast.ExprNode) GroupItem {
	f, m := d.call(e)
	g := GroupItem{}
	switch m {
	case "gempty":
		g.Kind = GroupEmpty
	case "rollup":
		g.Kind = GroupRollup
	case "cube":
		g.Kind = GroupCube
	case "gsets":
		g.Kind = GroupSets
	default:
		x := d.expr(e)
		return GroupItem{Pos: x.Position(), X: x}
	}
	g.Pos = d.token(d.tok(f.Args[0])).Pos
	for _, a := range f.Args[1:] {
		g.Items = append(g.Items, d.groupItem(a))
	}
	return g
}

// tail reads the one ORDER BY that holds the order, the limits and the locks.
func (d *decoder) tail(q *Query, o *ast.OrderByClause) {
	if o == nil {
		return
	}
	var sort []ast.ExprNode
	for _, it := range o.Items {
		f, m := d.call(it.Expr)
		letter, n := d.ref(it.Expr)
		switch {
		case m == "limit":
			if q.Limit = (&NumberLit{Pos: d.token(d.tok(f.Args[0])).Pos, Text: "1"}); len(f.Args) > 1 {
				q.Limit = d.expr(f.Args[1])
			}
		case m == "offset":
			q.Offset = d.expr(f.Args[1])
		case letter == 'q':
			fact := &d.b.Queries[n]
			q.WithTies = fact.WithTies
			for _, l := range fact.Locks {
				q.Locks = append(q.Locks, d.lock(l))
			}
		default:
			sort = append(sort, it.Expr)
		}
	}
	q.OrderBy = d.sortItems(sort)
}

func (d *decoder) lock(f dialect.LockFact) LockClause {
	l := LockClause{Pos: d.token(f.Tok).Pos, Strength: f.Strength, Wait: f.Wait}
	for _, t := range f.Of {
		l.Of = append(l.Of, d.qualified(t))
	}
	return l
}

// sortItems reads expressions with the markers that follow them.
func (d *decoder) sortItems(list []ast.ExprNode) []SortItem {
	var out []SortItem
	for _, e := range list {
		f, m := d.call(e)
		if m != "using" {
			m = d.word(e)
		}
		switch m {
		case "":
			out = append(out, SortItem{X: d.expr(e)})
			continue
		}
		last := &out[len(out)-1]
		switch m {
		case "desc":
			last.Order = Descending
		case "nfirst":
			last.Nulls = NullsFirst
		case "nlast":
			last.Nulls = NullsLast
		case "using":
			last.Order = SortUsing
			last.Using = d.operator(d.tok(f.Args[0]))
		default:
			d.broken(e)
		}
	}
	return out
}

// operator reads an operator token or OPERATOR(schema.op).
func (d *decoder) operator(tok int) Operator {
	if t := d.token(tok); t.Kind == dialect.Op {
		return Operator{Name: t.Text}
	}
	var op Operator
	for tok += 2; d.token(tok).IsName(); tok += 2 {
		op.Schema = d.name(tok)
	}
	op.Name = d.token(tok).Text
	return op
}

// window decodes a specification; n is its fact. The spec's Ref or Name is the
// window it copies.
func (d *decoder) window(w *ast.WindowSpec, n int) *WindowSpec {
	f := &d.b.Windows[n]
	out := &WindowSpec{Pos: d.token(f.Tok).Pos, Bare: w.OnlyAlias}
	ref := w.Ref.O
	if ref == "" {
		ref = w.Name.O
	}
	if ref != "" {
		_, t := dialect.Ref(ref)
		out.Ref = d.name(t)
	}
	if w.PartitionBy != nil {
		for _, it := range w.PartitionBy.Items {
			out.PartitionBy = append(out.PartitionBy, d.expr(it.Expr))
		}
	}
	if w.OrderBy != nil {
		list := make([]ast.ExprNode, len(w.OrderBy.Items))
		for i, it := range w.OrderBy.Items {
			list[i] = it.Expr
		}
		out.OrderBy = d.sortItems(list)
	}
	if f.Frame >= 0 {
		out.Frame = d.frame(w.Frame, f)
	}
	return out
}

func (d *decoder) frame(w *ast.FrameClause, f *dialect.WindowFact) *Frame {
	t := d.token(f.Frame)
	out := &Frame{Pos: t.Pos, Exclude: FrameExclude(f.Exclude)}
	switch t.Text {
	case "range":
		out.Unit = FrameRange
	case "groups":
		out.Unit = FrameGroups
	}
	out.Start = d.bound(w.Extent.Start)
	out.End = FrameBound{Kind: CurrentRow}
	if f.Between {
		out.End = d.bound(w.Extent.End)
	}
	refuse := func(tok int, msg string) { dialect.Failf(sqlerr.WindowingError, d.token(tok).Pos, "%s", msg) }
	switch s, e := out.Start.Kind, out.End.Kind; {
	case s == UnboundedFollowing:
		refuse(f.Start, "frame start cannot be UNBOUNDED FOLLOWING")
	case e == UnboundedPreceding:
		refuse(f.End, "frame end cannot be UNBOUNDED PRECEDING")
	case !f.Between && s == OffsetFollowing:
		refuse(f.Start, "frame starting from following row cannot end with current row")
	case s > e && s == CurrentRow:
		refuse(f.End, "frame starting from current row cannot have preceding rows")
	case s > e:
		refuse(f.End, "frame starting from following row cannot have preceding rows")
	}
	return out
}

func (d *decoder) bound(b ast.FrameBound) FrameBound {
	switch {
	case b.Type == ast.CurrentRow:
		return FrameBound{Kind: CurrentRow}
	case b.Type == ast.Following && b.UnBounded:
		return FrameBound{Kind: UnboundedFollowing}
	case b.UnBounded:
		return FrameBound{Kind: UnboundedPreceding}
	case b.Type == ast.Following:
		return FrameBound{Kind: OffsetFollowing, Offset: d.expr(b.Expr)}
	}
	return FrameBound{Kind: OffsetPreceding, Offset: d.expr(b.Expr)}
}

// tableTok returns the token of a table's name.
func (d *decoder) tableTok(n ast.Node) int {
	t, ok := n.(*ast.TableName)
	if !ok {
		d.broken(n)
	}
	letter, i := dialect.Ref(t.Name.O)
	if letter != 0 {
		d.broken(n)
	}
	return i
}

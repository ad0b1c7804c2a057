package bind

import (
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// scan makes the plan of an object that holds or delivers rows: for a source the
// generated columns and the watermark are computed here.
func (b *Binder) scan(o *catalog.Object, r *sql.Relation) (logical.Node, error) {
	if r.Stream && o.Kind != catalog.KindSource && !o.AppendOnly {
		return nil, notAppendOnly(o, r.Pos)
	}
	var cols []int
	for i, c := range o.Columns {
		if o.Kind != catalog.KindSource || c.Generated == "" {
			cols = append(cols, i)
		}
	}
	var n logical.Node = logical.NewScan(o, cols, r.Stream, r.Pos)
	if len(cols) < len(o.Columns) {
		list, err := b.generated(o, n, cols)
		if err != nil {
			return nil, at(err, r.Pos)
		}
		n = logical.NewProject(n, list, columnNames(o))
	}
	if o.Watermark == nil {
		return n, nil
	}
	n, err := b.declaredWatermark(o, n)
	return n, at(err, r.Pos)
}

func columnNames(o *catalog.Object) []string {
	names := make([]string, len(o.Columns))
	for i, c := range o.Columns {
		names[i] = c.Name
	}
	return names
}

// generated computes an object's columns from those that n has.
func (b *Binder) generated(o *catalog.Object, n logical.Node, cols []int) ([]expr.Expr, error) {
	list := make([]expr.Expr, len(o.Columns))
	base := logical.Identity(n.Schema())
	for i, c := range cols {
		list[c] = base[i]
	}
	for i, c := range o.Columns {
		if list[i] != nil {
			continue
		}
		e, err := b.ColumnExpr(c.Generated, n, o.Name.Name, "generation expression")
		if err == nil {
			e, err = expr.CoerceAssign(e, c.Name, c.Type)
		}
		if err != nil {
			return nil, where(err, "generated column %s of %s", c.Name, o)
		}
		list[i] = e
	}
	return list, nil
}

// where names the place of an error in a stored text, whose positions mean
// nothing in the statement.
func where(err error, format, column string, o *catalog.Object) error {
	e := *sqlerr.From(err)
	e.Pos = 0
	return e.WithWhere(format, column, o.Name)
}

// ColumnExpr binds a stored expression over the columns of n, which go by their
// names and by table. what names its use for errors.
func (b *Binder) ColumnExpr(text string, n logical.Node, table, what string) (expr.Expr, error) {
	x, err := sql.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return b.BindOver(x, n, table, what)
}

// BindOver binds an expression without subqueries over the columns of n.
func (b *Binder) BindOver(x sql.Expr, n logical.Node, table, what string) (expr.Expr, error) {
	l := b.newLevel(nil, nil)
	l.node, l.scope, l.closed = n, relScope(table, "", n, nil, nil), true
	return l.scalar(x, what)
}

// declaredWatermark adds the watermark that an object's definition declares.
func (b *Binder) declaredWatermark(o *catalog.Object, n logical.Node) (logical.Node, error) {
	col := -1
	for i, f := range n.Schema().Fields {
		if f.Name == o.Watermark.Column {
			col = i
		}
	}
	if col < 0 {
		return nil, sqlerr.Internal("watermark column %q of %s is missing", o.Watermark.Column, o.Name)
	}
	e, err := b.ColumnExpr(o.Watermark.Expr, n, o.Name.Name, "watermark expression")
	if err != nil {
		return nil, where(err, "watermark of %s in %s", o.Watermark.Column, o)
	}
	return newWatermark(n, col, e)
}

// newWatermark checks the event-time column and recognises column - interval.
func newWatermark(n logical.Node, col int, e expr.Expr) (logical.Node, error) {
	t := n.Schema().Fields[col].Type
	if !t.IsTimestamp() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch,
			"watermark column %q must be of type timestamp or timestamp with time zone, not %s", n.Schema().Fields[col].Name, t)
	}
	e = expr.Fold(nil, e)
	if c, ok := plan.ColumnOf(e); ok && c == col {
		return logical.NewWatermark(n, col, nil, 0), nil
	}
	if c, delay, ok := plan.TimeShift(e); ok && c == col && delay <= 0 {
		return logical.NewWatermark(n, col, nil, -delay), nil
	}
	if !e.Type().IsTimestamp() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "watermark expression must be of type %s, not %s", t, e.Type())
	}
	e, err := expr.Cast(e, t, expr.Assignment)
	if err != nil {
		return nil, err
	}
	return logical.NewWatermark(n, col, e, 0), nil
}

// watermarkClause binds WATERMARK ts DELAY OF interval in a query. It takes the
// place of a watermark that the relation has already.
func (b *Binder) watermarkClause(it item, w *sql.WatermarkClause) (logical.Node, error) {
	l := b.newLevel(nil, nil)
	l.node, l.scope, l.closed = it.node, it.scope, true
	e, err := l.scalar(w.Time, "WATERMARK")
	if err != nil {
		return nil, err
	}
	col, ok := plan.ColumnOf(e)
	if !ok {
		return nil, sqlerr.Unsupported("WATERMARK needs a column").At(w.Time.Position()).
			WithHint("Compute the time in a subquery and give it a name.")
	}
	delay, err := l.span(w.Delay, "delay of WATERMARK")
	if err != nil {
		return nil, err
	}
	if delay < 0 {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "delay of WATERMARK must not be negative").At(w.Delay.Position())
	}
	t := it.node.Schema().Fields[col].Type
	if !t.IsTimestamp() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch,
			"watermark column must be of type timestamp or timestamp with time zone, not %s", t).At(w.Time.Position())
	}
	n := it.node
	if old, ok := n.(*logical.Watermark); ok {
		n = old.Input()
	}
	return logical.NewWatermark(n, col, nil, delay), nil
}

// span binds a constant span of time in microseconds, an interval without months.
func (l *level) span(x sql.Expr, what string) (int64, error) {
	e, err := l.scalar(x, what)
	if err != nil {
		return 0, err
	}
	if e.Type().ID != types.Interval {
		if e.Type().ID != types.Unknown {
			return 0, sqlerr.New(sqlerr.DatatypeMismatch, "%s must be an interval, not %s", what, e.Type()).At(x.Position())
		}
		if e, err = expr.Cast(e, types.TInterval, expr.Implicit); err != nil {
			return 0, at(err, x.Position())
		}
	}
	e = expr.Fold(nil, e)
	v, ok := expr.AsConst(e)
	if !ok || v.IsNull(0) {
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, "%s must be a constant", what).At(x.Position())
	}
	us, ok := plan.SpanOf(v.Ivl[0])
	if !ok {
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, "%s must not have months or years", what).At(x.Position()).
			WithHint("Months differ in length; use days or smaller units.")
	}
	return us, nil
}

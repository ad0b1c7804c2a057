package bind

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

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
	f := n.Schema().Fields[col]
	if !f.Type.IsTimestamp() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch,
			"watermark column %q must be of type timestamp or timestamp with time zone, not %s", f.Name, f.Type)
	}
	e = expr.Fold(nil, e)
	if c, ok := plan.ColumnOf(e); ok && c == col {
		return logical.NewWatermark(n, col, nil, 0), nil
	}
	if ahead(e, col) {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "the watermark of column %q must not be ahead of it", f.Name).
			WithHint("Subtract what rows may be late by: %s - INTERVAL '…'.", sql.QuoteIdent(f.Name))
	}
	if c, delay, ok := plan.TimeShift(e); ok && c == col {
		return logical.NewWatermark(n, col, nil, -delay), nil
	}
	if !e.Type().IsTimestamp() {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "watermark expression must be of type %s, not %s", f.Type, e.Type())
	}
	e, err := expr.Cast(e, f.Type, expr.Assignment)
	if err != nil {
		return nil, err
	}
	return logical.NewWatermark(n, col, e, 0), nil
}

// ahead recognises the column moved into the future by a constant.
func ahead(e expr.Expr, col int) bool {
	name, args, ok := expr.AsCall(e)
	if !ok || len(args) != 2 || name != "+" && name != "-" || args[1].Type().ID != types.Interval {
		return false
	}
	c, isCol := plan.ColumnOf(args[0])
	v, isConst := expr.AsConst(args[1])
	if !isCol || c != col || !isConst || v.IsNull(0) {
		return false
	}
	us, ok := longSpan(v)
	return ok && (us > 0 == (name == "+")) && us != 0
}

// watermarkClause binds WATERMARK time [AS name] DELAY OF interval in a query: a
// time that is not a column becomes one. It takes the place of the watermark that a
// relation's definition has; another one below is refused.
func (b *Binder) watermarkClause(it item, w *sql.WatermarkClause) (item, error) {
	l := b.newLevel(nil, nil)
	l.node, l.scope, l.closed = it.node, it.scope, true
	e, err := l.scalar(w.Time, "WATERMARK")
	if err != nil {
		return it, err
	}
	if !e.Type().IsTimestamp() {
		return it, sqlerr.New(sqlerr.DatatypeMismatch,
			"watermark column must be of type timestamp or timestamp with time zone, not %s", e.Type()).
			At(w.Time.Position())
	}
	delay, err := l.delay(w.Delay)
	if err != nil {
		return it, err
	}
	if old, ok := it.node.(*logical.Watermark); ok {
		it.node = old.Input()
	}
	if hasWatermark(it.node) {
		return it, sqlerr.Unsupported("a watermark above another one is not supported").At(w.Pos).
			WithHint("Give the watermark where the relation itself is read, in the inner query.")
	}
	if expr.VolatilityOf(e) == expr.Volatile {
		return it, sqlerr.Unsupported("the time of WATERMARK must not be volatile").At(w.Time.Position())
	}
	col, isCol := plan.ColumnOf(e)
	if !isCol || w.As.Given() {
		col = it.node.Schema().Len()
		name := w.As.Text
		if name == "" {
			name = columnName(w.Time)
		}
		list := append(logical.Identity(it.node.Schema()), e)
		it.node = logical.NewProject(it.node, list, append(it.node.Schema().Names(), name))
		it.scope = it.scope.with([]scopeCol{{name: name, e: expr.NewColumn(col, name, e.Type())}})
	}
	it.node = logical.NewWatermark(it.node, col, nil, delay)
	return it, nil
}

// hasWatermark tells whether there is a watermark in a plan.
func hasWatermark(n logical.Node) bool {
	if _, ok := n.(*logical.Watermark); ok {
		return true
	}
	for _, c := range n.Children() {
		if hasWatermark(c) {
			return true
		}
	}
	return false
}

// delay binds the delay of a watermark, in microseconds. A month is 31 days, so that
// no row that is late by less is dropped.
func (l *level) delay(x sql.Expr) (int64, error) {
	const what = "delay of WATERMARK"
	v, err := l.interval(x, what)
	if err != nil {
		return 0, err
	}
	us, ok := longSpan(v)
	switch {
	case !ok || us > maxSpan:
		return 0, sqlerr.New(sqlerr.IntervalFieldOverflow, "%s is too long", what).At(x.Position()).
			WithHint("It can be 100000 years at most.")
	case us < 0:
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, "%s must not be negative", what).At(x.Position())
	}
	return us, nil
}

// longSpan is an interval in microseconds with a day of 24 hours and a month of 31
// days; ok is false when it is too long.
func longSpan(v *arrowbatch.Vec) (us int64, ok bool) {
	iv := v.Ivl[0]
	days := int64(iv.Days) + 31*int64(iv.Months)
	if days != int64(int32(days)) {
		return 0, false
	}
	iv.Days, iv.Months = int32(days), 0
	return plan.SpanOf(iv)
}

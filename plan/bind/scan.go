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

// scan makes the plan of an object that holds or delivers rows: for a source the
// generated columns and the watermark are computed here.
func (b *Binder) scan(o *catalog.Object, r *sql.Relation) (logical.Node, error) {
	if r.Stream && (o.Kind != catalog.KindSource || o.Changing()) && !o.AppendOnly {
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

// maxSpan is the longest span, 100000 years in microseconds: a time less two of them
// is still a time.
const maxSpan = 36_525_000 * 86_400_000_000

// span binds a constant span of time in microseconds, an interval without months.
func (l *level) span(x sql.Expr, what string) (int64, error) {
	v, err := l.interval(x, what)
	if err != nil {
		return 0, err
	}
	us, ok := plan.SpanOf(v.Ivl[0])
	switch {
	case v.Ivl[0].Months == 0 && (!ok || us > maxSpan):
		return 0, sqlerr.New(sqlerr.IntervalFieldOverflow, "%s is too long", what).At(x.Position()).
			WithHint("It can be 100000 years at most.")
	case !ok:
		return 0, sqlerr.New(sqlerr.InvalidParameterValue, "%s must not have months or years", what).At(x.Position()).
			WithHint("Months differ in length; use days or smaller units.")
	}
	return us, nil
}

// interval binds a constant interval.
func (l *level) interval(x sql.Expr, what string) (*arrowbatch.Vec, error) {
	e, err := l.scalar(x, what)
	if err != nil {
		return nil, err
	}
	if e.Type().ID != types.Interval {
		if e.Type().ID != types.Unknown {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, "%s must be an interval, not %s", what, e.Type()).At(x.Position())
		}
		if e, err = expr.Cast(e, types.TInterval, expr.Implicit); err != nil {
			return nil, at(err, x.Position())
		}
	}
	v, ok := expr.AsConst(expr.Fold(nil, e))
	if !ok || v.IsNull(0) {
		return nil, sqlerr.New(sqlerr.InvalidParameterValue, "%s must be a constant", what).At(x.Position())
	}
	return v, nil
}

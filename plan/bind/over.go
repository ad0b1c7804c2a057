package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/expr/aggregate"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// windowSig tells the types that a window function takes and returns.
type windowSig func(args []types.Type) (want []types.Type, result types.Type, ok bool)

func fixedSig(result types.Type, want ...types.Type) windowSig {
	return func(a []types.Type) ([]types.Type, types.Type, bool) { return want, result, len(a) == len(want) }
}

// windowSigs are the window functions proper; aggregates may stand there as well.
var windowSigs = map[string]windowSig{
	"row_number":   fixedSig(types.TInt8),
	"rank":         fixedSig(types.TInt8),
	"dense_rank":   fixedSig(types.TInt8),
	"percent_rank": fixedSig(types.TFloat8),
	"cume_dist":    fixedSig(types.TFloat8),
	"ntile":        fixedSig(types.TInt4, types.TInt4),
	"lag":          lagSig,
	"lead":         lagSig,
	"first_value":  valueSig(1),
	"last_value":   valueSig(1),
	"nth_value":    valueSig(2),
}

// lagSig is lag(value [, offset [, default]]).
func lagSig(a []types.Type) ([]types.Type, types.Type, bool) {
	if len(a) < 1 || len(a) > 3 {
		return nil, types.Type{}, false
	}
	t := a[0]
	if len(a) == 3 {
		var err error
		if t, err = types.Common("", a[0], a[2]); err != nil {
			return nil, t, false
		}
	}
	if t.ID == types.Unknown {
		t = types.TText
	}
	return []types.Type{t, types.TInt4, t}[:len(a)], t, true
}

func valueSig(n int) windowSig {
	return func(a []types.Type) ([]types.Type, types.Type, bool) {
		if len(a) != n {
			return nil, types.Type{}, false
		}
		t := a[0]
		if t.ID == types.Unknown {
			t = types.TText
		}
		return []types.Type{t, types.TInt4}[:n], t, true
	}
}

// overCall is a window function found in a SELECT.
type overCall struct {
	call *sql.FuncCall
	spec *sql.WindowSpec
}

// windowFuncs finds the window functions of the parts and puts them on the plan.
func (l *level) windowFuncs(sel *sql.Select, parts []sql.Expr) error {
	named, err := namedWindows(sel.Windows)
	if err != nil {
		return err
	}
	var calls []overCall
	for _, p := range parts {
		walk(p, func(x sql.Expr) bool {
			c, ok := x.(*sql.FuncCall)
			if !ok || c.Over == nil {
				return true
			}
			spec, e := resolveSpec(c.Over, named)
			if e != nil && err == nil {
				err = e
			}
			calls = append(calls, overCall{c, spec})
			return false
		})
	}
	if err != nil {
		return err
	}
	done := make([]bool, len(calls))
	for i := range calls {
		if done[i] {
			continue
		}
		var same []overCall
		for j := i; j < len(calls); j++ {
			if !done[j] && sameSpec(calls[i].spec, calls[j].spec) {
				same, done[j] = append(same, calls[j]), true
			}
		}
		if err := l.overWindow(same); err != nil {
			return err
		}
	}
	return nil
}

func namedWindows(ws []sql.NamedWindow) (map[string]*sql.WindowSpec, error) {
	named := map[string]*sql.WindowSpec{}
	for _, w := range ws {
		if named[w.Name.Text] != nil {
			return nil, sqlerr.New(sqlerr.WindowingError, "window %q is already defined", w.Name.Text).At(w.Name.Pos)
		}
		spec, err := resolveSpec(w.Spec, named)
		if err != nil {
			return nil, err
		}
		named[w.Name.Text] = spec
	}
	return named, nil
}

// resolveSpec fills in what a window takes over from a named one.
func resolveSpec(w *sql.WindowSpec, named map[string]*sql.WindowSpec) (*sql.WindowSpec, error) {
	if !w.Ref.Given() {
		return w, nil
	}
	base := named[w.Ref.Text]
	if base == nil {
		return nil, sqlerr.New(sqlerr.UndefinedObject, "window %q does not exist", w.Ref.Text).At(w.Ref.Pos)
	}
	if w.Bare {
		return base, nil
	}
	bad := func(what string) error {
		return sqlerr.New(sqlerr.WindowingError, "cannot override %s clause of window %q", what, w.Ref.Text).At(w.Ref.Pos)
	}
	c := *w
	c.Ref = sql.Name{}
	switch {
	case len(w.PartitionBy) > 0:
		return nil, bad("PARTITION BY")
	case len(w.OrderBy) > 0 && len(base.OrderBy) > 0:
		return nil, bad("ORDER BY")
	case base.Frame != nil:
		return nil, sqlerr.New(sqlerr.WindowingError, "cannot copy window %q because it has a frame clause",
			w.Ref.Text).At(w.Ref.Pos)
	}
	c.PartitionBy = base.PartitionBy
	if len(c.OrderBy) == 0 {
		c.OrderBy = base.OrderBy
	}
	return &c, nil
}

// sameSpec tells whether two windows have the same partitions and order.
func sameSpec(a, b *sql.WindowSpec) bool {
	if len(a.PartitionBy) != len(b.PartitionBy) || len(a.OrderBy) != len(b.OrderBy) {
		return false
	}
	for i := range a.PartitionBy {
		if sql.FormatExpr(a.PartitionBy[i]) != sql.FormatExpr(b.PartitionBy[i]) {
			return false
		}
	}
	for i, o := range a.OrderBy {
		p := b.OrderBy[i]
		if o.Order != p.Order || o.Nulls != p.Nulls || o.Using != p.Using || sql.FormatExpr(o.X) != sql.FormatExpr(p.X) {
			return false
		}
	}
	return true
}

// overWindow puts window functions over one window on the plan.
func (l *level) overWindow(calls []overCall) error {
	args := &aggArgs{}
	spec := calls[0].spec
	var by []int
	var order []plan.SortKey
	for _, p := range spec.PartitionBy {
		e, err := l.windowKey(p, "window PARTITION BY")
		if err != nil {
			return err
		}
		by = append(by, args.add(e, argName(e)))
	}
	for _, o := range spec.OrderBy {
		k, err := sortKey(o)
		if err != nil {
			return err
		}
		e, err := l.windowKey(o.X, "window ORDER BY")
		if err != nil {
			return err
		}
		k.Col = args.add(e, argName(e))
		order = append(order, k)
	}
	var out []plan.WindowCall
	for _, c := range calls {
		w, err := l.windowCall(c, args, order)
		if err != nil {
			return err
		}
		out = append(out, w)
	}
	in, cols := logical.Extend(l.node, args.list, args.names)
	move := func(c int) int { return cols[c] }
	for i := range by {
		by[i] = move(by[i])
	}
	for i := range out {
		out[i] = out[i].Remap(move)
	}
	l.node = logical.NewOverWindow(in, by, plan.RemapKeys(order, move), out, spec.Pos)
	s := l.node.Schema()
	for i, c := range calls {
		k := s.Len() - len(calls) + i
		l.bound[c.call] = expr.NewColumn(k, s.Fields[k].Name, s.Fields[k].Type)
	}
	return nil
}

func (l *level) windowKey(x sql.Expr, clause string) (expr.Expr, error) {
	e, err := l.scalar(x, clause)
	if err == nil && e.Type().ID == types.Unknown {
		return expr.Cast(e, types.TText, expr.Implicit)
	}
	return e, err
}

// windowCall binds one window function; its columns count in args.
func (l *level) windowCall(o overCall, args *aggArgs, order []plan.SortKey) (plan.WindowCall, error) {
	c := o.call
	w := plan.WindowCall{Name: c.Name.Text, FilterCol: -1, IgnoreNulls: c.IgnoreNulls}
	if c.Distinct {
		return w, sqlerr.Unsupported("DISTINCT is not implemented for window functions").At(c.Pos)
	}
	if len(c.OrderBy) > 0 || c.WithinGroup {
		return w, sqlerr.Unsupported("aggregate ORDER BY is not implemented for window functions").At(c.Pos)
	}
	es, err := l.windowArgs(c, &w)
	if err != nil {
		return w, err
	}
	for _, e := range es {
		w.Args = append(w.Args, args.add(e, argName(e)))
	}
	if c.Filter != nil {
		if !w.Aggregate {
			return w, sqlerr.Unsupported("FILTER is not implemented for non-aggregate window functions").At(c.Pos)
		}
		e, err := l.scalar(c.Filter, "FILTER")
		if err == nil {
			e, err = expr.NeedBool("FILTER", e)
		}
		if err != nil {
			return w, at(err, c.Filter.Position())
		}
		w.FilterCol = args.add(e, argName(e))
	}
	w.Frame, err = l.frame(o.spec, order, args)
	return w, err
}

// windowArgs binds a window function's arguments and picks its overload.
func (l *level) windowArgs(c *sql.FuncCall, w *plan.WindowCall) ([]expr.Expr, error) {
	if aggregate.Is(w.Name) {
		w.Aggregate = true
		if c.IgnoreNulls {
			return nil, sqlerr.Unsupported("IGNORE NULLS is not supported for aggregate functions").At(c.Pos)
		}
		es, sig, err := l.aggSignature(c, "window functions")
		w.ArgTypes, w.Type = sig.Args, sig.Result
		return es, err
	}
	sig := windowSigs[w.Name]
	if sig == nil {
		if expr.IsFunction(w.Name) {
			return nil, sqlerr.New(sqlerr.WrongObjectType,
				"OVER specified, but %s is not a window function nor an aggregate function", w.Name).At(c.Pos)
		}
		es, err := l.args(c, "window functions")
		if err != nil {
			return nil, err
		}
		return nil, noFunction(c, es)
	}
	if c.IgnoreNulls && (len(c.Args) == 0 || w.Name == "ntile") {
		return nil, sqlerr.New(sqlerr.WrongObjectType, "%s does not take IGNORE NULLS", w.Name).At(c.Pos)
	}
	es, err := l.args(c, "window functions")
	if err != nil {
		return nil, err
	}
	ts := make([]types.Type, len(es))
	for i, e := range es {
		ts[i] = e.Type()
	}
	want, result, ok := sig(ts)
	if !ok || c.Star {
		return nil, noFunction(c, es)
	}
	for i, e := range es {
		if es[i], err = expr.Cast(e, want[i], expr.Implicit); err != nil {
			return nil, at(err, c.Args[i].Position())
		}
	}
	w.ArgTypes, w.Type = want, result
	return es, nil
}

// frame binds a window frame; without one it is RANGE UNBOUNDED PRECEDING to
// CURRENT ROW, which without ORDER BY is the whole partition.
func (l *level) frame(w *sql.WindowSpec, order []plan.SortKey, args *aggArgs) (plan.Frame, error) {
	f := plan.Frame{Unit: sql.FrameRange, Start: sql.UnboundedPreceding, End: sql.CurrentRow}
	if w.Frame == nil {
		return f, nil
	}
	s := w.Frame
	f.Unit, f.Start, f.End, f.Exclude = s.Unit, s.Start.Kind, s.End.Kind, s.Exclude
	bad := func(format string) (plan.Frame, error) {
		return f, sqlerr.New(sqlerr.WindowingError, "%s", format).At(s.Pos)
	}
	offsets := f.Start == sql.OffsetPreceding || f.Start == sql.OffsetFollowing ||
		f.End == sql.OffsetPreceding || f.End == sql.OffsetFollowing
	switch {
	case f.Start == sql.UnboundedFollowing:
		return bad("frame start cannot be UNBOUNDED FOLLOWING")
	case f.End == sql.UnboundedPreceding:
		return bad("frame end cannot be UNBOUNDED PRECEDING")
	case f.Start == sql.CurrentRow && f.End == sql.OffsetPreceding:
		return bad("frame starting from current row cannot have preceding rows")
	case f.Start == sql.OffsetFollowing && (f.End == sql.OffsetPreceding || f.End == sql.CurrentRow):
		return bad("frame starting from following row cannot have preceding rows")
	case f.Unit == sql.FrameRange && offsets && len(order) != 1:
		return bad("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	case f.Unit == sql.FrameGroups && len(order) == 0:
		return bad("GROUPS mode requires an ORDER BY clause")
	}
	want := types.TInt8
	if f.Unit == sql.FrameRange && offsets {
		t := args.list[order[0].Col].Type()
		switch {
		case t.ID == types.Date, t.IsTimestamp(), t.ID == types.Time, t.ID == types.Interval:
			want = types.TInterval
		case t.IsInteger(): // bigint whatever the column: it may lead past the type's end
		case t.ID == types.Float4:
			want = types.TFloat8
		case t.IsNumber():
			want = t
		default:
			return f, sqlerr.Unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s",
				t).At(s.Pos)
		}
	}
	var err error
	if f.StartOffset, err = l.frameOffset(s.Start.Offset, want, s.Unit); err != nil {
		return f, err
	}
	f.EndOffset, err = l.frameOffset(s.End.Offset, want, s.Unit)
	return f, err
}

func (l *level) frameOffset(x sql.Expr, want types.Type, unit sql.FrameUnit) (expr.Expr, error) {
	if x == nil {
		return nil, nil
	}
	word := [...]string{"ROWS", "RANGE", "GROUPS"}[unit]
	if c := firstColumn(x); c != nil {
		return nil, sqlerr.New(sqlerr.InvalidColumnReference, "argument of %s must not contain variables", word).At(c.Pos)
	}
	e, err := l.scalar(x, word)
	if err != nil {
		return nil, err
	}
	if e, err = expr.Cast(e, want, expr.Assignment); err != nil {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "argument of %s must be type %s", word, want).At(x.Position())
	}
	return expr.Fold(nil, e), nil
}

// setFuncs finds the functions of the parts that return rows and puts them on
// the plan.
func (l *level) setFuncs(parts []sql.Expr) error {
	var calls []*sql.FuncCall
	var err error
	for _, p := range parts {
		walk(p, func(x sql.Expr) bool {
			c, ok := x.(*sql.FuncCall)
			if !ok || c.Over != nil || !isSetFunc(c.Name.Text) {
				switch x.(type) {
				case *sql.Case:
					err = firstErr(err, setFuncInside(x, "CASE"))
				case *sql.FuncCall:
					if c.Name.Text == "coalesce" {
						err = firstErr(err, setFuncInside(x, "COALESCE"))
					}
				}
				return true
			}
			if l.bound[c] == nil {
				calls = append(calls, c)
			}
			for _, o := range operands(c) {
				err = firstErr(err, setFuncInside(o, "arguments of a set-returning function"))
			}
			return false
		})
	}
	if err != nil || len(calls) == 0 {
		return err
	}
	var fs []plan.SetFunc
	for _, c := range calls {
		f, fields, err := l.setFunc(c, "SELECT")
		if err != nil {
			return err
		}
		if len(fields) > 1 { // a call in a select list is one column: a row
			f.Types = []types.Type{rowType(fields)}
		}
		fs = append(fs, f)
	}
	l.node = logical.NewProjectSet(l.node, fs)
	k := l.node.Schema().Len() - len(calls)
	for i, c := range calls {
		l.bound[c] = expr.NewColumn(k+i, fs[i].Name, fs[i].Types[0])
	}
	return nil
}

func rowType(fields []plan.Field) types.Type {
	t := types.Type{ID: types.Struct}
	for _, f := range fields {
		t.Fields = append(t.Fields, types.Field{Name: f.Name, Type: f.Type})
	}
	return t
}

func firstErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func setFuncInside(x sql.Expr, what string) error {
	var err error
	walk(x, func(y sql.Expr) bool {
		if c, ok := y.(*sql.FuncCall); ok && isSetFunc(c.Name.Text) && err == nil {
			err = sqlerr.Unsupported("set-returning functions are not allowed in %s", what).At(c.Pos)
		}
		return err == nil
	})
	return err
}

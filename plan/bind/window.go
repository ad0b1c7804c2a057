package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// windowTVFs are the window functions in FROM with the names of their arguments
// after the relation.
var windowTVFs = map[string][]string{
	"tumble":   {"timecol", "size", "offset"},
	"hop":      {"timecol", "slide", "size", "offset"},
	"cumulate": {"timecol", "step", "size", "offset"},
	"session":  {"timecol", "gap"},
}

func isWindowTVF(c *sql.FuncCall) bool {
	if windowTVFs[c.Name.Text] == nil || c.Schema.Given() || len(c.Args) == 0 {
		return false
	}
	x := c.Args[0]
	if n, ok := x.(*sql.NamedArg); ok {
		x = n.Value
	}
	_, ok := x.(*sql.RelationArg)
	return ok
}

// windowArgs sorts a call's arguments after the relation by name; the first two
// are needed.
func windowArgs(c *sql.FuncCall) (map[string]sql.Expr, error) {
	want := windowTVFs[c.Name.Text]
	got := map[string]sql.Expr{}
	for i, a := range c.Args[1:] {
		name := ""
		if n, ok := a.(*sql.NamedArg); ok {
			name, a = n.Name.Text, n.Value
			if name == "step" && c.Name.Text == "hop" {
				name = "slide"
			}
			known := false
			for _, w := range want {
				known = known || w == name
			}
			if !known {
				err := sqlerr.New(sqlerr.UndefinedFunction, "%s has no argument %q", c.Name.Text, name).At(n.Pos)
				err.Hint = sqlerr.Suggest(name, want)
				return nil, err
			}
		} else if i < len(want) {
			name = want[i]
		} else {
			return nil, sqlerr.New(sqlerr.UndefinedFunction, "too many arguments for %s", c.Name.Text).At(a.Position())
		}
		if got[name] != nil {
			return nil, sqlerr.New(sqlerr.SyntaxError, "argument name %q used more than once", name).At(a.Position())
		}
		got[name] = a
	}
	for _, w := range want {
		if got[w] == nil && w != "offset" {
			return nil, sqlerr.New(sqlerr.UndefinedFunction, "%s needs the argument %s", c.Name.Text, w).At(c.Pos).
				WithHint("%s", windowUsage[c.Name.Text])
		}
	}
	return got, nil
}

var windowUsage = map[string]string{
	"tumble":   "TUMBLE(relation, time, size [, offset])",
	"hop":      "HOP(relation, time, slide, size [, offset])",
	"cumulate": "CUMULATE(relation, time, step, size [, offset])",
	"session":  "SESSION(relation [PARTITION BY columns], time, gap)",
}

// windowTVF binds TUMBLE(…), HOP(…), CUMULATE(…) and SESSION(…) in FROM.
func (l *level) windowTVF(t *sql.TableFunc, c *sql.FuncCall, s side) (item, error) {
	x := c.Args[0]
	if n, ok := x.(*sql.NamedArg); ok {
		x = n.Value
	}
	ra := x.(*sql.RelationArg)
	if len(ra.OrderBy) > 0 {
		return item{}, sqlerr.Unsupported("ORDER BY of the relation in %s is not supported",
			c.Name.Text).At(ra.OrderBy[0].X.Position())
	}
	it, err := l.ref(ra.Rel, s)
	if err != nil {
		return item{}, err
	}
	by := ra.PartitionBy
	if n := len(by) - 2; n > 0 && len(c.Args) == 1 { // the list has taken in what follows it
		call := *c
		call.Args = append([]sql.Expr{x}, by[n:]...)
		c, by = &call, by[:n]
	}
	args, err := windowArgs(c)
	if err != nil {
		return item{}, err
	}
	w := &level{b: l.b, scope: it.scope, node: it.node, closed: true, bound: map[sql.Expr]expr.Expr{}}
	spec := plan.WindowSpec{}
	if spec.TimeCol, err = w.timeColumn(args["timecol"]); err != nil {
		return item{}, err
	}
	if err = w.windowSpans(&spec, c, args); err != nil {
		return item{}, err
	}
	if len(by) > 0 && spec.Kind != plan.Session {
		return item{}, sqlerr.Unsupported("PARTITION BY in %s is not supported", c.Name.Text).At(by[0].Position()).
			WithHint("Only SESSION needs it; leave it out.")
	}
	for _, p := range by {
		e, err := w.scalar(p, "PARTITION BY")
		if err != nil {
			return item{}, err
		}
		col, ok := plan.ColumnOf(e)
		if !ok {
			return item{}, sqlerr.Unsupported("PARTITION BY of SESSION needs columns").At(p.Position()).
				WithHint("Compute the value in a subquery and give it a name.")
		}
		spec.PartitionBy = append(spec.PartitionBy, col)
	}
	n := logical.NewWindow(it.node, spec, c.Pos)
	return l.finish(item{n, it.scope.withWindow(n)}, t.Alias, t.Watermark)
}

// withWindow adds window_start and window_end to the columns of a relation.
func (s *scope) withWindow(n *logical.Window) *scope {
	f := n.Schema().Fields
	var add []scopeCol
	for i := len(f) - 2; i < len(f); i++ {
		add = append(add, scopeCol{name: f[i].Name, e: expr.NewColumn(i, f[i].Name, f[i].Type)})
	}
	return s.with(add)
}

// with adds columns to the columns of each relation.
func (s *scope) with(add []scopeCol) *scope {
	out := &scope{cols: append(s.cols[:len(s.cols):len(s.cols)], add...)}
	for _, r := range s.rels {
		r.cols = append(r.cols[:len(r.cols):len(r.cols)], add...)
		out.rels = append(out.rels, r)
	}
	return out
}

// timeColumn binds the time of a window: a column, which may be written
// DESCRIPTOR(column), or a window that the rows have already. An expression is
// added to the level's plan.
func (l *level) timeColumn(x sql.Expr) (int, error) {
	if d, ok := x.(*sql.FuncCall); ok && d.Name.Text == "descriptor" && len(d.Args) == 1 {
		x = d.Args[0]
	}
	e, err := l.scalar(x, "the time of a window")
	if err != nil {
		return 0, err
	}
	if isWindowStruct(e.Type()) {
		if e, err = windowTime(e); err != nil {
			return 0, at(err, x.Position())
		}
	}
	if e.Type().ID == types.Date {
		if e, err = expr.Cast(e, types.TTimestamp, expr.Implicit); err != nil {
			return 0, at(err, x.Position())
		}
	}
	if !e.Type().IsTimestamp() {
		return 0, sqlerr.New(sqlerr.DatatypeMismatch, "the time of a window must be a timestamp, not %s",
			e.Type()).At(x.Position())
	}
	n, cols := logical.Extend(l.node, []expr.Expr{e}, []string{"window_input"})
	l.node = n
	return cols[0], nil
}

// windowSpans binds the spans of a window in FROM.
func (l *level) windowSpans(spec *plan.WindowSpec, c *sql.FuncCall, args map[string]sql.Expr) error {
	var err error
	get := func(name, what string) int64 {
		x := args[name]
		if x == nil || err != nil {
			return 0
		}
		var us int64
		us, err = l.span(x, what)
		if err == nil && us <= 0 && name != "offset" {
			err = sqlerr.New(sqlerr.InvalidParameterValue, "%s must be greater than zero", what).At(x.Position())
		}
		return us
	}
	switch c.Name.Text {
	case "tumble":
		spec.Kind, spec.Size = plan.Tumble, get("size", "size of a window")
		spec.Slide = spec.Size
	case "hop":
		spec.Kind, spec.Slide, spec.Size = plan.Hop, get("slide", "slide of a window"), get("size", "size of a window")
	case "cumulate":
		spec.Kind, spec.Slide, spec.Size = plan.Cumulate, get("step", "step of a window"), get("size", "size of a window")
	case "session":
		spec.Kind = plan.Session
		spec.Gap, err = l.gap(args["gap"])
		return err
	}
	spec.Offset = get("offset", "offset of a window")
	if err != nil {
		return err
	}
	return checkWindow(spec, c.Pos)
}

// checkWindow holds the spans of a window against each other.
func checkWindow(w *plan.WindowSpec, pos int) error {
	bad := func(format string, args ...any) error {
		return sqlerr.New(sqlerr.InvalidParameterValue, format, args...).At(pos)
	}
	period := w.Slide
	switch {
	case w.Kind == plan.Hop && w.Slide > w.Size:
		return bad("slide of a window (%s) must not be longer than its size (%s)", plan.Micros(w.Slide), plan.Micros(w.Size))
	case w.Kind == plan.Cumulate && w.Size%w.Slide != 0:
		return bad("size of a cumulating window (%s) must be a multiple of its step (%s)", plan.Micros(w.Size),
			plan.Micros(w.Slide))
	case w.Kind == plan.Cumulate:
		period = w.Size
	}
	if w.Size/w.Slide > maxWindows {
		return bad("a row would belong to %d windows, more than the limit of %d", w.Size/w.Slide, maxWindows)
	}
	if w.Offset >= period || w.Offset <= -period {
		return bad("offset of a window (%s) must be shorter than the distance of windows (%s)",
			plan.Micros(w.Offset), plan.Micros(period))
	}
	if w.Kind == plan.Hop && w.Slide == w.Size {
		w.Kind = plan.Tumble
	}
	return nil
}

// maxWindows is the number of windows that a row may belong to.
const maxWindows = 100_000

// gap binds the gap of a session: an interval, constant or computed per row.
func (l *level) gap(x sql.Expr) (expr.Expr, error) {
	e, err := l.scalar(x, "gap of a session")
	if err != nil {
		return nil, err
	}
	if e, err = expr.Cast(e, types.TInterval, expr.Implicit); err != nil {
		return nil, sqlerr.New(sqlerr.DatatypeMismatch, "gap of a session must be an interval, not %s",
			e.Type()).At(x.Position())
	}
	e = expr.Fold(nil, e)
	if _, ok := expr.AsConst(e); ok {
		us, err := l.span(x, "gap of a session")
		if err != nil {
			return nil, err
		}
		if us <= 0 {
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, "gap of a session must be greater than zero").At(x.Position())
		}
	}
	return e, nil
}

// windowRef is the one window(…) or session_window(…) of a SELECT.
type windowRef struct {
	spec       plan.WindowSpec
	text       string
	start, end expr.Expr
	// by are the expressions that a session is kept apart by, and at their columns.
	by []expr.Expr
	at []expr.Expr
}

// partition returns the column of a grouping expression that sessions are kept
// apart by; other expressions stay.
func (w *windowRef) partition(e expr.Expr) expr.Expr {
	for i, b := range w.by {
		if expr.Equal(b, e) {
			return w.at[i]
		}
	}
	return e
}

func isGroupingWindow(c *sql.FuncCall) bool {
	return !c.Schema.Given() && c.Over == nil && (c.Name.Text == "window" || c.Name.Text == "session_window")
}

// groupingWindow looks for window(ts, size [, slide [, start]]) and
// session_window(ts, gap) in a SELECT and puts the window on the plan. Sessions
// are kept apart by the other grouping expressions.
func (l *level) groupingWindow(parts []sql.Expr, groups []target) error {
	var calls []*sql.FuncCall
	for _, p := range parts {
		walk(p, func(e sql.Expr) bool {
			if c, ok := e.(*sql.FuncCall); ok && isGroupingWindow(c) {
				calls = append(calls, c)
				return false
			}
			return true
		})
	}
	for _, c := range calls {
		text := sql.FormatExpr(c)
		if l.windowed == nil {
			w := &windowRef{text: text}
			if err := l.openWindow(w, c, groups); err != nil {
				return err
			}
			l.windowed = w
		} else if l.windowed.text != text {
			return sqlerr.Unsupported("only one window can be used in a SELECT").At(c.Pos).
				WithHint("Write the same call everywhere, or window the result of a subquery again with window_time(w).")
		}
	}
	return nil
}

// windowValue is the level's window as a value, a row of its start and end.
func (l *level) windowValue() (expr.Expr, error) {
	w, err := expr.RowCtor([]string{"start", "end"}, l.windowed.start, l.windowed.end)
	if err != nil || l.group == nil {
		return w, err
	}
	return l.group.replace(w)
}

// openWindow puts the window that c asks for on the plan.
func (l *level) openWindow(w *windowRef, c *sql.FuncCall, groups []target) error {
	var err error
	if w.spec, err = l.groupingSpec(c); err != nil {
		return err
	}
	if w.spec.Kind == plan.Session {
		if err := l.sessionPartition(w, groups); err != nil {
			return err
		}
	}
	n := logical.NewWindow(l.node, w.spec, c.Pos)
	l.node = n
	k := n.Schema().Len()
	t := n.Schema().Fields[k-1].Type
	w.start, w.end = expr.NewColumn(k-2, "window_start", t), expr.NewColumn(k-1, "window_end", t)
	return nil
}

// sessionPartition computes the grouping expressions other than the session.
func (l *level) sessionPartition(w *windowRef, groups []target) error {
	var names []string
	for _, g := range groups {
		if g.ast != nil && hasWindow(g.ast) {
			continue
		}
		e, err := l.groupExpr(g)
		if err != nil {
			return err
		}
		w.by, names = append(w.by, e...), append(names, "group")
	}
	n, cols := logical.Extend(l.node, w.by, names)
	l.node, w.spec.PartitionBy = n, cols
	for i, c := range cols {
		w.at = append(w.at, expr.NewColumn(c, n.Schema().Fields[c].Name, w.by[i].Type()))
	}
	return nil
}

func hasWindow(x sql.Expr) bool {
	found := false
	walk(x, func(e sql.Expr) bool {
		if c, ok := e.(*sql.FuncCall); ok && isGroupingWindow(c) {
			found = true
		}
		return !found
	})
	return found
}

func (l *level) groupingSpec(c *sql.FuncCall) (spec plan.WindowSpec, err error) {
	lo, hi := 2, 4
	if c.Name.Text == "session_window" {
		hi = 2
	}
	if len(c.Args) < lo || len(c.Args) > hi {
		return spec, sqlerr.New(sqlerr.UndefinedFunction, "%s takes %d to %d arguments", c.Name.Text, lo, hi).At(c.Pos).
			WithHint("window(time, size [, slide [, start]]), session_window(time, gap)")
	}
	if spec.TimeCol, err = l.timeColumn(c.Args[0]); err != nil {
		return spec, err
	}
	if hi == 2 {
		spec.Kind = plan.Session
		spec.Gap, err = l.gap(c.Args[1])
		return spec, err
	}
	args := map[string]sql.Expr{"size": c.Args[1], "slide": c.Args[1]}
	if len(c.Args) > 2 {
		args["slide"] = c.Args[2]
	}
	if len(c.Args) > 3 {
		args["offset"] = c.Args[3]
	}
	hop := *c
	hop.Name.Text = "hop"
	err = l.windowSpans(&spec, &hop, args)
	return spec, err
}

// isWindowStruct tells whether a value is a window {start, end}.
func isWindowStruct(t types.Type) bool {
	return t.ID == types.Struct && len(t.Fields) == 2 && t.Fields[0].Name == "start" && t.Fields[1].Name == "end"
}

// windowTime is the last instant of a window: its end less a microsecond.
func windowTime(w expr.Expr) (expr.Expr, error) {
	end, err := expr.Field(w, "end")
	if err != nil {
		return nil, err
	}
	return expr.Binary("-", end, expr.ConstInterval(microsecond))
}

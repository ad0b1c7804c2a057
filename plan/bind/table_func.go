package bind

import (
	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/plan/logical"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// tableFunc binds a function in FROM.
func (l *level) tableFunc(t *sql.TableFunc, s side) (item, error) {
	if len(t.Calls) == 1 {
		if c, ok := t.Calls[0].Call.(*sql.FuncCall); ok && isWindowTVF(c) {
			return l.windowTVF(t, c, s)
		}
	}
	if t.Columns != nil {
		return item{}, sqlerr.New(sqlerr.SyntaxError,
			"a column definition list is only allowed for functions returning \"record\"").At(t.Pos)
	}
	arg := &level{b: l.b, outer: s.lat, ctes: l.ctes, scope: &scope{}, node: logical.OneRow(),
		bound: map[sql.Expr]expr.Expr{}}
	var calls []plan.SetFunc
	var fields []plan.Field
	var scalars []expr.Expr
	alias := ""
	for _, c := range t.Calls {
		call, ok := c.Call.(*sql.FuncCall)
		if ok && alias == "" {
			alias = call.Name.Text
		}
		if ok && isSetFunc(call.Name.Text) {
			f, cols, err := arg.setFunc(call, "functions in FROM")
			if err != nil {
				return item{}, err
			}
			if t.Alias != nil && len(cols) == 1 && len(t.Calls) == 1 && cols[0].Name == f.Name {
				cols[0].Name = t.Alias.Name.Text
			}
			calls, fields = append(calls, f), append(fields, cols...)
			continue
		}
		e, err := arg.scalar(c.Call, "functions in FROM")
		if err != nil {
			return item{}, err
		}
		name := columnName(c.Call)
		if alias == "" {
			alias = name
		}
		if t.Alias != nil && len(t.Calls) == 1 {
			name = t.Alias.Name.Text
		}
		scalars, fields = append(scalars, e), append(fields, plan.Field{Name: name, Type: e.Type()})
	}
	_, plain := arg.node.(*logical.Values)
	if !plain {
		calls, scalars = intoSubquery(calls, scalars)
	}
	n, err := tableFuncNode(t, calls, scalars, fields)
	if err != nil {
		return item{}, err
	}
	if !plain { // the arguments' subqueries are run first, the function for their row
		width := arg.node.Schema().Len()
		apply := logical.NewApply(arg.node, n, plan.ApplyCross, nil, t.Pos)
		s := apply.Schema()
		n = logical.NewProject(apply, logical.Identity(s)[width:], s.Names()[width:])
	}
	if t.RowsFrom || len(t.Calls) > 1 {
		alias = ""
	}
	sc := relScope(alias, "", n, nil, nil)
	if len(sc.rels) == 1 && len(sc.cols) == 1 && len(sc.cols[0].e.Type().Fields) == 0 {
		sc.rels[0].single = true
	}
	return l.finish(item{n, sc}, t.Alias, t.Watermark)
}

// intoSubquery makes calls refer to the row of their arguments' subqueries as
// one that is around them.
func intoSubquery(calls []plan.SetFunc, scalars []expr.Expr) ([]plan.SetFunc, []expr.Expr) {
	move := func(es []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(es))
		for i, e := range es {
			out[i] = plan.IntoSubquery(e)
		}
		return out
	}
	out := make([]plan.SetFunc, len(calls))
	for i, c := range calls {
		c.Args = move(c.Args)
		out[i] = c
	}
	return out, move(scalars)
}

// tableFuncNode makes the node of a call in FROM. A function that returns one
// value is a relation of one row.
func tableFuncNode(t *sql.TableFunc, calls []plan.SetFunc, scalars []expr.Expr, fields []plan.Field,
) (logical.Node, error) {
	if len(scalars) == 0 {
		return logical.NewTableFunc(calls, t.Ordinality, fields...), nil
	}
	if len(calls) > 0 {
		return nil, sqlerr.Unsupported(
			"ROWS FROM with functions that return rows and functions that do not is not supported").At(t.Pos)
	}
	if len(scalars) == 1 && len(scalars[0].Type().Fields) > 0 {
		cols, err := fieldsOf(scalars[0])
		if err != nil {
			return nil, at(err, t.Pos)
		}
		scalars, fields = nil, nil
		for _, c := range cols {
			scalars, fields = append(scalars, c.e), append(fields, colField(c.e, c.name))
		}
	}
	if t.Ordinality {
		scalars = append(scalars, expr.ConstInt8(1))
		fields = append(fields, plan.Field{Name: "ordinality", Type: types.TInt8, NotNull: true})
	}
	return logical.NewValues([][]expr.Expr{scalars}, fields...), nil
}

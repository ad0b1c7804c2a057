package bind

import (
	"strings"

	"github.com/streamsql/streamsql/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/plan"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// setColumn is a column of a function that returns rows.
type setColumn struct {
	name string
	typ  types.Type
}

// setFuncs are the functions that return rows: each tells the types that its
// arguments take and the columns that it returns, or ok false if no overload fits.
var setFuncs = map[string]func(args []types.Type) (want []types.Type, cols []setColumn, ok bool){
	"generate_series":           seriesSignature,
	"generate_subscripts":       subscriptsSignature,
	"unnest":                    unnestSignature,
	"_pg_expandarray":           expandSignature,
	"regexp_split_to_table":     textSignature("regexp_split_to_table", 2, 3),
	"string_to_table":           textSignature("string_to_table", 2, 3),
	"regexp_matches":            regexpMatchesSignature,
	"json_array_elements":       jsonSignature(types.TJSON, setColumn{"value", types.TJSON}),
	"jsonb_array_elements":      jsonSignature(types.TJSONB, setColumn{"value", types.TJSONB}),
	"json_array_elements_text":  jsonSignature(types.TJSON, setColumn{"value", types.TText}),
	"jsonb_array_elements_text": jsonSignature(types.TJSONB, setColumn{"value", types.TText}),
	"json_object_keys":          jsonSignature(types.TJSON, setColumn{"json_object_keys", types.TText}),
	"jsonb_object_keys":         jsonSignature(types.TJSONB, setColumn{"jsonb_object_keys", types.TText}),
	"json_each": jsonSignature(types.TJSON, setColumn{"key", types.TText},
		setColumn{"value", types.TJSON}),
	"jsonb_each": jsonSignature(types.TJSONB, setColumn{"key", types.TText},
		setColumn{"value", types.TJSONB}),
	"json_each_text": jsonSignature(types.TJSON, setColumn{"key", types.TText},
		setColumn{"value", types.TText}),
	"jsonb_each_text": jsonSignature(types.TJSONB, setColumn{"key", types.TText},
		setColumn{"value", types.TText}),
	"pg_get_keywords": noArgs(setColumn{"word", types.TText}, setColumn{"catcode", types.TChar},
		setColumn{"barelabel", types.TBool}, setColumn{"catdesc", types.TText}, setColumn{"baredesc", types.TText}),
	"pg_timezone_names": noArgs(setColumn{"name", types.TText}, setColumn{"abbrev", types.TText},
		setColumn{"utc_offset", types.TInterval}, setColumn{"is_dst", types.TBool}),
	"pg_options_to_table": optionsSignature,
}

func isSetFunc(name string) bool { return setFuncs[name] != nil }

func seriesSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	if len(a) != 2 && len(a) != 3 {
		return nil, nil, false
	}
	t, err := types.Common("", a[:2]...)
	if err != nil {
		return nil, nil, false
	}
	want := []types.Type{}
	switch t.ID {
	case types.Unknown, types.Text:
		return nil, nil, false
	case types.Int2:
		t = types.TInt4
	case types.Date: // the preferred type of both that it can become
		t = types.TTimestamptz
	}
	t = t.Base()
	step := t
	if t.IsTimestamp() {
		if len(a) != 3 {
			return nil, nil, false
		}
		step = types.TInterval
	} else if len(a) == 3 {
		if t, err = types.Common("", a...); err != nil || !t.IsInteger() && t.ID != types.Numeric {
			return nil, nil, false
		}
		if t.ID == types.Int2 {
			t = types.TInt4
		}
		t = t.Base()
		step = t
	} else if !t.IsInteger() && t.ID != types.Numeric {
		return nil, nil, false
	}
	if want = append(want, t, t); len(a) == 3 {
		want = append(want, step)
	}
	return want, []setColumn{{"generate_series", t}}, true
}

func subscriptsSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	if len(a) < 2 || len(a) > 3 || a[0].ID != types.Array {
		return nil, nil, false
	}
	want := []types.Type{a[0], types.TInt4, types.TBool}
	return want[:len(a)], []setColumn{{"generate_subscripts", types.TInt4}}, true
}

func unnestSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	var cols []setColumn
	for _, t := range a {
		if t.ID != types.Array || t.Elem == nil {
			return nil, nil, false
		}
		if len(a) == 1 && t.Elem.ID == types.Struct {
			for _, f := range t.Elem.Fields {
				cols = append(cols, setColumn{f.Name, f.Type})
			}
			continue
		}
		cols = append(cols, setColumn{"unnest", *t.Elem})
	}
	return a, cols, len(a) > 0
}

func expandSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	if len(a) != 1 || a[0].ID != types.Array || a[0].Elem == nil {
		return nil, nil, false
	}
	return a, []setColumn{{"x", *a[0].Elem}, {"n", types.TInt4}}, true
}

func regexpMatchesSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	want, _, ok := textSignature("", 2, 3)(a)
	return want, []setColumn{{"regexp_matches", types.ArrayOf(types.TText)}}, ok
}

func optionsSignature(a []types.Type) ([]types.Type, []setColumn, bool) {
	cols := []setColumn{{"option_name", types.TText}, {"option_value", types.TText}}
	return []types.Type{types.ArrayOf(types.TText)}, cols, len(a) == 1
}

// textSignature takes lo to hi texts.
func textSignature(name string, lo, hi int) func([]types.Type) ([]types.Type, []setColumn, bool) {
	return func(a []types.Type) ([]types.Type, []setColumn, bool) {
		if len(a) < lo || len(a) > hi {
			return nil, nil, false
		}
		want := make([]types.Type, len(a))
		for i, t := range a {
			if !expr.CanCast(t, types.TText, expr.Implicit) {
				return nil, nil, false
			}
			want[i] = types.TText
		}
		return want, []setColumn{{name, types.TText}}, true
	}
}

func jsonSignature(in types.Type, cols ...setColumn) func([]types.Type) ([]types.Type, []setColumn, bool) {
	return func(a []types.Type) ([]types.Type, []setColumn, bool) {
		ok := len(a) == 1 && (a[0].ID == in.ID || a[0].ID == types.Unknown)
		return []types.Type{in}, cols, ok
	}
}

func noArgs(cols ...setColumn) func([]types.Type) ([]types.Type, []setColumn, bool) {
	return func(a []types.Type) ([]types.Type, []setColumn, bool) { return nil, cols, len(a) == 0 }
}

// setFunc binds a call of a function that returns rows.
func (l *level) setFunc(c *sql.FuncCall, clause string) (plan.SetFunc, []plan.Field, error) {
	f := plan.SetFunc{Name: c.Name.Text}
	if c.Star || c.Distinct || c.Filter != nil || len(c.OrderBy) > 0 || c.Over != nil || c.Variadic {
		return f, nil, sqlerr.New(sqlerr.WrongObjectType,
			"DISTINCT, ORDER BY, FILTER, VARIADIC and OVER do not go with %s, which is not an aggregate function",
			c.Name.Text).At(c.Pos)
	}
	args, err := l.args(c, clause)
	if err != nil {
		return f, nil, err
	}
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	want, cols, ok := setFuncs[f.Name](ts)
	if !ok {
		if len(args) > 1 && ts[0].ID == types.Unknown && ts[1].ID == types.Unknown {
			return f, nil, sqlerr.New(sqlerr.AmbiguousFunction, "function %s(%s) is not unique", f.Name,
				typeNames(args)).At(c.Pos).
				WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
		}
		return f, nil, noFunction(c, args)
	}
	for i, a := range args {
		if args[i], err = expr.Cast(a, want[i], expr.Implicit); err != nil {
			return f, nil, at(err, c.Args[i].Position())
		}
	}
	f.Args = args
	var fields []plan.Field
	for _, k := range cols {
		f.Types = append(f.Types, k.typ)
		fields = append(fields, plan.Field{Name: k.name, Type: k.typ})
	}
	return f, fields, nil
}

func typeNames(args []expr.Expr) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = a.Type().Base().String()
	}
	return strings.Join(s, ", ")
}

// noFunction is the error when no overload takes the arguments.
func noFunction(c *sql.FuncCall, args []expr.Expr) error {
	return sqlerr.New(sqlerr.UndefinedFunction, "function %s(%s) does not exist", c.Name.Text, typeNames(args)).At(c.Pos).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

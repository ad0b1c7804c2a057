package expr

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

var testCols = map[string]Expr{
	"a": NewColumn(0, "a", types.TInt4), "b": NewColumn(1, "b", types.TInt8), "t": NewColumn(2, "t", types.TText),
	"c": NewColumn(3, "c", types.TBool), "ts": NewColumn(4, "ts", types.TTimestamptz),
}

func bind(t testing.TB, src string) Expr {
	t.Helper()
	e, err := parseExpr(src, testCols)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return e
}

// TestErrors holds messages and hints to PostgreSQL's words.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, code, msg, hint string }{
		{"lenght(t)", "42883", "function lenght(text) does not exist", `Perhaps you meant the function "length".`},
		{"length(a)", "42883", "function length(integer) does not exist", "No function matches the given name"},
		{"a + c", "42883", "operator does not exist: integer + boolean", "No operator matches"},
		{"- t", "42883", "operator does not exist: - text", "No operator matches the given name and argument type."},
		{"a and c", "42804", "argument of AND must be type boolean, not type integer", ""},
		{"case when a then 1 end", "42804", "argument of CASE/WHEN must be type boolean, not type integer", ""},
		{"case when c then 1 else c end", "42804", "CASE types boolean and integer cannot be matched", ""},
		{"coalesce(a, c)", "42804", "COALESCE types integer and boolean cannot be matched", ""},
		{"c::timestamp", "42846", "cannot cast type boolean to timestamp without time zone", ""},
		{"a = 'x'", "22P02", `invalid input syntax for type integer: "x"`, ""},
		{"'2024-02-30'::date", "22008", `date/time field value out of range: "2024-02-30"`, ""},
		{"a[1]", "42804", "cannot subscript type integer because it does not support subscripting", ""},
		{"array[]", "42P18", "cannot determine type of empty array", "Explicitly cast to the desired type"},
		{"1 = any(1)", "42809", "op ANY/ALL (array) requires array on right side", ""},
		{"(row(a, b)).nope", "42703", `could not identify column "nope" in record data type`, ""},
	} {
		_, err := parseExpr(c.src, testCols)
		if err == nil {
			t.Errorf("%s: no error", c.src)
			continue
		}
		e := sqlerr.From(err)
		if string(e.Code) != c.code || e.Message != c.msg || !strings.HasPrefix(e.Hint, c.hint) {
			t.Errorf("%s\n got %s %s / %s\nwant %s %s / %s", c.src, e.Code, e.Message, e.Hint, c.code, c.msg, c.hint)
		}
	}
}

func TestAssignmentErrors(t *testing.T) {
	_, err := CoerceAssign(testCols["c"], "n", types.TInt4)
	if e := sqlerr.From(err); e == nil || e.Code != "42804" ||
		e.Message != `column "n" is of type integer but expression is of type boolean` {
		t.Errorf("got %v", err)
	}
	if e, err := CoerceAssign(testCols["b"], "n", types.TInt4); err != nil || e.Type().ID != types.Int4 {
		t.Errorf("bigint into integer: %v", err)
	}
	if _, err := CoerceAssign(ConstUnknown("x"), "n", types.TInt4); sqlerr.CodeOf(err) != "22P02" {
		t.Errorf("literal: got %v", err)
	}
}

func TestColumnsRemapEqual(t *testing.T) {
	e := bind(t, "case when a > 1 then b + a else length(t) end")
	if got := Columns(e); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("Columns: %v", got)
	}
	m := Remap(e, func(i int) int { return i + 10 })
	if got := Columns(m); !slices.Equal(got, []int{10, 11, 12}) {
		t.Errorf("Remap: %v", got)
	}
	if Equal(e, m) || !Equal(e, Remap(m, func(i int) int { return i - 10 })) {
		t.Error("Equal does not follow columns")
	}
	for _, p := range [][2]string{{"a + 1", "a + 2"}, {"a > 1", "a >= 1"}, {"a is null", "a is not null"},
		{"random()", "random()"}, {"a in (1,2)", "a in (1,3)"}, {"a::text", "a::varchar"}, {"t like 'a'", "t like 'b'"},
		{"a = any(array[1])", "a = all(array[1])"}, {"c is true", "c is false"}, {"greatest(a, 1)", "least(a, 1)"}} {
		if Equal(bind(t, p[0]), bind(t, p[1])) {
			t.Errorf("%s equals %s", p[0], p[1])
		}
	}
	for _, s := range []string{"a + 1", "date_trunc('hour', ts)", "t like 'a%'", "case a when 1 then 2 end",
		"nullif(a, 1)", "coalesce(a, 1)", "a in (1, 2)", "(array[a])[1]", "a is distinct from 1", "row(a, b)"} {
		if !Equal(bind(t, s), bind(t, s)) {
			t.Errorf("%s does not equal itself", s)
		}
	}
}

func TestVolatilityAndConst(t *testing.T) {
	for _, c := range []struct {
		src   string
		vol   Volatility
		konst bool
	}{
		{"1 + 2", Immutable, true}, {"a + 2", Immutable, false}, {"now()", Stable, true}, {"random()", Volatile, false},
		{"ts::date", Stable, false}, {"a::text", Immutable, false}, {"ts::text", Stable, false},
		{"case 1 when 2 then 3 end", Immutable, true}, {"date_trunc('day', ts)", Stable, false},
		{"'2024-01-01'::timestamptz", Stable, true}, {"'2024-01-01'::timestamp", Immutable, true},
	} {
		e := bind(t, c.src)
		if VolatilityOf(e) != c.vol || IsConst(e) != c.konst {
			t.Errorf("%s: volatility %d const %v", c.src, VolatilityOf(e), IsConst(e))
		}
	}
}

func TestFold(t *testing.T) {
	ctx := testCtx(t)
	for _, c := range []struct{ src, want string }{
		{"1 + 2", "3"}, {"a + (1 + 2)", "a + 3"}, {"a > 1 and true", "a > 1"}, {"a > 1 and false", "(a > 1) AND false"},
		{"false and a > 1", "false"}, {"a > 1 or true", "(a > 1) OR true"}, {"1 / 0", "1 / 0"}, {"a + null", "NULL::integer"},
		{"a + 1 / 0", "a + (1 / 0)"}, {"length('abc')", "3"}, {"'2024-02-29 12:00+00'::timestamptz > ts",
			"'2024-02-29 07:00:00-05'::timestamp with time zone > ts"},
		{"case when c then 1 + 1 else 3 end", "CASE WHEN c THEN 2 ELSE 3 END"},
	} {
		f := Fold(ctx, bind(t, c.src))
		got := f.String()
		if v, ok := AsConst(f); ok && f.Type().ID == types.Timestamptz {
			got = string(types.AppendText(nil, f.Type(), v, 0, ctx.Env))
		}
		got = strings.ReplaceAll(got, "'2024-02-29 12:00:00+00'", "'2024-02-29 07:00:00-05'")
		if got != c.want {
			t.Errorf("%s folds to %s, want %s", c.src, got, c.want)
		}
	}
	if ctx.Failed() {
		t.Error("folding left errors behind")
	}
	if _, err := EvalConst(ctx, bind(t, "1 / 0")); sqlerr.CodeOf(err) != sqlerr.DivisionByZero {
		t.Errorf("1/0: %v", err)
	}
}

// TestShortCircuit evaluates what must not be evaluated for some rows.
func TestShortCircuit(t *testing.T) {
	col := arrowbatch.NewFlat(arrowbatch.Int32, 0)
	for _, x := range []int32{0, 1, 2, 0} {
		col.AppendInt32(x)
	}
	col.AppendNull()
	in := arrowbatch.NewBatch(5, col)
	defer in.Release()
	for _, c := range []struct {
		src  string
		want string // a letter a row: t, f, n or e
	}{
		{"a <> 0 and 4 / a > 2", "ftffn"}, {"a = 0 or 4 / a > 2", "ttftn"}, {"4 / a > 2 and a <> 0", "etfen"},
		{"case when a = 0 then true else 4 / a > 2 end", "ttftn"}, {"coalesce(a > 1, 1 / 0 = 1)", "fftfe"},
		{"a = 0 or 1 / 0 = 1", "teete"}, {"4 / a > 2 is null", "effet"}, {"a in (0, 4 / a)", "tftte"[:4] + "n"},
	} {
		ctx := testCtx(t)
		v := bind(t, c.src).Eval(ctx, in, nil)
		got := []byte("fffff")
		for i := range 5 {
			switch {
			case v.IsNull(i):
				got[i] = 'n'
			case v.Bits.Get(i):
				got[i] = 't'
			}
		}
		for _, e := range ctx.TakeErrors() {
			if got[e.Row] != 'n' {
				t.Errorf("%s: row %d failed and has a value", c.src, e.Row)
			}
			got[e.Row] = 'e'
		}
		v.Release()
		if string(got) != c.want {
			t.Errorf("%s: got %s want %s", c.src, got, c.want)
		}
	}
}

// TestParamsAndOuter reads what is no column of the batch.
func TestParamsAndOuter(t *testing.T) {
	ctx := testCtx(t)
	one, _ := AsConst(ConstInt(41))
	ctx.Params = []*arrowbatch.Vec{one}
	outer := arrowbatch.NewBatch(1, one.Retain())
	ctx.Outer = []*arrowbatch.Batch{outer}
	p, err := Binary("+", NewParam(0, types.TInt4), ConstInt(1))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Binary("=", p, NewOuter(1, 0, "x", types.TInt4))
	if err != nil {
		t.Fatal(err)
	}
	v, err := EvalConst(ctx, e)
	if err != nil || v.IsNull(0) || v.Bits.Get(0) {
		t.Errorf("42 = 41: %v", err)
	}
	ctx.Params = nil
	if v, err = EvalConst(ctx, e); err != nil || !v.IsNull(0) {
		t.Errorf("a missing parameter is NULL: %v", err)
	}
	if i, ok := AsParam(Coalesced(t, NewParam(3, types.TUnknown), types.TInt8)); !ok || i != 3 {
		t.Error("a cast of an untyped parameter types it")
	}
}

// Coalesced casts e implicitly.
func Coalesced(t *testing.T, e Expr, to types.Type) Expr {
	c, err := Coerce(e, to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFunctionTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Functions() {
		key := f.Name + "(" + strings.Join(f.Args, ",") + ")"
		if seen[key] {
			t.Errorf("%s is twice in the table", key)
		}
		seen[key] = true
		if f.row == nil && f.kernel == nil {
			t.Errorf("%s has no body", key)
		}
		if !f.Operator && f.Description == "" {
			t.Errorf("%s has no description", key)
		}
	}
	if len(seen) < 600 || !IsFunction("date_trunc") || IsFunction("nope") {
		t.Errorf("%d functions", len(seen))
	}
}

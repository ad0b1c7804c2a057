package types

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/jackc/pgx/v5"

	"github.com/streamsql/streamsql/arrowbatch"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"int4": "integer", "INTEGER": "integer", "int": "integer", "double  precision": "double precision",
		"float":                    "double precision",
		"timestamp with time zone": "timestamp with time zone", "timestamptz(3)": "timestamp(3) with time zone",
		"timestamp(0)": "timestamp(0) without time zone", "timestamp (2) with time zone": "timestamp(2) with time zone",
		"time": "time without time zone", "interval(2)": "interval(2)", "character varying": "character varying",
		"varchar(10)": "character varying(10)", "decimal(5)": "numeric(5,0)", "numeric(5, 2)": "numeric(5,2)",
		"numeric(3,-2)": "numeric(3,-2)", "char(3)": "character(3)", `"char"`: `"char"`,
		"text[]": "text[]", "_int8": "bigint[]",
		"numeric(4,1)[]": "numeric(4,1)[]", "pg_catalog.bool": "boolean", "_char": `"char"[]`, "bigint [3]": "bigint[]",
	} {
		typ, ok := Parse(name)
		if !ok || typ.String() != want {
			t.Errorf("%q is %s, %v", name, typ, ok)
		}
	}
	for _, bad := range []string{"", "string", "int5", "text(3)", "numeric(0)", "numeric(1001)", "varchar(0)",
		"timestamp(-1)",
		"numeric(1,2,3)", "int[][]", "]", "numeric(x)", "varchar(99999)"} {
		if typ, ok := Parse(bad); ok {
			t.Errorf("%q is %s", bad, typ)
		}
	}
	for _, typ := range All() {
		if got, ok := Parse(typ.String()); !ok || !got.Equal(typ) {
			t.Errorf("%s comes back as %s", typ, got)
		}
		if got, ok := ByOID(typ.OID()); !ok || !got.Equal(typ) {
			t.Errorf("oid %d is %s", typ.OID(), got)
		}
	}
	if len(Names()) < 50 {
		t.Errorf("%d names", len(Names()))
	}
}

// TestAutumn holds the two hours of one name apart when the clock goes back, and
// days of 25 hours together.
func TestAutumn(t *testing.T) {
	berlin := &Env{TimeZone: zone("Europe/Berlin")}
	count := func(u Unit) map[string]int {
		groups := map[string]int{}
		for _, s := range []string{"2024-10-27 00:30Z", "2024-10-27 01:30Z", "2024-10-27 22:59Z",
			"2024-10-27 23:00Z"} {
			us := must(DateTrunc(u, must(ParseTimestamptz(s, nil)), berlin.TimeZone))
			groups[string(AppendTimestamptz(nil, us, nil))]++
		}
		return groups
	}
	if got := fmt.Sprint(count(Hour)); got != "map[2024-10-27 00:00:00+00:1 2024-10-27 01:00:00+00:1 "+
		"2024-10-27 22:00:00+00:1 2024-10-27 23:00:00+00:1]" {
		t.Errorf("by hour: %s", got)
	}
	if got := fmt.Sprint(count(Day)); got != "map[2024-10-26 22:00:00+00:3 2024-10-27 23:00:00+00:1]" {
		t.Errorf("by day: %s", got)
	}
	us := must(AddInterval(must(ParseTimestamptz("2024-03-30 02:30", berlin)), arrowbatch.IntervalValue{Days: 1},
		berlin.TimeZone))
	if got := string(AppendTimestamptz(nil, us, berlin)); got != "2024-03-31 03:30:00+02" {
		t.Errorf("a day on: %s", got)
	}
}

func TestCalendar(t *testing.T) {
	for days := int64(MinDate); days < 1_000_000; days += 13 {
		y, m, d := Civil(days)
		if Days(y, m, d) != days || m < 1 || m > 12 || d < 1 || d > DaysIn(y, m) {
			t.Fatalf("day %d is %d-%d-%d", days, y, m, d)
		}
		if days > -700_000 {
			g := time.Unix(days*86400, 0).UTC()
			if gy, gm, gd := g.Date(); gy != y || int(gm) != m || gd != d {
				t.Fatalf("day %d is %d-%d-%d, not %s", days, y, m, d, g)
			}
		}
	}
	if Days(2024, 14, 31) != Days(2025, 2, 31) || Days(2025, 2, 31) != Days(2025, 3, 3) {
		t.Error("months and days do not run on")
	}
}

// TestWords reads what depends on the present time.
func TestWords(t *testing.T) {
	now := must(ParseTimestamptz("2024-03-01 01:30:00.5+00", nil))
	env := &Env{TimeZone: zone("America/New_York"), Now: now, HasNow: true}
	for s, want := range map[string]string{"now": "2024-02-29 20:30:00.5-05", "today": "2024-02-29 00:00:00-05",
		"tomorrow": "2024-03-01 00:00:00-05", "yesterday 12:00": "2024-02-28 12:00:00-05",
		"today allballs": "2024-02-28 19:00:00-05"} {
		us, err := ParseTimestamptz(s, env)
		if got := string(AppendTimestamptz(nil, us, env)); err != nil || got != want {
			t.Errorf("%s is %s, %v", s, got, err)
		}
	}
	if _, err := ParseTimestamptz("now", nil); err == nil {
		t.Error("now is known without a clock")
	}
	if d := must(ParseDate("tomorrow", env)); string(AppendDate(nil, d)) != "2024-03-01" {
		t.Error("tomorrow is wrong")
	}
	if us := must(ParseTime("now", env)); string(AppendTime(nil, us)) != "20:30:00.5" {
		t.Error("the time now is wrong")
	}
}

func TestErrorsLeaveColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, set := range goldenSets {
		typ, _ := Parse(set.typ)
		v := arrowbatch.NewVec(typ.Shape(), 0)
		var want []string
		for range 200 {
			s := set.gen(r)
			if r.IntN(2) == 0 {
				s = mutate(r, s)
			}
			rows, data := v.N, len(v.Data)
			if err := ParseString(typ, s, v, nil); err != nil {
				if v.N != rows || len(v.Data) != data || len(v.Kids) > 0 && v.Kids[0].N != int(v.Off[v.N]) {
					t.Fatalf("%s %q leaves the column changed", typ, s)
				}
				continue
			}
			want = append(want, string(AppendText(nil, typ, v, v.N-1, nil)))
		}
		for i, w := range want {
			if got := string(AppendText(nil, typ, v, i, nil)); got != w {
				t.Fatalf("row %d of %s became %s", i, typ, got)
			}
			// What is written is read back as the same, with modifiers too.
			again := arrowbatch.NewVec(typ.Shape(), 0)
			if err := ParseString(typ, w, again, nil); err != nil || string(AppendText(nil, typ, again, 0,
				nil)) != w {
				t.Fatalf("%s %q is not read back: %v", typ, w, err)
			}
			again.Release()
		}
		v.Release()
	}
}

func TestBinaryErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	rec := StructOf(Field{"a", TInt4}, Field{"b", ArrayOf(TText)})
	types := append(All(), ArrayOf(TInt8), ArrayOf(TText), rec)
	for _, typ := range types {
		v := arrowbatch.NewVec(typ.Shape(), 0)
		for range 300 {
			b := make([]byte, r.IntN(40))
			for i := range b {
				if r.IntN(3) > 0 {
					b[i] = byte(r.Uint32())
				}
			}
			rows := v.N
			if err := ParseBinary(typ, b, v); err != nil && v.N != rows {
				t.Fatalf("%s: % x leaves a row behind", typ, b)
			}
			for _, k := range v.Kids {
				if typ.ID == Struct && k.N != v.N {
					t.Fatalf("%s: % x leaves fields behind", typ, b)
				}
			}
		}
		v.Release()
	}
}

func TestModifiers(t *testing.T) {
	for _, c := range []struct{ typ, in, implicit, explicit string }{
		{"numeric(5,2)", "1.005", "1.01", "1.01"}, {"numeric(3,0)", "999.5", "ERROR 22003 numeric field overflow",
			""},
		{"character varying(3)", "abcd", "ERROR 22001 value too long for type character varying(3)", "abc"},
		{"character varying(3)", "ab    ", "ab ", "ab "}, {"character(3)", "a", "a  ", "a  "}, {"character(2)",
			"éèê", "ERROR 22001 value too long for type character(2)", "éè"},
		{"timestamp(1) without time zone", "2024-01-01 00:00:00.25", "2024-01-01 00:00:00.3", ""},
		{"timestamp(0) without time zone", "1999-12-31 23:59:58.5", "1999-12-31 23:59:58", ""},
		{"interval(0)", "1.5 s", "00:00:02", ""}, {"text[]", "{abcd}", "{abcd}", ""}, {"character varying(2)[]",
			"{abc,a}", "ERROR 22001 value too long for type character varying(2)", "{ab,a}"},
	} {
		typ, _ := Parse(c.typ)
		base := typ.Base()
		if typ.ID == Array {
			base = ArrayOf(typ.Elem.Base())
		}
		src, dst := arrowbatch.NewVec(base.Shape(), 0), arrowbatch.NewVec(base.Shape(), 0)
		if err := ParseString(base, c.in, src, nil); err != nil {
			t.Fatal(err)
		}
		src.AppendNull()
		for explicit, want := range map[bool]string{false: c.implicit, true: c.explicit} {
			if explicit && want == "" {
				want = c.implicit
			}
			dst.Resize(0)
			got := ""
			if err := AppendMod(typ, src, 0, dst, explicit); err != nil {
				got = errorText(err)
			} else {
				got = string(AppendText(nil, typ, dst, 0, nil))
			}
			if got != want {
				t.Errorf("%s of %s (explicit: %v): %s", c.typ, c.in, explicit, got)
			}
			rows := dst.N
			if err := AppendMod(typ, src, 1, dst, explicit); err != nil || !dst.IsNull(rows) {
				t.Errorf("%s of NULL: %v", c.typ, err)
			}
		}
	}
}

func TestPretty(t *testing.T) {
	ts := []Type{TInt8, TText, TTimestamptz, ArrayOf(TInt4), TNumeric}
	const text = `+ 1 a 2024-01-05T10:00:00+00 {1,2} 1.50
- 2 "two words" 2024-01-05T10:00:00.5+00 {} NULL
+ NULL "NULL" infinity NULL NaN
`
	b, err := ParseBatch(ts, "# rows\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	if got := Pretty(ts, b); got != text {
		t.Errorf("got\n%s", got)
	}
	for _, bad := range []string{"+ 1", "+ x a now {1} 1", "1 2 3 4 5"} {
		if _, err := ParseBatch(ts, bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestArrowTypes(t *testing.T) {
	var fields []Field
	var shapes []arrowbatch.Shape
	for _, typ := range append(All(), ArrayOf(TText), ArrayOf(TTimestamptz), StructOf(Field{"a", TDate}, Field{"b",
		TNumeric})) {
		fields, shapes = append(fields, Field{typ.String(), typ}), append(shapes, typ.Shape())
	}
	b := arrowbatch.NewLike(shapes)
	for range 3 {
		for _, c := range b.Cols {
			c.AppendNull()
		}
		b.AppendOp(arrowbatch.Insert)
	}
	rec, err := b.Record(ArrowSchema(fields))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	back, err := arrowbatch.FromRecord(rec, shapes)
	if err != nil || arrowbatch.Pretty(back) != arrowbatch.Pretty(b) {
		t.Errorf("%v", err)
	}
	for _, f := range fields {
		one := arrowbatch.NewBatch(1, arrowbatch.NewVec(f.Type.Shape(), 0))
		one.Cols[0].AppendNull()
		f.Type.Mod = map[ID]int16{Numeric: 10}[f.Type.ID]
		schema := arrow.NewSchema([]arrow.Field{{Name: f.Name, Type: ToArrowExchange(f.Type), Nullable: true}}, nil)
		if _, err := one.Record(schema); err != nil {
			t.Errorf("%s: %v", f.Type, err)
		}
	}
}

func TestPGCasts(t *testing.T) {
	o := newOracle(t)
	var all []Type
	for _, typ := range All() {
		if typ.ID != Unknown && typ.ID != Void {
			all = append(all, typ)
		}
	}
	all = append(all, ArrayOf(TInt4), ArrayOf(TText), ArrayOf(TNumeric))
	var q, names []string
	var implicit, assign, explicit []bool
	var common []string
	for i, from := range all {
		o.exec(fmt.Sprintf("CREATE TEMP TABLE t%d (c %s)", i, from))
		for _, to := range all {
			q = append(q, fmt.Sprintf("NULL::%s", from), to.String())
			names = append(names, from.String()+" to "+to.String())
			implicit, assign, explicit = append(implicit, ImplicitCast(from, to)), append(assign, AssignCast(from,
				to)), append(explicit, ExplicitCast(from, to))
			c, err := Common("COALESCE", from, to)
			if err != nil {
				common = append(common, errorText(err))
			} else {
				common = append(common, c.String())
			}
		}
	}
	try := func(sql string) string {
		var out string
		err := o.conn.QueryRow(context.Background(), "SELECT pg_temp.try($1, '')", sql).Scan(&out)
		if err != nil && err != pgx.ErrNoRows {
			t.Fatal(err)
		}
		return out
	}
	for k, name := range names {
		from, to := q[2*k], q[2*k+1]
		i := k / len(all)
		j := k % len(all)
		if got := try(fmt.Sprintf("SELECT CAST(%s AS %s)::text", from, to)); (got == "NULL") != explicit[k] {
			t.Errorf("cast %s: %v, but %s", name, explicit[k], got)
		}
		got := try(fmt.Sprintf("INSERT INTO t%d SELECT %s RETURNING c::text", j, from))
		if (got == "NULL") != assign[k] {
			t.Errorf("assign %s: %v, but %s", name, assign[k], got)
		}
		// A function with one argument of the type takes what casts implicitly.
		if i != j {
			got = try(fmt.Sprintf("SELECT pg_typeof(COALESCE(%s, NULL::%s))::text", from, to))
			if got != common[k] {
				t.Errorf("common type of %s: %s, but %s", strings.Replace(name, " to ", " and ", 1), common[k], got)
			}
		}
	}
	rows, err := o.conn.Query(context.Background(),
		`SELECT format_type(castsource, NULL), format_type(casttarget, NULL)
		FROM pg_cast WHERE castcontext = 'i' AND castsource <> casttarget`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	var from, to string
	if _, err := pgx.ForEachRow(rows, []any{&from, &to},
		func() error { want[from+" to "+to] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for k, name := range names {
		if i, j := k/len(all), k%len(all); i != j && all[i].ID != Array && all[j].ID != Array && implicit[k] != want[name] {
			t.Errorf("implicit cast %s: %v", name, implicit[k])
		}
	}
}

func FuzzInput(f *testing.F) {
	for i, set := range goldenSets {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for range 3 {
			f.Add(i, set.gen(r))
		}
	}
	f.Fuzz(func(t *testing.T, which int, s string) {
		set := goldenSets[uint(which)%uint(len(goldenSets))]
		typ, _ := Parse(set.typ)
		v := arrowbatch.NewVec(typ.Shape(), 0)
		defer v.Release()
		if ParseString(typ, s, v, settings[set.setting].env) != nil {
			return
		}
		env := &Env{TimeZone: settings[set.setting].env.zone()}
		text := string(AppendText(nil, typ, v, 0, env))
		if err := ParseString(typ, text, v, env); err != nil {
			t.Fatalf("%s %q is written as %q, which is not read: %v", typ, s, text, err)
		}
		if again := string(AppendText(nil, typ, v, 1, env)); again != text {
			t.Fatalf("%s %q is written as %q and then as %q", typ, s, text, again)
		}
	})
}

func FuzzBinaryInput(f *testing.F) {
	f.Add(uint8(Numeric), []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 5})
	f.Add(uint8(JSONB), []byte("\x01{}"))
	f.Fuzz(func(t *testing.T, id uint8, b []byte) {
		typ := Type{ID: ID(id % uint8(numIDs))}
		switch typ.ID {
		case Array:
			typ = ArrayOf(TNumeric)
		case Struct:
			typ = StructOf(Field{"a", TInt4}, Field{"b", ArrayOf(TJSONB)})
		}
		v := arrowbatch.NewVec(typ.Shape(), 0)
		defer v.Release()
		if ParseBinary(typ, b, v) != nil {
			return
		}
		AppendText(nil, typ, v, 0, nil)
		if err := ParseBinary(typ, AppendBinary(nil, typ, v, 0), v); err != nil {
			t.Fatalf("%s % x does not come back: %v", typ, b, err)
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 1024
	for _, c := range []struct {
		typ Type
		gen func() string
	}{
		{TInt8, func() string { return fmt.Sprint(r.Int64N(1e12)) }},
		{TText, func() string { return strings.Repeat("x", 5+r.IntN(20)) }},
		{TTimestamptz, func() string {
			return fmt.Sprintf("2024-%02d-05 10:%02d:07.123456+00", 1+r.IntN(12),
				r.IntN(60))
		}},
		{TFloat8, func() string { return fmt.Sprint(r.Float64() * 1000) }},
		{TNumeric, func() string { return fmt.Sprintf("%d.%02d", r.IntN(1e6), r.IntN(100)) }},
		{TJSONB, func() string { return `{"b": 1, "a": [1, 2.50, "x"], "c": {"d": null}}` }},
	} {
		v := arrowbatch.NewVec(c.typ.Shape(), 0)
		var texts []string
		for range n {
			texts = append(texts, c.gen())
			if err := ParseString(c.typ, texts[len(texts)-1], v, nil); err != nil {
				b.Fatal(err)
			}
		}
		env := &Env{TimeZone: zone("Europe/Berlin")}
		var buf []byte
		i := 0
		run := func(name string, f func()) {
			b.Run(c.typ.PGName()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
					i = (i + 1) % n
				}
			})
		}
		run("text", func() { buf = AppendText(buf[:0], c.typ, v, i, nil) })
		if c.typ.ID == Timestamptz {
			run("text-zone", func() { buf = AppendText(buf[:0], c.typ, v, i, env) })
		}
		run("binary", func() { buf = AppendBinary(buf[:0], c.typ, v, i) })
		in := arrowbatch.NewVec(c.typ.Shape(), 0)
		run("parse", func() {
			if in.N > 4000 {
				in.Resize(0)
			}
			_ = ParseString(c.typ, texts[i], in, nil)
		})
	}
}

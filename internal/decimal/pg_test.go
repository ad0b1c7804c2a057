package decimal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// oracle evaluates expressions on the PostgreSQL that STREAMSQL_TEST_PG names.
type oracle struct {
	t    *testing.T
	conn *pgx.Conn
}

func newOracle(t *testing.T) *oracle {
	url := os.Getenv("STREAMSQL_TEST_PG")
	if url == "" {
		t.Skip("STREAMSQL_TEST_PG is not set: there is no PostgreSQL to compare with")
	}
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	_, err = conn.Exec(context.Background(), `CREATE FUNCTION pg_temp.try(q text, a text, b text) RETURNS text
		LANGUAGE plpgsql AS $$
		DECLARE r text;
		BEGIN
			EXECUTE q INTO r USING a, b;
			RETURN coalesce(r, 'NULL');
		EXCEPTION WHEN OTHERS THEN
			RETURN 'ERROR ' || SQLSTATE || ' ' || SQLERRM;
		END $$`)
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{t, conn}
}

// run evaluates q, in which $1 and $2 are texts, for each pair.
func (o *oracle) run(q string, a, b []string) []string {
	o.t.Helper()
	rows, err := o.conn.Query(context.Background(), `SELECT pg_temp.try($1, a, b)
		FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS u(a, b, n) ORDER BY n`, q, a, b)
	if err != nil {
		o.t.Fatalf("%s: %v", q, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		o.t.Fatalf("%s: %v", q, err)
	}
	return out
}

// newRand returns the same source in every run, another one for a number in
// STREAMSQL_TEST_SEED.
func newRand(t *testing.T) *rand.Rand {
	seed, _ := strconv.ParseUint(os.Getenv("STREAMSQL_TEST_SEED"), 10, 64)
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func genNumber(r *rand.Rand, whole, frac int) string {
	if r.IntN(40) == 0 {
		return []string{"NaN", "Infinity", "-Infinity", "0", "0.000", "1", "-1", "10", "1.0", "2", "0.5",
			"-0.5"}[r.IntN(12)]
	}
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteByte('-')
	}
	digits := func(n int) {
		for range n {
			b.WriteByte("0123456789900555"[r.IntN(16)])
		}
	}
	digits(1 + r.IntN(whole))
	if n := r.IntN(frac + 1); n > 0 {
		b.WriteByte('.')
		digits(n)
	}
	return b.String()
}

func text(d Decimal, err error) string {
	if err != nil {
		e := sqlerr.From(err)
		return "ERROR " + string(e.Code) + " " + e.Message
	}
	return d.String()
}

// agrees tells whether got is what PostgreSQL gave, as far as 36 digits go: an
// exact result that is longer is refused, one that is not exact is shorter.
func agrees(got, want string, exact bool) bool {
	if got == want {
		return true
	}
	long := len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(want), "0")) > MaxDigits
	whole, frac, _ := strings.Cut(want, ".")
	wholeDigits := len(strings.TrimLeft(strings.TrimPrefix(whole, "-"), "0"))
	if strings.HasPrefix(got, "ERROR 22003 numeric value has more than") {
		if exact {
			return long || len(frac) > MaxScale
		}
		return wholeDigits > MaxDigits || strings.HasPrefix(want, "ERROR 22003")
	}
	if exact || strings.HasPrefix(got, "ERROR") || strings.HasPrefix(want,
		"ERROR") || !long && len(frac) <= MaxScale {
		return false
	}
	// A shorter result is PostgreSQL's, rounded.
	d, err := Parse(got)
	if err != nil {
		return false
	}
	w, err := ParseFit(want, 1000, d.Scale())
	if err != nil {
		return false
	}
	diff, err := d.Sub(w)
	// Rounding twice may move the last digit by one.
	return err == nil && diff.Abs().Cmp(New(1, d.Scale())) <= 0
}

func TestPGArithmetic(t *testing.T) {
	o := newOracle(t)
	r := newRand(t)
	two := func(f func(a, b Decimal) (Decimal, error)) func(a, b Decimal) string {
		return func(a, b Decimal) string { return text(f(a, b)) }
	}
	one := func(f func(a Decimal) (Decimal, error)) func(a, b Decimal) string {
		return func(a, _ Decimal) string { return text(f(a)) }
	}
	scaleOf := func(b Decimal) int {
		x, _ := b.ToInt64()
		return int(x % 20)
	}
	for _, c := range []struct {
		sql         string
		exact       bool
		whole, frac int
		f           func(a, b Decimal) string
	}{
		{"$1::numeric + $2::numeric", true, 17, 17, two(Decimal.Add)},
		{"$1::numeric - $2::numeric", true, 17, 17, two(Decimal.Sub)},
		{"$1::numeric * $2::numeric", true, 11, 10, two(Decimal.Mul)},
		{"$1::numeric / $2::numeric", false, 12, 12, two(Decimal.Div)},
		{"$1::numeric / $2::numeric", false, 3, 2, two(Decimal.Div)},
		{"$1::numeric / $2::numeric", false, 18, 18, two(Decimal.Div)},
		{"$1::numeric % $2::numeric", true, 12, 12, two(Decimal.Mod)},
		{"$1::numeric % $2::numeric", true, 18, 18, two(Decimal.Mod)},
		{"div($1::numeric, $2::numeric)", true, 15, 15, two(Decimal.QuoInt)},
		{"abs($1::numeric)", true, 15, 15, func(a, _ Decimal) string { return a.Abs().String() }},
		{"-$1::numeric", true, 15, 15, func(a, _ Decimal) string { return a.Neg().String() }},
		{"ceil($1::numeric)", true, 15, 15, func(a, _ Decimal) string { return a.Ceil().String() }},
		{"floor($1::numeric)", true, 15, 15, func(a, _ Decimal) string { return a.Floor().String() }},
		{"trim_scale($1::numeric)", true, 15, 15, func(a, _ Decimal) string { return a.Normalize().String() }},
		{"sign(($1::numeric) - ($2::numeric))", true, 2, 1, func(a, b Decimal) string {
			if a.IsNaN() || b.IsNaN() || a.Special() == b.Special() && a.Special() != Finite {
				return "NaN"
			}
			return strconv.Itoa(a.Cmp(b))
		}},
		{"($1::numeric < $2::numeric)::int - ($1::numeric > $2::numeric)::int", true, 2, 2,
			func(a, b Decimal) string { return strconv.Itoa(-a.Cmp(b)) }},
		{"round($1::numeric, ($2::numeric)::int % 20)", true, 15, 15,
			func(a, b Decimal) string { return text(a.Round(scaleOf(b))) }},
		{"trunc($1::numeric, ($2::numeric)::int % 20)", true, 15, 15,
			func(a, b Decimal) string { return text(a.Trunc(scaleOf(b))) }},
		{"($1::numeric)::float8", true, 15, 15, func(a, _ Decimal) string {
			s := strconv.FormatFloat(a.ToFloat64(), 'g', -1, 64)
			return s
		}},
		{"$1::float8::numeric", true, 15, 20, func(a, _ Decimal) string { return text(FromFloat64(a.ToFloat64())) }},
		{"$1::float4::numeric", true, 9, 5, func(a, _ Decimal) string { return text(FromFloat32(a.ToFloat32())) }},
		{"sqrt($1::numeric)", false, 15, 12, one(Decimal.Sqrt)},
		{"sqrt($1::numeric)", false, 1, 12, one(Decimal.Sqrt)},
		{"exp($1::numeric)", false, 2, 12, one(Decimal.Exp)},
		{"exp($1::numeric)", false, 1, 3, one(Decimal.Exp)},
		{"ln($1::numeric)", false, 12, 12, one(Decimal.Ln)},
		{"ln($1::numeric)", false, 1, 6, one(Decimal.Ln)},
		{"log($1::numeric)", false, 12, 12, one(Decimal.Log10)},
		{"log($2::numeric, $1::numeric)", false, 3, 4, two(Decimal.Log)},
		{"power($1::numeric, $2::numeric)", false, 1, 3, two(Decimal.Pow)},
		{"power($1::numeric, $2::numeric)", false, 2, 0, two(Decimal.Pow)},
		{"power($1::numeric, $2::numeric)", false, 1, 1, two(Decimal.Pow)},
	} {
		const n = 400
		var as, bs []string
		for range n {
			as, bs = append(as, genNumber(r, c.whole, c.frac)), append(bs, genNumber(r, c.whole, c.frac))
		}
		if strings.Contains(c.sql, "ln(") || strings.Contains(c.sql, "log(") {
			for i := range as {
				if r.IntN(8) != 0 {
					as[i], bs[i] = strings.TrimPrefix(as[i], "-"), strings.TrimPrefix(bs[i], "-")
				}
			}
		}
		bad := 0
		for i, want := range o.run("SELECT ("+c.sql+")::text", as, bs) {
			a, err1 := Parse(as[i])
			b, err2 := Parse(bs[i])
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if strings.HasPrefix(want, "ERROR 22003 integer out") || strings.HasPrefix(want, "ERROR 0A000") {
				continue // the second argument is no int
			}
			got := c.f(a, b)
			if strings.Contains(c.sql, "float8") && strings.HasSuffix(c.sql, "float8") {
				f, _ := strconv.ParseFloat(want, 64)
				want = strconv.FormatFloat(f, 'g', -1, 64)
			}
			if !agrees(got, want, c.exact) {
				if bad++; bad <= 8 {
					t.Errorf("%s with %s, %s:\n got  %s\n want %s", c.sql, as[i], bs[i], got, want)
				}
			}
		}
		if bad > 0 {
			t.Errorf("%s: %d of %d differ", c.sql, bad, n)
		}
	}
}

func TestPGSums(t *testing.T) {
	o := newOracle(t)
	r := newRand(t)
	for _, shape := range [][2]int{{3, 2}, {15, 12}, {1, 30}, {30, 2}, {2, 4}} {
		var lists, counts []string
		var accs []Accumulator
		for range 200 {
			var keep []string
			var a Accumulator
			n := 0
			for range 1 + r.IntN(30) {
				s := genNumber(r, shape[0], shape[1])
				if r.IntN(50) != 0 && (strings.Contains(s, "I") || s == "NaN") {
					s = "1.5"
				}
				d := mustParse(t, s)
				stay := r.IntN(2) == 0
				var part Accumulator // some values come by way of another sum
				if err := part.Add(d); err != nil {
					t.Fatal(err)
				}
				if err := a.Merge(&part); err != nil {
					t.Fatal(err)
				}
				if stay {
					keep = append(keep, s)
					n++
				} else if err := a.Sub(d); err != nil {
					t.Fatal(err)
				}
			}
			code := a.Append([]byte{7})
			var back Accumulator
			if rest, ok := back.Decode(append(code, 9)[1:]); !ok || len(rest) != 1 || back.wide() != a.wide() {
				t.Fatalf("state does not come back: %x", code)
			}
			lists, counts, accs = append(lists, "{"+strings.Join(keep, ",")+"}"), append(counts,
				strconv.Itoa(n)), append(accs, back)
		}
		for i, want := range o.run("SELECT sum(x) || ' ' || avg(x) FROM unnest($1::numeric[]) x", lists, counts) {
			n, _ := strconv.ParseInt(counts[i], 10, 64)
			if n == 0 {
				continue
			}
			wantSum, wantAvg, _ := strings.Cut(want, " ")
			gotSum, gotAvg := text(accs[i].Sum()), text(accs[i].Avg(n))
			if shape[1] > 5 {
				// More than five scales: the sum may keep trailing zeros.
				gotSum, wantSum = trimZeros(gotSum), trimZeros(wantSum)
				gotAvg, wantAvg = trimZeros(gotAvg), trimZeros(wantAvg)
			}
			if !agrees(gotSum, wantSum, true) || !agrees(gotAvg, wantAvg, false) {
				t.Errorf("%s:\n got  %s %s\n want %s %s", lists[i], gotSum, gotAvg, wantSum, wantAvg)
			}
		}
	}
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func ExampleDecimal_Div() {
	d, _ := FromInt64(1).Div(FromInt64(3))
	fmt.Println(d)
	// Output: 0.33333333333333333333
}

package expr

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// TestRandomAgainstPG sends the golden expressions with their constants exchanged
// at random, as Expr.String prints them, to PostgreSQL and compares the answers.
func TestRandomAgainstPG(t *testing.T) {
	if os.Getenv("STREAMSQL_TEST_PG") == "" {
		t.Skip("STREAMSQL_TEST_PG is not set: no PostgreSQL to compare with")
	}
	conn := connectPG(t)
	srcs, exprs := goldenExprs(t)
	rng := rand.New(rand.NewPCG(uint64(*seed), 7))
	pool := map[string][]*constant{}
	for _, e := range exprs {
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*constant); ok {
				pool[c.typ.String()] = append(pool[c.typ.String()], c)
			}
			return true
		})
	}
	compared, failures := 0, 0
	for i, e := range exprs {
		if strings.Contains(srcs[i], "now()") || strings.Contains(e.String(), "array_slice(") ||
			strings.Contains(srcs[i], "array[array[") {
			continue
		}
		for range *perExpr {
			mutant := withLeaves(e, func(_ int, lt types.Type) Expr {
				from := pool[lt.String()]
				return from[rng.IntN(len(from))]
			})
			ours, limited := mutantAnswer(testCtx(t), mutant)
			if limited {
				continue
			}
			sql := mutant.String()
			pg := pgAnswer(conn, sql)
			switch pg {
			case "ERROR 42883", "ERROR 42601", "ERROR 42725", "ERROR 42804", "ERROR 42P18", "ERROR 0A000", "ERROR 54000":
				continue // the printed form is no SQL of PostgreSQL's, or meets a limit of its own
			}
			if tooLong(pg) || relative.MatchString(sql) || garbage.MatchString(sql) {
				continue
			}
			compared++
			if ours != pg && !sameButForLibm(ours, pg) {
				if failures++; failures <= 60 {
					t.Errorf("%s\n ours %.200s\n   pg %.200s", sql, ours, pg)
				}
			}
		}
	}
	t.Logf("%d compared, %d differ", compared, failures)
	if compared < len(exprs)/2 {
		t.Errorf("only %d of %d expressions could be compared", compared, len(exprs))
	}
}

// relative are the words whose meaning depends on the clock.
var relative = regexp.MustCompile("now|today|yesterday|tomorrow")

// garbage are calls whose answers in PostgreSQL are accidents of its code: parts
// of a calendar in an interval, wrapped sums, formats without meaning.
var garbage = regexp.MustCompile(`^to_char\(.*(interval, '|month|05:09)|^make_interval|^timezone\('[^']*\d[^']*'|^to_(date|timestamp)\(.*(alpha|FF1|infinity|isodow)|^to_number\(.*Pre:|0001 \^ 4.5|^regexp_.*'[eb]'::text\)$|` +
	`^to_number\(.*'(abcde|day|month)|'5874897-12-31'::date|29424[6-9]`)

// tooLong tells whether a number has more digits than a numeric holds here.
func tooLong(answer string) bool {
	s, ok := strings.CutPrefix(answer, "numeric ")
	return ok && len(s) > 37
}

// sameButForLibm tells whether two floats differ in their last digits only: the
// C library's functions and Go's round differently.
func sameButForLibm(ours, pg string) bool {
	a, okA := strings.CutPrefix(ours, "float8 ")
	b, okB := strings.CutPrefix(pg, "float8 ")
	if !okA || !okB {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= math.Abs(y)*1e-15
}

// mutantAnswer evaluates e; limited is set where the answer is a documented limit
// of ours: numbers above 36 digits, patterns that need backtracking.
func mutantAnswer(ctx *Ctx, e Expr) (answer string, limited bool) {
	v, err := EvalConst(ctx, Fold(ctx, e))
	if err != nil {
		se := sqlerr.From(err)
		return "ERROR " + string(se.Code), strings.Contains(se.Message, "not supported") ||
			strings.Contains(se.Message, "numeric value has more than") ||
			strings.Contains(se.Message, "overflows numeric format") || se.Code == sqlerr.FeatureNotSupported
	}
	defer v.Release()
	if v.IsNull(0) {
		return e.Type().Base().PGName() + " NULL", false
	}
	return e.Type().Base().PGName() + " " + escape(string(types.AppendText(nil, e.Type(), v, 0, ctx.Env))), false
}

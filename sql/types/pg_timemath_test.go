package types

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/decimal"
)

// genMoment makes a valid timestamp, often near a change of the clock.
func genMoment(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", 1+r.IntN(3000), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24),
			r.IntN(60), r.IntN(60))
	case 1:
		return pick(r, "infinity", "-infinity", "2024-10-27 02:30:00", "2024-03-31 02:30", "2000-02-29",
			"0001-01-01 BC",
			"0044-03-15 12:00 BC", "2024-12-31 23:59:59.999999", "1970-01-01", "4713-01-01 BC", "200000-06-01")
	case 2:
		return fmt.Sprintf("%d-%s-%02d %02d:%02d:%02d.%06d", 1970+r.IntN(70), pick(r, "03", "04", "10", "11"),
			1+r.IntN(30), r.IntN(4),
			r.IntN(60), r.IntN(60), r.IntN(1000000))
	}
	return fmt.Sprintf("%d-%02d-%02d %02d:%02d:%02d.%d", 1970+r.IntN(70), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24),
		r.IntN(60),
		r.IntN(60), r.IntN(1000000))
}

func genSpan(r *rand.Rand) string {
	iv := arrowbatch.IntervalValue{}
	if r.IntN(2) == 0 {
		iv.Months = int32(r.IntN(80) - 40)
	}
	if r.IntN(2) == 0 {
		iv.Days = int32(r.IntN(120) - 60)
	}
	if r.IntN(2) == 0 {
		iv.Micros = r.Int64N(4*MicrosPerDay) - 2*MicrosPerDay
	}
	if r.IntN(50) == 0 {
		iv = arrowbatch.IntervalValue{Months: 2147483647, Days: -2147483648, Micros: r.Int64()}
	}
	return string(AppendInterval(nil, iv))
}

type pair struct {
	sql  string
	a, b func(*rand.Rand) string
	f    func(a, b string) (string, error)
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func comparePairs(t *testing.T, o *oracle, r *rand.Rand, n int, p pair) {
	t.Helper()
	var as, bs []string
	for range n {
		as, bs = append(as, p.a(r)), append(bs, p.b(r))
	}
	bad := 0
	for i, want := range o.run2("SELECT ("+p.sql+")::text", as, bs) {
		got, err := p.f(as[i], bs[i])
		if err != nil {
			got = errorText(err)
		}
		if got != want && !(strings.HasPrefix(got, "ERROR 22008") && strings.HasPrefix(want, "2942")) {
			if bad++; bad <= 10 {
				t.Errorf("%s with %s, %s:\n got  %s\n want %s", p.sql, as[i], bs[i], got, want)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d differ", p.sql, bad, n)
	}
}

func stampText(us int64, err error) (string, error) {
	return string(AppendTimestamp(nil, us)), err
}

func spanText(iv arrowbatch.IntervalValue, err error) (string, error) {
	return string(AppendInterval(nil, iv)), err
}

func TestPGTimeArithmetic(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
		o.exec("SET TimeZone = '" + zone + "'")
		loc, _ := LoadZone(zone)
		env := &Env{TimeZone: loc}
		parse := func(s string) int64 { return must(ParseTimestamptz(s, env)) }
		out := func(us int64, err error) (string, error) { return string(AppendTimestamptz(nil, us, env)), err }
		comparePairs(t, o, r, 1000, pair{"$1::timestamptz + $2::interval", genMoment, genSpan, func(a,
			b string) (string, error) {
			return out(AddInterval(parse(a), must(ParseInterval(b)), loc))
		}})
		comparePairs(t, o, r, 500, pair{"$1::timestamptz - $2::interval", genMoment, genSpan, func(a,
			b string) (string, error) {
			return out(SubInterval(parse(a), must(ParseInterval(b)), loc))
		}})
		for _, u := range []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week",
			"month", "quarter",
			"year", "decade", "century", "millennium"} {
			unit := must(TruncUnit(u, TTimestamptz))
			comparePairs(t, o, r, 200, pair{"date_trunc('" + u + "', $1::timestamptz)", genMoment, genMoment,
				func(a, _ string) (string, error) { return out(DateTrunc(unit, parse(a), loc)) }})
		}
		for _, u := range extractUnits {
			unit := must(ExtractUnit(u, TTimestamptz))
			comparePairs(t, o, r, 150, pair{"extract(" + u + " from $1::timestamptz)", genMoment, genMoment,
				func(a, _ string) (string, error) { return extracted(ExtractTime(unit, parse(a), loc)), nil }})
		}
		comparePairs(t, o, r, 300, pair{"age($1::timestamptz, $2::timestamptz)", genMoment, genMoment, func(a,
			b string) (string, error) {
			if !IsFiniteTime(parse(a)) || !IsFiniteTime(parse(b)) {
				return weirdAge(o, "timestamptz", a, b), nil
			}
			return spanText(Age(parse(a), parse(b), loc))
		}})
	}
}

// weirdAge is what PostgreSQL 15 makes of an infinity, which is nothing to copy.
func weirdAge(o *oracle, typ, a, b string) string {
	return o.run2("SELECT age($1::"+typ+", $2::"+typ+")::text", []string{a}, []string{b})[0]
}

var extractUnits = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
	"quarter", "year",
	"decade", "century", "millennium", "isoyear", "dow", "isodow", "doy", "julian", "epoch", "timezone", "timezone_hour",
	"timezone_minute"}

func extracted(d decimal.Decimal, null bool) string {
	if null {
		return "NULL"
	}
	return d.String()
}

func TestPGLocalTimes(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	parse := func(s string) int64 { return must(ParseTimestamp(s, nil)) }
	date := func(s string) int32 { return must(ParseDate(s, nil)) }
	clock := func(s string) int64 { _, us := SplitTime(must(ParseTimestamp(s, nil))); return us }
	span := func(s string) arrowbatch.IntervalValue { return must(ParseInterval(s)) }
	comparePairs(t, o, r, 1000, pair{"$1::timestamp + $2::interval", genMoment, genSpan,
		func(a, b string) (string, error) { return stampText(AddInterval(parse(a), span(b), nil)) }})
	comparePairs(t, o, r, 1000, pair{"$1::timestamp - $2::timestamp", genMoment, genMoment,
		func(a, b string) (string, error) { return spanText(SubTimes(parse(a), parse(b))) }})
	comparePairs(t, o, r, 500, pair{"age($1::timestamp, $2::timestamp)", genMoment, genMoment, func(a,
		b string) (string, error) {
		if !IsFiniteTime(parse(a)) || !IsFiniteTime(parse(b)) {
			return weirdAge(o, "timestamp", a, b), nil
		}
		return spanText(Age(parse(a), parse(b), nil))
	}})
	zones := func(r *rand.Rand) string {
		return pick(r, "Europe/Berlin", "America/New_York", "UTC", "Asia/Tokyo", "EST5EDT", "UTC+3",
			"America/Sao_Paulo")
	}
	comparePairs(t, o, r, 500, pair{"($1::timestamp at time zone $2) at time zone 'UTC'", genMoment, zones,
		func(a, b string) (string, error) { return stampText(FromLocal(parse(a), zone(b)), nil) }})
	o.exec("SET TimeZone = UTC")
	comparePairs(t, o, r, 500, pair{"$1::timestamptz at time zone $2", genMoment, zones,
		func(a, b string) (string, error) { return stampText(ToLocal(parse(a), zone(b)), nil) }})
	for _, u := range extractUnits {
		if unit, err := ExtractUnit(u, TTimestamp); err == nil {
			comparePairs(t, o, r, 150, pair{"extract(" + u + " from $1::timestamp)", genMoment, genMoment,
				func(a, _ string) (string, error) { return extracted(ExtractTime(unit, parse(a), nil)), nil }})
		}
		if unit, err := ExtractUnit(u, TDate); err == nil {
			comparePairs(t, o, r, 150, pair{"extract(" + u + " from $1::date)", genMoment, genMoment,
				func(a, _ string) (string, error) { return extracted(ExtractDate(unit, date(a))), nil }})
		}
		if unit, err := ExtractUnit(u, TInterval); err == nil {
			comparePairs(t, o, r, 150, pair{"extract(" + u + " from $1::interval)", genSpan, genSpan,
				func(a, _ string) (string, error) { return ExtractInterval(unit, span(a)).String(), nil }})
		}
		if unit, err := ExtractUnit(u, TTime); err == nil {
			finite := func(r *rand.Rand) string {
				return fmt.Sprintf("2020-01-01 %02d:%02d:%02d.%d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6))
			}
			comparePairs(t, o, r, 150, pair{"extract(" + u + " from $1::timestamp::time)", finite, finite,
				func(a, _ string) (string, error) { return ExtractClock(unit, clock(a)).String(), nil }})
		}
	}
	for _, typ := range []Type{TTimestamp, TTimestamptz, TDate, TTime, TInterval} {
		for _, u := range append(extractUnits, "foo", "fortnight", "DAYS", "Week") {
			name := func(*rand.Rand) string { return u }
			value := func(*rand.Rand) string {
				return map[ID]string{Time: "10:00", Interval: "1 day"}[typ.ID] + strings.Repeat("2020-01-01",
					b2i(typ.ID != Time && typ.ID != Interval))
			}
			comparePairs(t, o, r, 1,
				pair{"CASE WHEN extract(\"" + u + "\" from $1::" + typ.String() + ") IS NULL THEN 'ok' ELSE 'ok' END",
					value, name, func(_, b string) (string, error) { _, err := ExtractUnit(b, typ); return "ok", err }})
			if typ.ID == Timestamp || typ.ID == Timestamptz || typ.ID == Interval {
				comparePairs(t, o, r, 1,
					pair{"CASE WHEN date_trunc($2, $1::" + typ.String() + ") IS NULL THEN 'ok' ELSE 'ok' END",
						value, name, func(_, b string) (string, error) { _, err := TruncUnit(b, typ); return "ok", err }})
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func zone(name string) *time.Location {
	loc, ok := LoadZone(name)
	if !ok {
		panic(name)
	}
	return loc
}

func TestPGIntervals(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	span := func(s string) arrowbatch.IntervalValue { return must(ParseInterval(s)) }
	factor := func(r *rand.Rand) string {
		return strconv.FormatFloat([]float64{r.NormFloat64() * 3, float64(r.IntN(9) - 4), 0.5, 1.0 / 3,
			1e12}[r.IntN(5)], 'g', -1, 64)
	}
	num := func(s string) float64 { return must(strconv.ParseFloat(s, 64)) }
	for _, p := range []pair{
		{"$1::interval + $2::interval", genSpan, genSpan, func(a, b string) (string,
			error) {
			return spanText(AddIntervals(span(a), span(b)))
		}},
		{"$1::interval - $2::interval", genSpan, genSpan, func(a, b string) (string,
			error) {
			return spanText(SubIntervals(span(a), span(b)))
		}},
		{"-$1::interval", genSpan, genSpan, func(a, _ string) (string,
			error) {
			return spanText(NegInterval(span(a)))
		}},
		{"$1::interval * $2::float8", genSpan, factor, func(a, b string) (string,
			error) {
			return spanText(MulInterval(span(a), num(b)))
		}},
		{"$1::interval / $2::float8", genSpan, factor, func(a, b string) (string,
			error) {
			return spanText(DivInterval(span(a), num(b)))
		}},
		{"justify_hours($1::interval)", genSpan, genSpan, func(a, _ string) (string,
			error) {
			return spanText(JustifyHours(span(a)))
		}},
		{"justify_days($1::interval)", genSpan, genSpan, func(a, _ string) (string,
			error) {
			return spanText(JustifyDays(span(a)))
		}},
		{"justify_interval($1::interval)", genSpan, genSpan, func(a, _ string) (string,
			error) {
			return spanText(JustifyInterval(span(a)))
		}},
		{"($1::interval > $2::interval)::int - ($1::interval < $2::interval)::int", genSpan, genSpan,
			func(a, b string) (string, error) { return strconv.Itoa(CompareInterval(span(a), span(b))), nil }},
	} {
		comparePairs(t, o, r, 1500, p)
	}
}

package types

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The tests of this file compare with a real PostgreSQL 15, whose address is in
// STREAMSQL_TEST_PG.

type oracle struct {
	t    testing.TB
	conn *pgx.Conn
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	url := os.Getenv("STREAMSQL_TEST_PG")
	if url == "" {
		t.Skip("STREAMSQL_TEST_PG is not set: there is no PostgreSQL to compare with")
	}
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	o := &oracle{t, conn}
	o.exec(`CREATE FUNCTION pg_temp.try2(q text, a text, b text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE r text;
		BEGIN
			EXECUTE q INTO r USING a, b;
			RETURN coalesce(r, 'NULL');
		EXCEPTION WHEN OTHERS THEN
			RETURN 'ERROR ' || SQLSTATE || ' ' || SQLERRM;
		END $$`)
	o.exec(`CREATE FUNCTION pg_temp.try(q text, s text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE r text;
		BEGIN
			EXECUTE q INTO r USING s;
			RETURN coalesce(r, 'NULL');
		EXCEPTION WHEN OTHERS THEN
			RETURN 'ERROR ' || SQLSTATE || ' ' || SQLERRM;
		END $$`)
	return o
}

func (o *oracle) exec(sql string) {
	o.t.Helper()
	if _, err := o.conn.Exec(context.Background(), sql); err != nil {
		o.t.Fatalf("%s: %v", sql, err)
	}
}

// run evaluates the query q, in which $1 is a text, for each of args. Errors
// come back as text.
func (o *oracle) run(q string, args []string) []string {
	o.t.Helper()
	rows, err := o.conn.Query(context.Background(),
		"SELECT pg_temp.try($1, s) FROM unnest($2::text[]) WITH ORDINALITY AS u(s, n) ORDER BY n", q, args)
	if err != nil {
		o.t.Fatalf("%s: %v", q, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		o.t.Fatalf("%s: %v", q, err)
	}
	return out
}

// run2 evaluates the query q, in which $1 and $2 are texts, for each pair.
func (o *oracle) run2(q string, a, b []string) []string {
	o.t.Helper()
	rows, err := o.conn.Query(context.Background(), `SELECT pg_temp.try2($1, a, b)
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

// errorText renders an error as the oracle does.
func errorText(err error) string {
	e := sqlerr.From(err)
	return "ERROR " + string(e.Code) + " " + e.Message
}

var sendFuncs = map[ID]string{Bool: "boolsend", Int2: "int2send", Int4: "int4send", Int8: "int8send",
	Float4: "float4send", Float8: "float8send", Numeric: "numeric_send", Text: "textsend", Varchar: "varcharsend",
	Bpchar: "bpcharsend", Name: "namesend", Bytea: "byteasend", Date: "date_send", Time: "time_send",
	Timestamp: "timestamp_send", Timestamptz: "timestamptz_send", Interval: "interval_send", JSON: "json_send",
	JSONB: "jsonb_send", UUID: "uuid_send", OID: "oidsend", Array: "array_send", Char: "charsend"}

// ours reads s and gives the text and the binary form, or the error.
func ours(t Type, s string, env *Env) (out, text string) {
	v := arrowbatch.NewVec(t.Shape(), 0)
	defer v.Release()
	if err := ParseString(t, s, v, env); err != nil {
		return errorText(err), ""
	}
	text = string(AppendText(nil, t, v, 0, env))
	bin := AppendBinary(nil, t, v, 0)
	back := arrowbatch.NewVec(t.Shape(), 0)
	defer back.Release()
	if err := ParseBinary(t, bin, back); err != nil {
		return "binary does not come back: " + err.Error(), text
	}
	if again := string(AppendText(nil, t, back, 0, env)); again != text {
		return "binary comes back as " + again + " instead of " + text, text
	}
	return text + "|" + hex.EncodeToString(bin), text
}

// inputQuery is the query for a literal's text and binary form.
func inputQuery(typ Type) string {
	q := fmt.Sprintf("SELECT format('%%s|%%s', $1::text::%[1]s, encode(%[2]s($1::text::%[1]s), 'hex'))",
		typ, sendFuncs[typ.ID])
	if elem := typ.base(); elem.Mod != 0 && elem.IsString() {
		// A cast would cut what is too long: call the input function itself.
		in := typ.PGName() + "in"
		if typ.ID == Array {
			in = "array_in"
		}
		call := fmt.Sprintf("%s(textout($1), %d, %d)", in, elem.OID(), typ.TypMod())
		q = fmt.Sprintf("SELECT format('%%s|%%s', %[1]s, encode(%[2]s(%[1]s), 'hex'))", call, sendFuncs[typ.ID])
	}
	return q
}

// compareInput compares text in, text out and binary out for the literals.
func compareInput(t *testing.T, o *oracle, typ Type, literals []string, env *Env) {
	t.Helper()
	q := inputQuery(typ)
	bad := 0
	for i, want := range o.run(q, literals) {
		got, _ := ours(typ, literals[i], env)
		if got == want || tolerated(typ, literals[i], got, want) {
			continue
		}
		if bad++; bad <= 25 {
			t.Errorf("%s %q:\n got  %s\n want %s", typ, literals[i], got, want)
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d differ", typ, bad, len(literals))
	}
}

var (
	compactTime = regexp.MustCompile(`T\\?0\\?40506\\?\.|T\d{6}\.|P0x`)
	hugeYear    = regexp.MustCompile(`\d{7}`)
)

// tolerated are the differences that are by design: numbers longer than 36
// digits and times past the year 294247 are refused.
func tolerated(typ Type, in, got, want string) bool {
	if typ.ID == Array {
		return strings.HasPrefix(got, "ERROR 0A000 arrays") || tolerated(*typ.Elem, in, got, want)
	}
	switch typ.ID {
	case Numeric:
		if strings.Contains(got, "ERROR 22003 numeric value has more than") {
			text, _, _ := strings.Cut(want, "|")
			digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(text), "0")
			_, frac, _ := strings.Cut(text, ".")
			return len(digits) > 36 || len(frac) > 59 || strings.HasPrefix(want, "ERROR 22003")
		}
	case Interval:
		// PostgreSQL 15 reads the fraction of PT040506.7 as microseconds.
		// It also wraps around when it rounds the longest one.
		return compactTime.MatchString(in) || strings.Contains(got, "2562047788:00:54.77")
	case Date:
		// PostgreSQL 15 wraps around in such years.
		return hugeYear.MatchString(in) && strings.HasPrefix(got, "ERROR 22008")
	case Timestamp, Timestamptz:
		if hugeYear.MatchString(in) && strings.HasPrefix(got, "ERROR 22008") {
			return strings.HasPrefix(want, "ERROR 22")
		}
		if strings.Contains(got, "ERROR 22008 timestamp out of range") {
			return strings.HasPrefix(want, "2942") || strings.HasPrefix(want, "ERROR 22008")
		}
	}
	return false
}

// newRand returns the source of the generated literals: the same ones in every
// run, others for a number in STREAMSQL_TEST_SEED.
func newRand(t testing.TB) *rand.Rand {
	seed, _ := strconv.ParseUint(os.Getenv("STREAMSQL_TEST_SEED"), 10, 64)
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// pick returns one of the words.
func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// mutate changes a literal a little, mostly for the worse.
func mutate(r *rand.Rand, s string) string {
	b := []rune(s)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(b) + 1)
		switch r.IntN(4) {
		case 0:
			if at < len(b) {
				b = append(b[:at], b[at+1:]...)
			}
		case 1:
			c := pick(r, " ", "-", ":", ".", "1", "9", "a", "T", "+", "/", ",", "{", "\"", "\\", "e", "0", "Z", "(")
			b = append(b[:at], append([]rune(c), b[at:]...)...)
		case 2:
			if at < len(b) {
				b[at] = []rune(pick(r, " ", "0", "7", "x", "-", ".", "E", "}", "]", "'", ":"))[0]
			}
		case 3:
			if at < len(b) {
				b = append(b, b[at])
			}
		}
	}
	return string(b)
}

// generate makes n literals with gen, a third of them damaged, behind the fixed ones.
func generate(r *rand.Rand, n int, gen func(*rand.Rand) string, fixed ...string) []string {
	out := fixed
	for range n {
		s := gen(r)
		if r.IntN(3) == 0 {
			s = mutate(r, s)
		}
		out = append(out, s)
	}
	return out
}

// base returns the element's type of an array, else the type.
func (t Type) base() Type {
	if t.ID == Array {
		return *t.Elem
	}
	return t
}

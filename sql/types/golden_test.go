package types

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/input.txt holds what PostgreSQL 15 makes of literals of every type: a
// line per literal with the type, the settings, the literal and the text and
// binary forms or the error, each quoted. TestGolden needs no server;
// STREAMSQL_TEST_PG and STREAMSQL_REWRITE=1 together write the file anew.

const goldenFile = "testdata/input.txt"

// settings are the sessions that the literals were read in.
var settings = map[string]struct {
	sql string
	env *Env
}{
	"": {"SET TimeZone = UTC; SET DateStyle = 'ISO, MDY'; SET bytea_output = hex; SET extra_float_digits = 1",
		nil},
	"berlin": {"SET TimeZone = 'Europe/Berlin'; SET DateStyle = 'ISO, DMY'", &Env{TimeZone: zone("Europe/Berlin"),
		Order: DMY}},
	"ymd": {"SET TimeZone = 'America/New_York'; SET DateStyle = 'ISO, YMD'",
		&Env{TimeZone: zone("America/New_York"), Order: YMD}},
	"old": {"SET bytea_output = escape; SET extra_float_digits = -2; SET TimeZone = UTC; SET DateStyle = 'ISO, MDY'",
		&Env{EscapeBytea: true, RoundFloats: true, ExtraFloatDigits: -2}},
}

type goldenSet struct {
	typ     string
	setting string
	n       int
	gen     func(*rand.Rand) string
}

var goldenSets = []goldenSet{
	{"boolean", "", 20, func(r *rand.Rand) string {
		return pick(r, "t", "YES", "off", "o", "of", "1", " true ",
			"nope", "")
	}},
	{"smallint", "", 40, genInt(16)}, {"integer", "", 40, genInt(32)}, {"bigint", "", 40, genInt(64)}, {"oid", "",
		30, genInt(33)},
	{"real", "", 80, genFloat}, {"double precision", "", 120, genFloat}, {"double precision", "old", 30, genFloat},
	{"real", "old", 30, genFloat}, {"numeric", "", 100, genNumeric}, {"numeric(8,3)", "", 50, genNumeric},
	{"text", "", 30, genText}, {"name", "", 20, func(r *rand.Rand) string { return strings.Repeat(genText(r), 6) }},
	{"character varying(3)", "", 40, genText}, {"character(3)", "", 40, genText},
	{"bytea", "", 40, genBytea}, {"bytea", "old", 30, genBytea}, {"uuid", "", 30, genUUID},
	{"date", "", 100, genDate}, {"date", "berlin", 50, genDate}, {"date", "ymd", 50, genDate},
	{"time without time zone", "", 80, func(r *rand.Rand) string { return genClock(r) + genOffset(r) }},
	{"timestamp without time zone", "", 100, genStamp}, {"timestamp(2) without time zone", "", 30, genStamp},
	{"timestamp with time zone", "", 80, genStamp}, {"timestamp with time zone", "berlin", 80, genStamp},
	{"timestamp with time zone", "ymd", 80, genStamp}, {"interval", "", 150, genInterval}, {"interval(1)", "", 30,
		genInterval},
	{"json", "", 100, func(r *rand.Rand) string { return genJSON(r, 2) }},
	{"jsonb", "", 120, func(r *rand.Rand) string { return genJSON(r, 3) }},
	{"text[]", "", 80, genArray(genText)}, {"integer[]", "", 40, genArray(genInt(32))},
	{"timestamp with time zone[]", "berlin", 40, genArray(genStamp)}, {"jsonb[]", "", 30,
		genArray(func(r *rand.Rand) string { return genJSON(r, 1) })},
}

func genBytea(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return `\x` + fmt.Sprintf("%x", r.Uint64()) + pick(r, "", " ", "0", "f", "FF", "g", "é")
	}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(pick(r, "a", `\\`, `\001`, `\377`, `\400`, `\`, "é", `\x`, "'"))
	}
	return b.String()
}

func genUUID(r *rand.Rand) string {
	s := fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
	switch r.IntN(4) {
	case 0:
		s = s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
	case 1:
		s = "{" + strings.ToUpper(s) + "}"
	case 2:
		s = s[:4] + "-" + s[4:8] + "-" + s[8:]
	}
	return s
}

func TestGolden(t *testing.T) {
	if os.Getenv("STREAMSQL_REWRITE") != "" {
		writeGolden(t)
	}
	f, err := os.Open(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, seen := 0, map[ID]int{}
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var field [4]string
		rest := sc.Text()
		for i := range field {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			field[i], _ = strconv.Unquote(q)
			rest = strings.TrimPrefix(rest[len(q):], " ")
		}
		typ, ok := Parse(field[0])
		if !ok {
			t.Fatalf("line %d: type %q", n+1, field[0])
		}
		seen[typ.ID]++
		if got, _ := ours(typ, field[2], settings[field[1]].env); got != field[3] {
			t.Errorf("%s %q:\n got  %s\n want %s", field[0], field[2], got, field[3])
		}
	}
	if n < 1000 || len(seen) < 20 {
		t.Errorf("only %d literals of %d types", n, len(seen))
	}
}

func writeGolden(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	var b strings.Builder
	for _, set := range goldenSets {
		typ, ok := Parse(set.typ)
		if !ok {
			t.Fatal(set.typ)
		}
		o.exec(settings[""].sql)
		o.exec(settings[set.setting].sql)
		lits := generate(r, set.n, set.gen)
		for i, want := range o.run(inputQuery(typ), lits) {
			got, _ := ours(typ, lits[i], settings[set.setting].env)
			if got != want {
				if !tolerated(typ, lits[i], got, want) {
					t.Errorf("%s %q:\n got  %s\n want %s", set.typ, lits[i], got, want)
				}
				continue // not what is promised
			}
			fmt.Fprintf(&b, "%q %q %q %q\n", set.typ, set.setting, lits[i], want)
		}
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

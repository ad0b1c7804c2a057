package scalar

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

func randomString(rng *rand.Rand, alphabet string, n int) string {
	rs := []rune(alphabet)
	out := make([]rune, rng.IntN(n+1))
	for i := range out {
		out[i] = rs[rng.IntN(len(rs))]
	}
	return string(out)
}

// slowLike is LIKE by its definition.
func slowLike(s, p []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch {
	case p[0] == '%':
		for i := 0; i <= len(s); i++ {
			if slowLike(s[i:], p[1:]) {
				return true
			}
		}
		return false
	case len(s) == 0:
		return false
	case p[0] == '_':
		return slowLike(s[1:], p[1:])
	case p[0] == '\\' && len(p) > 1:
		return s[0] == p[1] && slowLike(s[1:], p[2:])
	}
	return s[0] == p[0] && slowLike(s[1:], p[1:])
}

func TestLikeAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	matched := 0
	for range 50000 {
		s := randomString(rng, "abä%_", 6)
		p := randomString(rng, `abä%%__\`, 6)
		if n := len(p) - len(strings.TrimRight(p, `\`)); n%2 == 1 {
			continue // ends in its escape character
		}
		got, err := CompileLike(p).Match([]byte(s))
		want := slowLike([]rune(s), []rune(p))
		if err != nil || got != want {
			t.Fatalf("%q LIKE %q: got %v, %v want %v", s, p, got, err, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Fatalf("only %d matches: the test says little", matched)
	}
}

func TestRegexNeverPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	compiled := 0
	for range 50000 {
		p := randomString(rng, `ab(|)[]^$*+?{}1,\dwmMyxu:.=-<ä`, 10)
		re, err := CompileRegex(p, "", false)
		if err != nil {
			if sqlerr.CodeOf(err) != sqlerr.InvalidRegularExpression {
				t.Fatalf("%q: %v", p, err)
			}
			continue
		}
		compiled++
		re.MatchString("abab1 ä")
	}
	if compiled < 1000 {
		t.Fatalf("only %d patterns compiled", compiled)
	}
}

// randomJSON makes a document.
func randomJSON(rng *rand.Rand, depth int) any {
	switch k := rng.IntN(7); {
	case k == 0 && depth > 0:
		m := map[string]any{}
		for range rng.IntN(4) {
			m[randomString(rng, `ab"\ä{`, 3)] = randomJSON(rng, depth-1)
		}
		return m
	case k == 1 && depth > 0:
		l := []any{}
		for range rng.IntN(4) {
			l = append(l, randomJSON(rng, depth-1))
		}
		return l
	case k == 2:
		return nil
	case k == 3:
		return rng.IntN(2) == 0
	case k == 4:
		return float64(rng.IntN(5))
	}
	return randomString(rng, "ab\"\\ä}],\n", 4)
}

func canonical(t *testing.T, doc any) string {
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	out, err := types.AppendJSONB(nil, string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestJSONPartsAgainstEncodingJSON looks up every member and element.
func TestJSONPartsAgainstEncodingJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var check func(s string, doc any)
	check = func(s string, doc any) {
		var back any
		if err := json.Unmarshal([]byte(s), &back); err != nil || !reflect.DeepEqual(back, doc) {
			t.Fatalf("%s: got %v want %v (%v)", s, back, doc, err)
		}
		switch d := doc.(type) {
		case map[string]any:
			for k, v := range d {
				part, ok := JSONField(s, k, true)
				if !ok {
					t.Fatalf("%s: no member %q", s, k)
				}
				check(part, v)
				if p2, ok := JSONField(s, k, false); !ok || p2 != part {
					t.Fatalf("%s: member %q is %q or %q", s, k, part, p2)
				}
			}
			if _, ok := JSONField(s, "no such", true); ok {
				t.Fatalf("%s has a member that it has not", s)
			}
		case []any:
			if JSONLen(s) != len(d) {
				t.Fatalf("%s: %d elements", s, JSONLen(s))
			}
			for i, v := range d {
				part, ok := JSONElem(s, int64(i))
				last, ok2 := JSONElem(s, int64(i-len(d)))
				if !ok || !ok2 || part != last {
					t.Fatalf("%s: element %d", s, i)
				}
				check(part, v)
			}
		case string:
			if text, _ := AppendJSONText(nil, s); string(text) != d {
				t.Fatalf("%s: text %q", s, text)
			}
		}
	}
	for range 3000 {
		doc := randomJSON(rng, 4)
		check(canonical(t, doc), doc)
	}
}

func TestJSONBOrderAndContainment(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 5000 {
		a, b, c := canonical(t, randomJSON(rng, 2)), canonical(t, randomJSON(rng, 2)), canonical(t, randomJSON(rng, 2))
		ab, ba := CompareJSONB(a, b), CompareJSONB(b, a)
		if ab != -ba || (ab == 0) != (a == b) {
			t.Fatalf("%s, %s: %d and %d", a, b, ab, ba)
		}
		if ab <= 0 && CompareJSONB(b, c) <= 0 && CompareJSONB(a, c) > 0 {
			t.Fatalf("order of %s, %s, %s is not transitive", a, b, c)
		}
		if !JSONBContains(a, a) {
			t.Fatalf("%s does not contain itself", a)
		}
		for _, out := range [][]byte{AppendJSONBConcat(nil, a, b), AppendStripNulls(nil, a, true)} {
			again, err := types.AppendJSONB(nil, string(out))
			if err != nil || string(again) != string(out) {
				t.Fatalf("%s, %s: %s is not canonical (%s, %v)", a, b, out, again, err)
			}
		}
	}
}

// TestPowAgainstBig holds Pow to one unit in the last place.
func TestPowAgainstBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 400 {
		x, y := math.Exp(rng.Float64()*20-10), rng.Float64()*60-30
		l := lnBig(bigFloat(x))
		want, _ := expBig(l.Mul(l, bigFloat(y))).Float64()
		got := Pow(x, y)
		if d := math.Abs(got - want); d > math.Abs(math.Nextafter(want, math.Inf(1))-want)*1.01 {
			t.Errorf("%g ^ %g: got %g want %g", x, y, got, want)
		}
	}
	for _, c := range [][3]float64{{10, 22, 1e22}, {2, 0.5, math.Sqrt2}, {2, 1024, math.Inf(1)}, {2, -1080, 0},
		{10, -5, 1e-5}, {2, 1023, 0x1p1023}, {3, 3, 27}} {
		if got := Pow(c[0], c[1]); got != c[2] {
			t.Errorf("%g ^ %g: got %g want %g", c[0], c[1], got, c[2])
		}
	}
}

func TestBigFunctions(t *testing.T) {
	for _, x := range []float64{0.001, 0.5, 1.5, 2, 10, 12345.678} {
		f, _ := lnBig(bigFloat(x)).Float64()
		if math.Abs(f-math.Log(x)) > 1e-14*math.Max(1, math.Abs(f)) {
			t.Errorf("ln %g: %g", x, f)
		}
		back := new(big.Float).Sub(expBig(lnBig(bigFloat(x))), bigFloat(x))
		if d, _ := back.Float64(); math.Abs(d) > 1e-60*x {
			t.Errorf("exp(ln %g) is off by %g", x, d)
		}
	}
}

// TestFormatsNeverPanic runs random formats over a few values.
func TestFormatsNeverPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	words := strings.Fields(`YYYY YY MM DD HH24 HH12 MI SS MS US FF3 TZ OF Day MON month RM Q WW IW J CC AD AM th FM " \ - / ä 9 0 . , S MI PL SG PR EEEE V RN L D G B`)
	num, err := decimal.Parse("-1234.567")
	if err != nil {
		t.Fatal(err)
	}
	for range 20000 {
		var b strings.Builder
		for range rng.IntN(6) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		layout := b.String()
		f := ParseDateFormat(layout)
		out, err := f.AppendDateTime(nil, 1709210000123456, true, "EST", -18000)
		if err != nil || !utf8.Valid(out) {
			t.Fatalf("%q: %q %v", layout, out, err)
		}
		_, _ = f.Parse(string(out))
		_, _ = f.Parse(randomString(rng, "0123456789 -:/apmJä", 12))
		if n, err := ParseNumberFormat(layout); err == nil {
			s, err := n.AppendDecimal(nil, num)
			if err != nil {
				t.Fatalf("%q: %v", layout, err)
			}
			_, _ = n.Number(string(s))
			_, _ = n.Number(randomString(rng, "0123456789 -+.,<>ä", 8))
		} else if sqlerr.CodeOf(err) != sqlerr.SyntaxError {
			t.Fatalf("%q: %v", layout, err)
		}
	}
}

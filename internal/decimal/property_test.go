package decimal

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// rat returns the exact value of a finite d.
func rat(d Decimal) *big.Rat {
	neg, c := d.abs()
	n := c.big()
	if neg {
		n.Neg(n)
	}
	return new(big.Rat).SetFrac(n, bigPow10(d.Scale()))
}

func randomDecimal(r *rand.Rand) Decimal {
	c := u128{r.Uint64() >> r.IntN(64), r.Uint64() >> r.IntN(64)}
	if r.IntN(2) == 0 {
		c.hi = 0
	}
	for !c.fits() {
		c.hi >>= 1
	}
	return build(r.IntN(2) == 0, c, r.IntN(MaxScale+1)>>r.IntN(5))
}

// TestExact holds the exact operations against rational arithmetic: the value is
// right, or too long to be held.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ops := map[string]struct {
		f    func(a, b Decimal) (Decimal, error)
		want func(a, b *big.Rat) *big.Rat
	}{
		"+": {Decimal.Add, func(a, b *big.Rat) *big.Rat { return a.Add(a, b) }},
		"-": {Decimal.Sub, func(a, b *big.Rat) *big.Rat { return a.Sub(a, b) }},
		"*": {Decimal.Mul, func(a, b *big.Rat) *big.Rat { return a.Mul(a, b) }},
	}
	held := 0
	for range 20000 {
		a, b := randomDecimal(r), randomDecimal(r)
		if a.Cmp(b) != rat(a).Cmp(rat(b)) {
			t.Fatalf("%s compares wrong with %s", a, b)
		}
		for name, op := range ops {
			want := op.want(rat(a), rat(b))
			got, err := op.f(a, b)
			if err == nil {
				held++
				if rat(got).Cmp(want) != 0 {
					t.Fatalf("%s %s %s = %s", a, name, b, got)
				}
				continue
			}
			scale := max(a.Scale(), b.Scale())
			if name == "*" {
				scale = a.Scale() + b.Scale()
			}
			n := new(big.Rat).Mul(want, new(big.Rat).SetInt(bigPow10(scale)))
			if n.Abs(n).Num().Cmp(bigLimit) < 0 && scale <= MaxScale {
				t.Fatalf("%s %s %s fits but: %v", a, name, b, err)
			}
		}
	}
	if held < 10000 {
		t.Fatalf("only %d results could be held", held)
	}
}

func TestWideDivision(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		a := u128{r.Uint64() >> r.IntN(64), r.Uint64()}
		b := u128{r.Uint64() >> r.IntN(64), r.Uint64() | 1}
		if r.IntN(3) == 0 {
			b.hi = 0
		}
		q, rest := a.div(b)
		wq, wr := new(big.Int).QuoRem(a.big(), b.big(), new(big.Int))
		if q.big().Cmp(wq) != 0 || rest.big().Cmp(wr) != 0 {
			t.Fatalf("%v / %v = %v rest %v", a, b, q, rest)
		}
		if n := len(a.big().String()); a.digits() != n && !a.isZero() {
			t.Fatalf("%v has %d digits, not %d", a, n, a.digits())
		}
	}
}

func TestRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		d := randomDecimal(r)
		if got := mustParse(t, d.String()); got != d {
			t.Fatalf("text of %s gives %s", d, got)
		}
		if got, err := FromBinary(d.AppendBinary(nil)); err != nil || got != d {
			t.Fatalf("binary of %s gives %s, %v", d, got, err)
		}
		neg, hi, lo, scale, sp := d.Parts()
		if got, err := FromParts(neg, hi, lo, scale, sp); err != nil || got != d {
			t.Fatalf("parts of %s give %s, %v", d, got, err)
		}
		if n := d.Normalize(); n.Cmp(d) != 0 || n.Scale() > 0 && strings.HasSuffix(n.String(), "0") {
			t.Fatalf("%s is normalized to %s", d, n)
		}
		if c := rat(d.Ceil()); c.Cmp(rat(d)) < 0 || !c.IsInt() {
			t.Fatalf("ceil of %s is %s", d, d.Ceil())
		}
		if d.Neg().Neg() != d || d.Abs().Sign() < 0 {
			t.Fatalf("negation of %s", d)
		}
	}
	for _, s := range []string{"NaN", "Infinity", "-Infinity"} {
		d := mustParse(t, s)
		if got, err := FromBinary(d.AppendBinary(nil)); err != nil || got != d || d.String() != s {
			t.Errorf("%s comes back as %s, %v", s, got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	nines := strings.Repeat("9", MaxDigits)
	max := mustParse(t, nines)
	for _, c := range []struct {
		name string
		f    func() (Decimal, error)
		want string
	}{
		{"sum", func() (Decimal, error) { return max.Add(One) }, "numeric value has more than 36 digits"},
		{"product", func() (Decimal, error) { return max.Mul(max) }, "numeric value has more than 36 digits"},
		{"scale", func() (Decimal, error) { return New(1, 40).Mul(New(1, 40)) },
			"numeric value has more than 59 digits after the decimal point"},
		{"text", func() (Decimal, error) { return Parse("1" + nines) }, "numeric value has more than 36 digits"},
		{"zero divisor", func() (Decimal, error) { return One.Div(Zero) }, "division by zero"},
		{"huge exponent", func() (Decimal, error) { return Parse("1e200000") }, "value overflows numeric format"},
		{"padding", func() (Decimal, error) { return max.Round(1) }, "numeric value has more than 36 digits"},
		{"column", func() (Decimal, error) { return max.Fits(10, 2) }, "numeric field overflow"},
		{"infinite column", func() (Decimal, error) { return Inf.Fits(10, 2) }, "numeric field overflow"},
		{"root", func() (Decimal, error) { return One.Neg().Sqrt() }, "cannot take square root of a negative number"},
		{"logarithm", func() (Decimal, error) { return Zero.Ln() }, "cannot take logarithm of zero"},
	} {
		if d, err := c.f(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %s, %v", c.name, d, err)
		}
	}
	// A quotient gets shorter instead: 36 digits are enough for it.
	q, err := max.Div(New(7, 0))
	if err != nil || q.String() != "142857142857142857142857142857142857" {
		t.Errorf("quotient: %s, %v", q, err)
	}
	// The sum of what cannot be held can, once enough is taken back.
	var a Accumulator
	for range 3 {
		if err := a.Add(max); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := a.Sum(); err == nil {
		t.Errorf("sum of three is %s", d)
	}
	if d, err := a.Avg(3); err != nil || d != max {
		t.Errorf("average of three is %s, %v", d, err)
	}
	for range 2 {
		if err := a.Sub(max); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := a.Sum(); err != nil || d != max {
		t.Errorf("sum is %s, %v", d, err)
	}
}

// TestAccumulatorScales mixes more scales than are counted apart.
func TestAccumulatorScales(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		var a Accumulator
		want := new(big.Rat)
		var in []Decimal
		for range r.IntN(60) {
			d := New(r.Int64N(1e15)-5e14, r.IntN(18))
			in = append(in, d)
			if err := a.Add(d); err != nil {
				t.Fatal(err)
			}
			want.Add(want, rat(d))
		}
		r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		for i, d := range in {
			got, err := a.Sum()
			if err != nil || rat(got).Cmp(want) != 0 {
				t.Fatalf("sum of %v is %s, %v", in[i:], got, err)
			}
			if err := a.Sub(d); err != nil {
				t.Fatal(err)
			}
			want.Sub(want, rat(d))
		}
		if got, err := a.Sum(); err != nil || !got.IsZero() {
			t.Fatalf("sum of nothing is %s, %v", got, err)
		}
	}
	// Five kinds are counted exactly: what is left has its own scale.
	var a Accumulator
	for _, s := range []string{"1", "2.5", "NaN", "3.125", "Infinity"} {
		_ = a.Add(mustParse(t, s))
	}
	for _, s := range []string{"NaN", "3.125", "Infinity"} {
		_ = a.Sub(mustParse(t, s))
	}
	if d, _ := a.Sum(); d.String() != "3.5" {
		t.Errorf("sum is %s", d)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.5", "-0", "1e5", "NaN", "1e-60", "99999999999999999999999999999999999999.9", ".",
		"1e 5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(d.String()); err != nil || again != d {
			t.Fatalf("%q is read as %s and then as %s, %v", s, d, again, err)
		}
		if fit, err := ParseFit(s, 1000, d.Scale()); err != nil || fit != d {
			t.Fatalf("%q fits as %s, %v", s, fit, err)
		}
	})
}

func FuzzFromBinary(f *testing.F) {
	f.Add(New(123456, 3).AppendBinary(nil))
	f.Add(NaN.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := FromBinary(b)
		if err != nil {
			return
		}
		if again, err := FromBinary(d.AppendBinary(nil)); err != nil || again != d {
			t.Fatalf("%x is read as %s and then as %s, %v", b, d, again, err)
		}
	})
}

func BenchmarkDecimal(b *testing.B) {
	x, y := New(123456, 2), New(789, 3)
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			_, _ = x.Add(x)
		}
	})
	b.Run("mul", func(b *testing.B) {
		for b.Loop() {
			_, _ = x.Mul(y)
		}
	})
	b.Run("div", func(b *testing.B) {
		for b.Loop() {
			_, _ = x.Div(y)
		}
	})
	b.Run("accumulate", func(b *testing.B) {
		var a Accumulator
		for b.Loop() {
			_ = a.Add(x)
		}
	})
	b.Run("parse", func(b *testing.B) {
		s := []byte("12345.67")
		for b.Loop() {
			_, _ = ParseBytes(s)
		}
	})
	b.Run("text", func(b *testing.B) {
		var buf [64]byte
		for b.Loop() {
			_ = x.AppendText(buf[:0])
		}
	})
}

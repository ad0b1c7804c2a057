package types

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func genInt(bits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		x := r.Int64() >> r.IntN(63)
		if r.IntN(4) == 0 {
			x = int64(1)<<(bits-1) - int64(r.IntN(3))
		}
		s := strconv.FormatInt(x, 10)
		if r.IntN(2) == 0 {
			s = "-" + strings.TrimPrefix(s, "-")
		}
		return pick(r, "", "", "", " ", "\t", "+") + s + pick(r, "", "", " ", "\n")
	}
}

func genFloat(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return strconv.FormatFloat(math.Float64frombits(r.Uint64()), 'g', -1, 64)
	case 1:
		return strconv.FormatFloat(float64(math.Float32frombits(r.Uint32())), 'g', -1, 64)
	case 2:
		return fmt.Sprintf("%d.%de%d", r.IntN(1000), r.IntN(100000), r.IntN(700)-350)
	case 3:
		return strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.IntN(40)-20)), 'f', r.IntN(12), 64)
	}
	return strconv.FormatInt(r.Int64N(1e17), 10)
}

func genNumeric(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(pick(r, "", "", "-", "+"))
	for range r.IntN(20) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	if r.IntN(2) == 0 {
		b.WriteByte('.')
		for range r.IntN(18) {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
	}
	if r.IntN(5) == 0 {
		fmt.Fprintf(&b, "e%d", r.IntN(40)-20)
	}
	return b.String()
}

func genText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pick(r, "a", "b", " ", "é", "漢", "\"", "\\", "{", "}", ",", "\n", "NULL", "x", "😀", "(", ")",
			"0"))
	}
	return b.String()
}

func TestPGScalars(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	const n = 1500
	compareInput(t, o, TBool, generate(r, 300, func(r *rand.Rand) string {
		return pick(r, "t", "TRUE", "false", "yes", "No", "on", "OFF", "of", "o", "1", "0", "tru", "", " y ", "ye",
			"nope")
	}), nil)
	compareInput(t, o, TInt2, generate(r, n, genInt(16), "", "-", "+", "--1", "1 2", "-32768", "32768"), nil)
	compareInput(t, o, TInt4, generate(r, n, genInt(32), "-2147483648", "99999999999999999999999"), nil)
	compareInput(t, o, TInt8, generate(r, n, genInt(64), "-9223372036854775808", "9223372036854775808"), nil)
	compareInput(t, o, TOID, generate(r, n, genInt(33), "-1", "4294967295", "4294967296", "-2147483649"), nil)
	compareInput(t, o, TFloat8, generate(r, 2*n, genFloat, "NaN", "infinity", "-Inf", "1e400", "1e-400", "-0",
		"0x1p3", "0x10", "1e308", "4.9e-324", "2e-324", "1_000", "", ".", "1e", "inf inity", "1e15", "1e14",
		"123456789012345678", "0.0001", "0.00009999999999999999", "999999999999999.9"), nil)
	compareInput(t, o, TFloat4, generate(r, 2*n, genFloat, "1e38", "1e39", "1e-45", "1e-46", "1e6", "999999.94",
		"0.0001", "0.000099999997", "16777216", "16777217"), nil)
	compareInput(t, o, TNumeric, generate(r, 2*n, genNumeric, "NaN", "-NaN", "inf", "-infinity", "+Infinity",
		"1e131073",
		"1e-20000", "1e99999999999", "0e5", "0e-5", ".", "-.", "1.", ".5e1", "1e", "0e-70", "-0.00", "- 1", "1e+5"), nil)
	compareInput(t, o, Type{ID: Numeric, Mod: 10, Scale: 2}, generate(r, n, genNumeric, "NaN", "Infinity",
		"99999999.994",
		"99999999.995", "-99999999.995", "0.005", "0.00499", "-0.005"), nil)
	compareInput(t, o, Type{ID: Numeric, Mod: 4, Scale: 4}, generate(r, 300, genNumeric, "0.99995", "0.99994", "1"),
		nil)
	compareInput(t, o, Type{ID: Numeric, Mod: 3, Scale: -2}, generate(r, 300, genNumeric, "49", "50", "99949",
		"99950"), nil)
	compareInput(t, o, Type{ID: Numeric, Mod: 3, Scale: 5}, generate(r, 300, genNumeric, "0.00999", "0.009999",
		"0.01"), nil)
}

func TestPGStrings(t *testing.T) {
	o, r := newOracle(t), newRand(t)
	const n = 800
	compareInput(t, o, TText, generate(r, n, genText), nil)
	compareInput(t, o, Type{ID: Varchar, Mod: 3}, generate(r, n, genText, "abc", "abc  ", "abcd", "éé é", "ab    x",
		"    "), nil)
	compareInput(t, o, Type{ID: Bpchar, Mod: 3}, generate(r, n, genText, "abc", "abc  ", "abcd", "é", "", "a   "),
		nil)
	compareInput(t, o, TChar, generate(r, 200, genText, "", `\303`, `\101`, `\000`, `\400`, `\30`, "é"), nil)
	compareInput(t, o, TName, generate(r, n, func(r *rand.Rand) string { return strings.Repeat(genText(r), 5) }), nil)
	compareInput(t, o, TUUID, generate(r, n, genUUID, "", "{", "a0eebc999c0b4ef8bb6d6bb9bd380a11-"), nil)
	compareInput(t, o, TBytea, generate(r, n, genBytea, `\x`, `\X00`, `\x1`, `\x 1 2`, `\x 12 34`), nil)
	o.exec("SET bytea_output = escape")
	compareInput(t, o, TBytea, generate(r, 300, func(r *rand.Rand) string {
		return fmt.Sprintf(`\x%016x`,
			r.Uint64())
	}),
		&Env{EscapeBytea: true})
}

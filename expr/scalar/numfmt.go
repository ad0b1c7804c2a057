package scalar

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/decimal"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// numKey is a field of a number format.
type numKey uint8

const (
	numLiteral numKey = iota
	num9
	num0
	numPoint
	numComma
	numCurrency
	numMI
	numPL
	numSG
	numS
	numPR
	numTH
	numRoman
	numV
	numE
	numB
)

var numWords = []struct {
	word string
	key  numKey
}{{"EEEE", numE}, {"MI", numMI}, {"PL", numPL}, {"PR", numPR}, {"RN", numRoman}, {"SG", numSG}, {"SP", numLiteral},
	{"TH", numTH}, {"9", num9}, {"0", num0}, {".", numPoint}, {",", numComma}, {"B", numB}, {"C", numCurrency},
	{"D", numPoint}, {"G", numComma}, {"L", numCurrency}, {"S", numS}, {"V", numV}}

type numNode struct {
	key   numKey
	text  string
	lower bool
}

// NumberFormat is a parsed format of numbers.
type NumberFormat struct {
	nodes                 []numNode
	pre, post, multi      int
	fill, zero, point     bool
	signed, postSign      bool // S, and behind the number
	signAt                int  // digits before S
	minus, plus, brackets bool
	roman, expo, isMulti  bool
	zeroStart, zeroEnd    int
}

func badNumberFormat(format string, args ...any) error {
	return sqlerr.New(sqlerr.SyntaxError, format, args...)
}

// ParseNumberFormat reads a format of to_char and to_number.
func ParseNumberFormat(s string) (*NumberFormat, error) {
	f := &NumberFormat{}
	for len(s) > 0 {
		if rest, ok := cutFold(s, "FM"); ok {
			f.fill, s = true, rest
			continue
		}
		if s[0] == '"' || strings.HasPrefix(s, `\"`) {
			s = f.quoted(s)
			continue
		}
		n := numNode{}
		width := 0
		for _, w := range numWords {
			if strings.HasPrefix(s, w.word) || strings.HasPrefix(s, strings.ToLower(w.word)) {
				n.key, n.text, n.lower = w.key, w.word, s[0] >= 'a' && s[0] <= 'z'
				width = len(w.word)
				break
			}
		}
		if width == 0 {
			_, width = utf8.DecodeRuneInString(s)
			n.text = s[:width]
		}
		s = s[width:]
		if n.text == "SP" {
			continue
		}
		if err := f.note(n); err != nil {
			return nil, err
		}
		f.nodes = append(f.nodes, n)
	}
	return f, nil
}

func (f *NumberFormat) quoted(s string) string {
	if s[0] == '\\' {
		f.nodes = append(f.nodes, numNode{text: `"`})
		return s[2:]
	}
	s = s[1:]
	for len(s) > 0 && s[0] != '"' {
		if s[0] == '\\' && len(s) > 1 {
			s = s[1:]
		}
		_, w := utf8.DecodeRuneInString(s)
		f.nodes = append(f.nodes, numNode{text: s[:w]})
		s = s[w:]
	}
	return strings.TrimPrefix(s, `"`)
}

// note counts a field and refuses what does not go together.
func (f *NumberFormat) note(n numNode) error {
	if f.expo && n.key != numE && n.key != numLiteral {
		return badNumberFormat("\"EEEE\" must be the last pattern used")
	}
	switch n.key {
	case num9:
		switch {
		case f.brackets:
			return badNumberFormat("\"9\" must be ahead of \"PR\"")
		case f.isMulti:
			f.multi++
		case f.point:
			f.post++
		default:
			f.pre++
		}
	case num0:
		if f.brackets {
			return badNumberFormat("\"0\" must be ahead of \"PR\"")
		}
		if !f.zero && !f.point {
			f.zero, f.zeroStart = true, f.pre
		}
		if f.point {
			f.post++
		} else {
			f.pre++
		}
		f.zeroEnd = f.pre + f.post
	case numPoint:
		if f.point {
			return badNumberFormat("multiple decimal points")
		}
		if f.isMulti {
			return badNumberFormat("cannot use \"V\" and decimal point together")
		}
		f.point = true
	case numS:
		if f.signed {
			return badNumberFormat("cannot use \"S\" twice")
		}
		if f.plus || f.minus || f.brackets {
			return badNumberFormat("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
		}
		f.signed = true
		f.postSign = f.point
		f.signAt = f.pre
	case numMI, numPL, numSG:
		if f.signed {
			return badNumberFormat("cannot use \"S\" and \"%s\" together", n.text)
		}
		f.minus = f.minus || n.key != numPL
		f.plus = f.plus || n.key != numMI
	case numPR:
		if f.signed || f.plus || f.minus {
			return badNumberFormat("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
		}
		f.brackets = true
	case numRoman:
		f.roman = true
	case numV:
		if f.point {
			return badNumberFormat("cannot use \"V\" and decimal point together")
		}
		f.isMulti = true
	case numE:
		if f.expo {
			return badNumberFormat("cannot use \"EEEE\" twice")
		}
		if f.fill || f.signed || f.brackets || f.minus || f.plus || f.roman || f.isMulti {
			return badNumberFormat("\"EEEE\" is incompatible with other formats")
		}
		f.expo = true
	}
	return nil
}

// AppendDecimal is to_char of a numeric.
func (f *NumberFormat) AppendDecimal(dst []byte, d decimal.Decimal) ([]byte, error) {
	if d.Special() != decimal.Finite {
		return f.AppendFloat(dst, d.ToFloat64(), 15)
	}
	if f.roman {
		n, ok := d.ToInt64()
		return f.appendRoman(dst, n, ok), nil
	}
	if f.expo {
		return f.appendExpoDecimal(dst, d)
	}
	var err error
	for range f.multi {
		if d, err = d.Mul(decimal.FromInt64(10)); err != nil {
			return dst, err
		}
	}
	r, err := d.Round(f.post)
	if err != nil {
		return dst, err
	}
	return f.appendDigits(dst, r.String()), nil
}

// AppendFloat is to_char of a float that has so many digits: 15, or 6 for real.
func (f *NumberFormat) AppendFloat(dst []byte, x float64, digits int) ([]byte, error) {
	if f.roman {
		ok := !math.IsNaN(x) && math.Abs(x) < 1e9
		return f.appendRoman(dst, int64(math.RoundToEven(x)), ok), nil
	}
	if f.expo {
		return f.appendExpo(dst, x), nil
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		sign := ""
		if x < 0 {
			sign = "-"
		}
		name := "Infinity"
		if math.IsNaN(x) {
			name = "NaN"
		}
		return f.appendDigits(dst, sign+name), nil
	}
	x *= math.Pow10(f.multi)
	whole := len(strconv.FormatFloat(math.Abs(x), 'f', 0, 64))
	g := *f
	if whole >= digits {
		g.post = 0
	} else if whole+g.post > digits {
		g.post = digits - whole
	}
	return g.appendDigits(dst, strconv.FormatFloat(x, 'f', g.post, 64)), nil
}

func (f *NumberFormat) appendExpo(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		dst = append(dst, ' ')
		for range f.pre {
			dst = append(dst, '#')
		}
		dst = append(dst, '.')
		for range f.post + 4 {
			dst = append(dst, '#')
		}
		return dst
	}
	if x >= 0 {
		dst = append(dst, ' ')
	}
	return strconv.AppendFloat(dst, x, 'e', f.post, 64)
}

// appendExpoDecimal is appendExpo for a numeric, rounded half away from zero.
func (f *NumberFormat) appendExpoDecimal(dst []byte, d decimal.Decimal) ([]byte, error) {
	if d.IsZero() {
		return f.appendExpo(dst, 0), nil
	}
	neg, digits, scale := d.Digits()
	exp := len(digits) - 1 - scale
	up := len(digits) > f.post+1 && digits[f.post+1] >= '5'
	m := bytes.Repeat([]byte{'0'}, f.post+1)
	copy(m, digits)
	for i := len(m) - 1; up && i >= 0; i-- {
		if m[i]++; m[i] <= '9' {
			up = false
		} else {
			m[i] = '0'
		}
	}
	if neg {
		dst = append(dst, '-')
	} else {
		dst = append(dst, ' ')
	}
	if up { // 9.99 became 10.0, which PostgreSQL leaves so
		dst = append(dst, '1')
	}
	for i, c := range m {
		if i == 1 {
			dst = append(dst, '.')
		}
		dst = append(dst, c)
	}
	dst = append(dst, 'e', "+-"[bit(exp < 0)])
	if exp = abs(exp); exp < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(exp), 10), nil
}

func (f *NumberFormat) appendRoman(dst []byte, n int64, ok bool) []byte {
	if !ok || n < 1 || n > 3999 {
		return append(dst, strings.Repeat("#", 15)...)
	}
	var b strings.Builder
	for _, d := range []struct {
		v int64
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
		{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for ; n >= d.v; n -= d.v {
			b.WriteString(d.s)
		}
	}
	s := b.String()
	for _, k := range f.nodes {
		if k.key == numRoman && k.lower {
			s = strings.ToLower(s)
		}
	}
	if !f.fill {
		s = strings.Repeat(" ", max(15-len(s), 0)) + s
	}
	return append(dst, s...)
}

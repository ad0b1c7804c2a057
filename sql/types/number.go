package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c-'0' <= 9 }

// trimSpace takes PostgreSQL's blanks off both ends.
func trimSpace(s string) string {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// ParseInt reads a whole number of t (smallint, integer or bigint).
func ParseInt(t Type, s string) (int64, error) {
	in := trimSpace(s)
	neg := false
	if in != "" && (in[0] == '-' || in[0] == '+') {
		neg = in[0] == '-'
		in = in[1:]
	}
	if in == "" {
		return 0, badSyntax(t, s)
	}
	limit := uint64(1) << 63
	switch t.ID {
	case Int2:
		limit = 1 << 15
	case Int4:
		limit = 1 << 31
	}
	var x uint64
	for i := 0; i < len(in); i++ {
		d := uint64(in[i] - '0')
		if d > 9 {
			return 0, badSyntax(t, s)
		}
		// Too long a number is reported before what is wrong behind it.
		if x > (limit-d)/10 {
			return 0, outOfRange(t, s)
		}
		x = x*10 + d
	}
	if neg {
		return -int64(x), nil
	}
	if x == limit {
		return 0, outOfRange(t, s)
	}
	return int64(x), nil
}

// ParseOID reads an oid: an unsigned number of 32 bits, or a negative one that
// stands for its complement.
func ParseOID(t Type, s string) (int64, error) {
	in := trimSpace(s)
	x, err := strconv.ParseInt(in, 10, 64)
	if err != nil {
		if e := err.(*strconv.NumError); e.Err == strconv.ErrRange {
			return 0, outOfRange(TOID, s)
		}
		return 0, badSyntax(TOID, s)
	}
	if x > math.MaxUint32 || x < math.MinInt32 {
		return 0, outOfRange(TOID, s)
	}
	return int64(uint32(x)), nil
}

// ParseBool reads a boolean: true, yes, on, 1 and their opposites, or a prefix
// of one that is no prefix of another.
func ParseBool(s string) (bool, error) {
	in := trimSpace(s)
	var w [5]byte
	if len(in) == 0 || len(in) > len(w) {
		return false, badSyntax(TBool, s)
	}
	for i := 0; i < len(in); i++ {
		w[i] = in[i]
		if c := in[i]; c >= 'A' && c <= 'Z' {
			w[i] |= 0x20
		}
	}
	switch string(w[:len(in)]) {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return true, nil
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return false, nil
	}
	return false, badSyntax(TBool, s)
}

// nan is the NaN that every value without one becomes: C's.
var nan = math.Float64frombits(0x7ff8000000000000)

// ParseFloat reads a float of t (real or double precision).
func ParseFloat(t Type, s string) (float64, error) {
	in := trimSpace(s)
	size := 64
	if t.ID == Float4 {
		size = 32
	}
	f, err := strconv.ParseFloat(in, size)
	if err != nil {
		e, _ := err.(*strconv.NumError)
		if e == nil || e.Err != strconv.ErrRange {
			return parseOddFloat(t, s, in, size)
		}
		return 0, floatRange(t, s, in)
	}
	if f == 0 && !zeroText(in) {
		return 0, floatRange(t, s, in)
	}
	if f != f {
		return nan, nil
	}
	for i := 0; i < len(in); i++ {
		if in[i] == '_' {
			return 0, badSyntax(t, s)
		}
	}
	return f, nil
}

// floatRange names the number, and for real the whole text.
func floatRange(t Type, s, number string) error {
	if t.ID == Float4 {
		number = s
	}
	return sqlerr.New(sqlerr.NumericValueOutOfRange, `"%s" is out of range for type %s`, number, ioName(t))
}

// parseOddFloat reads what C accepts and Go does not: a signed NaN and
// hexadecimal digits without an exponent. For other text it makes the error: a
// number out of range is reported before what is wrong behind it.
func parseOddFloat(t Type, s, in string, size int) (float64, error) {
	w := in
	if w != "" && (w[0] == '-' || w[0] == '+') {
		w = w[1:]
	}
	if len(w) == 3 && w[0]|0x20 == 'n' && w[1]|0x20 == 'a' && w[2]|0x20 == 'n' {
		return nan, nil
	}
	if len(w) > 2 && w[0] == '0' && w[1]|0x20 == 'x' {
		for i := 2; i < len(w); i++ {
			if w[i]|0x20 == 'p' || w[i] == '_' {
				return 0, badSyntax(t, s)
			}
		}
		if f, err := strconv.ParseFloat(in+"p0", size); err == nil {
			return f, nil
		}
		return 0, badSyntax(t, s)
	}
	number := floatPrefix(in)
	if f, err := strconv.ParseFloat(number, size); number != "" && (err != nil || f == 0 && !zeroText(number)) {
		return 0, floatRange(t, s, number)
	}
	return 0, badSyntax(t, s)
}

// floatPrefix returns the decimal number that s begins with.
func floatPrefix(s string) string {
	i := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		i++
	}
	digits := 0
	for ; i < len(s) && (isDigit(s[i]) || s[i] == '.' && !strings.Contains(s[:i], ".")); i++ {
		if s[i] != '.' {
			digits++
		}
	}
	if digits == 0 {
		return ""
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		for j < len(s) && isDigit(s[j]) {
			j++
			i = j
		}
	}
	return s[:i]
}

// zeroText tells whether the digits of a float before its exponent are all 0.
func zeroText(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c|0x20 == 'e' || c|0x20 == 'p':
			return true
		case c >= '1' && c <= '9', i > 1 && c|0x20 >= 'a' && c|0x20 <= 'f':
			return false
		}
	}
	return true
}
